#include "ops/nn/pool_plan.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/checked.h"
#include "base/text.h"
#include "ops/elementwise/operands.h"
#include "tenon/error.h"

namespace tenon {

namespace {

std::size_t first_spatial(const Shape& input, std::size_t n) { return input.size() - n; }

// "3x5x5": all dimensions but the batch.
std::string by(const Shape& shape, std::size_t n) {
  std::string text;
  for (std::size_t d = shape.size() - n - 1; d < shape.size(); ++d)
    text += concat(text.empty() ? "" : "x", shape[d]);
  return text;
}

std::int64_t rounded_down(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

// Numbers up to this one, of options and of sizes, can be added up without overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 60;

std::int64_t windows_along(const PoolWindows& windows, std::size_t d, std::int64_t size) {
  if (size > kMost) {
    throw ShapeError(concat(windows.name, ": an input of size ", size, " is too large to pool"));
  }
  const std::int64_t kernel = windows.kernel[d], stride = windows.stride[d],
                     padding = windows.padding[d], dilation = windows.dilation[d];
  const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  std::int64_t count = rounded_down(room + (windows.ceil_mode ? stride - 1 : 0), stride) + 1;
  // The last one has to begin inside, or in the padding before it.
  if (windows.ceil_mode && (count - 1) * stride >= size + padding) --count;
  return count;
}

void check_windows(const PoolWindows& windows) {
  for (std::size_t d = 0; d < windows.kernel.size(); ++d) {
    const std::int64_t kernel = windows.kernel[d], stride = windows.stride[d],
                       padding = windows.padding[d], dilation = windows.dilation[d];
    if (kernel <= 0) {
      throw ValueError(concat(windows.name, ": kernel size should be greater than zero, but got ",
                              windows.kernel));
    }
    if (stride <= 0) {
      throw ValueError(concat(windows.name, ": stride should not be zero or negative, but got ",
                              windows.stride));
    }
    if (dilation <= 0) {
      throw ValueError(concat(windows.name, ": dilation should be greater than zero, but got ",
                              windows.dilation));
    }
    if (padding < 0) {
      throw ValueError(concat(windows.name, ": pad must be non-negative, but got pad: ", padding));
    }
    // Half of the kernel as it is given, not as it is spread by the dilation.
    if (padding > kernel / 2) {
      throw ValueError(concat(windows.name,
                              ": pad should be at most half of kernel size, but got pad=", padding,
                              " and kernel_size=", kernel));
    }
    const std::optional<std::int64_t> reach = checked_mul(dilation, kernel - 1);
    if (std::max({kernel, stride, dilation, reach.value_or(kMost + 1)}) > kMost) {
      throw ValueError(concat(windows.name, ": a kernel of ", windows.kernel, ", stride ",
                              windows.stride, " and dilation ", windows.dilation,
                              " reach too far; their numbers must be smaller"));
    }
  }
}

std::int64_t planes_of(const Shape& input, std::size_t n) {
  std::int64_t planes = 1;
  for (std::size_t d = 0; d < first_spatial(input, n); ++d) planes *= input[d];
  return planes;
}

// An axis for each spatial dimension, after as many of size 1 as are missing.
template <class F>
PoolPlan plan_of(const Shape& input, std::size_t n, F&& stretches) {
  PoolPlan plan;
  plan.planes = planes_of(input, n);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axis + n < 3) {
      plan.axes[axis] = {1, {PoolStretch{0, 1}}};
      continue;
    }
    const std::size_t d = axis + n - 3;
    const std::int64_t size = input[first_spatial(input, n) + d];
    plan.axes[axis] = {size, stretches(d, size)};
  }
  return plan;
}

}  // namespace

PoolWindows pool_windows(std::string_view op, std::size_t n, const Dims& kernel, const Dims& stride,
                         const Dims& padding, const Dims& dilation, bool ceil_mode) {
  PoolWindows windows{op,
                      expanded(op, "kernel_size", kernel, n),
                      expanded(op, "stride", stride.empty() ? kernel : stride, n),
                      expanded(op, "padding", padding, n),
                      expanded(op, "dilation", dilation, n),
                      ceil_mode};
  check_windows(windows);
  return windows;
}

