// Weights in the order that products and convolutions read them fastest.
//
//   const NoGradScope inference;
//   for (;;) answer(net(request()));        // weights are rearranged at first use, and kept
//   drop_packed_weights();                  // gives the memory back; it is used again as needed
//
// A copy belongs to the bytes it was made of. It is gone as soon as an operator writes to them,
// through whatever tensor or view, or the last tensor of them goes; a tensor that is given other
// bytes (set_data, swap_tensors, a load that assigns) has no part in it any more. Where a tensor
// finds no memory, all copies are dropped before OutOfMemoryError is thrown.
//
// Whoever writes through a pointer (data()) to a weight that has been used calls
// drop_packed_weights() afterwards. A weight that is overwritten as a whole is noticed all the
// same; a few elements may not be.
#pragma once

#include <cstddef>

#include "tenon/detail/api.h"

namespace tenon {

// Bytes that copies take up now. They do not count as memory_allocated().
TENON_API std::size_t packed_weights_bytes() noexcept;
// Frees them all. Those that are being read on other threads live until that is done.
TENON_API void drop_packed_weights() noexcept;
// No more than that are kept: by default a quarter of the memory that the machine has, and the
// process's control group allows. What is kept already stays. With 0 weights are rearranged each
// time they are used, or read as they are. Where there is no memory for another copy, all are
// dropped; if that is not enough, the weight is read as it is.
TENON_API std::size_t packed_weights_limit() noexcept;
TENON_API void set_packed_weights_limit(std::size_t bytes) noexcept;

}  // namespace tenon
