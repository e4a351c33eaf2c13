// group_norm: statistics of groups of channels.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "core/element_copy.h"
#include "kernels/elementwise.h"
#include "kernels/normalize.h"
#include "ops/nn/normalization.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/normalization.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::group_norm::info{"group_norm", kind};

namespace op {

// The result, and the mean and 1 / deviation of each group of each item.
struct native_group_norm {
  using Signature = std::tuple<Tensor, Tensor, Tensor>(const Tensor& input,
                                                       const std::optional<Tensor>& weight,
                                                       const std::optional<Tensor>& bias,
                                                       std::int64_t groups, double eps);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// Gradients of the input, the weight and the bias.
struct native_group_norm_backward {
  using Signature = std::tuple<Tensor, Tensor, Tensor>(const Tensor& grad, const Tensor& input,
                                                       const Tensor& mean, const Tensor& rstd,
                                                       const std::optional<Tensor>& weight,
                                                       std::int64_t groups);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo native_group_norm::info{"native_group_norm", kind};
constinit OpInfo native_group_norm_backward::info{"native_group_norm_backward", kind};

}  // namespace op

namespace {

// (N, C, *) as kernels see it.
struct Sizes {
  std::int64_t items, groups, channels, plane;  // channels of a group; elements of a channel
  Sizes(const Tensor& input, std::int64_t count)
      : items(input.size(0)), groups(count), channels(input.size(1) / count), plane(1) {
    for (std::int64_t d = 2; d < input.dim(); ++d) plane *= input.size(d);
  }
  std::int64_t rows() const { return items * groups; }
  std::int64_t row() const { return channels * plane; }
  std::int64_t grain() const { return std::max<std::int64_t>(1, 16384 / row()); }
};

template <class T>
T at_or(const T* values, std::int64_t i, T otherwise) {
  return values != nullptr ? values[i] : otherwise;
}
template <class T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

template <class T>
void run_forward(const Sizes& sizes, const T* x, T* out, const T* weight, const T* bias, T* means,
                 T* rstds, double eps) {
  parallel_for(0, sizes.rows(), sizes.grain(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const T* from = x + row * sizes.row();
      const auto count = static_cast<double>(sizes.row());
      const T mean = static_cast<T>(plane_sum(from, sizes.row()) / count);
      const double squares = plane_squares(from, sizes.row(), mean);
      const T rstd = static_cast<T>(1 / std::sqrt(squares / count + eps));
      means[row] = mean;
      rstds[row] = rstd;
      const std::int64_t channel = row % sizes.groups * sizes.channels;
      for (std::int64_t c = 0; c < sizes.channels; ++c) {
        const std::int64_t at = row * sizes.row() + c * sizes.plane;
        const T scale = rstd * at_or(weight, channel + c, T(1)),
                shift = at_or(bias, channel + c, T(0));
        if (sizes.plane == 1)
          out[at] = (x[at] - mean) * scale + shift;
        else
          plane_scale(x + at, out + at, sizes.plane, mean, scale, shift);
      }
    }
  });
}

template <class T>
void run_backward(const Sizes& sizes, const T* grad, const T* x, const T* weight, const T* means,
                  const T* rstds, T* of_x, T* of_weight, T* of_bias) {
  const std::int64_t all = sizes.groups * sizes.channels;
  std::vector<GradientSums> sums(static_cast<std::size_t>(sizes.items * all));
  parallel_for(0, sizes.rows(), sizes.grain(), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t channel = row % sizes.groups * sizes.channels;
      double total = 0, distance = 0;
      for (std::int64_t c = 0; c < sizes.channels; ++c) {
        const std::int64_t at = row * sizes.row() + c * sizes.plane;
        const GradientSums own = plane_gradient_sums(x + at, grad + at, sizes.plane, means[row]);
        const auto factor = static_cast<double>(at_or(weight, channel + c, T(1)));
        total += own.grad * factor;
        distance += own.distance * factor;
        sums[static_cast<std::size_t>(row * sizes.channels + c)] = own;
      }
      const auto r = static_cast<double>(rstds[row]), count = static_cast<double>(sizes.row());
      NormGradient<T> by{means[row], 0, static_cast<T>(-distance * r * r * r / count),
                         static_cast<T>(-total * r / count)};
      for (std::int64_t c = 0; c < sizes.channels; ++c) {
        const std::int64_t at = row * sizes.row() + c * sizes.plane;
        by.scale = rstds[row] * at_or(weight, channel + c, T(1));
        plane_gradient(x + at, grad + at, of_x + at, sizes.plane, by);
      }
    }
  });
  for (std::int64_t c = 0; c < all; ++c) {
    double of_scale = 0, of_shift = 0;
    for (std::int64_t item = 0; item < sizes.items; ++item) {
      const GradientSums& own = sums[static_cast<std::size_t>(item * all + c)];
      const T rstd = rstds[item * sizes.groups + c / sizes.channels];
      of_scale += own.distance * static_cast<double>(rstd);
      of_shift += own.grad;
    }
    of_weight[c] = static_cast<T>(of_scale);
    of_bias[c] = static_cast<T>(of_shift);
  }
}

