// Softmax over the middle of three dimensions, of numbers that are packed.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

struct SoftmaxShape {
  std::int64_t outer, size, inner;
  bool log;  // its logarithm
};

TENON_API void softmax_forward(const SoftmaxShape& shape, float* out, const float* in);
TENON_API void softmax_forward(const SoftmaxShape& shape, double* out, const double* in);
// From the gradient of the result, and the result.
TENON_API void softmax_backward(const SoftmaxShape& shape, float* out, const float* grad,
                                const float* result);
TENON_API void softmax_backward(const SoftmaxShape& shape, double* out, const double* grad,
                                const double* result);

}  // namespace tenon
