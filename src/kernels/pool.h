// Windows that slide over planes: the largest or the sum of what each of them sees.
//
// A plane is three-dimensional (depth, height, width); pools of fewer dimensions have sizes of 1. A
// window is the product of a stretch along each axis, so that one description fits pools with
// strides and paddings as well as adaptive ones.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

struct PoolStretch {
  std::int64_t first, last;  // [first, last), inside the plane; nothing if first >= last
  std::int64_t step = 1;
  std::int64_t count = 1;  // this axis's factor of what a mean is divided by
};
struct PoolAxis {
  std::int64_t size;                   // of the input
  std::vector<PoolStretch> stretches;  // one for each output
};
struct PoolPlan {
  std::array<PoolAxis, 3> axes;
  std::int64_t planes;
  std::int64_t divisor = 0;  // instead of the counts, unless it is 0

  std::int64_t input_size() const noexcept { return axes[0].size * axes[1].size * axes[2].size; }
  std::int64_t output_size() const noexcept {
    return static_cast<std::int64_t>(axes[0].stretches.size() * axes[1].stretches.size() *
                                     axes[2].stretches.size());
  }
};

TENON_API bool can_max_pool(DType dtype);
TENON_API bool can_average_pool(DType dtype);

// Everything is packed, plane after plane. NaN is the largest, the last of several; of other equals
// the first counts. Indices are places in their plane, -1 for a window that sees nothing; null if
// nobody asks. 16-bit results are rounded once.
TENON_API void max_pool(const PoolPlan& plan, DType dtype, const void* in, void* out,
                        std::int64_t* indices);
// Of each plane's `from` elements, adds each to the place among `to` that its index says. `to`
// begins as zeros. What has an index outside is left out. Not of 16-bit elements.
TENON_API void add_at_indices(std::int64_t planes, std::int64_t from, std::int64_t to, DType dtype,
                              const void* in, const std::int64_t* indices, void* out);
TENON_API void average_pool(const PoolPlan& plan, DType dtype, const void* in, void* out);
// The gradient of average_pool: `out` has the size of what was pooled, and begins as zeros. Not of
// 16-bit elements.
TENON_API void spread_average_pool(const PoolPlan& plan, DType dtype, const void* grad, void* out);

}  // namespace tenon
