#include "ops/elementwise/elementwise_gradients.h"

#include <numbers>
#include <utility>
#include <vector>

#include "base/text.h"
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

constexpr std::uint8_t needs(Unary function) {
  switch (function) {
    case Unary::abs:
    case Unary::square:
    case Unary::log:
    case Unary::log2:
    case Unary::log10:
    case Unary::log1p:
    case Unary::sin:
    case Unary::cos:
    case Unary::asin:
    case Unary::acos:
    case Unary::atan:
    case Unary::sinh:
    case Unary::cosh:
    case Unary::asinh:
    case Unary::acosh:
    case Unary::atanh:
    case Unary::erf:
    case Unary::erfc:
    case Unary::erfinv:
    case Unary::lgamma:
    case Unary::digamma:
    case Unary::sgn:
    case Unary::angle: return kSelf;
    case Unary::reciprocal:
    case Unary::sqrt:
    case Unary::rsqrt:
    case Unary::exp:
    case Unary::exp2:
    case Unary::expm1:
    case Unary::tan:
    case Unary::tanh:
    case Unary::sigmoid:
    case Unary::relu: return kItsResult;
    default: return kNothing;
  }
}

// For the gradient of the first argument, and of the second.
constexpr std::pair<std::uint8_t, std::uint8_t> needs(Binary function) {
  constexpr std::uint8_t both = kSelf | kOther;
  switch (function) {
    case Binary::mul: return {kOther, kSelf};
    case Binary::div: return {kOther, both};
    case Binary::remainder:
    case Binary::fmod: return {kNothing, both};
    case Binary::pow: return {both, both | kItsResult};
    case Binary::maximum:
    case Binary::minimum:
    case Binary::fmax:
    case Binary::fmin:
    case Binary::atan2:
    case Binary::logaddexp:
    case Binary::logaddexp2:
    case Binary::xlogy: return {both, both};
    case Binary::hypot: return {kSelf | kItsResult, kOther | kItsResult};
    case Binary::copysign: return {kSelf | kItsResult, kNothing};
    default: return {kNothing, kNothing};
  }
}

Tensor squared(const Tensor& x) { return x * x; }

Tensor unary_gradient(Unary function, const Tensor& grad, const Tensor& self,
                      const Tensor& result) {
  constexpr double kLn2 = std::numbers::ln2, kLn10 = std::numbers::ln10;
  constexpr double kInvSqrtPi = std::numbers::inv_sqrtpi;
  switch (function) {
    case Unary::neg: return -grad;
    case Unary::abs: return grad * self.sgn();
    case Unary::square: return grad * (self * 2).conj();
    case Unary::reciprocal: return -grad * squared(result).conj();
    case Unary::sqrt: return grad / (result.conj() * 2);
    case Unary::rsqrt: return grad * -0.5 * (squared(result) * result).conj();
    case Unary::exp: return grad * result.conj();
    case Unary::exp2: return grad * result.conj() * kLn2;
    case Unary::expm1: return grad * (result.conj() + 1);
    case Unary::log: return grad / self.conj();
    case Unary::log2: return grad / (self.conj() * kLn2);
    case Unary::log10: return grad / (self.conj() * kLn10);
    case Unary::log1p: return grad / (self + 1).conj();
    case Unary::sin: return grad * self.cos().conj();
    case Unary::cos: return -grad * self.sin().conj();
    case Unary::tan: return grad * (squared(result) + 1).conj();
    case Unary::asin: return grad * (-squared(self) + 1).rsqrt().conj();
    case Unary::acos: return -grad * (-squared(self) + 1).rsqrt().conj();
    case Unary::atan: return grad / (squared(self) + 1).conj();
    case Unary::sinh: return grad * self.cosh().conj();
    case Unary::cosh: return grad * self.sinh().conj();
    case Unary::tanh:
      if (!result.is_complex()) return activation_backward(Activation::tanh, grad, result);
      return grad * (-squared(result) + 1).conj();
    case Unary::asinh: return grad * (squared(self) + 1).rsqrt().conj();
    case Unary::acosh: return grad * ((self - 1).rsqrt() * (self + 1).rsqrt()).conj();
    case Unary::atanh: return grad / (-squared(self) + 1).conj();
    case Unary::sigmoid:
      if (!result.is_complex()) return activation_backward(Activation::sigmoid, grad, result);
      return grad * ((-result + 1) * result).conj();
    case Unary::relu: return activation_backward(Activation::threshold, grad, result);
    case Unary::erf: return grad * (-squared(self)).exp() * (2 * kInvSqrtPi);
    case Unary::erfc: return grad * (-squared(self)).exp() * (-2 * kInvSqrtPi);
    case Unary::erfinv: return grad * squared(self.erfinv()).exp() * (0.5 / kInvSqrtPi);
    case Unary::lgamma: return grad * self.digamma();
    case Unary::digamma: return grad * self.polygamma(1);
    case Unary::floor:
    case Unary::ceil:
    case Unary::round:
    case Unary::trunc:
    case Unary::sign: return zeros_like(grad);
    case Unary::frac: return grad;
    case Unary::sgn: {
      if (!self.is_complex()) return zeros_like(grad);
      const Tensor length = self.abs(), sign = self.sgn();
      return masked_fill((grad - (grad / sign).real() * sign) / length, length == 0, 0);
    }
    case Unary::angle: {
      if (!self.is_complex()) return zeros_like(grad);
      const Tensor length = squared(self.abs());
      return masked_fill(grad * (self * Scalar(std::complex<double>(0, 1))) / length, length == 0,
                         0);
    }
    default: return {};
  }
}

