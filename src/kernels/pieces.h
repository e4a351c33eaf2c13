// Operands and results that are converted on the way, a piece at a time. For kernels that calculate
// in one dtype.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cast.h"
#include "tenon/dtype.h"

namespace tenon {

inline constexpr std::int64_t kPiece = 512;
inline constexpr std::size_t kWidest = 16;

// An operand whose elements are calculated with in another dtype than they have: a piece of them at
// a time is converted into a buffer that stays in the first-level cache.
class Source {
 public:
  Source(DType wanted, DType dtype)
      : converts_(wanted != dtype), size_(itemsize(wanted)), cast_(wanted, dtype) {}

  bool converts() const noexcept { return converts_; }
  // Points `from` and its stride at elements of the wanted dtype. An element that is repeated is
  // converted once.
  void fetch(const std::byte*& from, std::int64_t& stride, std::int64_t n) {
    if (!converts_) return;
    cast_({buffer_, size_, from, stride, stride == 0 ? 1 : n});
    from = buffer_;
    stride = stride == 0 ? 0 : size_;
  }

 private:
  bool converts_;
  std::int64_t size_;
  Cast cast_;
  alignas(64) std::byte buffer_[kPiece * kWidest];
};

// The same for the result: calculated into a buffer, and converted from there.
class Sink {
 public:
  Sink(DType calculated, DType dtype)
      : converts_(calculated != dtype), size_(itemsize(calculated)), cast_(dtype, calculated) {}

  bool converts() const noexcept { return converts_; }
  std::byte* buffer() noexcept { return buffer_; }
  std::int64_t stride() const noexcept { return size_; }
  void put(std::byte* to, std::int64_t stride, std::int64_t n) {
    cast_({to, stride, buffer_, size_, n});
  }

 private:
  bool converts_;
  std::int64_t size_;
  Cast cast_;
  alignas(64) std::byte buffer_[kPiece * kWidest];
};

}  // namespace tenon
