// layer_norm and rms_norm: statistics of rows.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "core/element_copy.h"
#include "kernels/cast_simd.h"
#include "kernels/elementwise.h"
#include "kernels/normalize.h"
#include "ops/elementwise/operands.h"
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

constinit OpInfo op::layer_norm::info{"layer_norm", kind};
constinit OpInfo op::rms_norm::info{"rms_norm", kind};

void check_norm_parameters(std::string_view op, std::string_view kernel, const Tensor& input,
                           std::initializer_list<const std::optional<Tensor>*> parameters) {
  const DType dtype = input.dtype();
  if (dtype != float32 && dtype != float64 && dtype != float16 && dtype != bfloat16)
    not_implemented(kernel, dtype);
  std::optional<DType> first;
  for (const std::optional<Tensor>* parameter : parameters) {
    if (!*parameter) continue;
    const Tensor both[] = {input, **parameter};
    same_device(op, both);
    const DType own = (*parameter)->dtype();
    const bool mixed = own == float32 && compute_dtype(dtype) == float32;
    if ((own != dtype && !mixed) || (first && own != *first)) {
      throw DTypeError(concat("mixed dtype (CPU): ", op, " of an input of ", repr(dtype),
                              " takes parameters that are all of that dtype",
                              compute_dtype(dtype) == dtype ? "" : " or all of torch.float32",
                              ", and one is of ", repr(own), ": convert with to()"));
    }
    first = own;
  }
}

Tensor norm_result(const Tensor& out, DType dtype, MemoryFormat format) {
  if (out.dtype() == dtype) return out;
  return empty(out.shape(), {.dtype = dtype, .device = Device::cpu(), .memory_format = format});
}

Tensor norm_operand(const std::optional<Tensor>& tensor, DType dtype) {
  return tensor ? tensor->detach().to(dtype).contiguous() : Tensor();
}

std::int64_t norm_pieces(std::int64_t rows, std::int64_t n) {
  constexpr std::int64_t kElements = 16384, kMost = 64;
  const std::int64_t least = std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(1, n));
  return std::clamp<std::int64_t>(rows / least, 1, kMost);
}