struct Both {
  Tensor self, other;
};

Both binary_gradient(Binary function, const Tensor& grad, const Tensor& self, const Tensor& other,
                     const Tensor& result, bool for_self, bool for_other) {
  const auto when = [](bool wanted, auto&& f) { return wanted ? f() : Tensor(); };
  // To the one that was taken; where both are the same, half to each.
  const auto shared = [&](const Tensor& not_self, const Tensor& not_other) {
    const Tensor halved = where(self == other, grad / 2, grad);
    return Both{when(for_self, [&] { return masked_fill(halved, not_self, 0); }),
                when(for_other, [&] { return masked_fill(halved, not_other, 0); })};
  };
  switch (function) {
    case Binary::add: return {grad, grad};
    case Binary::sub: return {grad, when(for_other, [&] { return -grad; })};
    case Binary::mul:
      return {when(for_self, [&] { return grad * other.conj(); }),
              when(for_other, [&] { return grad * self.conj(); })};
    case Binary::div:
      return {when(for_self, [&] { return grad / other.conj(); }),
              when(for_other, [&] { return -grad * ((self / other) / other).conj(); })};
    case Binary::remainder:
      return {grad,
              when(for_other, [&] { return -grad * floor_divide(self.detach(), other.detach()); })};
    case Binary::fmod:
      return {grad, when(for_other, [&] { return -grad * (self / other).trunc(); })};
    case Binary::pow: {
      Both both;
      if (for_self) {
        // What is calculated of a number of the program alone has the default dtype, and may be
        // less precise than it.
        const bool wide = other.body().is_wrapped_number() && itemsize(grad.dtype()) >= 8;
        const Tensor power =
            wide ? scalar_tensor(other.item(), {.dtype = grad.dtype(), .device = self.device()})
                 : other;
        both.self = masked_fill(grad * (power * self.pow(power - 1)).conj(), power == 0, 0);
      }
      if (for_other) {
        // 0 to a power is 0 whatever the power, as long as that is real and not negative.
        const Tensor flat =
            other.is_complex() ? (other.imag() == 0).logical_and(other.real() >= 0) : other >= 0;
        both.other = masked_fill(grad * (result * self.to(result.dtype()).log()).conj(),
                                 (self == 0).logical_and(flat), 0);
      }
      return both;
    }
    case Binary::maximum:
    case Binary::fmax: return shared(lt(self, other), gt(self, other));
    case Binary::minimum:
    case Binary::fmin: return shared(gt(self, other), lt(self, other));
    case Binary::atan2: {
      const Tensor length = squared(self) + squared(other);
      const Tensor scaled = masked_fill(grad / length, length == 0, 0);
      return {when(for_self, [&] { return scaled * other; }),
              when(for_other, [&] { return scaled * -self; })};
    }
    case Binary::hypot:
      return {when(for_self, [&] { return grad * (self / result); }),
              when(for_other, [&] { return grad * (other / result); })};
    case Binary::copysign:
      return {when(for_self, [&] { return grad * masked_fill(result / self, self == 0, 0); }),
              when(for_other, [&] { return zeros_like(grad); })};
    case Binary::logaddexp:
      return {when(for_self, [&] { return grad / ((other - self).exp() + 1).conj(); }),
              when(for_other, [&] { return grad / ((self - other).exp() + 1).conj(); })};
    case Binary::logaddexp2:
      return {when(for_self, [&] { return grad / ((other - self).exp2() + 1); }),
              when(for_other, [&] { return grad / ((self - other).exp2() + 1); })};
    case Binary::xlogy:
      return {when(for_self,
                   [&] {
                     return masked_fill(xlogy(grad, other), (self == 0).logical_and(other <= 0), 0);
                   }),
              when(for_other, [&] { return grad * (self / other); })};
    case Binary::trunc_divide:
    case Binary::eq:
    case Binary::ne:
    case Binary::lt:
    case Binary::le:
    case Binary::gt:
    case Binary::ge:
      return {when(for_self, [&] { return zeros_like(grad); }),
              when(for_other, [&] { return zeros_like(grad); })};
    default: return {};
  }
}

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
      out[0] = unary_gradient(function_, grads[0], self, result);
    } else {
      const bool for_self(next_edges()[0].node), for_other(next_edges()[1].node);
      Both both = binary_gradient(function_, grads[0], self, other, result, for_self, for_other);
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
  auto node = make_ref<ElementwiseNode<Unary>>(function, name, needs(function));
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
  const auto [for_self, for_other] = needs(function);
  const int wants = (self.requires_grad() ? for_self : 0) | (other.requires_grad() ? for_other : 0);
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
