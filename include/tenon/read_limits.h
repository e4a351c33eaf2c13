// ReadLimits: how much a reading may cost, for the bytes that the file has.
//
// A file of a few kilobytes can describe values that take gigabytes or hours, by using its parts
// again and again. Everything that opening or loading a checkpoint loops over, copies or hashes is
// counted, in steps and in bytes of memory, and what passes these limits is a FormatError. Bytes
// of tensors that the file holds as they are do not count. Files that PyTorch or safetensors write
// stay far below; for one that does not, and that is trusted, the limits can be raised:
//
//   load("odd.pth", {.limits = ReadLimits().times(10)});
#pragma once

#include <cstdint>

namespace tenon {

struct ReadLimits {
  // Bytes of memory beside tensors that are read as they are: so many, and so many more for each
  // byte of the file as it is stored (deflated, if it is; the files of an index together).
  std::uint64_t memory = std::uint64_t{48} << 20;
  std::uint64_t memory_per_byte = 20;
  // Steps of a few nanoseconds each: an item that is looked at, or eight bytes that are hashed.
  std::uint64_t steps = std::uint64_t{1} << 25;
  std::uint64_t steps_per_byte = 64;

  // All of them multiplied.
  constexpr ReadLimits times(std::uint64_t factor) const noexcept {
    const auto product = [&](std::uint64_t limit) {
      return factor != 0 && limit > ~std::uint64_t{0} / factor ? ~std::uint64_t{0} : limit * factor;
    };
    return {product(memory), product(memory_per_byte), product(steps), product(steps_per_byte)};
  }
};

}  // namespace tenon
