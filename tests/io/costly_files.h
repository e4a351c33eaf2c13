// Files that use their parts again and again, and what is done with a file: for the tests of what a
// reading may cost.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "io/document.h"

namespace tenon {

// A structure of about n uses of something that is there once, and grows with n too.
struct Structure {
  const char* name;
  std::function<std::string(std::size_t n)> program;  // of an archive with four bytes of storage
  bool inert = false;
  bool endless = false;    // it doubles with every level
  bool is_header = false;  // the program is the header of a safetensors file without data
  bool on_meta = false;    // it has tensors without bytes, which safetensors does not hold
};
const std::vector<Structure>& costly_structures();
std::ostream& operator<<(std::ostream& out, const Structure& structure);
// The whole file.
std::vector<std::byte> archive_of(const Structure& structure, std::size_t n);

// What is done with a file.
enum class Use : std::uint8_t {
  open,  // and all tensors named
  load_a_part,
  to_pth,
  to_safetensors,
};
inline constexpr Use kUses[] = {Use::open, Use::load_a_part, Use::to_pth, Use::to_safetensors};
// Inert objects are not written.
inline bool is_possible(const Structure& structure, Use use) {
  return !(structure.inert && use > Use::load_a_part) &&
         !(structure.on_meta && use == Use::to_safetensors);
}
void use_file(Use use, Document& document, ReadMeter& meter);

}  // namespace tenon
