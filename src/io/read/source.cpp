#include "io/read/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

Source::~Source() = default;
Ref<Mapping> Source::map(Mapping::Mode /*mode*/) const { return {}; }

namespace {

class FileSource final : public Source {
 public:
  // Takes the descriptor over.
  FileSource(int descriptor, std::uint64_t start, const struct stat& facts, std::string name)
      : Source(std::move(name), static_cast<std::uint64_t>(facts.st_size) - start),
        descriptor_(descriptor),
        start_(start),
        facts_(facts) {}
  ~FileSource() override { ::close(descriptor_); }

  // Everybody who wants to know what the file is looks at its beginning: it is read once.
  void read_head() {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(size(), kHead));
    std::vector<std::byte> head(length);
    read_at(0, head);
    head_ = std::move(head);
  }

  void read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset < head_.size() && into.size() <= head_.size() - offset) {
      std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
      return;
    }
    std::size_t done = 0;
    while (done < into.size()) {
      const std::size_t most = std::min(into.size() - done, std::size_t{1} << 30);
      const ssize_t n = ::pread(descriptor_, into.data() + done, most,
                                static_cast<off_t>(start_ + offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw IoError(concat("cannot read at byte ", offset + done), name(), errno);
      if (n == 0) {
        throw FormatError(name(), offset + done,
                          concat("the file ends here, though it had ", size(),
                                 " bytes when it was opened: it is being changed"));
      }
      done += static_cast<std::size_t>(n);
    }
  }

  std::uint64_t start() const noexcept override { return start_; }
  Ref<Mapping> map(Mapping::Mode mode) const override {
    if (mode == Mapping::Mode::shared) return map_writable();
    return Mapping::of_file(descriptor_, name(), static_cast<std::size_t>(facts_.st_size), mode);
  }

  // The descriptor only reads. Opening through it gives the same file, whatever has its name now.
  Ref<Mapping> map_writable() const {
    const std::string again = concat("/proc/self/fd/", descriptor_);
    const int writable = ::open(again.c_str(), O_RDWR | O_CLOEXEC);
    if (writable < 0)
      throw IoError("cannot be opened for writing, as .shared needs", name(), errno);
    try {
      Ref<Mapping> mapping = Mapping::of_file(
          writable, name(), static_cast<std::size_t>(facts_.st_size), Mapping::Mode::shared);
      ::close(writable);
      return mapping;
    } catch (...) {
      ::close(writable);
      throw;
    }
  }

  std::optional<std::pair<std::uint64_t, std::uint64_t>> identity() const override {
    return std::pair(static_cast<std::uint64_t>(facts_.st_dev),
                     static_cast<std::uint64_t>(facts_.st_ino));
  }

  // Who writes may put mtime back, but not ctime, so that counts too. Links, names, owners and
  // modes change ctime as well: a file that is renamed or hard-linked while it is read is refused,
  // as nobody can tell that from a write. Except for one thing that is common: another file takes
  // the name, and ours has a name less, which is how a new checkpoint replaces one that is being
  // read. Whoever writes in place, puts mtime back and then removes a name is not found out; it
  // takes the owner of the file to do that.
  void check_unchanged() const override {
    struct stat now{};
    if (::fstat(descriptor_, &now) != 0) throw IoError("cannot look at", name(), errno);
    const auto same = [](const timespec& a, const timespec& b) {
      return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
    };
    const bool same_bytes = now.st_size == facts_.st_size && same(now.st_mtim, facts_.st_mtim);
    if (same_bytes && (same(now.st_ctim, facts_.st_ctim) || now.st_nlink < facts_.st_nlink)) return;
    const auto at = static_cast<std::uint64_t>(std::min(now.st_size, facts_.st_size));
    if (same_bytes) {
      throw FormatError(
          name(), at,
          "the file was changed while it was read: its size and the time of its last "
          "write are as before, and the time of its last change is not (it was written "
          "to, renamed, linked, or got other rights): read it again");
    }
    throw FormatError(name(), at,
                      concat("the file was changed while it was read: ", facts_.st_size,
                             " bytes became ", now.st_size));
  }

 private:
  static constexpr std::uint64_t kHead = 8192;
  int descriptor_;
  std::uint64_t start_;
  struct stat facts_;
  std::vector<std::byte> head_;
};

class MemorySource final : public Source {
 public:
  MemorySource(std::span<const std::byte> bytes, std::string name)
      : Source(std::move(name), bytes.size()), bytes_(bytes) {}
  void read_at(std::uint64_t offset, std::span<std::byte> into) const override {
    if (offset > bytes_.size() || into.size() > bytes_.size() - offset)
      throw FormatError(name(), bytes_.size(), "the data ends here");
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
  }

 private:
  std::span<const std::byte> bytes_;
};

std::shared_ptr<Source> take_over(int descriptor, std::uint64_t offset, std::string name) {
  struct stat facts{};
  int error = 0;
  if (::fstat(descriptor, &facts) != 0)
    error = errno;
  else if (!S_ISREG(facts.st_mode))
    error = S_ISDIR(facts.st_mode) ? EISDIR : ESPIPE;
  else if (offset > static_cast<std::uint64_t>(facts.st_size))
    error = EINVAL;
  if (error != 0) {
    ::close(descriptor);
    throw IoError(error == ESPIPE ? "is not a regular file" : "cannot be read", std::move(name),
                  error);
  }
  auto source = std::make_shared<FileSource>(descriptor, offset, facts, std::move(name));
  source->read_head();
  return source;
}

}  // namespace

std::shared_ptr<Source> open_file(const std::string& path) {
  // O_NONBLOCK: opening a pipe nobody writes to must not hang; a regular file does not notice.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw IoError("cannot open", path, errno);
  return take_over(descriptor, 0, path);
}

std::shared_ptr<Source> open_taken(int descriptor, std::string name) {
  return take_over(descriptor, 0, std::move(name));
}

std::shared_ptr<Source> open_file(int descriptor, std::uint64_t offset, std::string name) {
  const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (own < 0) throw IoError("cannot use the descriptor of", std::move(name), errno);
  return take_over(own, offset, std::move(name));
}

std::shared_ptr<Source> open_memory(std::span<const std::byte> bytes, std::string name) {
  return std::make_shared<MemorySource>(bytes, std::move(name));
}

}  // namespace tenon
