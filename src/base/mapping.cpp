#include "base/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "tenon/error.h"

namespace tenon {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace

Ref<Mapping> Mapping::open(const std::string& path, Mode mode) {
  // O_NONBLOCK: opening a pipe nobody writes to must not hang; a regular file does not notice.
  const int access = mode == Mode::shared ? O_RDWR : O_RDONLY;
  const Descriptor file(::open(path.c_str(), access | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw IoError("cannot open", path, errno);
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) throw IoError("cannot read its size", path, errno);
  if (!S_ISREG(facts.st_mode))
    throw IoError("cannot be mapped, it is not a regular file", path,
                  S_ISDIR(facts.st_mode) ? EISDIR : EINVAL);
  return of_file(file.get(), path, static_cast<std::size_t>(facts.st_size), mode);
}

Ref<Mapping> Mapping::of_file(int descriptor, const std::string& name, std::size_t size,
                              Mode mode) {
  if (size == 0) return Ref<Mapping>::adopt(new Mapping(nullptr, 0));
  void* data =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
             mode == Mode::shared ? MAP_SHARED : MAP_PRIVATE | MAP_NORESERVE, descriptor, 0);
  if (data == MAP_FAILED) throw IoError("cannot map", name, errno);
  return Ref<Mapping>::adopt(new Mapping(static_cast<std::byte*>(data), size));
}

Mapping::~Mapping() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace tenon
