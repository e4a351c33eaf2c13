// One of two elements, as a third says.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/loop.h"
#include "tenon/detail/api.h"

namespace tenon {

// out = condition ? a : b over the shape. The condition is of bytes that are zero or not; the
// others have the same itemsize. a and b may be the same elements as out.
TENON_API void select_elements(std::span<const std::int64_t> shape, const Operand& out,
                               const Operand& condition, const Operand& a, const Operand& b);

}  // namespace tenon
