// Statistics of channels over a batch, and their gradients.
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <vector>

#include "base/thread_pool.h"
#include "core/element_copy.h"
#include "kernels/cast_simd.h"
#include "kernels/elementwise.h"
#include "kernels/normalize.h"
#include "ops/nn/batch_norm.h"
#include "ops/nn/normalization.h"
#include "tenon/autograd.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

namespace op {

// The result, and the mean, the variance and 1 / deviation of each channel: the input's own where
// it is training, else from the running ones.
struct native_batch_norm {
  using Signature = std::tuple<Tensor, Tensor, Tensor, Tensor>(
      const Tensor& input, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
      const std::optional<Tensor>& running_mean, const std::optional<Tensor>& running_var,
      bool training, double eps);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// Gradients of the input, the weight and the bias.
struct native_batch_norm_backward {
  using Signature = std::tuple<Tensor, Tensor, Tensor>(const Tensor& grad, const Tensor& input,
                                                       const Tensor& mean, const Tensor& rstd,
                                                       const std::optional<Tensor>& weight,
                                                       bool training);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};

constinit OpInfo native_batch_norm::info{"native_batch_norm", kind};
constinit OpInfo native_batch_norm_backward::info{"native_batch_norm_backward", kind};

}  // namespace op

namespace {

// (N, C, *) as kernels see it: planes of each channel, or rows in which channels are side by side.
struct Sizes {
  std::int64_t items, channels, plane;
  Sizes(const Shape& shape, bool side_by_side) : items(shape[0]), channels(shape[1]), plane(1) {
    for (std::size_t d = 2; d < shape.size(); ++d) plane *= shape[d];
    if (side_by_side) {
      items *= plane;
      plane = 1;
    }
  }
  double count() const { return static_cast<double>(items * plane); }
  std::int64_t channel_grain() const { return std::max<std::int64_t>(1, 16384 / (items * plane)); }
};

// The order in which channels are the fastest, where the input is in one.
MemoryFormat format_of(const Tensor& input) {
  if (input.is_contiguous()) return MemoryFormat::contiguous;
  if (input.dim() == 4 && input.is_contiguous(MemoryFormat::channels_last))
    return MemoryFormat::channels_last;
  if (input.dim() == 5 && input.is_contiguous(MemoryFormat::channels_last_3d))
    return MemoryFormat::channels_last_3d;
  return MemoryFormat::contiguous;
}

template <class T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

// Calls rows(first, count, sums) for pieces of the rows, each with its own `width` sums, and adds
// those up.
template <class F>
std::vector<double> sums_over_rows(const Sizes& sizes, std::int64_t width, F&& rows) {
  const std::int64_t pieces = norm_pieces(sizes.items, sizes.channels);
  std::vector<double> sums(static_cast<std::size_t>(pieces * width));
  parallel_for(0, pieces, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t piece = from; piece < to; ++piece) {
      const std::int64_t first = sizes.items * piece / pieces,
                         last = sizes.items * (piece + 1) / pieces;
      rows(first, last - first, sums.data() + piece * width);
    }
  });
  for (std::int64_t piece = 1; piece < pieces; ++piece) {
    for (std::int64_t i = 0; i < width; ++i)
      sums[static_cast<std::size_t>(i)] += sums[static_cast<std::size_t>(piece * width + i)];
  }
  sums.resize(static_cast<std::size_t>(width));
  return sums;
}

template <class T>
class Forward {
 public:
  Forward(const Sizes& sizes, const T* x) : sizes_(sizes), x_(x) {}

