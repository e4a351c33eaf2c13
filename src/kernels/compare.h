// Comparing elements.
#pragma once

#include <span>

#include "kernels/loop.h"
#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

// Whether all elements are equal as numbers: 0 equals -0, and NaN equals nothing. Quantised ones by
// their bits.
TENON_API bool all_equal(std::span<const std::int64_t> shape, const Operand& a, const Operand& b,
                         DType dtype);

}  // namespace tenon
