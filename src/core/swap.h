// swap_tensors in two halves, for those who swap many tensors or none.
#pragma once

#include <vector>

#include "tenon/detail/api.h"
#include "tenon/tensor.h"

namespace tenon {

// SwapError if the two cannot be swapped (see swap_tensors); changes nothing.
TENON_API void check_swap(const Tensor& a, const Tensor& b);
// The part of it that user code which has run since can change: SwapError for live views and saves.
// Runs no user code.
TENON_API void check_swap_counts(const Tensor& a, const Tensor& b);
// Swaps two that can be.
TENON_API void swap_checked(const Tensor& a, const Tensor& b) noexcept;
// Moves from one body to another what belongs to the tensor rather than to its data: hooks and
// attributes, and the grad if it fits. After preparing it, and with nothing added to the first
// since, it asks for no memory.
TENON_API void prepare_carry_over(const Body& from, Body& to);
TENON_API void carry_over(Body& from, Body& to);

// The tensors that somebody else swaps on this thread while there is one: a load has decided about
// what it found in them.
class TENON_API SwapLog {
 public:
  SwapLog() noexcept;
  ~SwapLog();
  SwapLog(const SwapLog&) = delete;
  SwapLog& operator=(const SwapLog&) = delete;

  // By their cells. One that is gone may be among them.
  const std::vector<const detail::Cell*>& cells() const noexcept { return cells_; }
  void forget() noexcept { cells_.clear(); }

 private:
  friend void swap_tensors(const Tensor& a, const Tensor& b);

  std::vector<const detail::Cell*> cells_;
  SwapLog* outer_;
};

}  // namespace tenon
