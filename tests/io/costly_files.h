// Files that use their parts again and again, and what is done with a file: for the tests of what a
// reading may cost.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "io/formats/document.h"
#include "support/temp_dir.h"

namespace tenon {

// What is done with a file.
enum class Use : std::uint8_t {
  open,  // and all tensors named
  load,
  load_a_part,
  to_pth,
  to_safetensors,
};
inline constexpr Use kUses[] = {Use::open, Use::load, Use::load_a_part, Use::to_pth,
                                Use::to_safetensors};

// Of a folder with an index: names and contents, or a name before it that the same file has.
struct FileOfFolder {
  std::string name, content, same_as = {};
};
using Folder = std::vector<FileOfFolder>;

// A structure of about n uses of something that is there once, and grows with n too.
struct Structure {
  const char* name;
  std::function<std::string(std::size_t n)> program = {};  // of an archive
  // Of the archive. Without this there is one of four bytes.
  std::function<std::vector<std::string>(std::size_t n)> storages = {};
  std::function<Folder(std::size_t n)> folder = {};  // instead of an archive
  bool inert = false;
  std::vector<Use> endless = {};  // what doubles with every level
  bool is_header = false;         // the program is the header of a safetensors file without data
  bool on_meta = false;           // it has tensors without bytes, which safetensors does not hold
  bool is_file = false;           // the program is all of the file
  bool deflated = false;          // the program and the storages are
  const char* refusal = nullptr;  // of any size, for what it is: a part of the message
  // Where it dominates its file: what is spent there and at the double is compared.
  std::size_t size = 500;
  // What costs more than its file grows. It is refused beyond some size.
  std::vector<Use> multiplied = {};
  // There it is refused already if the limits have a small constant part. 0: it grows as its file
  // does, and what that costs may be warranted for ever.
  std::size_t refused_at = multiplied.empty() ? 0 : 4000;
};
const std::vector<Structure>& costly_structures();
std::ostream& operator<<(std::ostream& out, const Structure& structure);

// A file with such a structure, or a folder.
class CostlyFile {
 public:
  CostlyFile(const Structure& structure, std::size_t n);
  // Charged to the meter, if there is one, and else to the document's own.
  std::unique_ptr<Document> open(const ReadLimits& limits, ReadMeter* meter = nullptr) const;
  std::uint64_t stored() const noexcept { return stored_; }  // bytes of all files

 private:
  bool inert_;
  std::uint64_t stored_ = 0;
  std::vector<std::byte> bytes_;
  std::unique_ptr<TempDir> folder_;
};

// Inert objects are not written.
inline bool is_possible(const Structure& structure, Use use) {
  return !(structure.inert && use > Use::load_a_part) &&
         !(structure.on_meta && use == Use::to_safetensors);
}
void use_file(Use use, Document& document, ReadMeter& meter);

}  // namespace tenon
