#include "ops/nn/activation_gradients.h"

#include <array>
#include <numbers>
#include <string_view>

#include "core/element_copy.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/activation.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/where.h"

namespace tenon {

namespace op {

// One operator for each function, so that an error names it.
constexpr std::size_t kActivations = static_cast<std::size_t>(Activation::tanh) + 1;
constinit OpInfo activation_infos[kActivations] = {
    OpInfo{"gelu_backward", OpKind::pure},       OpInfo{"gelu_backward", OpKind::pure},
    OpInfo{"silu_backward", OpKind::pure},       OpInfo{"mish_backward", OpKind::pure},
    OpInfo{"hardswish_backward", OpKind::pure},  OpInfo{"hardsigmoid_backward", OpKind::pure},
    OpInfo{"hardtanh_backward", OpKind::pure},   OpInfo{"elu_backward", OpKind::pure},
    OpInfo{"leaky_relu_backward", OpKind::pure}, OpInfo{"hardshrink_backward", OpKind::pure},
    OpInfo{"softshrink_backward", OpKind::pure}, OpInfo{"threshold_backward", OpKind::pure},
    OpInfo{"softplus_backward", OpKind::pure},   OpInfo{"log_sigmoid_backward", OpKind::pure},
    OpInfo{"elu_backward", OpKind::pure},        OpInfo{"sigmoid_backward", OpKind::pure},
    OpInfo{"tanh_backward", OpKind::pure},
};

template <Activation N>
struct ActivationBackward {
  using Signature = Tensor(const Tensor& grad, const Tensor& of, double first, double second,
                           double third);
  static constexpr OpKind kind = OpKind::pure;
  static constexpr OpInfo& info = activation_infos[static_cast<std::size_t>(N)];
};

}  // namespace op

namespace {

constexpr std::string_view kNodes[op::kActivations] = {
    "GeluBackwardBackward0",       "GeluBackwardBackward0",       "SiluBackwardBackward0",
    "MishBackwardBackward0",       "HardswishBackwardBackward0",  "HardsigmoidBackwardBackward0",
    "HardtanhBackwardBackward0",   "EluBackwardBackward0",        "LeakyReluBackwardBackward0",
    "HardshrinkBackwardBackward0", "SoftshrinkBackwardBackward0", "ThresholdBackwardBackward0",
    "SoftplusBackwardBackward0",   "LogSigmoidBackwardBackward0", "EluBackwardBackward0",
    "SigmoidBackwardBackward0",    "TanhBackwardBackward0",
};

// The second derivative, of what the first is one of. Undefined: it is zero.
Tensor second_derivative(Activation function, const Tensor& x, const ActivationNumbers& numbers) {
  switch (function) {
    case Activation::gelu: {
      const Tensor square = x * x;
      constexpr double kDensity = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
      return (square * -0.5).exp() * (square * -1 + 2) * kDensity;
    }
    case Activation::gelu_tanh: {
      constexpr double kFactor = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
      constexpr double kCubic = 0.044715;
      const Tensor square = x * x;
      const Tensor s = ((square * kCubic + 1) * x * kFactor).sigmoid();
      const Tensor inner = (square * (3 * kCubic) + 1) * kFactor, s1 = s * (1 - s);
      return s1 * (inner * 2 + x * ((s * -2 + 1) * inner * inner + x * (6 * kCubic * kFactor)));
    }
    case Activation::silu: {
      const Tensor s = x.sigmoid();
      return s * (1 - s) * (x * (s * -2 + 1) + 2);
    }
    case Activation::mish: {
      const Tensor s = x.sigmoid(), t = softplus(x).tanh();
      const Tensor rest = 1 - t * t, first = s * rest;
      return first * 2 + x * (s * (1 - s) * rest - t * first * s * 2);
    }
    case Activation::hardswish: return (x.abs() < 3).to(x.dtype()) / 3;
    case Activation::elu:
      return masked_fill((x * numbers[2]).exp() * (numbers[0] * numbers[2] * numbers[2]), x > 0, 0);
    case Activation::elu_of_result: return (x <= 0).to(x.dtype()) * numbers[2];
    case Activation::softplus: {
      const Tensor scaled = x * numbers[0], s = scaled.sigmoid();
      return masked_fill(s * (1 - s) * numbers[0], scaled > numbers[1], 0);
    }
    case Activation::log_sigmoid: {
      const Tensor s = x.sigmoid();
      return s * (s - 1);
    }
    case Activation::sigmoid: return x * -2 + 1;
    case Activation::tanh: return x * -2;
    default: return {};
  }
}

}  // namespace

template <Activation N>
struct Rule<op::ActivationBackward<N>> {
  static constexpr std::string_view gradient = kNodes[static_cast<std::size_t>(N)];
  static bool saves(std::size_t place, const Wanted& wanted) {
    return place == 1 || (place == 0 && wanted[1]);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& first_grad, const Tensor& of,
                       double first, double second, double third) {
    const ActivationNumbers numbers{first, second, third};
    if (g.wanted(0)) g.set(0, activation_backward(N, grad, of, numbers));
    if (!g.wanted(1)) return;
    const Tensor slope = second_derivative(N, of, numbers);
    g.set(1, slope.defined() ? grad * first_grad * slope : zeros_like(grad));
  }
  static Layout infer(const Tensor& grad, const Tensor& of, double, double, double) {
    const Device device = promoted_device(op::ActivationBackward<N>::info.name(), {&grad, &of});
    if (!has_activation(N, of.dtype()) || !of.is_floating_point())
      not_implemented(op::ActivationBackward<N>::info.name(), of.dtype());
    const Layout* operands[] = {&grad.layout(), &of.layout()};
    return result_layout(binary_shape(grad, of), of.dtype(), device, operands);
  }
  static void cpu(Tensor& out, const Tensor& grad, const Tensor& of, double first, double second,
                  double third) {
    if (out.numel() == 0) return;
    const Dims grad_strides = broadcast_strides(grad.layout(), out.shape()),
               of_strides = broadcast_strides(of.layout(), out.shape());
    TypedOperand grads{operand(grad), grad.dtype()}, ofs{operand(of), of.dtype()};
    grads.place.strides = grad_strides;
    ofs.place.strides = of_strides;
    activation_gradient(N, out.dtype(), out.shape(), {operand(out), out.dtype()}, grads, ofs,
                        {first, second, third});
  }
};

namespace {

using Call = Tensor (*)(const Tensor&, const Tensor&, const ActivationNumbers&);

template <std::size_t... I>
constexpr auto calls(std::index_sequence<I...>) {
  return std::array<Call, sizeof...(I)>{
      [](const Tensor& grad, const Tensor& of, const ActivationNumbers& numbers) -> Tensor {
        return call<op::ActivationBackward<static_cast<Activation>(I)>>(grad, of, numbers[0],
                                                                        numbers[1], numbers[2]);
      }...};
}
constexpr auto kCalls = calls(std::make_index_sequence<op::kActivations>());

}  // namespace

Tensor activation_backward(Activation function, const Tensor& grad, const Tensor& of,
                           const ActivationNumbers& numbers) {
  return kCalls[static_cast<std::size_t>(function)](grad, of, numbers);
}

}  // namespace tenon
