// Writing one element everywhere.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/loop.h"
#include "tenon/detail/api.h"

namespace tenon {

// element: itemsize bytes.
TENON_API void fill_elements(std::span<const std::int64_t> shape, const Operand& dst,
                             const std::byte* element);

}  // namespace tenon
