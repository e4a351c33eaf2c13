// HeldFolder: a file system whose calls on files in one folder reach that folder, whatever its name
// leads to meanwhile.
//
// Note [Writing into a held folder]
// Somebody may exchange a folder for a symbolic link while files are written into it, and have them
// written, renamed and removed where the link leads. So the folder is opened once, and paths that
// begin with its name go by way of the descriptor. What there is for that and takes any call is
// /proc/self/fd. Where the system has none, paths are what they were, and only is_held() tells.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "io/write/file_system.h"

namespace tenon {

class HeldFolder final : public FileSystem {
 public:
  // Until hold() it is only the other system.
  HeldFolder(FileSystem& system, std::string folder)
      : system_(system), folder_(std::move(folder)) {}

  // By way of an open descriptor of the folder, which stays the caller's and open. False and errno
  // if it cannot be looked at.
  bool hold(int descriptor) {
    if (uninterrupted([&] { return system_.fstat(descriptor, &held_); }) != 0) return false;
    const std::string way = concat("/proc/self/fd/", descriptor, "/.");
    struct stat facts{};
    if (uninterrupted([&] { return system_.stat(way, &facts); }) == 0 && is_held(facts)) way_ = way;
    return true;
  }
  bool holds() const noexcept { return held_.st_ino != 0; }
  // Whether these facts, of what has its name, are those of the folder that is held.
  bool is_held(const struct stat& facts) const noexcept {
    return facts.st_dev == held_.st_dev && facts.st_ino == held_.st_ino;
  }
  // The path that reaches the folder, or what is in it.
  std::string way_to(const std::string& path) const {
    if (way_.empty() || !path.starts_with(folder_)) return path;
    if (path.size() == folder_.size()) return way_;
    return path[folder_.size()] == '/' ? way_ + path.substr(folder_.size()) : path;
  }

  int open(const std::string& path, int flags, mode_t mode) override {
    return system_.open(way_to(path), flags, mode);
  }
  int dup(int descriptor) override { return system_.dup(descriptor); }
  ssize_t write(int descriptor, const void* bytes, std::size_t count) override {
    return system_.write(descriptor, bytes, count);
  }
  ssize_t pwrite(int descriptor, const void* bytes, std::size_t count, off_t offset) override {
    return system_.pwrite(descriptor, bytes, count, offset);
  }
  int fallocate(int descriptor, off_t size) override { return system_.fallocate(descriptor, size); }
  int fsync(int descriptor) override { return system_.fsync(descriptor); }
  int close(int descriptor) override { return system_.close(descriptor); }
  int flock(int descriptor, int operation) override { return system_.flock(descriptor, operation); }

  int fchmod(int descriptor, mode_t mode) override { return system_.fchmod(descriptor, mode); }
  int fchown(int descriptor, uid_t owner, gid_t group) override {
    return system_.fchown(descriptor, owner, group);
  }
  int fstat(int descriptor, struct stat* facts) override {
    return system_.fstat(descriptor, facts);
  }
  int lstat(const std::string& path, struct stat* facts) override {
    return system_.lstat(way_to(path), facts);
  }
  int stat(const std::string& path, struct stat* facts) override {
    return system_.stat(way_to(path), facts);
  }
  ssize_t readlink(const std::string& path, char* into, std::size_t size) override {
    return system_.readlink(way_to(path), into, size);
  }
  int access(const std::string& path, int mode) override {
    return system_.access(way_to(path), mode);
  }

  int rename(const std::string& from, const std::string& to) override {
    return system_.rename(way_to(from), way_to(to));
  }
  int renameat2(const std::string& from, const std::string& to, unsigned flags) override {
    return system_.renameat2(way_to(from), way_to(to), flags);
  }
  int link(const std::string& from, const std::string& to) override {
    return system_.link(way_to(from), way_to(to));
  }
  int unlink(const std::string& path) override { return system_.unlink(way_to(path)); }
  int mkdir(const std::string& path, mode_t mode) override {
    return system_.mkdir(way_to(path), mode);
  }

 private:
  FileSystem& system_;
  std::string folder_;
  std::string way_;  // nothing: there is none
  struct stat held_{};
};

}  // namespace tenon
