// One tensor of a checkpoint, read a piece at a time into memory of another dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "tenon/checkpoint.h"
#include "tenon/tensor.h"

namespace tenon {

// Told the bytes of each piece; may throw to end it.
using PieceRead = std::function<void(std::uint64_t bytes)>;

// Into a packed tensor on the CPU with as many elements.
void read_into(const Checkpoint& file, std::size_t index, const Tensor& packed, bool verify,
               const PieceRead& read);
// The same into any tensor, if need be through a packed one.
void read_into_any(const Checkpoint& file, std::size_t index, const Tensor& tensor, bool verify,
                   const PieceRead& read);
// Reads and compares, and keeps nothing.
void read_through(const Checkpoint& file, std::size_t index, const PieceRead& read);

}  // namespace tenon
