// Loop<N>: walking N strided operands of one shape together.
//
// Dimensions are ordered by the strides of the first operand, the one that is written, and
// neighbours that lie in one stretch in all operands become one. Kernels then see rows: a pointer
// and a stride for each operand, and a length.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/inline_vector.h"
#include "base/thread_pool.h"
#include "tenon/shape.h"

namespace tenon {

struct Operand {
  std::byte* data;                        // the first element
  std::span<const std::int64_t> strides;  // in elements; one for each dimension
  std::int64_t itemsize;
};

template <std::size_t N>
class Loop {
 public:
  using Pointers = std::array<std::byte*, N>;
  using Strides = std::array<std::int64_t, N>;  // in bytes

  struct Dim {
    std::int64_t size;
    Strides strides;
  };

  Loop(std::span<const std::int64_t> shape, const std::array<Operand, N>& operands)
      : dims_(shape.size() + 1) {
    for (std::size_t i = 0; i < N; ++i) data_[i] = operands[i].data;
    for (const std::int64_t size : shape) numel_ *= size;
    if (numel_ == 0) return;                        // and the strides may be anything
    for (std::size_t d = shape.size(); d-- > 0;) {  // the last dimension is usually the fastest
      if (shape[d] == 1) continue;
      Dim dim{shape[d], {}};
      for (std::size_t i = 0; i < N; ++i)
        dim.strides[i] = operands[i].strides[d] * operands[i].itemsize;
      insert(dim);
    }
    coalesce();
    if (dims_.empty()) dims_.push_back({1, {}});
  }

  std::int64_t numel() const noexcept { return numel_; }
  std::size_t ndim() const noexcept { return dims_.size(); }
  const Dim& dim(std::size_t d) const noexcept { return dims_[d]; }
  const Pointers& data() const noexcept { return data_; }
  // Changes which dimension is walked second fastest, for kernels that work on two at once.
  void bring_to_second(std::size_t d) { std::swap(dims_[1], dims_[d]); }

  // Calls row(pointers, strides, n) for the elements with numbers [begin, end), counted in the
  // loop's own order.
  template <class Row>
  void run(std::int64_t begin, std::int64_t end, Row&& row) const {
    InlineVector<std::int64_t, kInline> index(dims_.size());
    index.resize(dims_.size());
    Pointers at = data_;
    std::int64_t rest = begin;
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      index[d] = rest % dims_[d].size;
      rest /= dims_[d].size;
      advance(at, d, index[d]);
    }
    for (std::int64_t left = end - begin; left > 0;) {
      const std::int64_t n = std::min(left, dims_[0].size - index[0]);
      row(at, dims_[0].strides, n);
      left -= n;
      if (left == 0) return;
      // On to the first element of the next row.
      advance(at, 0, -index[0]);
      index[0] = 0;
      for (std::size_t d = 1; d < dims_.size(); ++d) {
        advance(at, d, 1);
        if (++index[d] < dims_[d].size) break;
        advance(at, d, -index[d]);
        index[d] = 0;
      }
    }
  }

  // Elements below which handing work to another thread costs more than doing it.
  static constexpr std::int64_t kGrain = 32768;

  // The same over all elements, on as many threads as are worth it.
  template <class Row>
  void run_parallel(Row&& row) const {
    parallel_for(0, numel_, kGrain,
                 [&](std::int64_t begin, std::int64_t end) { run(begin, end, row); });
  }

 private:
  static constexpr std::size_t kInline = 6;

  // Among those there are, fastest first; behind its equals.
  void insert(const Dim& dim) {
    std::size_t at = dims_.size();
    dims_.push_back(dim);
    for (; at > 0 && dim.strides < dims_[at - 1].strides; --at) dims_[at] = dims_[at - 1];
    dims_[at] = dim;
  }

  void advance(Pointers& at, std::size_t d, std::int64_t steps) const noexcept {
    for (std::size_t i = 0; i < N; ++i) at[i] += dims_[d].strides[i] * steps;
  }

  void coalesce() {
    std::size_t kept = 0;
    for (std::size_t d = 1; d < dims_.size(); ++d) {
      Dim& inner = dims_[kept];
      bool joins = true;
      for (std::size_t i = 0; i < N; ++i)
        joins = joins && dims_[d].strides[i] == inner.strides[i] * inner.size;
      if (joins) {
        inner.size *= dims_[d].size;
      } else {
        dims_[++kept] = dims_[d];
      }
    }
    if (!dims_.empty()) dims_.resize(kept + 1);
  }

  InlineVector<Dim, kInline> dims_;
  Pointers data_{};
  std::int64_t numel_ = 1;
};

}  // namespace tenon