void check_pool_input(std::string_view op, const Tensor& input, std::size_t n) {
  const Shape& shape = input.shape();
  bool fits = shape.size() == n + 1 || shape.size() == n + 2;
  for (std::size_t d = shape.size() == n + 2 ? 1 : 0; fits && d < shape.size(); ++d)
    fits = shape[d] != 0;
  if (fits) return;
  throw ShapeError(concat(op, ": Expected ", n + 1, "D or ", n + 2,
                          "D (batch mode) tensor with optional 0 dim batch size for input, but "
                          "got: ",
                          bracketed(shape)));
}

Shape with_sizes(const Shape& input, const Dims& sizes) {
  Shape shape = input;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    shape[first_spatial(input, sizes.size()) + d] = sizes[d];
  return shape;
}

Shape pooled_shape(const PoolWindows& windows, const Shape& input) {
  const std::size_t n = windows.kernel.size();
  Dims sizes;
  bool fits = true;
  for (std::size_t d = 0; d < n; ++d) {
    sizes.push_back(windows_along(windows, d, input[first_spatial(input, n) + d]));
    fits = fits && sizes[d] >= 1;
  }
  const Shape shape = with_sizes(input, sizes);
  if (!fits) {
    throw ShapeError(concat(
        windows.name, ": Given input size: (", by(input, n), "). Calculated output size: (",
        by(shape, n), "). Output size is too small for a kernel of ", windows.kernel, ", stride ",
        windows.stride, ", padding ", windows.padding, " and dilation ", windows.dilation));
  }
  return shape;
}

PoolPlan max_pool_plan(const PoolWindows& windows, const Shape& input) {
  return plan_of(input, windows.kernel.size(), [&](std::size_t d, std::int64_t size) {
    std::vector<PoolStretch> stretches;
    const std::int64_t dilation = windows.dilation[d], count = windows_along(windows, d, size);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t first = i * windows.stride[d] - windows.padding[d];
      const std::int64_t last = std::min(first + (windows.kernel[d] - 1) * dilation + 1, size);
      // The first step that is not in the padding. It may be behind the last: such a window sees
      // nothing.
      if (first < 0) first += (-first + dilation - 1) / dilation * dilation;
      stretches.push_back({first, last, dilation});
    }
    return stretches;
  });
}

PoolPlan average_pool_plan(const PoolWindows& windows, const Shape& input, bool count_include_pad,
                           std::int64_t divisor) {
  PoolPlan plan = plan_of(input, windows.kernel.size(), [&](std::size_t d, std::int64_t size) {
    std::vector<PoolStretch> stretches;
    const std::int64_t padding = windows.padding[d], count = windows_along(windows, d, size);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = i * windows.stride[d] - padding;
      const std::int64_t end = std::min(begin + windows.kernel[d], size + padding);
      const std::int64_t first = std::max<std::int64_t>(begin, 0), last = std::min(end, size);
      stretches.push_back({first, last, 1, count_include_pad ? end - begin : last - first});
    }
    return stretches;
  });
  plan.divisor = divisor;
  std::optional<std::int64_t> most = 1;
  for (const PoolAxis& axis : plan.axes) {
    std::int64_t count = 1;
    for (const PoolStretch& stretch : axis.stretches) count = std::max(count, stretch.count);
    if (most) most = checked_mul(*most, count);
  }
  if (!most) {
    throw ValueError(concat(windows.name, ": a kernel of ", windows.kernel,
                            " has more elements than can be counted"));
  }
  return plan;
}

PoolPlan adaptive_pool_plan(const Shape& input, const Dims& output_size) {
  return plan_of(input, output_size.size(), [&](std::size_t d, std::int64_t size) {
    std::vector<PoolStretch> stretches;
    const std::int64_t count = output_size[d];
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t first = i * size / count;
      const std::int64_t last = 1 + ((i + 1) * size - 1) / count;
      stretches.push_back({first, last, 1, last - first});
    }
    return stretches;
  });
}

}  // namespace tenon
