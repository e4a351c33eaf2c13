// Beneath: files below a folder, whoever changes names and links meanwhile.
//
// Note [Opening beneath a folder]
// Looking where a path leads and then opening it gives somebody time in between. So the folder is
// opened once, and what a name leads to is walked to from there, one part after another, each
// opened in the folder before it and never through a link. Where a link is, its text is read and
// walked to in the same way, if it stays below the folder or one of those that links may lead into.
// The kernel's openat2 does that for one folder, but neither for links between two nor for links
// whose text is a whole path.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

class Beneath {
 public:
  // The folder a path names, links followed: who named it chose it. IoError if there is none.
  explicit Beneath(const std::string& folder);
  ~Beneath();
  Beneath(const Beneath&) = delete;
  Beneath& operator=(const Beneath&) = delete;

  const std::string& path() const noexcept;  // without links
  // Links may lead into this folder, too, which is at a path relative to ours and is no link
  // itself. Nothing happens if it is not there.
  void allow(const std::string& relative);

  // A descriptor for reading the file of that name, which may be several parts long. -1 and errno
  // if there is none, EXDEV if it is a link to somewhere else. `parts` is how many parts of names
  // it took, those of links included; ELOOP beyond 512.
  int open(std::string_view name, std::uint64_t& parts) const;
  // The same wherever links lead. Walked in the same way: the kernel would go through forty links
  // of thousands of parts, and not say so.
  int open_anywhere(std::string_view name, std::uint64_t& parts) const;

 private:
  struct Folder;
  class Walk;
  std::vector<std::shared_ptr<const Folder>> roots_;  // ours is the first
};

}  // namespace tenon
