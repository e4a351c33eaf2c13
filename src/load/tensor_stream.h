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

// Into a tensor with as many elements, on any device and in any order in memory.
void read_into(const Checkpoint& file, std::size_t index, const Tensor& tensor, bool verify,
               const PieceRead& read);
// Bytes that it takes meanwhile, beside the tensor of that dtype and device.
std::uint64_t memory_to_read(const Checkpoint& file, std::size_t index, DType dtype,
                             const Device& device);
// Reads and compares, and keeps nothing.
void read_through(const Checkpoint& file, std::size_t index, const PieceRead& read);

}  // namespace tenon
