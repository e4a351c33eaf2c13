// FileSystem: the system calls that writing files is made of, so that tests can make any of them
// fail. Each does what the call of its name does: -1 and errno if it failed.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/detail/api.h"

namespace tenon {

class TENON_API FileSystem {
 public:
  FileSystem() = default;
  virtual ~FileSystem();
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  // The real one.
  static FileSystem& system();

  virtual int open(const std::string& path, int flags, mode_t mode);
  virtual int dup(int descriptor);  // closed on exec
  virtual ssize_t write(int descriptor, const void* bytes, std::size_t count);
  virtual ssize_t pwrite(int descriptor, const void* bytes, std::size_t count, off_t offset);
  // Mode 0. Not posix_fallocate, which writes into every block where the system cannot do it.
  virtual int fallocate(int descriptor, off_t size);
  virtual int fsync(int descriptor);
  virtual int close(int descriptor);
  virtual int flock(int descriptor, int operation);

  virtual int fchmod(int descriptor, mode_t mode);
  virtual int fchown(int descriptor, uid_t owner, gid_t group);
  virtual int fstat(int descriptor, struct stat* facts);
  virtual int lstat(const std::string& path, struct stat* facts);
  virtual int stat(const std::string& path, struct stat* facts);
  virtual ssize_t readlink(const std::string& path, char* into, std::size_t size);
  virtual int access(const std::string& path, int mode);

  virtual int rename(const std::string& from, const std::string& to);
  virtual int renameat2(const std::string& from, const std::string& to, unsigned flags);
  virtual int link(const std::string& from, const std::string& to);
  virtual int unlink(const std::string& path);
  virtual int mkdir(const std::string& path, mode_t mode);
};

// What a call returns that is made again as long as a signal interrupts it. Not for close, which
// has closed, and not for fsync, which may have forgotten what it could not write.
template <class Call>
auto uninterrupted(Call&& call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// All these bytes at that offset, from any thread. The name is for the IoError.
TENON_API void write_fully(FileSystem& system, int descriptor, std::span<const std::byte> bytes,
                           std::uint64_t offset, const std::string& name);

// The same one behind the other, for what has no offsets: a pipe, a terminal. `offset` is where
// they are in all that is written, for the message.
TENON_API void write_in_order(FileSystem& system, int descriptor, std::span<const std::byte> bytes,
                              std::uint64_t offset, const std::string& name);

// Makes the names in a folder last. 0, or the error; file systems whose folders need no syncing
// give none.
TENON_API int sync_folder(FileSystem& system, const std::string& folder);

// Whether this process has the file or folder for itself now.
enum class Lock { held, of_another, not_supported, failed };
TENON_API Lock try_lock(FileSystem& system, int descriptor);

}  // namespace tenon