  void statistics(T* mean, T* var) const {
    if (sizes_.plane == 1) return row_statistics(mean, var);
    parallel_for(0, sizes_.channels, sizes_.channel_grain(),
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t c = first; c < last; ++c) {
                     double sum = 0, squares = 0;
                     for (std::int64_t i = 0; i < sizes_.items; ++i)
                       sum += plane_sum(plane(i, c), sizes_.plane);
                     mean[c] = static_cast<T>(sum / sizes_.count());
                     for (std::int64_t i = 0; i < sizes_.items; ++i)
                       squares += plane_squares(plane(i, c), sizes_.plane, mean[c]);
                     var[c] = static_cast<T>(squares / sizes_.count());
                   }
                 });
  }
  void write(T* out, const T* mean, const T* scale, const T* shift) const {
    const std::int64_t row = sizes_.channels * sizes_.plane;
    if (sizes_.plane == 1) {
      parallel_for(0, sizes_.items, std::max<std::int64_t>(1, 16384 / row),
                   [&](std::int64_t first, std::int64_t last) {
                     column_scale(x_ + first * row, out + first * row, last - first, row, mean,
                                  scale, shift);
                   });
      return;
    }
    parallel_for(0, sizes_.items * sizes_.channels, std::max<std::int64_t>(1, 16384 / sizes_.plane),
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t at = first; at < last; ++at) {
                     const std::int64_t c = at % sizes_.channels;
                     plane_scale(x_ + at * sizes_.plane, out + at * sizes_.plane, sizes_.plane,
                                 mean[c], scale[c], shift[c]);
                   }
                 });
  }

 private:
  const T* plane(std::int64_t item, std::int64_t c) const {
    return x_ + (item * sizes_.channels + c) * sizes_.plane;
  }
  void row_statistics(T* mean, T* var) const {
    const std::int64_t n = sizes_.channels;
    const auto sums =
        sums_over_rows(sizes_, n, [&](std::int64_t first, std::int64_t count, double* to) {
          column_sums(x_ + first * n, count, n, to);
        });
    for (std::int64_t c = 0; c < n; ++c)
      mean[c] = static_cast<T>(sums[static_cast<std::size_t>(c)] / sizes_.count());
    const auto squares =
        sums_over_rows(sizes_, n, [&](std::int64_t first, std::int64_t count, double* to) {
          column_squares(x_ + first * n, count, n, mean, to);
        });
    for (std::int64_t c = 0; c < n; ++c)
      var[c] = static_cast<T>(squares[static_cast<std::size_t>(c)] / sizes_.count());
  }

  Sizes sizes_;
  const T* x_;
};

// The result of 16-bit elements whose statistics are known: pieces of them become floats, and are
// rounded while they are near.
void scale_narrow(const Sizes& sizes, const Tensor& input, const Tensor& out, const float* mean,
                  const float* scale, const float* shift) {
  constexpr std::int64_t kNear = 2048;
  const std::int64_t line = sizes.plane == 1 ? sizes.channels : sizes.plane,
                     lines = input.numel() / line;
  const PackedCast widen = packed_cast(float32, input.dtype()),
                   narrow = packed_cast(input.dtype(), float32);
  const auto* from = static_cast<const std::uint16_t*>(input.data_ptr());
  auto* to = static_cast<std::uint16_t*>(out.data_ptr());
  const auto work = [&](std::int64_t first, std::int64_t last) {
    const auto room = static_cast<std::size_t>(std::max(kNear, sizes.channels));
    std::vector<float> wide(room), exact(room);
    const auto piece = [&](std::int64_t at, std::int64_t n, auto&& calculate) {
      widen(from + at, wide.data(), n, false);
      calculate(wide.data(), exact.data());
      narrow(exact.data(), to + at, n, false);
    };
    if (sizes.plane == 1) {
      const std::int64_t together = std::max<std::int64_t>(1, kNear / line);
      for (std::int64_t i = first; i < last; i += together) {
        const std::int64_t rows = std::min(together, last - i);
        piece(i * line, rows * line, [&](const float* x, float* y) {
          column_scale(x, y, rows, line, mean, scale, shift);
        });
      }
      return;
    }
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t c = i % sizes.channels;
      for (std::int64_t at = 0; at < line; at += kNear) {
        const std::int64_t n = std::min(kNear, line - at);
        piece(i * line + at, n,
              [&](const float* x, float* y) { plane_scale(x, y, n, mean[c], scale[c], shift[c]); });
      }
    }
  };
  parallel_for(0, lines, std::max<std::int64_t>(1, 16384 / line), work);
}

template <class T>
struct Backward {
  Sizes sizes;
  const T *grad, *x, *mean, *rstd, *weight;
  T *of_x, *of_weight, *of_bias;
  bool training;

  void run() const {
    const auto n = static_cast<std::size_t>(sizes.channels);
    std::vector<GradientSums> sums = sizes.plane == 1 ? row_sums() : plane_sums();
    std::vector<NormGradient<T>> by(n);
    for (std::size_t c = 0; c < n; ++c) {
      const auto r = static_cast<double>(rstd[c]),
                 factor = weight != nullptr ? static_cast<double>(weight[c]) : 1.0;
      of_weight[c] = static_cast<T>(sums[c].distance * r);
      of_bias[c] = static_cast<T>(sums[c].grad);
      by[c] = {mean[c], static_cast<T>(factor * r), 0, 0};
      if (!training) continue;
      by[c].slope = static_cast<T>(-sums[c].distance * factor * r * r * r / sizes.count());
      by[c].shift = static_cast<T>(-sums[c].grad * factor * r / sizes.count());
    }
    write(by);
  }

