#include "io/write/temporary_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {
namespace {

constexpr std::size_t kSlots = 16;
constexpr std::string_view kMark = ".tenon-tmp";
constexpr std::size_t kLongestName = 255;  // of most file systems, in bytes
// How many names of a folder are looked through for leftovers with random names before each save.
// Those are rare, and a folder may be large.
constexpr int kMostNames = 4096;
// Others may remove what was just made before it is locked. Not every time.
constexpr int kTries = 8;

std::string hex(std::uint64_t value) {
  std::string digits(16, '0');
  for (std::size_t i = 0; i < 16; ++i) digits[i] = "0123456789abcdef"[value >> (60 - 4 * i) & 15];
  return digits;
}

// FNV-1a. Only to tell long names apart that begin alike.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hex(hash);
}

std::size_t name_begin(const std::string& target) {
  return target.rfind('/') + 1;  // npos + 1 is 0
}

// ".NAME.tenon-tmp", for an end of up to so many bytes. Long names are cut, and whole in a hash.
std::string name_beside(const std::string& target, std::size_t end) {
  std::string base = target.substr(name_begin(target));
  const std::size_t room = kLongestName - 1 - kMark.size() - end;  // the dot, the mark, the end
  if (base.size() > room) {
    std::size_t cut = room - 17;
    // Some file systems want whole characters.
    while (cut > 0 && (static_cast<unsigned char>(base[cut]) & 0xc0) == 0x80) --cut;
    base = concat(base.substr(0, cut), "-", hash_of(base));
  }
  return concat(".", base, kMark);
}

std::array<std::string, kSlots> slots_beside(const std::string& target) {
  const std::string begin = target.substr(0, name_begin(target)) + name_beside(target, 2);
  std::array<std::string, kSlots> names;
  for (std::size_t slot = 0; slot < kSlots; ++slot) names[slot] = concat(begin, slot);
  return names;
}

constexpr std::size_t kRandomEnd = 17;  // a dash and sixteen digits

std::string random_end() {
  std::uint64_t number = 0;
  // Early in the life of a machine there may be no randomness yet. A name that can be guessed is
  // better than waiting: it is made with O_EXCL all the same.
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    number = static_cast<std::uint64_t>(now.tv_nsec) << 32 ^
             static_cast<std::uint64_t>(now.tv_sec) ^ static_cast<std::uint64_t>(::getpid()) << 16;
  }
  return concat("-", hex(number));
}

bool is_random_end(std::string_view text) {
  return text.size() == kRandomEnd && text[0] == '-' &&
         text.find_first_not_of("0123456789abcdef", 1) == text.npos;
}

enum class Name { of_this, of_another, unknown };

// Whether the name is still that of the open file.
Name look_at(FileSystem& system, int descriptor, const std::string& name) {
  struct stat open{}, named{};
  if (uninterrupted([&] { return system.fstat(descriptor, &open); }) != 0) return Name::unknown;
  if (uninterrupted([&] { return system.lstat(name, &named); }) != 0)
    return errno == ENOENT ? Name::of_another : Name::unknown;
  const bool same = open.st_dev == named.st_dev && open.st_ino == named.st_ino;
  return same && S_ISREG(open.st_mode) ? Name::of_this : Name::of_another;
}

bool remove(FileSystem& system, const std::string& name) {
  return uninterrupted([&] { return system.unlink(name); }) == 0 || errno == ENOENT;
}

// Removes the file if nobody writes it. True if the name is free.
bool remove_leftover(FileSystem& system, const std::string& name) {
  // Neither what a link leads to, nor waiting for somebody at a pipe's other end.
  const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int descriptor = uninterrupted([&] { return system.open(name, flags, 0); });
  if (descriptor < 0) return errno == ENOENT;
  // With the lock nobody else removes it, and nobody makes another one as long as it is there: the
  // name cannot change its meaning between looking and removing.
  const bool removed = try_lock(system, descriptor) == Lock::held &&
                       look_at(system, descriptor, name) == Name::of_this && remove(system, name);
  system.close(descriptor);
  return removed;
}

