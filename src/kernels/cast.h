// Converting a row of elements from one dtype to another.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cast_simd.h"
#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

struct CastRow {
  std::byte* dst;
  std::int64_t dst_stride;  // in bytes
  const std::byte* src;
  std::int64_t src_stride;  // in bytes
  std::int64_t n;
};

// A conversion between two dtypes, neither of them quantised, as PyTorch rounds it
// (base/element_cast.h).
//
// Note [Casts go through a wide type]
// A row is read into one of six wide types (int64, uint64, float, double and the two complex ones)
// in pieces that stay in the first-level cache, transformed there, and written from it. That is
// what PyTorch's conversions amount to, and takes 21 + 6 * 21 loops where a loop for each pair
// would take 441.
class TENON_API Cast {
 public:
  Cast(DType dst, DType src, bool conj = false, bool neg = false);
  // `stream`: there is more to write than the caches hold, and nobody will read it soon.
  void operator()(const CastRow& row, bool stream = false) const;

 private:
  using Read = void (*)(void* wide, const std::byte* src, std::int64_t stride, std::int64_t n);
  using Transform = void (*)(void* wide, std::int64_t n);
  using FlipImaginary = void (*)(std::byte* dst, std::int64_t stride, std::int64_t n);
  using Write = void (*)(std::byte* dst, std::int64_t stride, const void* wide, std::int64_t n);

  PackedCast packed_ = nullptr;  // for rows that are packed on both sides
  std::int64_t dst_size_, src_size_;
  Read read_;
  Transform zero_nans_ = nullptr;
  Transform conj_ = nullptr;
  Transform neg_ = nullptr;
  Write write_;
  FlipImaginary flip_ = nullptr;
};

}  // namespace tenon