 private:
  std::vector<GradientSums> plane_sums() const {
    std::vector<GradientSums> sums(static_cast<std::size_t>(sizes.channels));
    parallel_for(
        0, sizes.channels, sizes.channel_grain(), [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t c = first; c < last; ++c) {
            GradientSums total{0, 0};
            for (std::int64_t i = 0; i < sizes.items; ++i) {
              const std::int64_t at = (i * sizes.channels + c) * sizes.plane;
              const GradientSums own = plane_gradient_sums(x + at, grad + at, sizes.plane, mean[c]);
              total.grad += own.grad;
              total.distance += own.distance;
            }
            sums[static_cast<std::size_t>(c)] = total;
          }
        });
    return sums;
  }
  std::vector<GradientSums> row_sums() const {
    const std::int64_t n = sizes.channels;
    const auto both =
        sums_over_rows(sizes, 2 * n, [&](std::int64_t first, std::int64_t count, double* to) {
          column_gradient_sums(x + first * n, grad + first * n, count, n, mean, to, to + n);
        });
    std::vector<GradientSums> sums(static_cast<std::size_t>(n));
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] = {both[c], both[c + sums.size()]};
    return sums;
  }
  void write(const std::vector<NormGradient<T>>& by) const {
    const std::int64_t row = sizes.channels * sizes.plane;
    parallel_for(
        0, sizes.items, std::max<std::int64_t>(1, 16384 / row),
        [&](std::int64_t first, std::int64_t last) {
          if (sizes.plane == 1) {
            return column_gradient(x + first * row, grad + first * row, of_x + first * row,
                                   last - first, row, by.data());
          }
          for (std::int64_t at = first * sizes.channels; at < last * sizes.channels; ++at) {
            plane_gradient(x + at * sizes.plane, grad + at * sizes.plane, of_x + at * sizes.plane,
                           sizes.plane, by[static_cast<std::size_t>(at % sizes.channels)]);
          }
        });
  }
};

// With operators, for when gradients of gradients are to be.
void compose_gradient(Gradient& g, const Tensor& grad, const Tensor& input,
                      const std::optional<Tensor>& weight, const Tensor& running_mean,
                      const Tensor& rstd_of_running, bool training, double eps) {
  const DType wide = compute_dtype(grad.dtype());
  const Tensor from = grad.to(wide);
  Dims beside = {0};
  Shape channel = {-1};
  for (std::int64_t d = 2; d < grad.dim(); ++d) {
    beside.push_back(d);
    channel.push_back(1);
  }
  const ReduceOptions keep{.keepdim = true};
  if (g.wanted(2)) g.set(2, from.sum(beside));
  if (!g.wanted(0) && !g.wanted(1)) return;
  Tensor x, rstd;
  if (training) {
    x = input.to(wide);
    x = x - x.mean(beside, keep);
    rstd = ((x * x).mean(beside, keep) + eps).rsqrt();
  } else {
    if (g.wanted(1)) x = input.to(wide) - running_mean.reshape(channel);
    rstd = rstd_of_running.reshape(channel);
  }
  if (g.wanted(1)) g.set(1, (from * x * rstd).sum(beside));
  if (!g.wanted(0)) return;
  const Tensor weighted = weight ? from * weight->to(wide).reshape(channel) : from;
  if (!training) return g.set(0, weighted * rstd);
  const Tensor normal = x * rstd;
  g.set(0,
        (weighted - weighted.mean(beside, keep) - normal * (weighted * normal).mean(beside, keep)) *
            rstd);
}

}  // namespace