namespace op {

// The result, and the mean and 1 / deviation of each row, which is the last `dims` dimensions.
// Where it is not centred there is no mean.
struct native_layer_norm {
  using Signature = std::tuple<Tensor, Tensor, Tensor>(const Tensor& input,
                                                       const std::optional<Tensor>& weight,
                                                       const std::optional<Tensor>& bias,
                                                       std::int64_t dims, double eps, bool centred);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// Gradients of the input, the weight and the bias; one that is not wanted has no elements.
struct native_layer_norm_backward {
  using Signature = std::tuple<Tensor, Tensor, Tensor>(const Tensor& grad, const Tensor& input,
                                                       const Tensor& mean, const Tensor& rstd,
                                                       const std::optional<Tensor>& weight,
                                                       std::int64_t n, bool centred, bool of_input,
                                                       bool of_weight, bool of_bias);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo native_layer_norm::info{"native_layer_norm", kind};
constinit OpInfo native_layer_norm_backward::info{"native_layer_norm_backward", kind};

}  // namespace op

namespace {

std::int64_t row_length(const Tensor& tensor, std::int64_t dims) {
  std::int64_t n = 1;
  for (std::int64_t d = tensor.dim() - dims; d < tensor.dim(); ++d) n *= tensor.size(d);
  return n;
}

template <class T>
const T* data_or_null(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

std::int64_t rows_at_once(std::int64_t n) {
  constexpr std::int64_t kElements = 16384;
  return std::max<std::int64_t>(1, kElements / n);
}

// Rows of T as rows of float, for a few at a time.
struct FloatRows {
  PackedCast widen, narrow;
  std::vector<float> in, out;
  FloatRows(DType dtype, std::int64_t elements)
      : widen(packed_cast(float32, dtype)),
        narrow(packed_cast(dtype, float32)),
        in(static_cast<std::size_t>(elements)),
        out(static_cast<std::size_t>(elements)) {}
};

void run_rows(std::array<Tensor, 3>& out, const Tensor& input, const Tensor& weight,
              const Tensor& bias, std::int64_t n, double eps, bool centred) {
  const std::int64_t rows = out[2].numel(), grain = rows_at_once(n);
  const auto work = [&]<class T>() {
    const NormRows<T> all{nullptr,
                          nullptr,
                          data_or_null<T>(weight),
                          data_or_null<T>(bias),
                          centred ? out[1].data<T>() : nullptr,
                          out[2].data<T>(),
                          0,
                          n,
                          eps,
                          centred};
    const auto part = [&](std::int64_t first, std::int64_t count) {
      NormRows<T> some = all;
      if (centred) some.mean += first;
      some.rstd += first;
      some.rows = count;
      return some;
    };
    const auto few = [&](const T* x, T* to, std::int64_t first, std::int64_t count) {
      NormRows<T> some = part(first, count);
      some.x = x;
      some.out = to;
      normalize_rows(some);
    };
    if (dtype_of<T> == input.dtype()) {
      const T* x = input.data<T>();
      T* to = out[0].data<T>();
      parallel_for(0, rows, grain, [&](std::int64_t first, std::int64_t last) {
        few(x + first * n, to + first * n, first, last - first);
      });
    } else if constexpr (std::same_as<T, float>) {
      if (input.dtype() == bfloat16) {
        const auto* x = static_cast<const std::uint16_t*>(input.data_ptr());
        auto* to = static_cast<std::uint16_t*>(out[0].data_ptr());
        parallel_for(0, rows, grain, [&](std::int64_t first, std::int64_t last) {
          std::vector<float> row(static_cast<std::size_t>(n));
          normalize_rows(part(first, last - first), x + first * n, to + first * n, row.data());
        });
        return;
      }
      const auto* x = static_cast<const std::byte*>(input.data_ptr());
      auto* to = static_cast<std::byte*>(out[0].data_ptr());
      parallel_for(0, rows, grain, [&](std::int64_t first, std::int64_t last) {
        const std::int64_t together = std::min<std::int64_t>(last - first, rows_at_once(4 * n));
        FloatRows wide(input.dtype(), together * n);
        for (std::int64_t row = first; row < last; row += together) {
          const std::int64_t count = std::min(together, last - row);
          wide.widen(x + 2 * row * n, wide.in.data(), count * n, false);
          few(wide.in.data(), wide.out.data(), row, count);
          wide.narrow(wide.out.data(), to + 2 * row * n, count * n, false);
        }
      });
    }
  };
  of_norm_type(compute_dtype(input.dtype()), work);
}

// Sums over rows are made of pieces, whose number depends on the shape alone.
template <class T>
void run_gradient(const NormRowsGradient<T>& all, Tensor& of_weight, Tensor& of_bias) {
  const std::int64_t n = all.n, pieces = norm_pieces(all.rows, n);
  const auto width = static_cast<std::size_t>(n);
  const auto sums_of = [&](const Tensor& wanted) {
    return std::vector<double>(wanted.defined() ? static_cast<std::size_t>(pieces) * width : 0);
  };
  std::vector<double> weights = sums_of(of_weight), biases = sums_of(of_bias);
  parallel_for(0, pieces, 1, [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t piece = from; piece < to; ++piece) {
      const std::int64_t first = all.rows * piece / pieces, last = all.rows * (piece + 1) / pieces;
      NormRowsGradient<T> some = all;
      some.grad += first * n;
      some.x += first * n;
      if (some.centred) some.mean += first;
      some.rstd += first;
      if (some.of_x != nullptr) some.of_x += first * n;
      if (!weights.empty()) some.of_weight = weights.data() + piece * n;
      if (!biases.empty()) some.of_bias = biases.data() + piece * n;
      some.rows = last - first;
      normalize_rows_gradient(some);
    }
  });
  const auto add_up = [&](const std::vector<double>& sums, Tensor& to) {
    if (!to.defined()) return;
    std::vector<double> total(sums.begin(), sums.begin() + n);
    for (std::int64_t piece = 1; piece < pieces; ++piece) {
      for (std::size_t i = 0; i < width; ++i)
        total[i] += sums[static_cast<std::size_t>(piece) * width + i];
    }
    T* result = to.data<T>();
    for (std::size_t i = 0; i < width; ++i) result[i] = static_cast<T>(total[i]);
  };
  add_up(weights, of_weight);
  add_up(biases, of_bias);
}

// The same with operators, for when gradients of gradients are to be.
void compose_gradient(Gradient& g, const Tensor& grad, const Tensor& input,
                      const std::optional<Tensor>& weight, std::int64_t dims, double eps,
                      bool centred) {
  const DType wide = compute_dtype(grad.dtype());
  const Tensor from = grad.to(wide);
  if (g.wanted(2)) g.set(2, from);
  if (!g.wanted(0) && !g.wanted(1)) return;
  Dims last;
  for (std::int64_t d = 1; d <= dims; ++d) last.push_back(-d);
  const ReduceOptions keep{.keepdim = true};
  Tensor x = input.to(wide);
  if (centred) x = x - x.mean(last, keep);
  const Tensor rstd = ((x * x).mean(last, keep) + eps).rsqrt();
  const Tensor normal = x * rstd;
  if (g.wanted(1)) g.set(1, from * normal);
  if (!g.wanted(0)) return;
  const Tensor weighted = weight ? from * weight->to(wide) : from;
  Tensor result = weighted - normal * (weighted * normal).mean(last, keep);
  if (centred) result = result - weighted.mean(last, keep);
  g.set(0, result * rstd);
}

}  // namespace

template <>
struct Rule<op::native_layer_norm> {
  static std::string_view gradient_name(const Tensor&, const std::optional<Tensor>&,
                                        const std::optional<Tensor>&, std::int64_t, double,
                                        bool centred) {
    return centred ? "NativeLayerNormBackward0" : "FusedRmsNormBackward0";
  }
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
                       std::int64_t dims, double eps, bool centred) {
    const Tensor& grad = grads[0];
    if (is_grad_enabled()) return compose_gradient(g, grad, input, weight, dims, eps, centred);
    if (!g.wanted(0) && !g.wanted(1)) return g.set(2, grad);
    const std::int64_t n = row_length(grad, dims);
    const auto [of_input, of_weight, of_bias] =
        call<op::native_layer_norm_backward>(grad, input, g.result(1), g.result(2), weight, n,
                                             centred, g.wanted(0), g.wanted(1), g.wanted(2));
    if (g.wanted(0)) g.set(0, of_input);
    if (g.wanted(1)) g.set(1, of_weight.view(g.shape(1)));
    if (g.wanted(2)) g.set(2, of_bias.view(g.shape(2)));
  }
  static std::array<Layout, 3> infer(const Tensor& input, const std::optional<Tensor>& /*weight*/,
                                     const std::optional<Tensor>& /*bias*/, std::int64_t dims,
                                     double, bool centred) {
    const DType wide = compute_dtype(input.dtype());
    const std::int64_t n = row_length(input, dims), rows = n == 0 ? 0 : input.numel() / n;
    return {Layout::packed(input.shape(), input.dtype(), input.device()),
            Layout::packed({centred ? rows : 0}, wide, input.device()),
            Layout::packed({rows}, wide, input.device())};
  }
  static void cpu(std::array<Tensor, 3>& out, const Tensor& input,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                  std::int64_t dims, double eps, bool centred) {
    if (input.numel() == 0) return;
    const DType wide = compute_dtype(input.dtype());
    run_rows(out, input.contiguous(), norm_operand(weight, wide), norm_operand(bias, wide),
             row_length(input, dims), eps, centred);
  }
};

template <>
struct Rule<op::native_layer_norm_backward> {
  static constexpr std::string_view gradient = no_gradient;
  static std::array<Layout, 3> infer(const Tensor& /*grad*/, const Tensor& input,
                                     const Tensor& /*mean*/, const Tensor& /*rstd*/,
                                     const std::optional<Tensor>& /*weight*/, std::int64_t n,
                                     bool /*centred*/, bool of_input, bool of_weight,
                                     bool of_bias) {
    const DType wide = compute_dtype(input.dtype());
    const auto row = [&](bool wanted) {
      return Layout::packed({wanted ? n : 0}, wide, input.device());
    };
    return {Layout::packed(of_input ? input.shape() : Shape({0}), input.dtype(), input.device()),
            row(of_weight), row(of_bias)};
  }
  static void cpu(std::array<Tensor, 3>& out, const Tensor& grad, const Tensor& input,
                  const Tensor& mean, const Tensor& rstd, const std::optional<Tensor>& weight,
                  std::int64_t n, bool centred, bool of_input, bool of_weight, bool of_bias) {
    if (input.numel() == 0) {
      out[1].variable_data().zero_();
      out[2].variable_data().zero_();
      return;
    }
    const DType wide = compute_dtype(input.dtype());
    const auto work = [&]<class T>() {
      const Tensor x = input.to(wide).contiguous(), from = grad.to(wide).contiguous();
      const Tensor factors = norm_operand(weight, wide);
      const Tensor result = of_input ? norm_result(out[0], wide) : out[0];
      Tensor weights = of_weight ? out[1] : Tensor(), biases = of_bias ? out[2] : Tensor();
      run_gradient<T>(
          {from.data<T>(), x.data<T>(), data_or_null<T>(factors),
           centred ? mean.data<T>() : nullptr, rstd.data<T>(),
           of_input ? result.data<T>() : nullptr, nullptr, nullptr, rstd.numel(), n, centred},
          weights, biases);
      if (of_input && !result.is(out[0])) copy_tensor(out[0], result);
    };
    of_norm_type(wide, work);
  }
};

namespace {

std::int64_t count(const Dims& dims) { return static_cast<std::int64_t>(dims.size()); }

void check_shapes(const Tensor& input, const Dims& shape, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias) {
  if (shape.empty()) {
    throw ShapeError(
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
        "element, but got normalized_shape = []");
  }
  const auto check_parameter = [&](const char* name, const std::optional<Tensor>& parameter) {
    if (!parameter || parameter->shape() == shape) return;
    throw ShapeError(concat("Expected ", name, " to be of same shape as normalized_shape, but got ",
                            name, " of shape ", bracketed(parameter->shape()),
                            " and normalized_shape = ", bracketed(shape)));
  };
  check_parameter("weight", weight);
  check_parameter("bias", bias);
  const Shape& have = input.shape();
  const std::size_t n = shape.size();
  if (have.size() >= n && std::equal(shape.begin(), shape.end(), have.end() - n)) return;
  const std::string sizes = bracketed(shape);
  throw ShapeError(concat("Given normalized_shape=", sizes, ", expected input with shape [*, ",
                          sizes.substr(1), ", but got input of size ", bracketed(have)));
}

}  // namespace

template <>
struct Rule<op::layer_norm> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32};
  static Tensor compose(const Tensor& input, const Dims& normalized_shape,
                        const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                        double eps) {
    check_shapes(input, normalized_shape, weight, bias);
    check_norm_parameters("layer_norm", "LayerNormKernelImpl", input, {&weight, &bias});
    return std::get<0>(
        call<op::native_layer_norm>(input, weight, bias, count(normalized_shape), eps, true));
  }
};