// With operators, for when gradients of gradients are to be.
void compose_gradient(Gradient& g, const Tensor& grad, const Tensor& input,
                      const std::optional<Tensor>& weight, std::int64_t groups, double eps) {
  const DType wide = compute_dtype(grad.dtype());
  const Sizes sizes(grad, groups);
  const Shape grouped = {sizes.items, groups, sizes.channels, sizes.plane};
  const Tensor from = grad.to(wide).reshape(grouped);
  const Dims row = {2, 3}, beside = {0, 3};
  const ReduceOptions keep{.keepdim = true};
  if (g.wanted(2)) g.set(2, from.sum(beside).reshape({-1}));
  if (!g.wanted(0) && !g.wanted(1)) return;
  Tensor x = input.to(wide).reshape(grouped);
  x = x - x.mean(row, keep);
  const Tensor rstd = ((x * x).mean(row, keep) + eps).rsqrt();
  const Tensor normal = x * rstd;
  if (g.wanted(1)) g.set(1, (from * normal).sum(beside).reshape({-1}));
  if (!g.wanted(0)) return;
  const Tensor weighted =
      weight ? from * weight->to(wide).reshape({groups, sizes.channels, 1}) : from;
  const Tensor result =
      weighted - weighted.mean(row, keep) - normal * (weighted * normal).mean(row, keep);
  g.set(0, (result * rstd).reshape(grad.shape()));
}

}  // namespace

template <>
struct Rule<op::native_group_norm> {
  static constexpr std::string_view gradient = "NativeGroupNormBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    switch (place) {
      case 0: return wanted[0] || wanted[1];
      case 1: return true;  // Note [A weight that is kept]
      case kResult + 1:
      case kResult + 2: return wanted[0] || wanted[1];
      default: return false;
    }
  }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& input,
                       const std::optional<Tensor>& weight, const std::optional<Tensor>& /*bias*/,
                       std::int64_t groups, double eps) {
    const bool only_bias = !g.wanted(0) && !g.wanted(1);
    if (is_grad_enabled() || only_bias)
      return compose_gradient(g, grads[0], input, weight, groups, eps);
    // Without a weight that is saved there is none, or its values are not needed.
    const auto [of_input, of_weight, of_bias] = call<op::native_group_norm_backward>(
        grads[0], input, g.result(1), g.result(2), g.wanted(0) ? weight : std::nullopt, groups);
    if (g.wanted(0)) g.set(0, of_input);
    if (g.wanted(1)) g.set(1, of_weight);
    if (g.wanted(2)) g.set(2, of_bias);
  }
  static std::array<Layout, 3> infer(const Tensor& input, const std::optional<Tensor>& /*weight*/,
                                     const std::optional<Tensor>& /*bias*/, std::int64_t groups,
                                     double /*eps*/) {
    const DType wide = compute_dtype(input.dtype());
    const Layout statistics = Layout::packed({input.size(0), groups}, wide, input.device());
    return {Layout::packed(input.shape(), input.dtype(), input.device()), statistics, statistics};
  }
  static void cpu(std::array<Tensor, 3>& out, const Tensor& input,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  std::int64_t groups, double eps) {
    if (input.numel() == 0) return;
    const DType wide = compute_dtype(input.dtype());
    const Tensor x = input.to(wide).contiguous(), factors = norm_operand(weight, wide),
                 terms = norm_operand(bias, wide);
    const Tensor result = norm_result(out[0], wide);
    const auto work = [&]<class T>() {
      run_forward<T>(Sizes(input, groups), x.data<T>(), result.data<T>(), data_or_null<T>(factors),
                     data_or_null<T>(terms), out[1].data<T>(), out[2].data<T>(), eps);
    };
    of_norm_type(wide, work);
    if (!result.is(out[0])) copy_tensor(out[0], result);
  }
};