template <>
struct Rule<op::native_batch_norm> {
  static constexpr std::string_view gradient = "NativeBatchNormBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    switch (place) {
      case 0: return wanted[0] || wanted[1];
      case 1: return true;  // Note [A weight that is kept]
      case kResult + 1:
      case kResult + 3: return wanted[0] || wanted[1];
      default: return false;
    }
  }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& input,
                       const std::optional<Tensor>& weight, const std::optional<Tensor>& /*bias*/,
                       const std::optional<Tensor>& /*running_mean*/,
                       const std::optional<Tensor>& /*running_var*/, bool training, double eps) {
    const bool only_bias = !g.wanted(0) && !g.wanted(1);
    const Tensor mean = only_bias ? Tensor() : g.result(1).detach(),
                 rstd = only_bias ? Tensor() : g.result(3).detach();
    if (is_grad_enabled() || only_bias)
      return compose_gradient(g, grads[0], input, weight, mean, rstd, training, eps);
    const auto [of_input, of_weight, of_bias] = call<op::native_batch_norm_backward>(
        grads[0], input, mean, rstd, g.wanted(0) ? weight : std::nullopt, training);
    if (g.wanted(0)) g.set(0, of_input);
    if (g.wanted(1)) g.set(1, of_weight);
    if (g.wanted(2)) g.set(2, of_bias);
  }
  static std::array<Layout, 4> infer(const Tensor& input, const std::optional<Tensor>& /*weight*/,
                                     const std::optional<Tensor>& /*bias*/,
                                     const std::optional<Tensor>& /*running_mean*/,
                                     const std::optional<Tensor>& /*running_var*/,
                                     bool /*training*/, double /*eps*/) {
    const Layout row =
        Layout::packed({input.size(1)}, compute_dtype(input.dtype()), input.device());
    return {Layout::packed(input.shape(), input.dtype(), input.device(), format_of(input)), row,
            row, row};
  }
  static void cpu(std::array<Tensor, 4>& out, const Tensor& input,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  const std::optional<Tensor>& running_mean,
                  const std::optional<Tensor>& running_var, bool training, double eps) {
    if (input.numel() == 0) {
      for (Tensor& each : out) each.variable_data().zero_();
      return;
    }
    const DType wide = compute_dtype(input.dtype());
    const MemoryFormat format = format_of(input);
    const bool narrow = wide != input.dtype() && !training;
    const Tensor factors = norm_operand(weight, wide), terms = norm_operand(bias, wide);
    const Tensor x = (narrow ? input : input.to(wide)).contiguous(format),
                 result = narrow ? out[0] : norm_result(out[0], wide, format);
    if (!training) {
      copy_tensor(out[1], *running_mean);
      copy_tensor(out[2], *running_var);
    }
    const auto work = [&]<class T>() {
      const Sizes sizes(input.shape(), format != MemoryFormat::contiguous);
      const Forward<T> forward(sizes, narrow ? nullptr : x.data<T>());
      T *mean = out[1].data<T>(), *var = out[2].data<T>(), *rstd = out[3].data<T>();
      if (training) forward.statistics(mean, var);
      const auto n = static_cast<std::size_t>(sizes.channels);
      std::vector<T> scale(n), shift(n);
      for (std::size_t c = 0; c < n; ++c) {
        rstd[c] = static_cast<T>(1 / std::sqrt(static_cast<double>(var[c]) + eps));
        scale[c] = factors.defined() ? rstd[c] * factors.data<T>()[c] : rstd[c];
        shift[c] = terms.defined() ? terms.data<T>()[c] : T(0);
      }
      if constexpr (std::same_as<T, float>) {
        if (narrow) return scale_narrow(sizes, x, result, mean, scale.data(), shift.data());
      }
      forward.write(result.data<T>(), mean, scale.data(), shift.data());
    };
    of_norm_type(wide, work);
    if (!result.is(out[0])) copy_tensor(out[0], result);
  }
};

template <>
struct Rule<op::native_batch_norm_backward> {
  static constexpr std::string_view gradient = no_gradient;
  static std::array<Layout, 3> infer(const Tensor& /*grad*/, const Tensor& input,
                                     const Tensor& /*mean*/, const Tensor& /*rstd*/,
                                     const std::optional<Tensor>& /*weight*/, bool /*training*/) {
    const Layout row =
        Layout::packed({input.size(1)}, compute_dtype(input.dtype()), input.device());
    return {Layout::packed(input.shape(), input.dtype(), input.device(), format_of(input)), row,
            row};
  }
  static void cpu(std::array<Tensor, 3>& out, const Tensor& grad, const Tensor& input,
                  const Tensor& mean, const Tensor& rstd, const std::optional<Tensor>& weight,
                  bool training) {
    if (input.numel() == 0) {
      out[1].variable_data().zero_();
      out[2].variable_data().zero_();
      return;
    }
    const DType wide = compute_dtype(input.dtype());
    const MemoryFormat format = format_of(input);
    const Tensor x = input.to(wide).contiguous(format), from = grad.to(wide).contiguous(format),
                 factors = norm_operand(weight, wide), result = norm_result(out[0], wide, format);
    const auto work = [&]<class T>() {
      Backward<T>{Sizes(input.shape(), format != MemoryFormat::contiguous),
                  from.data<T>(),
                  x.data<T>(),
                  mean.data<T>(),
                  rstd.data<T>(),
                  data_or_null<T>(factors),
                  result.data<T>(),
                  out[1].data<T>(),
                  out[2].data<T>(),
                  training}
          .run();
    };
    of_norm_type(wide, work);
    if (!result.is(out[0])) copy_tensor(out[0], result);
  }
};

BatchNormParts native_batch_norm(const Tensor& input, const std::optional<Tensor>& weight,
                                 const std::optional<Tensor>& bias,
                                 const std::optional<Tensor>& running_mean,
                                 const std::optional<Tensor>& running_var, bool training,
                                 double eps) {
  const auto [output, mean, var, rstd] =
      call<op::native_batch_norm>(input, weight, bias, running_mean, running_var, training, eps);
  return {output, mean.detach(), var.detach()};
}

}  // namespace tenon
