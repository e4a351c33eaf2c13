// Operands and results that are converted on the way, a piece at a time. For kernels that calculate
// in one dtype.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/cast.h"
#include "kernels/loop.h"
#include "tenon/dtype.h"

namespace tenon {

inline constexpr std::int64_t kPiece = 512;
inline constexpr std::size_t kWidest = 16;

// An operand whose elements are calculated with in another dtype than they have: a piece of them at
// a time is converted into a buffer that stays in the first-level cache.
class OperandPieces {
 public:
  OperandPieces(DType wanted, DType dtype)
      : converts_(wanted != dtype), size_(itemsize(wanted)), cast_(wanted, dtype) {}

  // Points `from` and its stride at elements of the wanted dtype. An element that is repeated is
  // converted once.
  void fetch(std::byte*& from, std::int64_t& stride, std::int64_t n) {
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
class ResultPieces {
 public:
  ResultPieces(DType calculated, DType dtype)
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

// Calls row(pointers, strides, n) over the operands, of which the first is written. They are of
// these dtypes; the row reads elements of `computed` and writes elements of `result`, and where
// those are others, it is given pieces that are converted on the way.
template <std::size_t N, class Row>
void run_converted(const Loop<N>& loop, const std::array<DType, N>& dtypes, DType computed,
                   DType result, const Row& row) {
  const bool same =
      dtypes[0] == result &&
      std::all_of(dtypes.begin() + 1, dtypes.end(), [&](DType dtype) { return dtype == computed; });
  if (same) return loop.run_parallel(row);
  using Pointers = typename Loop<N>::Pointers;
  using Strides = typename Loop<N>::Strides;
  loop.run_parallel([&](const Pointers& at, const Strides& strides, std::int64_t n) {
    const auto sources = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::array<OperandPieces, N - 1>{OperandPieces(computed, dtypes[I + 1])...};
    };
    std::array<OperandPieces, N - 1> operands = sources(std::make_index_sequence<N - 1>());
    ResultPieces sink(result, dtypes[0]);
    for (std::int64_t done = 0; done < n; done += kPiece) {
      const std::int64_t count = std::min(kPiece, n - done);
      Pointers from;
      Strides steps = strides;
      for (std::size_t i = 0; i < N; ++i) from[i] = at[i] + done * strides[i];
      for (std::size_t i = 1; i < N; ++i) operands[i - 1].fetch(from[i], steps[i], count);
      std::byte* const to = from[0];
      if (sink.converts()) {
        from[0] = sink.buffer();
        steps[0] = sink.stride();
      }
      row(from, steps, count);
      if (sink.converts()) sink.put(to, strides[0], count);
    }
  });
}

}  // namespace tenon
