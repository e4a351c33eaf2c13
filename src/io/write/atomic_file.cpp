#include "io/write/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {
namespace {

constexpr int kMostLinks = 40;  // as the kernel
constexpr std::size_t kLongestPath = 4096;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string read_link(FileSystem& system, const std::string& link, const std::string& shown) {
  std::array<char, kLongestPath> text{};
  const ssize_t n = uninterrupted([&] { return system.readlink(link, text.data(), text.size()); });
  const int error = n < 0 ? errno : ENAMETOOLONG;
  if (n < 0 || static_cast<std::size_t>(n) == text.size())
    throw IoError(concat("cannot read the link ", link), shown, error);
  const std::string leads_to(text.data(), static_cast<std::size_t>(n));
  if (leads_to.starts_with('/')) return leads_to;
  return link.substr(0, link.rfind('/') + 1) + leads_to;  // npos + 1 is 0
}

void check_kind(const struct stat& facts, const std::string& shown) {
  if (S_ISDIR(facts.st_mode)) throw IoError("cannot be written", shown, EISDIR);
  if (!S_ISREG(facts.st_mode))
    throw IoError("is not a regular file and cannot be replaced, pass an open descriptor instead",
                  shown, ESPIPE);
}

[[noreturn]] void fail_as_taken(const std::string& path) {
  throw IoError(
      "is there already, and replacing it was not allowed (allow it, or choose another name)", path,
      EEXIST);
}

// What is at a path, the links followed by us so that the file they lead to can be replaced.
struct Found {
  std::string path;
  std::optional<struct stat> old;  // of the file that is there
};

Found follow_links(FileSystem& system, const std::string& path) {
  struct stat facts{};
  // The system follows the links first: it knows which ones it must not follow, and those of /proc
  // whose text is not a path.
  if (uninterrupted([&] { return system.stat(path, &facts); }) == 0) {
    check_kind(facts, path);
  } else if (const int error = errno; error != ENOENT) {
    throw IoError("cannot look at it", path, error);
  }
  Found found{path, {}};
  for (int links = 0;; ++links) {
    if (uninterrupted([&] { return system.lstat(found.path, &facts); }) != 0) {
      const int error = errno;
      if (error != ENOENT) throw IoError("cannot look at it", path, error);
      return found;
    }
    if (!S_ISLNK(facts.st_mode)) {
      check_kind(facts, path);
      found.old = facts;
      return found;
    }
    if (links == kMostLinks) throw IoError("cannot follow the links", path, ELOOP);
    found.path = read_link(system, found.path, path);
  }
}

}  // namespace

void check_free(FileSystem& system, const std::string& path) {
  struct stat facts{};
  if (uninterrupted([&] { return system.lstat(path, &facts); }) == 0) fail_as_taken(path);
  if (const int error = errno; error != ENOENT) throw IoError("cannot look at it", path, error);
}

struct AtomicFile::Target : Found {};

AtomicFile::Target AtomicFile::find(FileSystem& system, const std::string& path, bool replace) {
  // The system would take the name to end there, and write another file.
  if (const std::size_t zero = path.find('\0'); zero != std::string::npos)
    throw IoError("cannot be written, a zero byte follows in its name", path.substr(0, zero),
                  EINVAL);
  if (!replace) check_free(system, path);
  const Target target{replace ? follow_links(system, path) : Found{path, {}}};
  if (target.path.empty()) throw IoError("cannot be written, the name is empty", path, ENOENT);
  if (target.path.ends_with('/')) throw IoError("is the name of a folder", path, EISDIR);

  // Replacing needs no right to the file, only to its folder. Whoever took that right away did not
  // mean that.
  if (target.old && uninterrupted([&] { return system.access(target.path, W_OK); }) != 0) {
    const int error = errno;
    throw IoError("cannot be written", path, error);
  }
  const std::string folder = folder_of(target.path);
  struct stat facts{};
  if (!target.old && uninterrupted([&] { return system.stat(folder, &facts); }) != 0) {
    const int error = errno;
    if (error == ENOENT)
      throw IoError(concat("the folder ", folder, " does not exist"), path, error);
    throw IoError(concat("cannot look at the folder ", folder), path, error);
  }
  return target;
}

