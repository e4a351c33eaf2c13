// Activations that are a kernel of their own, as operators.
#include "tenon/ops/activation.h"

#include <cmath>

#include "base/text.h"
#include "core/element_copy.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/activation_gradients.h"
#include "ops/support/itself.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"

namespace tenon {

constinit OpInfo op::threshold::info{"threshold", kind};
constinit OpInfo op::threshold_::info{"threshold_", kind};
constinit OpInfo op::hardtanh::info{"hardtanh", kind};
constinit OpInfo op::hardtanh_::info{"hardtanh_", kind};
constinit OpInfo op::hardswish::info{"hardswish", kind};
constinit OpInfo op::hardswish_::info{"hardswish_", kind};
constinit OpInfo op::hardsigmoid::info{"hardsigmoid", kind};
constinit OpInfo op::hardsigmoid_::info{"hardsigmoid_", kind};
constinit OpInfo op::silu::info{"silu", kind};
constinit OpInfo op::silu_::info{"silu_", kind};
constinit OpInfo op::mish::info{"mish", kind};
constinit OpInfo op::mish_::info{"mish_", kind};
constinit OpInfo op::elu::info{"elu", kind};
constinit OpInfo op::elu_::info{"elu_", kind};
constinit OpInfo op::selu::info{"selu", kind};
constinit OpInfo op::celu::info{"celu", kind};
constinit OpInfo op::celu_::info{"celu_", kind};
constinit OpInfo op::leaky_relu::info{"leaky_relu", kind};
constinit OpInfo op::leaky_relu_::info{"leaky_relu_", kind};
constinit OpInfo op::gelu::info{"gelu", kind};
constinit OpInfo op::hardshrink::info{"hardshrink", kind};
constinit OpInfo op::softshrink::info{"softshrink", kind};
constinit OpInfo op::softplus::info{"softplus", kind};
constinit OpInfo op::logsigmoid::info{"logsigmoid", kind};

namespace {

using Numbers = ActivationNumbers;

// The numbers of a kernel, from those of an operator.
Numbers none() { return {}; }
Numbers same1(double a) { return {a, 0, 0}; }
Numbers same2(double a, double b) { return {a, b, 0}; }
Numbers of_elu(double alpha, double scale, double input_scale) {
  return {alpha * scale, scale, input_scale};
}
Numbers of_celu(double alpha) { return {alpha, 1, 1 / alpha}; }

void check_takes(const OpInfo& op, Activation function, DType dtype) {
  if (!has_activation(function, dtype)) not_implemented(op.name(), dtype);
}

bool is_unsigned(DType dtype) {
  return dtype == uint8 || dtype == uint16 || dtype == uint32 || dtype == uint64;
}
// A number with no fraction counts as a whole one: those wrap into unsigned dtypes.
Scalar whole_if_it_is(double number) {
  const bool whole = std::trunc(number) == number && std::abs(number) < 0x1p63;
  return whole ? Scalar(static_cast<std::int64_t>(number)) : Scalar(number);
}
// Bounds of whole numbers are cast to their dtype.
void check_fit(Activation function, DType dtype, const Numbers& numbers) {
  if (!is_integral(dtype)) return;
  if (function == Activation::hardtanh && is_unsigned(dtype) &&
      (numbers[0] < 0 || numbers[1] < 0)) {
    throw ValueError(concat("cannot do hardtanh on an unsigned type with negative limits: ",
                            numbers[0], " and ", numbers[1], " for ", repr(dtype)));
  }
  check_value_fits(whole_if_it_is(numbers[0]), dtype);
  check_value_fits(whole_if_it_is(numbers[1]), dtype);
}

Layout infer_activation(const OpInfo& op, Activation function, const Tensor& self) {
  check_takes(op, function, self.dtype());
  const Layout* operands[] = {&self.layout()};
  return result_layout(self.shape(), self.dtype(), self.device(), operands);
}

void run_activation(Activation function, const Tensor& out, const Tensor& self,
                    const Numbers& numbers) {
  if (out.numel() == 0) return;
  activate(function, out.dtype(), out.shape(), {operand(out), out.dtype()},
           {operand(self), self.dtype()}, numbers);
}

template <class O, Activation N, auto kNumbers, class... D>
struct Fresh {
  static bool saves(std::size_t place, const Wanted&) { return place == 0; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, D... numbers) {
    g.set(0, activation_backward(N, grad, self, kNumbers(numbers...)));
  }
  static Layout infer(const Tensor& self, D... numbers) {
    const Layout layout = infer_activation(O::info, N, self);
    check_fit(N, self.dtype(), kNumbers(numbers...));
    return layout;
  }
  static void cpu(Tensor& out, const Tensor& self, D... numbers) {
    run_activation(N, out, self, kNumbers(numbers...));
  }
};

template <class O, Activation N, auto kNumbers, class... D>
struct Written {
  static void check(const Tensor& self, D... numbers) {
    check_takes(O::info, N, self.dtype());
    check_fit(N, self.dtype(), kNumbers(numbers...));
    check_destination(O::info.name(), self, self.dtype(), self.device());
  }
  static void cpu(const Tensor& self, D... numbers) {
    run_activation(N, self, self, kNumbers(numbers...));
  }
};
// In place, with a copy of what was there for the gradient.
template <class O, Activation N, auto kNumbers, class... D>
struct WrittenFromCopy : Written<O, N, kNumbers, D...> {
  static bool saves(std::size_t place, const Wanted&) { return place == 0; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, D... numbers) {
    g.set(0, activation_backward(N, grad, self, kNumbers(numbers...)));
  }
};
// In place, with a gradient that the result is enough for, where it tells which side of zero the
// input was on.
template <class O, Activation N, Activation kGradient, auto kNumbers, class... D>
struct WrittenFromResult : Written<O, N, kNumbers, D...> {
  static bool saves(std::size_t place, const Wanted&) { return place == kResult; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, D... numbers) {
    const Numbers all = kNumbers(numbers...);
    if (N != Activation::hardtanh && all[0] < 0) {
      throw AutogradError(
          concat("In-place ", O::info.name(), " with a negative factor (", all[0],
                 ") cannot be run backwards, because its result does not tell what went in: use ",
                 "the form that is not in place"));
    }
    g.set(0, activation_backward(kGradient, grad, g.result(), all));
  }
};

}  // namespace

template <>
struct Rule<op::threshold> : Fresh<op::threshold, Activation::threshold, same2, double, double> {
  static constexpr std::string_view gradient = "ThresholdBackward0";
};
template <>
struct Rule<op::threshold_>
    : WrittenFromCopy<op::threshold_, Activation::threshold, same2, double, double> {
  static constexpr std::string_view gradient = "ThresholdBackward1";
};
template <>
struct Rule<op::hardtanh> : Fresh<op::hardtanh, Activation::hardtanh, same2, double, double> {
  static constexpr std::string_view gradient = "HardtanhBackward0";
};
template <>
struct Rule<op::hardtanh_> : WrittenFromResult<op::hardtanh_, Activation::hardtanh,
                                               Activation::hardtanh, same2, double, double> {
  static constexpr std::string_view gradient = "HardtanhBackward0";
};
template <>
struct Rule<op::hardswish> : Fresh<op::hardswish, Activation::hardswish, none> {
  static constexpr std::string_view gradient = "HardswishBackward0";
};
template <>
struct Rule<op::hardswish_> : WrittenFromCopy<op::hardswish_, Activation::hardswish, none> {
  static constexpr std::string_view gradient = "HardswishBackward0";
};
template <>
struct Rule<op::hardsigmoid> : Fresh<op::hardsigmoid, Activation::hardsigmoid, none> {
  static constexpr std::string_view gradient = "HardsigmoidBackward0";
};
template <>
struct Rule<op::hardsigmoid_> : WrittenFromCopy<op::hardsigmoid_, Activation::hardsigmoid, none> {
  static constexpr std::string_view gradient = "HardsigmoidBackward0";
};
template <>
struct Rule<op::silu> : Fresh<op::silu, Activation::silu, none> {
  static constexpr std::string_view gradient = "SiluBackward0";
};
template <>
struct Rule<op::silu_> : WrittenFromCopy<op::silu_, Activation::silu, none> {
  static constexpr std::string_view gradient = "SiluBackward0";
};
template <>
struct Rule<op::mish> : Fresh<op::mish, Activation::mish, none> {
  static constexpr std::string_view gradient = "MishBackward0";
};
template <>
struct Rule<op::mish_> : WrittenFromCopy<op::mish_, Activation::mish, none> {
  static constexpr std::string_view gradient = "MishBackward0";
};
template <>
struct Rule<op::elu> : Fresh<op::elu, Activation::elu, of_elu, double, double, double> {
  static constexpr std::string_view gradient = "EluBackward0";
};
template <>
struct Rule<op::elu_> : WrittenFromResult<op::elu_, Activation::elu, Activation::elu_of_result,
                                          of_elu, double, double, double> {
  static constexpr std::string_view gradient = "EluBackward1";
};
template <>
struct Rule<op::celu> : Fresh<op::celu, Activation::elu, of_celu, double> {
  static constexpr std::string_view gradient = "CeluBackward0";
};
template <>
struct Rule<op::celu_>
    : WrittenFromResult<op::celu_, Activation::elu, Activation::elu_of_result, of_celu, double> {
  static constexpr std::string_view gradient = "CeluBackward1";
};
template <>
struct Rule<op::leaky_relu> : Fresh<op::leaky_relu, Activation::leaky_relu, same1, double> {
  static constexpr std::string_view gradient = "LeakyReluBackward0";
};
template <>
struct Rule<op::leaky_relu_> : WrittenFromResult<op::leaky_relu_, Activation::leaky_relu,
                                                 Activation::leaky_relu, same1, double> {
  static constexpr std::string_view gradient = "LeakyReluBackward1";
};
template <>
struct Rule<op::hardshrink> : Fresh<op::hardshrink, Activation::hardshrink, same1, double> {
  static constexpr std::string_view gradient = "HardshrinkBackward0";
};
template <>
struct Rule<op::softshrink> : Fresh<op::softshrink, Activation::softshrink, same1, double> {
  static constexpr std::string_view gradient = "SoftshrinkBackward0";
};
template <>
struct Rule<op::softplus> : Fresh<op::softplus, Activation::softplus, same2, double, double> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32};
  static constexpr std::string_view gradient = "SoftplusBackward0";
};
template <>
struct Rule<op::logsigmoid> : Fresh<op::logsigmoid, Activation::log_sigmoid, none> {
  static constexpr std::string_view gradient = "LogSigmoidBackward0";
};

