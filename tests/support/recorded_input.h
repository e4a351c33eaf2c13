// Inputs that need no recording, and what is recorded of results: sums instead of tensors. The
// formulas are those of tests/record/sums.py.
#pragma once

#include "support/recorded.h"
#include "tenon/tenon.h"

namespace tenon {

// What goes in: no two elements are the same.
inline Tensor recorded_input(const Shape& shape, DType dtype = float64, double shift = 0) {
  return ((arange(shape.numel(), {.dtype = float64}) * 1.37 + 0.2 + shift).sin() * 2 + shift)
      .reshape(shape)
      .to(dtype);
}
// What is written down of a result: a sum to which each element adds another part of it.
inline double recorded_sum(const Tensor& tensor) {
  const Tensor weights = (arange(tensor.numel(), {.dtype = float64}) * 0.7 + 0.3).sin();
  return (tensor.detach().to(float64).reshape({-1}) * weights).sum().item<double>();
}

}  // namespace tenon
