// Pools of any number of dimensions: shapes, gradients, and the way to the kernels.
#include "ops/nn/pool_kernels.h"
#include "kernels/elementwise.h"

#include "base/text.h"
#include "core/element_copy.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/pool_plan.h"
#include "ops/support/gradients.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/scatter.h"
#include "tenon/ops/where.h"

namespace tenon {

namespace op {

struct max_pool_any {
  using Signature = Tensor(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                           const Dims& padding, const Dims& dilation, bool ceil_mode);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct max_pool_any_with_indices {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, const Dims& kernel_size,
                                               const Dims& stride, const Dims& padding,
                                               const Dims& dilation, bool ceil_mode);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct adaptive_max_pool_any {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, const Dims& output_size);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// The gradient of both: each element is added to where its index says, in zeros of that size.
struct max_pool_backward {
  using Signature = Tensor(const Tensor& grad, const Tensor& indices, const Dims& sizes);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// The same, but the last that comes to a place stays.
struct max_unpool_any {
  using Signature = Tensor(const Tensor& self, const Tensor& indices, const Dims& sizes);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// A divisor of 0 is none.
struct avg_pool_any {
  using Signature = Tensor(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                           const Dims& padding, bool ceil_mode, bool count_include_pad,
                           std::int64_t divisor);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct avg_pool_backward {
  using Signature = Tensor(const Tensor& grad, const Dims& sizes, const Dims& kernel_size,
                           const Dims& stride, const Dims& padding, bool ceil_mode,
                           bool count_include_pad, std::int64_t divisor);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct adaptive_avg_pool_any {
  using Signature = Tensor(const Tensor& self, const Dims& output_size);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct adaptive_avg_pool_backward {
  using Signature = Tensor(const Tensor& grad, const Dims& sizes);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};

}  // namespace op

constinit OpInfo op::max_pool_any::info{"_max_pool", kind};
constinit OpInfo op::max_pool_any_with_indices::info{"_max_pool_with_indices", kind};
constinit OpInfo op::adaptive_max_pool_any::info{"_adaptive_max_pool", kind};
constinit OpInfo op::max_pool_backward::info{"_max_pool_backward", kind};
constinit OpInfo op::max_unpool_any::info{"_max_unpool", kind};
constinit OpInfo op::avg_pool_any::info{"_avg_pool", kind};
constinit OpInfo op::avg_pool_backward::info{"_avg_pool_backward", kind};
constinit OpInfo op::adaptive_avg_pool_any::info{"_adaptive_avg_pool", kind};
constinit OpInfo op::adaptive_avg_pool_backward::info{"_adaptive_avg_pool_backward", kind};

namespace {

// Packed, and as what is calculated with.
Tensor working(const Tensor& tensor) {
  return tensor.to(compute_dtype(tensor.dtype())).contiguous();
}
// Calls work with memory for the result in what is calculated with, and rounds it once.
template <class F>
void into_result(const Tensor& out, F&& work) {
  if (compute_dtype(out.dtype()) == out.dtype()) return work(out);
  const Tensor wide = empty(out.shape(), {.dtype = float32, .device = Device::cpu()});
  work(wide);
  copy_tensor(out, wide);
}

void check_max_dtype(std::string_view op, const Tensor& self) {
  if (!can_max_pool(self.dtype())) not_implemented(op, self.dtype());
}
void check_average_dtype(std::string_view op, const Tensor& self) {
  if (!can_average_pool(self.dtype())) not_implemented(op, self.dtype());
}

Layout packed(const Tensor& like, const Shape& shape) {
  return Layout::packed(shape, like.dtype(), like.device());
}
std::array<Layout, 2> packed_with_indices(const Tensor& like, const Shape& shape) {
  return {packed(like, shape), Layout::packed(shape, int64, like.device())};
}

std::string_view name_by_dimensions(const Dims& sizes, std::string_view flat,
                                    std::string_view deep) {
  return sizes.size() == 3 ? deep : flat;
}

// The spatial sizes of a shape.
Dims last_sizes(const Shape& shape, std::size_t n) {
  return Dims(std::span<const std::int64_t>(shape).subspan(shape.size() - n));
}
std::int64_t product(const Dims& sizes) { return Shape(sizes).numel(); }

// The elements of each plane that the indices say, in the shape of the indices.
Tensor gathered(const Tensor& planes, const Tensor& indices, std::size_t n) {
  const auto first = -static_cast<std::int64_t>(n);
  return gather(planes.flatten(first), -1, indices.flatten(first)).reshape(indices.shape());
}

void run_max(const PoolPlan& plan, const Tensor& out, std::int64_t* indices, const Tensor& self) {
  const Tensor in = self.contiguous();
  max_pool(plan, in.dtype(), in.data_ptr(), out.data_ptr(), indices);
}

}  // namespace

template <>
struct Rule<op::max_pool_any> {
  // Where a gradient is wanted, indices are kept, by the other operator.
  static constexpr std::string_view gradient = no_gradient;
  static PoolWindows windows(const Dims& kernel, const Dims& stride, const Dims& padding,
                             const Dims& dilation, bool ceil_mode) {
    return {"max_pool", kernel, stride, padding, dilation, ceil_mode};
  }
  static Layout infer(const Tensor& self, const Dims& kernel, const Dims& stride,
                      const Dims& padding, const Dims& dilation, bool ceil_mode) {
    check_max_dtype("max_pool", self);
    return packed(
        self, pooled_shape(windows(kernel, stride, padding, dilation, ceil_mode), self.shape()));
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& kernel, const Dims& stride,
                  const Dims& padding, const Dims& dilation, bool ceil_mode) {
    run_max(max_pool_plan(windows(kernel, stride, padding, dilation, ceil_mode), self.shape()), out,
            nullptr, self);
  }
};

template <>
struct Rule<op::max_pool_any_with_indices> {
  using Plain = Rule<op::max_pool_any>;
  static std::string_view gradient_name(const Tensor&, const Dims& kernel, const Dims&, const Dims&,
                                        const Dims&, bool) {
    return name_by_dimensions(kernel, "MaxPool2DWithIndicesBackward0",
                              "MaxPool3DWithIndicesBackward0");
  }
  static bool saves(std::size_t place, const Wanted&) { return place == kResult + 1; }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& /*self*/,
                       const Dims& kernel, const Dims&, const Dims&, const Dims&, bool) {
    g.set(0, pool_max_backward(grads[0], g.result(1), last_sizes(g.shape(0), kernel.size())));
  }
  static std::array<Layout, 2> infer(const Tensor& self, const Dims& kernel, const Dims& stride,
                                     const Dims& padding, const Dims& dilation, bool ceil_mode) {
    return packed_with_indices(
        self, Plain::infer(self, kernel, stride, padding, dilation, ceil_mode).shape);
  }
  static void cpu(std::array<Tensor, 2>& out, const Tensor& self, const Dims& kernel,
                  const Dims& stride, const Dims& padding, const Dims& dilation, bool ceil_mode) {
    const auto windows = Plain::windows(kernel, stride, padding, dilation, ceil_mode);
    run_max(max_pool_plan(windows, self.shape()), out[0],
            static_cast<std::int64_t*>(out[1].data_ptr()), self);
  }
};

template <>
struct Rule<op::adaptive_max_pool_any> {
  static std::string_view gradient_name(const Tensor&, const Dims& output_size) {
    return name_by_dimensions(output_size, "AdaptiveMaxPool2DBackward0",
                              "AdaptiveMaxPool3DBackward0");
  }
  static bool saves(std::size_t place, const Wanted&) { return place == kResult + 1; }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& /*self*/,
                       const Dims& output_size) {
    g.set(0, pool_max_backward(grads[0], g.result(1), last_sizes(g.shape(0), output_size.size())));
  }
  static std::array<Layout, 2> infer(const Tensor& self, const Dims& output_size) {
    check_max_dtype("adaptive_max_pool", self);
    return packed_with_indices(self, with_sizes(self.shape(), output_size));
  }
  static void cpu(std::array<Tensor, 2>& out, const Tensor& self, const Dims& output_size) {
    if (out[0].numel() == 0) return;
    run_max(adaptive_pool_plan(self.shape(), output_size), out[0],
            static_cast<std::int64_t*>(out[1].data_ptr()), self);
  }
};

template <>
struct Rule<op::max_pool_backward> {
  static constexpr std::string_view gradient = "MaxPoolBackwardBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*grad*/,
                       const Tensor& indices, const Dims& sizes) {
    if (!g.wanted(0)) return;
    // A window that saw nothing has the index -1, and nothing of it came anywhere.
    const Tensor none = indices < 0;
    g.set(0, masked_fill(gathered(grad, masked_fill(indices, none, 0), sizes.size()), none, 0));
  }
  static Layout infer(const Tensor& grad, const Tensor& indices, const Dims& sizes) {
    if (indices.shape() != grad.shape() || indices.dtype() != int64) {
      throw ShapeError(concat("max_pool_backward: a gradient of shape ", bracketed(grad.shape()),
                              " with indices of shape ", bracketed(indices.shape()), " and ",
                              tenon::repr(indices.dtype())));
    }
    return packed(grad, with_sizes(grad.shape(), sizes));
  }
  static void cpu(Tensor& out, const Tensor& grad, const Tensor& indices, const Dims& sizes) {
    if (out.numel() == 0) return;
    const Tensor in = working(grad), places = indices.contiguous();
    const std::int64_t from = product(last_sizes(grad.shape(), sizes.size())), to = product(sizes);
    into_result(out, [&](const Tensor& wide) {
      wide.variable_data().zero_();
      if (from == 0) return;
      add_at_indices(wide.numel() / to, from, to, in.dtype(), in.data_ptr(),
                     places.data<std::int64_t>(), wide.data_ptr());
    });
  }
};

template <>
struct Rule<op::max_unpool_any> {
  static std::string_view gradient_name(const Tensor&, const Tensor&, const Dims& sizes) {
    return name_by_dimensions(sizes, "MaxUnpool2DBackward0", "MaxUnpool3DBackward0");
  }
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& indices, const Dims& sizes) {
    if (g.wanted(0)) g.set(0, gathered(grad, indices, sizes.size()));
  }
  static Layout infer(const Tensor& self, const Tensor& /*indices*/, const Dims& sizes) {
    return packed(self, with_sizes(self.shape(), sizes));
  }
  static void run(Tensor& out, const Tensor& self, const Tensor& indices, const Dims& sizes) {
    const Tensor planes = out.variable_data();
    planes.zero_();
    if (self.numel() == 0) return;
    const auto first = -static_cast<std::int64_t>(sizes.size());
    planes.flatten(first).scatter_(-1, indices.flatten(first), self.flatten(first));
  }
};

template <>
struct Rule<op::avg_pool_any> {
  static std::string_view gradient_name(const Tensor&, const Dims& kernel, const Dims&, const Dims&,
                                        bool, bool, std::int64_t) {
    return name_by_dimensions(kernel, "AvgPool2DBackward0", "AvgPool3DBackward0");
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Dims& kernel,
                       const Dims& stride, const Dims& padding, bool ceil_mode,
                       bool count_include_pad, std::int64_t divisor) {
    g.set(0, pool_average_backward(grad, last_sizes(g.shape(0), kernel.size()), kernel, stride,
                                   padding, ceil_mode, count_include_pad, divisor));
  }
  static PoolWindows windows(const Dims& kernel, const Dims& stride, const Dims& padding,
                             bool ceil_mode) {
    return {"avg_pool", kernel, stride, padding, Dims::filled(kernel.size(), 1), ceil_mode};
  }
  static Layout infer(const Tensor& self, const Dims& kernel, const Dims& stride,
                      const Dims& padding, bool ceil_mode, bool /*count_include_pad*/,
                      std::int64_t /*divisor*/) {
    check_average_dtype("avg_pool", self);
    return packed(self, pooled_shape(windows(kernel, stride, padding, ceil_mode), self.shape()));
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& kernel, const Dims& stride,
                  const Dims& padding, bool ceil_mode, bool count_include_pad,
                  std::int64_t divisor) {
    const PoolPlan plan = average_pool_plan(windows(kernel, stride, padding, ceil_mode),
                                            self.shape(), count_include_pad, divisor);
    const Tensor in = self.contiguous();
    average_pool(plan, in.dtype(), in.data_ptr(), out.data_ptr());
  }
};

namespace {

void run_spread(const PoolPlan& plan, const Tensor& out, const Tensor& grad) {
  const Tensor in = working(grad);
  into_result(out, [&](const Tensor& wide) {
    wide.variable_data().zero_();
    spread_average_pool(plan, in.dtype(), in.data_ptr(), wide.data_ptr());
  });
}

}  // namespace

template <>
struct Rule<op::avg_pool_backward> {
  static constexpr std::string_view gradient = "AvgPoolBackwardBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*grad*/, const Dims&,
                       const Dims& kernel, const Dims& stride, const Dims& padding, bool ceil_mode,
                       bool count_include_pad, std::int64_t divisor) {
    g.set(0, pool_average(grad, kernel, stride, padding, ceil_mode, count_include_pad, divisor));
  }
  static Layout infer(const Tensor& grad, const Dims& sizes, const Dims&, const Dims&, const Dims&,
                      bool, bool, std::int64_t) {
    return packed(grad, with_sizes(grad.shape(), sizes));
  }
  static void cpu(Tensor& out, const Tensor& grad, const Dims&, const Dims& kernel,
                  const Dims& stride, const Dims& padding, bool ceil_mode, bool count_include_pad,
                  std::int64_t divisor) {
    const auto windows = Rule<op::avg_pool_any>::windows(kernel, stride, padding, ceil_mode);
    run_spread(average_pool_plan(windows, out.shape(), count_include_pad, divisor), out, grad);
  }
};

template <>
struct Rule<op::adaptive_avg_pool_any> {
  static std::string_view gradient_name(const Tensor&, const Dims& output_size) {
    return name_by_dimensions(output_size, "AdaptiveAvgPool2DBackward0",
                              "AdaptiveAvgPool3DBackward0");
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Dims& output_size) {
    g.set(0, pool_average_adaptive_backward(grad, last_sizes(g.shape(0), output_size.size())));
  }
  static Layout infer(const Tensor& self, const Dims& output_size) {
    check_average_dtype("adaptive_avg_pool", self);
    return packed(self, with_sizes(self.shape(), output_size));
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& output_size) {
    if (out.numel() == 0) return;
    const Tensor in = self.contiguous();
    average_pool(adaptive_pool_plan(self.shape(), output_size), in.dtype(), in.data_ptr(),
                 out.data_ptr());
  }
};
template <>
struct Rule<op::adaptive_avg_pool_backward> {
  static constexpr std::string_view gradient = "AdaptiveAvgPoolBackwardBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*grad*/, const Dims& sizes) {
    g.set(0, pool_average_adaptive(grad, last_sizes(g.shape(0), sizes.size())));
  }
  static Layout infer(const Tensor& grad, const Dims& sizes) {
    return packed(grad, with_sizes(grad.shape(), sizes));
  }
  static void cpu(Tensor& out, const Tensor& grad, const Dims& sizes) {
    run_spread(adaptive_pool_plan(out.shape(), last_sizes(grad.shape(), sizes.size())), out, grad);
  }
};

Tensor pool_max(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return call<op::max_pool_any>(self, kernel_size, stride, padding, dilation, ceil_mode);
}
std::tuple<Tensor, Tensor> pool_max_with_indices(const Tensor& self, const Dims& kernel_size,
                                                 const Dims& stride, const Dims& padding,
                                                 const Dims& dilation, bool ceil_mode) {
  return call<op::max_pool_any_with_indices>(self, kernel_size, stride, padding, dilation,
                                             ceil_mode);
}
std::tuple<Tensor, Tensor> pool_max_adaptive(const Tensor& self, const Dims& output_size) {
  return call<op::adaptive_max_pool_any>(self, output_size);
}
Tensor pool_max_backward(const Tensor& grad, const Tensor& indices, const Dims& sizes) {
  return call<op::max_pool_backward>(grad, indices, sizes);
}
Tensor unpool_max(const Tensor& self, const Tensor& indices, const Dims& sizes) {
  return call<op::max_unpool_any>(self, indices, sizes);
}
Tensor pool_average(const Tensor& self, const Dims& kernel_size, const Dims& stride,
                    const Dims& padding, bool ceil_mode, bool count_include_pad,
                    std::int64_t divisor) {
  return call<op::avg_pool_any>(self, kernel_size, stride, padding, ceil_mode, count_include_pad,
                                divisor);
}
Tensor pool_average_backward(const Tensor& grad, const Dims& sizes, const Dims& kernel_size,
                             const Dims& stride, const Dims& padding, bool ceil_mode,
                             bool count_include_pad, std::int64_t divisor) {
  return call<op::avg_pool_backward>(grad, sizes, kernel_size, stride, padding, ceil_mode,
                                     count_include_pad, divisor);
}
Tensor pool_average_adaptive(const Tensor& self, const Dims& output_size) {
  return call<op::adaptive_avg_pool_any>(self, output_size);
}
Tensor pool_average_adaptive_backward(const Tensor& grad, const Dims& sizes) {
  return call<op::adaptive_avg_pool_backward>(grad, sizes);
}

}  // namespace tenon