template <>
struct Rule<op::native_group_norm_backward> {
  static constexpr std::string_view gradient = no_gradient;
  static std::array<Layout, 3> infer(const Tensor& /*grad*/, const Tensor& input,
                                     const Tensor& /*mean*/, const Tensor& /*rstd*/,
                                     const std::optional<Tensor>& /*weight*/,
                                     std::int64_t /*groups*/) {
    const Layout row =
        Layout::packed({input.size(1)}, compute_dtype(input.dtype()), input.device());
    return {Layout::packed(input.shape(), input.dtype(), input.device()), row, row};
  }
  static void cpu(std::array<Tensor, 3>& out, const Tensor& grad, const Tensor& input,
                  const Tensor& mean, const Tensor& rstd, const std::optional<Tensor>& weight,
                  std::int64_t groups) {
    if (input.numel() == 0) {
      out[1].variable_data().zero_();
      out[2].variable_data().zero_();
      return;
    }
    const DType wide = compute_dtype(input.dtype());
    const Tensor x = input.to(wide).contiguous(), from = grad.to(wide).contiguous(),
                 factors = norm_operand(weight, wide);
    const Tensor result = norm_result(out[0], wide);
    const auto work = [&]<class T>() {
      run_backward<T>(Sizes(input, groups), from.data<T>(), x.data<T>(), data_or_null<T>(factors),
                      mean.data<T>(), rstd.data<T>(), result.data<T>(), out[1].data<T>(),
                      out[2].data<T>());
    };
    of_norm_type(wide, work);
    if (!result.is(out[0])) copy_tensor(out[0], result);
  }
};

template <>
struct Rule<op::group_norm> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32};
  static Tensor compose(const Tensor& input, std::int64_t num_groups,
                        const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                        double eps) {
    check(input, num_groups, weight, bias);
    check_norm_parameters("group_norm", "GroupNormKernelImpl", input, {&weight, &bias});
    return std::get<0>(call<op::native_group_norm>(input, weight, bias, num_groups, eps));
  }

 private:
  static void check(const Tensor& input, std::int64_t groups, const std::optional<Tensor>& weight,
                    const std::optional<Tensor>& bias) {
    const std::string shape = bracketed(input.shape());
    if (input.dim() < 2) {
      throw ShapeError(concat("Expected at least 2 dimensions for input tensor but received ",
                              input.dim(), ": its shape is ", shape));
    }
    if (groups <= 0)
      throw ValueError(concat("Expected num groups to be greater than 0, got ", groups));
    if (input.size(1) % groups != 0) {
      throw ShapeError(
          concat("Expected number of channels in input to be divisible by num_groups, ",
                 "but got input of shape ", shape, " and num_groups=", groups));
    }
    const auto check_parameter = [&](const char* name, const std::optional<Tensor>& parameter) {
      if (!parameter || parameter->shape() == Shape({input.size(1)})) return;
      throw ShapeError(concat("Expected ", name, " to be a vector of size equal to the number of ",
                              "channels in input, but got ", name, " of shape ",
                              bracketed(parameter->shape()), " and input of shape ", shape));
    };
    check_parameter("weight", weight);
    check_parameter("bias", bias);
    std::int64_t plane = 1;
    for (std::int64_t d = 2; d < input.dim(); ++d) plane *= input.size(d);
    if (plane == 0) throw ShapeError(concat("Expected HxW to be greater than 0, got 0: ", shape));
    // PyTorch's condition, which looks at the batch as batch_norm does.
    if (input.size(0) * (input.size(1) / groups) * plane == 1) {
      throw ValueError(
          concat("Expected more than 1 value per channel when training, got input size ", shape));
    }
  }
};

Tensor group_norm(const Tensor& input, std::int64_t num_groups,
                  const GroupNormFunctionOptions& options) {
  return call<op::group_norm>(input, num_groups, options.weight, options.bias, options.eps);
}

}  // namespace tenon