template <>
struct Rule<op::gelu> {
  static constexpr std::string_view gradient = "GeluBackward0";
  static Activation function(std::string_view approximate) {
    if (approximate == "none") return Activation::gelu;
    if (approximate == "tanh") return Activation::gelu_tanh;
    throw ValueError(
        concat("approximate argument must be either none or tanh, but it is '", approximate, "'"));
  }
  static bool saves(std::size_t place, const Wanted&) { return place == 0; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self,
                       std::string_view approximate) {
    g.set(0, activation_backward(function(approximate), grad, self));
  }
  static Layout infer(const Tensor& self, std::string_view approximate) {
    return infer_activation(op::gelu::info, function(approximate), self);
  }
  static void cpu(Tensor& out, const Tensor& self, std::string_view approximate) {
    run_activation(function(approximate), out, self, {});
  }
};

template <>
struct Rule<op::selu> {
  static Tensor compose(const Tensor& self, bool inplace) {
    constexpr double kAlpha = 1.6732632423543772848170429916717;
    constexpr double kScale = 1.0507009873554804934193349852946;
    return inplace ? call<op::elu_>(self, kAlpha, kScale, 1)
                   : call<op::elu>(self, kAlpha, kScale, 1);
  }
};

namespace {

// In place, for who wants the result as one: see Note [Arguments of one's own].
template <class O, class... A>
Tensor in_place(const Tensor& input, const A&... rest) {
  const Tensor own = input;
  call<O>(own, rest...);
  return own;
}

}  // namespace