AtomicFile::AtomicFile(FileSystem& system, const std::string& path, bool durable, bool replace)
    : AtomicFile(system, path, durable, replace, find(system, path, replace)) {}

// With an old file, nobody else may read the new one until it has the old mode.
AtomicFile::AtomicFile(FileSystem& system, const std::string& path, bool durable, bool replace,
                       const Target& target)
    : system_(system),
      path_(path),
      target_(target.path),
      durable_(durable),
      replace_(replace),
      temporary_(system, target.path, target.old ? 0600 : 0666, path) {
  if (target.old) take_after(*target.old);
}

void AtomicFile::take_after(const struct stat& old) {
  const int file = temporary_.descriptor();
  const auto look = [&] {
    struct stat now{};
    if (uninterrupted([&] { return system_.fstat(file, &now); }) != 0) {
      const int error = errno;
      throw IoError("cannot look at the temporary file beside it", path_, error);
    }
    return now;
  };
  struct stat now = look();
  if (now.st_uid != old.st_uid || now.st_gid != old.st_gid) {
    constexpr auto kSame = std::numeric_limits<uid_t>::max();
    // Only root gives files away. Others may give them to their groups.
    if (system_.fchown(file, old.st_uid, old.st_gid) != 0) system_.fchown(file, kSame, old.st_gid);
    now = look();
  }
  // Set-uid and set-gid were given to the old bytes. Nobody has given them to the new ones, which
  // may come from a file that somebody else made. What the mode gave to the old group must not go
  // to another: the rights of a group that is not the old one are those of everybody.
  mode_t mode = old.st_mode & 0777;
  if (now.st_gid != old.st_gid) mode &= ~070u | mode << 3;
  // Not all file systems have modes. Those give every file the same one.
  if ((now.st_mode & 07777) == mode) return;
  if (uninterrupted([&] { return system_.fchmod(file, mode); }) != 0) {
    const int error = errno;
    throw IoError("cannot give the new file the mode of the old one", path_, error);
  }
}

void AtomicFile::reserve(std::uint64_t size) {
  if (size == 0) return;
  int error = EFBIG;
  if (size <= static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    const auto ask = [&] {
      return system_.fallocate(temporary_.descriptor(), static_cast<off_t>(size));
    };
    if (uninterrupted(ask) == 0) return;
    error = errno;
    if (error == EOPNOTSUPP || error == ENOSYS || error == EINVAL) return;
  }
  throw IoError(concat("cannot reserve ", size, " bytes"), path_, error);
}

void AtomicFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) const {
  write_fully(system_, temporary_.descriptor(), bytes, offset, path_);
}

void AtomicFile::commit() {
  sync();
  publish();
}

void AtomicFile::sync() {
  if (std::exchange(state_, State::failed) != State::writing)
    throw InternalError("AtomicFile: sync() comes once, after the writing");
  if (durable_) {
    // Never again after a failure: the system may have dropped what it could not write, and would
    // say that all is well.
    if (system_.fsync(temporary_.descriptor()) != 0) {
      const int error = errno;
      throw IoError("cannot bring it to the disk (fsync)", path_, error);
    }
  } else {
    // Network file systems may tell only at closing that they have no room. Closing a duplicate
    // asks them, and keeps the lock.
    const int duplicate = uninterrupted([&] { return system_.dup(temporary_.descriptor()); });
    if (duplicate < 0 || system_.close(duplicate) != 0) {
      const int error = errno;
      throw IoError("cannot finish writing (close)", path_, error);
    }
  }
  state_ = State::synced;
}

void AtomicFile::publish() {
  if (std::exchange(state_, State::failed) != State::synced)
    throw InternalError("AtomicFile: publish() comes once, after sync()");
  if (!(replace_ ? temporary_.become(target_) : temporary_.become_new(target_))) {
    const int error = errno;
    if (!replace_ && error == EEXIST) fail_as_taken(path_);
    if (!replace_)
      throw IoError("cannot give the new file its name without replacing (renameat2, link)", path_,
                    error);
    throw IoError("cannot replace it with the new file (rename)", path_, error);
  }
  state_ = State::published;
  if (!durable_) return;
  if (const int error = sync_folder(system_, folder_of(target_)); error != 0) {
    throw IoError(
        "is there, whole, but the system does not confirm that a power cut leaves it there", path_,
        error);
  }
}

}  // namespace tenon
