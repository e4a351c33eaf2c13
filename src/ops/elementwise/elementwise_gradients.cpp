#include "ops/elementwise/elementwise_gradients.h"

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ops/elementwise/function_nodes.h"
#include "ops/nn/activation_gradients.h"
#include "tenon/error.h"
#include "tenon/extend/recorded_node.h"
#include "tenon/extend/saved_tensor.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/where.h"

namespace tenon {

namespace {

using Unary = UnaryFunction;
using Binary = BinaryFunction;

// What a gradient is calculated from, beside the result's.
constexpr std::uint8_t kNothing = 0, kSelf = 1, kOther = 2, kItsResult = 4;

constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10;
constexpr double kInvSqrtPi = std::numbers::inv_sqrtpi;

Tensor squared(const Tensor& x) { return x * x; }

Tensor tanh_gradient(const Tensor& grad, const Tensor& result) {
  if (!result.is_complex()) return activation_backward(Activation::tanh, grad, result);
  return grad * (-squared(result) + 1).conj();
}
Tensor sigmoid_gradient(const Tensor& grad, const Tensor& result) {
  if (!result.is_complex()) return activation_backward(Activation::sigmoid, grad, result);
  return grad * ((-result + 1) * result).conj();
}
Tensor sgn_gradient(const Tensor& grad, const Tensor& self) {
  if (!self.is_complex()) return zeros_like(grad);
  const Tensor length = self.abs(), sign = self.sgn();
  return masked_fill((grad - (grad / sign).real() * sign) / length, length == 0, 0);
}
Tensor angle_gradient(const Tensor& grad, const Tensor& self) {
  if (!self.is_complex()) return zeros_like(grad);
  const Tensor length = squared(self.abs());
  return masked_fill(grad * (self * Scalar(std::complex<double>(0, 1))) / length, length == 0, 0);
}

// The gradient of a function of one tensor: whether it needs the argument or the result, and its
// formula, which gets the one that it needs.
struct UnaryGradient {
  std::uint8_t needs = kNothing;
  Tensor (*formula)(const Tensor& grad, const Tensor& saved) = nullptr;
};
#define TENON_OF_SELF(gradient) \
  {kSelf, [](const Tensor& grad, const Tensor& self) -> Tensor { return gradient; }}
#define TENON_OF_RESULT(gradient) \
  {kItsResult, [](const Tensor& grad, const Tensor& result) -> Tensor { return gradient; }}
#define TENON_OF_GRAD(gradient) \
  {kNothing, [](const Tensor& grad, const Tensor& /*none*/) -> Tensor { return gradient; }}
constexpr UnaryGradient gradient_of(Unary function) {
  switch (function) {
    case Unary::neg: return TENON_OF_GRAD(-grad);
    case Unary::abs: return TENON_OF_SELF(grad * self.sgn());
    case Unary::square: return TENON_OF_SELF(grad * (self * 2).conj());
    case Unary::reciprocal: return TENON_OF_RESULT(-grad * squared(result).conj());
    case Unary::sqrt: return TENON_OF_RESULT(grad / (result.conj() * 2));
    case Unary::rsqrt: return TENON_OF_RESULT(grad * -0.5 * (squared(result) * result).conj());
    case Unary::exp: return TENON_OF_RESULT(grad * result.conj());
    case Unary::exp2: return TENON_OF_RESULT(grad * result.conj() * kLn2);
    case Unary::expm1: return TENON_OF_RESULT(grad * (result.conj() + 1));
    case Unary::log: return TENON_OF_SELF(grad / self.conj());
    case Unary::log2: return TENON_OF_SELF(grad / (self.conj() * kLn2));
    case Unary::log10: return TENON_OF_SELF(grad / (self.conj() * kLn10));
    case Unary::log1p: return TENON_OF_SELF(grad / (self + 1).conj());
    case Unary::sin: return TENON_OF_SELF(grad * self.cos().conj());
    case Unary::cos: return TENON_OF_SELF(-grad * self.sin().conj());
    case Unary::tan: return TENON_OF_RESULT(grad * (squared(result) + 1).conj());
    case Unary::asin: return TENON_OF_SELF(grad * (-squared(self) + 1).rsqrt().conj());
    case Unary::acos: return TENON_OF_SELF(-grad * (-squared(self) + 1).rsqrt().conj());
    case Unary::atan: return TENON_OF_SELF(grad / (squared(self) + 1).conj());
    case Unary::sinh: return TENON_OF_SELF(grad * self.cosh().conj());
    case Unary::cosh: return TENON_OF_SELF(grad * self.sinh().conj());
    case Unary::tanh: return TENON_OF_RESULT(tanh_gradient(grad, result));
    case Unary::asinh: return TENON_OF_SELF(grad * (squared(self) + 1).rsqrt().conj());
    case Unary::acosh:
      return TENON_OF_SELF(grad * ((self - 1).rsqrt() * (self + 1).rsqrt()).conj());
    case Unary::atanh: return TENON_OF_SELF(grad / (-squared(self) + 1).conj());
    case Unary::sigmoid: return TENON_OF_RESULT(sigmoid_gradient(grad, result));
    case Unary::relu:
      return TENON_OF_RESULT(activation_backward(Activation::threshold, grad, result));
    case Unary::erf: return TENON_OF_SELF(grad * (-squared(self)).exp() * (2 * kInvSqrtPi));
    case Unary::erfc: return TENON_OF_SELF(grad * (-squared(self)).exp() * (-2 * kInvSqrtPi));
    case Unary::erfinv:
      return TENON_OF_SELF(grad * squared(self.erfinv()).exp() * (0.5 / kInvSqrtPi));
    case Unary::lgamma: return TENON_OF_SELF(grad * self.digamma());
    case Unary::digamma: return TENON_OF_SELF(grad * self.polygamma(1));
    case Unary::floor:
    case Unary::ceil:
    case Unary::round:
    case Unary::trunc:
    case Unary::sign: return TENON_OF_GRAD(zeros_like(grad));
    case Unary::frac: return TENON_OF_GRAD(grad);
    case Unary::sgn: return TENON_OF_SELF(sgn_gradient(grad, self));
    case Unary::angle: return TENON_OF_SELF(angle_gradient(grad, self));
    default: return {};
  }
}
#undef TENON_OF_SELF
#undef TENON_OF_RESULT
#undef TENON_OF_GRAD

struct Both {
  Tensor self, other;
};

// The arguments of the gradients of a function of two tensors.
struct BinaryArguments {
  const Tensor &grad, &self, &other, &result;
  bool for_self, for_other;  // whose gradients are asked for