// Removes those files of a folder that nobody writes and whose names are chosen, of the first so
// many.
template <class Chosen>
void sweep(FileSystem& system, const std::string& folder, int most, const Chosen& chosen) {
  std::error_code error;
  // A list first: what is removed on the way might hide others.
  std::vector<std::string> found;
  int seen = 0;
  for (auto at = std::filesystem::directory_iterator(folder.empty() ? "." : folder, error);
       !error && at != std::filesystem::directory_iterator() && seen < most; at.increment(error)) {
    ++seen;
    const std::string name = at->path().filename().string();
    if (chosen(name)) found.push_back(folder.empty() ? name : at->path().string());
  }
  for (const std::string& name : found) {
    struct stat facts{};
    if (system.lstat(name, &facts) == 0 && S_ISREG(facts.st_mode)) remove_leftover(system, name);
  }
}

}  // namespace

void remove_leftovers(FileSystem& system, const std::string& folder, const std::string& stem,
                      const std::string& ending) {
  const std::string begin = concat(".", stem), end = concat(ending, kMark);
  sweep(system, folder, std::numeric_limits<int>::max(), [&](const std::string& name) {
    return name.starts_with(begin) && name.find(end) != name.npos;
  });
}

TemporaryFile::TemporaryFile(FileSystem& system, const std::string& target, mode_t mode,
                             const std::string& shown)
    : system_(system) {
  const std::string begin = name_beside(target, kRandomEnd);
  sweep(system, target.substr(0, name_begin(target)), kMostNames, [&](const std::string& name) {
    return name.starts_with(begin) && is_random_end(std::string_view(name).substr(begin.size()));
  });
  const std::array<std::string, kSlots> names = slots_beside(target);
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    name_ = names[slot];
    if (!take_slot(mode, shown)) continue;
    // The leftovers in the slots before this one are gone already.
    for (std::size_t other = slot + 1; other < kSlots; ++other) {
      struct stat facts{};
      if (system.lstat(names[other], &facts) == 0 && S_ISREG(facts.st_mode))
        remove_leftover(system, names[other]);
    }
    return;
  }
  if (take_random(target, mode, shown)) return;
  throw IoError(concat("cannot be written, the names of temporary files beside it, ", names.front(),
                       " and so on, are all taken (remove those if nobody writes them)"),
                shown, EBUSY);
}

TemporaryFile::~TemporaryFile() { discard(); }

bool TemporaryFile::take_slot(mode_t mode, const std::string& shown) {
  const int flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  for (int tries = 0; tries < kTries; ++tries) {
    descriptor_ = uninterrupted([&] { return system_.open(name_, flags, mode); });
    if (descriptor_ < 0) {
      const int error = errno;
      if (error != EEXIST)
        throw IoError("cannot create the temporary file beside it", shown, error);
      if (!remove_leftover(system_, name_)) return false;
      continue;
    }
    const Lock got = try_lock(system_, descriptor_);
    Name name = Name::of_another;
    if (got == Lock::held || got == Lock::not_supported)
      name = look_at(system_, descriptor_, name_);
    if (name == Name::of_this) return true;
    if (got == Lock::failed || name == Name::unknown) {
      const int error = errno;
      discard();
      throw IoError("cannot lock the temporary file beside it", shown, error);
    }
    // Somebody took it for a leftover before it was locked, and removes it.
    close();
  }
  return false;
}

bool TemporaryFile::take_random(const std::string& target, mode_t mode, const std::string& shown) {
  const std::string begin = target.substr(0, name_begin(target)) + name_beside(target, kRandomEnd);
  for (int tries = 0; tries < kTries; ++tries) {
    name_ = begin + random_end();
    if (take_slot(mode, shown)) return true;
  }
  return false;
}

bool TemporaryFile::become(const std::string& target) {
  if (uninterrupted([&] { return system_.rename(name_, target); }) != 0) return false;
  close();
  return true;
}

bool TemporaryFile::become_new(const std::string& target) {
  const auto rename = [&] { return system_.renameat2(name_, target, RENAME_NOREPLACE); };
  if (uninterrupted(rename) != 0) {
    if (errno != EINVAL && errno != ENOSYS) return false;
    if (uninterrupted([&] { return system_.link(name_, target); }) != 0) return false;
    // If this fails the file has two names, and the next save removes the other one.
    remove(system_, name_);
  }
  close();
  return true;
}

void TemporaryFile::close() noexcept { system_.close(std::exchange(descriptor_, -1)); }

void TemporaryFile::discard() noexcept {
  if (descriptor_ < 0) return;
  // Removed before the lock goes: after that the name may be that of somebody else's file.
  if (look_at(system_, descriptor_, name_) != Name::of_another) remove(system_, name_);
  close();
}

}  // namespace tenon
