// Which windows a pool has.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/pool.h"
#include "tenon/tensor.h"

namespace tenon {

// A pool over the last `kernel.size()` dimensions. Every list has that many numbers.
struct PoolWindows {
  std::string_view name;
  Dims kernel, stride, padding, dilation;
  bool ceil_mode;
};

// The options of an operator as they are used: no stride is the kernel's size.
PoolWindows pool_windows(std::string_view op, std::size_t n, const Dims& kernel, const Dims& stride,
                         const Dims& padding, const Dims& dilation, bool ceil_mode);

// ShapeError unless the input has n spatial dimensions after one or two others, and only the first
// of two is 0.
void check_pool_input(std::string_view op, const Tensor& input, std::size_t n);
// The shape of the result. ShapeError if a window does not fit in the input.
Shape pooled_shape(const PoolWindows& windows, const Shape& input);
// The same with the given sizes in place of the spatial ones.
Shape with_sizes(const Shape& input, const Dims& sizes);

PoolPlan max_pool_plan(const PoolWindows& windows, const Shape& input);
PoolPlan average_pool_plan(const PoolWindows& windows, const Shape& input, bool count_include_pad,
                           std::int64_t divisor);
PoolPlan adaptive_pool_plan(const Shape& input, const Dims& output_size);

}  // namespace tenon
