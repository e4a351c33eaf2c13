// TemporaryFile: a file beside the one it will replace, removed with its object unless it has
// become that file.
//
// Its name is that of the other file and a slot: .NAME.tenon-tmp0 to .NAME.tenon-tmp15. Whoever
// writes it holds a lock on it, which the system drops when the process ends, however it ends. So
// a file without a lock was left by a process that was killed, and the next one removes it.
//
// Somebody else may hold all slots, with files that are locked or with folders, and the names are
// known in advance. Then the name ends in a random number instead, which nobody can take before:
// .NAME.tenon-tmp-0123456789abcdef.
#pragma once

#include <string>

#include "io/write/file_system.h"
#include "tenon/detail/api.h"

namespace tenon {

class TENON_API TemporaryFile {
 public:
  // Beside that file, and the leftovers there are removed. IoError, which calls it `shown`.
  TemporaryFile(FileSystem& system, const std::string& target, mode_t mode,
                const std::string& shown);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  // The file takes that name, and is closed. False and errno if it cannot be: it stays what it was.
  bool become(const std::string& target);
  // The same if nothing has that name, not even a symbolic link: errno is EEXIST if something does,
  // and it stays what it is. File systems that can only replace get a second name for the file
  // (link) and lose the first.
  bool become_new(const std::string& target);

 private:
  bool take_slot(mode_t mode, const std::string& shown);
  bool take_random(const std::string& target, mode_t mode, const std::string& shown);
  void close() noexcept;
  void discard() noexcept;

  FileSystem& system_;
  std::string name_;
  int descriptor_ = -1;
};

// Those in a folder that stand beside files whose names begin and end like this, whichever they
// are. One that somebody writes stays, and so does what cannot be removed.
void remove_leftovers(FileSystem& system, const std::string& folder, const std::string& stem,
                      const std::string& ending);

}  // namespace tenon
