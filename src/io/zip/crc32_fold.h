// CRC-32 with the widest carry-less multiplication a machine has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon {

// Bytes that have the same remainder as some longer stretch of a message.
struct Folded {
  std::byte bytes[256];
  std::size_t used = 0;      // of these
  std::size_t consumed = 0;  // of the stretch
};

// Folds the beginning of the message, with the register's value before it, into few bytes: the
// checksum of these, begun with a register of 0, and of what was not consumed is the message's.
// Consumes nothing if the machine has no such instructions, or the message is short.
Folded fold_crc32(std::span<const std::byte> message, std::uint32_t register_before);
inline constexpr std::size_t kShortestToFold = 1024;

// Every way this machine can, the best first: for tests.
using Crc32Fold = Folded (*)(std::span<const std::byte>, std::uint32_t) noexcept;
std::vector<Crc32Fold> crc32_folds();

}  // namespace tenon
