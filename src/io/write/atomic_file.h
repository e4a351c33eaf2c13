// AtomicFile: a file that appears whole or not at all. It is written under another name beside its
// place and takes its own name at the end, in one step. Until then, whatever fails or is killed,
// the old file is what it was; whoever has it open or mapped keeps its bytes even after.
//
// Replacing keeps the mode of the old file, but for its set-uid, set-gid and sticky bits, and its
// owner and group where the system allows it. A symbolic link stays: the file it leads to is
// replaced. Without replacing, whatever has the name is an error, a link too, when the writing
// begins and when the file takes its name, which the system decides in one step. A relative path
// needs the working directory to stay the same until the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "io/write/file_system.h"
#include "io/write/temporary_file.h"
#include "tenon/detail/api.h"

namespace tenon {

// IoError with EEXIST if anything has that name, also a link to nothing.
void check_free(FileSystem& system, const std::string& path);

// Every failure is an IoError that names the step. The destructor removes what is not published.
class TENON_API AtomicFile {
 public:
  // Durable: once it has its name it survives a power cut.
  AtomicFile(FileSystem& system, const std::string& path, bool durable, bool replace = true);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& path() const noexcept { return path_; }  // as given

  // Asks for the room of a file of that size, so that a full disk is an error before anything is
  // written. File systems that cannot do that are left alone.
  void reserve(std::uint64_t size);
  // From any thread.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const;
  // sync() and publish(). If the folder cannot be synced the IoError says that the file is there.
  void commit();

  // The halves of commit(), for files that should appear together: first sync() all of them, which
  // is where things fail, then publish() all. Each once, and no writing after the first.
  void sync();
  void publish();
  // Whether it has its name, also when the folder could not be synced after that.
  bool is_published() const noexcept { return state_ == State::published; }

 private:
  struct Target;
  AtomicFile(FileSystem& system, const std::string& path, bool durable, bool replace,
             const Target& target);
  static Target find(FileSystem& system, const std::string& path, bool replace);
  void take_after(const struct stat& old);

  enum class State { writing, synced, published, failed };

  FileSystem& system_;
  std::string path_;
  std::string target_;  // the path after all links
  bool durable_, replace_;
  State state_ = State::writing;
  TemporaryFile temporary_;
};

}  // namespace tenon
