// The derivatives of digamma.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/elementwise.h"
#include "tenon/detail/api.h"

namespace tenon {

// The n-th derivative of digamma at x, for n >= 1. At the poles (0, -1, -2, ...) the infinity that
// it tends to, from above for n = 2, 4, ...; NaN at -inf and NaN.
TENON_API double polygamma(std::int64_t n, double x);

// out = polygamma(n, a) over the shape, calculated in double. Both are of floating dtypes.
TENON_API void apply_polygamma(std::int64_t n, std::span<const std::int64_t> shape,
                               const TypedOperand& out, const TypedOperand& a);

}  // namespace tenon
