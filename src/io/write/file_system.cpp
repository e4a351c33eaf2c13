#include "io/write/file_system.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

FileSystem::~FileSystem() = default;

FileSystem& FileSystem::system() {
  static FileSystem real;
  return real;
}

int FileSystem::open(const std::string& path, int flags, mode_t mode) {
  return ::open(path.c_str(), flags, mode);
}
int FileSystem::dup(int descriptor) { return ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0); }
ssize_t FileSystem::write(int descriptor, const void* bytes, std::size_t count) {
  return ::write(descriptor, bytes, count);
}
ssize_t FileSystem::pwrite(int descriptor, const void* bytes, std::size_t count, off_t offset) {
  return ::pwrite(descriptor, bytes, count, offset);
}
int FileSystem::fallocate(int descriptor, off_t size) {
  return ::fallocate(descriptor, 0, 0, size);
}
int FileSystem::fsync(int descriptor) { return ::fsync(descriptor); }
int FileSystem::close(int descriptor) { return ::close(descriptor); }
int FileSystem::flock(int descriptor, int operation) { return ::flock(descriptor, operation); }

int FileSystem::fchmod(int descriptor, mode_t mode) { return ::fchmod(descriptor, mode); }
int FileSystem::fchown(int descriptor, uid_t owner, gid_t group) {
  return ::fchown(descriptor, owner, group);
}
int FileSystem::fstat(int descriptor, struct stat* facts) { return ::fstat(descriptor, facts); }
int FileSystem::lstat(const std::string& path, struct stat* facts) {
  return ::lstat(path.c_str(), facts);
}
int FileSystem::stat(const std::string& path, struct stat* facts) {
  return ::stat(path.c_str(), facts);
}
ssize_t FileSystem::readlink(const std::string& path, char* into, std::size_t size) {
  return ::readlink(path.c_str(), into, size);
}
int FileSystem::access(const std::string& path, int mode) { return ::access(path.c_str(), mode); }

int FileSystem::rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str());
}
int FileSystem::renameat2(const std::string& from, const std::string& to, unsigned flags) {
  return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags);
}
int FileSystem::link(const std::string& from, const std::string& to) {
  return ::link(from.c_str(), to.c_str());
}
int FileSystem::unlink(const std::string& path) { return ::unlink(path.c_str()); }
int FileSystem::mkdir(const std::string& path, mode_t mode) { return ::mkdir(path.c_str(), mode); }

void write_fully(FileSystem& system, int descriptor, std::span<const std::byte> bytes,
                 std::uint64_t offset, const std::string& name) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const std::size_t most = std::min(bytes.size() - done, std::size_t{1} << 30);
    const ssize_t n = uninterrupted([&] {
      return system.pwrite(descriptor, bytes.data() + done, most,
                           static_cast<off_t>(offset + done));
    });
    // A file takes at least one byte or says why not. Asking again might never end.
    const int error = n < 0 ? errno : ENOSPC;
    if (n <= 0) throw IoError(concat("cannot write at byte ", offset + done), name, error);
    done += static_cast<std::size_t>(n);
  }
}

void write_in_order(FileSystem& system, int descriptor, std::span<const std::byte> bytes,
                    std::uint64_t offset, const std::string& name) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t n = uninterrupted(
        [&] { return system.write(descriptor, bytes.data() + done, bytes.size() - done); });
    if (n <= 0)
      throw IoError(concat("cannot write at byte ", offset + done), name, n < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(n);
  }
}

int sync_folder(FileSystem& system, const std::string& folder) {
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const int descriptor = uninterrupted([&] { return system.open(folder, flags, 0); });
  if (descriptor < 0) return errno;
  // EINVAL: folders of this file system need no syncing.
  const int error = system.fsync(descriptor) != 0 && errno != EINVAL ? errno : 0;
  system.close(descriptor);
  return error;
}

Lock try_lock(FileSystem& system, int descriptor) {
  if (uninterrupted([&] { return system.flock(descriptor, LOCK_EX | LOCK_NB); }) == 0)
    return Lock::held;
  if (errno == EWOULDBLOCK) return Lock::of_another;
  if (errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS) return Lock::not_supported;
  return Lock::failed;
}

}  // namespace tenon