template <>
struct Rule<op::rms_norm> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32};
  static Tensor compose(const Tensor& input, const Dims& normalized_shape,
                        const std::optional<Tensor>& weight, std::optional<double> eps) {
    check_shapes(input, normalized_shape, weight, {});
    // A weight may be of any floating dtype here: the result has the input's.
    check_norm_parameters("rms_norm", "rms_norm", input, {});
    std::optional<Tensor> factors;
    if (weight) {
      const Tensor both[] = {input, *weight};
      same_device("rms_norm", both);
      factors = weight->to(compute_dtype(input.dtype()));
    }
    return std::get<0>(call<op::native_layer_norm>(input, factors, std::nullopt,
                                                   count(normalized_shape),
                                                   eps.value_or(epsilon(input.dtype())), false));
  }

 private:
  // Of what is calculated in.
  static double epsilon(DType dtype) {
    return dtype == float64 ? std::numeric_limits<double>::epsilon()
                            : static_cast<double>(std::numeric_limits<float>::epsilon());
  }
};

Tensor layer_norm(const Tensor& input, const Dims& normalized_shape,
                  const LayerNormFunctionOptions& options) {
  return call<op::layer_norm>(input, normalized_shape, options.weight, options.bias, options.eps);
}
Tensor rms_norm(const Tensor& input, const Dims& normalized_shape,
                const RMSNormFunctionOptions& options) {
  return call<op::rms_norm>(input, normalized_shape, options.weight, options.eps);
}

}  // namespace tenon