Tensor threshold(const Tensor& input, double threshold, double value, InplaceOptions options) {
  return options.inplace ? in_place<op::threshold_>(input, threshold, value)
                         : call<op::threshold>(input, threshold, value);
}
const Tensor& threshold_(const Tensor& input, double threshold, double value) {
  return call<op::threshold_>(input, threshold, value);
}

namespace {

void check_bounds(const HardtanhOptions& options) {
  if (options.min_val <= options.max_val) return;
  throw ValueError(
      concat("hardtanh: min_val (", options.min_val, ") is above max_val (", options.max_val, ")"));
}
void check_celu(double alpha) {
  if (alpha == 0) throw ValueError("ZeroDivisionError: alpha cannot be 0 for CELU");
}

}  // namespace

Tensor hardtanh(const Tensor& input, HardtanhOptions options) {
  check_bounds(options);
  if (options.inplace) return in_place<op::hardtanh_>(input, options.min_val, options.max_val);
  return call<op::hardtanh>(input, options.min_val, options.max_val);
}
const Tensor& hardtanh_(const Tensor& input, HardtanhOptions options) {
  check_bounds(options);
  return call<op::hardtanh_>(input, options.min_val, options.max_val);
}
Tensor hardsigmoid(const Tensor& input, InplaceOptions options) {
  return options.inplace ? in_place<op::hardsigmoid_>(input) : call<op::hardsigmoid>(input);
}
Tensor hardswish(const Tensor& input, InplaceOptions options) {
  return options.inplace ? in_place<op::hardswish_>(input) : call<op::hardswish>(input);
}
Tensor silu(const Tensor& input, InplaceOptions options) {
  return options.inplace ? in_place<op::silu_>(input) : call<op::silu>(input);
}
Tensor mish(const Tensor& input, InplaceOptions options) {
  return options.inplace ? in_place<op::mish_>(input) : call<op::mish>(input);
}
Tensor elu(const Tensor& input, AlphaInplaceOptions options) {
  return options.inplace ? in_place<op::elu_>(input, options.alpha, 1.0, 1.0)
                         : call<op::elu>(input, options.alpha, 1, 1);
}
const Tensor& elu_(const Tensor& input, AlphaInplaceOptions options) {
  return call<op::elu_>(input, options.alpha, 1, 1);
}
Tensor celu(const Tensor& input, AlphaInplaceOptions options) {
  check_celu(options.alpha);
  if (options.inplace) return in_place<op::celu_>(input, options.alpha);
  return call<op::celu>(input, options.alpha);
}
const Tensor& celu_(const Tensor& input, AlphaInplaceOptions options) {
  check_celu(options.alpha);
  return call<op::celu_>(input, options.alpha);
}
Tensor selu(const Tensor& input, InplaceOptions options) {
  return call<op::selu>(input, options.inplace);
}
const Tensor& selu_(const Tensor& input) {
  call<op::selu>(input, true);
  return input;
}
Tensor leaky_relu(const Tensor& input, LeakyReluOptions options) {
  return options.inplace ? in_place<op::leaky_relu_>(input, options.negative_slope)
                         : call<op::leaky_relu>(input, options.negative_slope);
}
const Tensor& leaky_relu_(const Tensor& input, double negative_slope) {
  return call<op::leaky_relu_>(input, negative_slope);
}
Tensor gelu(const Tensor& input, GeluOptions options) {
  return call<op::gelu>(input, options.approximate);
}
Tensor hardshrink(const Tensor& input, LambdOptions options) {
  return call<op::hardshrink>(input, options.lambd);
}
Tensor softshrink(const Tensor& input, LambdOptions options) {
  if (!(options.lambd >= 0)) {
    throw ValueError(
        concat("lambda must be greater or equal to 0, but found to be ", options.lambd, "."));
  }
  return call<op::softshrink>(input, options.lambd);
}
Tensor softplus(const Tensor& input, SoftplusOptions options) {
  return call<op::softplus>(input, options.beta, options.threshold);
}
Tensor logsigmoid(const Tensor& input) { return call<op::logsigmoid>(input); }

Tensor TensorMethods::hardshrink(double lambd) const {
  return tenon::hardshrink(itself(*this), lambd);
}

}  // namespace tenon