  template <class OfSelf, class OfOther>
  Both both(OfSelf&& of_self, OfOther&& of_other) const {
    return {for_self ? of_self() : Tensor(), for_other ? of_other() : Tensor()};
  }
  // To the one that was taken; where both are the same, half to each.
  Both shared(const Tensor& not_self, const Tensor& not_other) const {
    const Tensor halved = where(self == other, grad / 2, grad);
    return both([&] { return masked_fill(halved, not_self, 0); },
                [&] { return masked_fill(halved, not_other, 0); });
  }
};

Both add_gradient(const BinaryArguments& x) { return {x.grad, x.grad}; }
Both sub_gradient(const BinaryArguments& x) {
  return x.both([&] { return x.grad; }, [&] { return -x.grad; });
}
Both mul_gradient(const BinaryArguments& x) {
  return x.both([&] { return x.grad * x.other.conj(); }, [&] { return x.grad * x.self.conj(); });
}
Both div_gradient(const BinaryArguments& x) {
  return x.both([&] { return x.grad / x.other.conj(); },
                [&] { return -x.grad * ((x.self / x.other) / x.other).conj(); });
}
Both remainder_gradient(const BinaryArguments& x) {
  return x.both([&] { return x.grad; },
                [&] { return -x.grad * floor_divide(x.self.detach(), x.other.detach()); });
}
Both fmod_gradient(const BinaryArguments& x) {
  return x.both([&] { return x.grad; }, [&] { return -x.grad * (x.self / x.other).trunc(); });
}
Both pow_gradient(const BinaryArguments& x) {
  return x.both(
      [&] {
        // A result of a number of the program alone has the default dtype, and may be less precise
        // than the gradient.
        const bool wide = x.other.body().is_wrapped_number() && itemsize(x.grad.dtype()) >= 8;
        const Tensor power = wide ? scalar_tensor(x.other.item(), {.dtype = x.grad.dtype(),
                                                                   .device = x.self.device()})
                                  : x.other;
        return masked_fill(x.grad * (power * x.self.pow(power - 1)).conj(), power == 0, 0);
      },
      [&] {
        // 0 to a power is 0 whatever the power, as long as that is real and not negative.
        const Tensor flat = x.other.is_complex()
                                ? (x.other.imag() == 0).logical_and(x.other.real() >= 0)
                                : x.other >= 0;
        return masked_fill(x.grad * (x.result * x.self.to(x.result.dtype()).log()).conj(),
                           (x.self == 0).logical_and(flat), 0);
      });
}
Both maximum_gradient(const BinaryArguments& x) {
  return x.shared(lt(x.self, x.other), gt(x.self, x.other));
}
Both minimum_gradient(const BinaryArguments& x) {
  return x.shared(gt(x.self, x.other), lt(x.self, x.other));
}
Both atan2_gradient(const BinaryArguments& x) {
  const Tensor length = squared(x.self) + squared(x.other);
  const Tensor scaled = masked_fill(x.grad / length, length == 0, 0);
  return x.both([&] { return scaled * x.other; }, [&] { return scaled * -x.self; });
}
Both hypot_gradient(const BinaryArguments& x) {
  return x.both([&] { return x.grad * (x.self / x.result); },
                [&] { return x.grad * (x.other / x.result); });
}
Both copysign_gradient(const BinaryArguments& x) {
  return x.both([&] { return x.grad * masked_fill(x.result / x.self, x.self == 0, 0); },
                [&] { return zeros_like(x.grad); });
}
Both logaddexp_gradient(const BinaryArguments& x) {
  return x.both([&] { return x.grad / ((x.other - x.self).exp() + 1).conj(); },
                [&] { return x.grad / ((x.self - x.other).exp() + 1).conj(); });
}
Both logaddexp2_gradient(const BinaryArguments& x) {
  return x.both([&] { return x.grad / ((x.other - x.self).exp2() + 1); },
                [&] { return x.grad / ((x.self - x.other).exp2() + 1); });
}
Both xlogy_gradient(const BinaryArguments& x) {
  return x.both(
      [&] {
        return masked_fill(xlogy(x.grad, x.other), (x.self == 0).logical_and(x.other <= 0), 0);
      },
      [&] { return x.grad * (x.self / x.other); });
}
Both no_slope(const BinaryArguments& x) {
  return x.both([&] { return zeros_like(x.grad); }, [&] { return zeros_like(x.grad); });
}
// As in PyTorch, there is a node, which can only say so.
Both not_implemented_gradient(const BinaryArguments& /*x*/) { return {}; }

// The gradients of a function of two tensors: the needs of the first, the needs of the second, and
// the formula of both.
struct BinaryGradient {
  std::uint8_t self_needs = kNothing, other_needs = kNothing;
  Both (*formula)(const BinaryArguments& x) = nullptr;
};
constexpr BinaryGradient gradient_of(Binary function) {
  constexpr std::uint8_t either = kSelf | kOther;
  switch (function) {
    case Binary::add: return {kNothing, kNothing, add_gradient};
    case Binary::sub: return {kNothing, kNothing, sub_gradient};
    case Binary::mul: return {kOther, kSelf, mul_gradient};
    case Binary::div: return {kOther, either, div_gradient};
    case Binary::remainder: return {kNothing, either, remainder_gradient};
    case Binary::fmod: return {kNothing, either, fmod_gradient};
    case Binary::pow: return {either, either | kItsResult, pow_gradient};
    case Binary::maximum:
    case Binary::fmax: return {either, either, maximum_gradient};
    case Binary::minimum:
    case Binary::fmin: return {either, either, minimum_gradient};
    case Binary::atan2: return {either, either, atan2_gradient};
    case Binary::hypot: return {kSelf | kItsResult, kOther | kItsResult, hypot_gradient};
    case Binary::copysign: return {kSelf | kItsResult, kNothing, copysign_gradient};
    case Binary::logaddexp: return {either, either, logaddexp_gradient};
    case Binary::logaddexp2: return {either, either, logaddexp2_gradient};
    case Binary::xlogy: return {either, either, xlogy_gradient};
    case Binary::trunc_divide:
    case Binary::eq:
    case Binary::ne:
    case Binary::lt:
    case Binary::le:
    case Binary::gt:
    case Binary::ge: return {kNothing, kNothing, no_slope};
    case Binary::floor_divide:
    case Binary::nextafter: return {kNothing, kNothing, not_implemented_gradient};
    default: return {};
  }
}

// Whether a row has a node exactly where the function has a gradient here.
template <class Function, std::size_t kCount>
constexpr bool nodes_have_gradients() {
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto function = static_cast<Function>(i);
    if (in_place_node(function).empty() != (gradient_of(function).formula == nullptr)) return false;
  }
  return true;
}
static_assert(nodes_have_gradients<Unary, kUnaryFunctions>(),
              "a row of TENON_UNARY_FUNCTIONS has a node, and gradient_of() no formula, or the "
              "other way round");
static_assert(nodes_have_gradients<Binary, kBinaryFunctions>(),
              "a row of TENON_BINARY_FUNCTIONS has a node, and gradient_of() no formula, or the "
              "other way round");

// Either kind: which function, and what its gradient needs.
template <class Function>
class ElementwiseNode final : public Node {
 public:
  ElementwiseNode(Function function, std::string_view name, std::uint8_t wants)
      : function_(function), name_(name), wants_(wants) {}
  std::string name() const override { return std::string(name_); }

