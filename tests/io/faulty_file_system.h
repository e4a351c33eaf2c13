// A file system whose calls fail when a test wants it.
#pragma once

#include <cerrno>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "io/write/file_system.h"
#include "tenon/error.h"

namespace tenon {

// Lets some calls fail: each is asked about by its name, and fails with the errno that comes back.
// From any thread; the question is asked on one at a time.
class FaultyFileSystem : public FileSystem {
 public:
  using Fault = std::function<int(std::string_view call)>;
  explicit FaultyFileSystem(Fault fault) : fault_(std::move(fault)) {}
  bool renamed = false;
  bool cut_writes = false;  // instead of failing, a write writes a part
  std::vector<std::string> calls;

  int open(const std::string& path, int flags, mode_t mode) override {
    return fails("open") ? -1 : FileSystem::open(path, flags, mode);
  }
  int dup(int descriptor) override { return fails("dup") ? -1 : FileSystem::dup(descriptor); }
  ssize_t pwrite(int descriptor, const void* bytes, std::size_t count, off_t offset) override {
    if (!fails("pwrite")) return FileSystem::pwrite(descriptor, bytes, count, offset);
    if (cut_writes) return FileSystem::pwrite(descriptor, bytes, (count + 1) / 2, offset);
    return -1;
  }
  int fallocate(int descriptor, off_t size) override {
    return fails("fallocate") ? -1 : FileSystem::fallocate(descriptor, size);
  }
  // Waiting for the disk would only cost time.
  int fsync(int /*descriptor*/) override { return fails("fsync") ? -1 : 0; }
  int close(int descriptor) override {
    const bool failing = fails("close");
    const int error = errno;
    const int result = FileSystem::close(descriptor);  // as the system: closed, whatever it says
    if (!failing) return result;
    errno = error;
    return -1;
  }
  int flock(int descriptor, int operation) override {
    return fails("flock") ? -1 : FileSystem::flock(descriptor, operation);
  }
  int fchmod(int descriptor, mode_t mode) override {
    return fails("fchmod") ? -1 : FileSystem::fchmod(descriptor, mode);
  }
  int fchown(int descriptor, uid_t owner, gid_t group) override {
    return fails("fchown") ? -1 : FileSystem::fchown(descriptor, owner, group);
  }
  int fstat(int descriptor, struct stat* facts) override {
    return fails("fstat") ? -1 : FileSystem::fstat(descriptor, facts);
  }
  int lstat(const std::string& path, struct stat* facts) override {
    return fails("lstat") ? -1 : FileSystem::lstat(path, facts);
  }
  int stat(const std::string& path, struct stat* facts) override {
    return fails("stat") ? -1 : FileSystem::stat(path, facts);
  }
  ssize_t readlink(const std::string& path, char* into, std::size_t size) override {
    return fails("readlink") ? -1 : FileSystem::readlink(path, into, size);
  }
  int access(const std::string& path, int mode) override {
    return fails("access") ? -1 : FileSystem::access(path, mode);
  }
  int rename(const std::string& from, const std::string& to) override {
    if (fails("rename")) return -1;
    const int result = FileSystem::rename(from, to);
    renamed = renamed || result == 0;
    return result;
  }
  int renameat2(const std::string& from, const std::string& to, unsigned flags) override {
    if (fails("renameat2")) return -1;
    const int result = FileSystem::renameat2(from, to, flags);
    renamed = renamed || result == 0;
    return result;
  }
  int link(const std::string& from, const std::string& to) override {
    if (fails("link")) return -1;
    const int result = FileSystem::link(from, to);
    renamed = renamed || result == 0;
    return result;
  }
  int unlink(const std::string& path) override {
    return fails("unlink") ? -1 : FileSystem::unlink(path);
  }
  int mkdir(const std::string& path, mode_t mode) override {
    return fails("mkdir") ? -1 : FileSystem::mkdir(path, mode);
  }

 private:
  bool fails(std::string_view call) {
    const std::lock_guard one_at_a_time(mutex_);
    calls.emplace_back(call);
    const int error = fault_(call);
    if (error != 0) errno = error;
    return error != 0;
  }
  Fault fault_;
  std::mutex mutex_;
};

// The errno of every call of that name.
inline FaultyFileSystem::Fault always(std::string name, int error) {
  return
      [name = std::move(name), error](std::string_view call) { return call == name ? error : 0; };
}

// The errno of the IoError that f throws, which says all these parts.
template <class F, class... Parts>
int io_error(F&& f, const Parts&... parts) {
  try {
    f();
  } catch (const IoError& error) {
    for (const std::string& part : std::vector<std::string>{parts...})
      EXPECT_THAT(error.what(), testing::HasSubstr(part));
    return error.error_number();
  }
  ADD_FAILURE() << "no exception";
  return 0;
}

}  // namespace tenon