  void keep(std::uint8_t what, const Tensor& tensor, bool written_over = false) {
    if ((wants_ & what) == 0) return;
    SavedTensor& place = what == kSelf ? self_ : what == kOther ? other_ : result_;
    place = what == kItsResult
                ? detail::save_result(tensor, 0)
                : SavedTensor(written_over ? tensor.clone() : tensor, SavedTensor::Role::input);
  }

  std::vector<Tensor> apply(std::vector<Tensor> grads) override {
    std::vector<Tensor> out(next_edges().size());
    if (!grads[0].defined()) return out;
    const Tensor self = kept(kSelf), other = kept(kOther), result = kept(kItsResult);
    if constexpr (std::same_as<Function, Unary>) {
      const UnaryGradient gradient = gradient_of(function_);
      out[0] = gradient.formula(grads[0], gradient.needs == kSelf ? self : result);
    } else {
      const bool for_self(next_edges()[0].node), for_other(next_edges()[1].node);
      Both both =
          gradient_of(function_).formula({grads[0], self, other, result, for_self, for_other});
      if (for_self) out[0] = std::move(both.self);
      if (for_other) out[1] = std::move(both.other);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (next_edges()[i].node && !out[i].defined())
        throw NotImplementedError(concat("the derivative of '", name_, "' is not implemented"));
    }
    return out;
  }
  void free_saved() noexcept override {
    self_ = SavedTensor();
    other_ = SavedTensor();
    result_ = SavedTensor();
  }

 private:
  Tensor kept(std::uint8_t what) {
    if ((wants_ & what) == 0) return {};
    if (what == kItsResult) return detail::unpack_result(result_, name_, *this, 0);
    return (what == kSelf ? self_ : other_).unpack(name_);
  }

  Function function_;
  std::string_view name_;  // of a table, which lives as long as the program
  std::uint8_t wants_;
  SavedTensor self_, other_, result_;
};

}  // namespace

Ref<Node> unary_node(Unary function, std::string_view name, const Tensor& self, bool in_place) {
  auto node = make_ref<ElementwiseNode<Unary>>(function, name, gradient_of(function).needs);
  node->keep(kSelf, self, in_place);
  return node;
}

Ref<Node> binary_node(Binary function, std::string_view name, const Tensor& self,
                      const Tensor& other, bool in_place) {
  // PyTorch has functions of two tensors and of a tensor and a number, which it numbers.
  if (!other.body().is_wrapped_number()) {
    if (function == Binary::remainder) name = "RemainderBackward1";
    if (function == Binary::fmod) name = "FmodBackward1";
  }
  const BinaryGradient gradient = gradient_of(function);
  const int wants = (self.requires_grad() ? gradient.self_needs : 0) |
                    (other.requires_grad() ? gradient.other_needs : 0);
  auto node = make_ref<ElementwiseNode<Binary>>(function, name, static_cast<std::uint8_t>(wants));
  node->keep(kSelf, self, in_place);
  // What is written over may be both.
  node->keep(kOther, other, in_place && other.is(self));
  return node;
}

void keep_unary_result(Node& node, const Tensor& result) {
  static_cast<ElementwiseNode<Unary>&>(node).keep(kItsResult, result);
}
void keep_binary_result(Node& node, const Tensor& result) {
  static_cast<ElementwiseNode<Binary>&>(node).keep(kItsResult, result);
}

}  // namespace tenon
