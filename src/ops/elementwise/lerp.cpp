// Functions of three tensors that add a product without rounding it first.
#include "tenon/ops/lerp.h"

#include <complex>

#include "base/text.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/ternary.h"
#include "ops/support/gradients.h"
#include "ops/support/into.h"
#include "ops/support/itself.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::add_scaled::info{"add", kind};
constinit OpInfo op::add_scaled_::info{"add_", kind};
constinit OpInfo op::sub_scaled::info{"sub", kind};
constinit OpInfo op::sub_scaled_::info{"sub_", kind};
constinit OpInfo op::lerp::info{"lerp", kind};
constinit OpInfo op::lerp_::info{"lerp_", kind};
constinit OpInfo op::addcmul::info{"addcmul", kind};
constinit OpInfo op::addcmul_::info{"addcmul_", kind};
constinit OpInfo op::addcdiv::info{"addcdiv", kind};
constinit OpInfo op::addcdiv_::info{"addcdiv_", kind};

namespace {

void check_alpha(DType dtype, const Scalar& alpha) {
  if (alpha.kind() == Scalar::Kind::boolean && dtype != bool_)
    throw DTypeError("Boolean alpha only supported for Boolean results.");
  if (alpha.kind() == Scalar::Kind::real && !is_floating_point(dtype) && !is_complex(dtype)) {
    throw DTypeError(
        "For integral input tensors, argument alpha must not be a floating point number.");
  }
  if (alpha.kind() == Scalar::Kind::complex && !is_complex(dtype)) {
    throw DTypeError("For non-complex input tensors, argument alpha must not be a complex number.");
  }
}

Ternary lerp_of(const Tensor& self, const Tensor& end, const Tensor& weight) {
  const auto check_dtype = [&](const char* name, const Tensor& tensor) {
    if (tensor.dtype() == self.dtype()) return;
    throw DTypeError(concat("expected dtype ", info(self.dtype()).name, " for `", name,
                            "` but got dtype ", info(tensor.dtype()).name,
                            ": convert it with to()"));
  };
  check_dtype("end", end);
  if (weight.dim() != 0) check_dtype("weight", weight);
  if (is_complex(weight.dtype()) && !is_complex(self.dtype())) check_dtype("weight", weight);
  return {op::lerp::info, TernaryFunction::lerp, self.dtype(), self, end, weight};
}

Ternary addcmul_of(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2) {
  return {op::addcmul::info,
          TernaryFunction::addcmul,
          promoted_dtype({&self, &tensor1, &tensor2}),
          self,
          tensor1,
          tensor2};
}

Ternary addcdiv_of(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2) {
  const auto whole = [](const Tensor& t) { return is_integral(t.dtype()) || t.dtype() == bool_; };
  if (whole(tensor1) && whole(tensor2)) {
    throw DTypeError(
        "Integer division with addcdiv is no longer supported: write self + value * tensor1 / "
        "tensor2 for the true quotient, or div(tensor1, tensor2, {.rounding_mode = \"trunc\"})");
  }
  return {op::addcdiv::info,
          TernaryFunction::addcdiv,
          promoted_dtype({&self, &tensor1, &tensor2}),
          self,
          tensor1,
          tensor2};
}

std::string_view lerp_node(const Tensor& weight) {
  return weight.body().is_wrapped_number() ? "LerpBackward0" : "LerpBackward1";
}
bool lerp_saves(std::size_t place, const Wanted& wanted) {
  return place == 2 ? wanted[0] || wanted[1] : place < 2 && wanted[2];
}
void lerp_backward(Gradient& g, const Tensor& grad, const Tensor& self, const Tensor& end,
                   const Tensor& weight) {
  if (g.wanted(0)) g.set(0, grad * (-weight + 1).conj());
  if (g.wanted(1)) g.set(1, grad * weight.conj());
  if (g.wanted(2)) g.set(2, grad * (end - self).conj());
}

}  // namespace

namespace {

Scalar negative(const Scalar& alpha) {
  switch (alpha.kind()) {
    case Scalar::Kind::boolean: return alpha;  // refused later
    case Scalar::Kind::real: return -alpha.to<double>();
    case Scalar::Kind::complex: return -alpha.to<std::complex<double>>();
    default:
      return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(alpha.to<std::int64_t>()));
  }
}

// That the factor is a number of the kind that is calculated with, however few elements there are.
Ternary with_factor(const Ternary& t, const Scalar& value) {
  visit(compute_dtype(t.dtype), [&]<class T>() { static_cast<void>(value.to<T>()); });
  return t;
}

// alpha as it takes part: of 16-bit floats rounded first, unlike other factors.
Scalar taken(DType dtype, const Scalar& alpha) {
  check_alpha(dtype, alpha);
  if (dtype == float16) return static_cast<float>(alpha.to<Half>());
  if (dtype == bfloat16) return static_cast<float>(alpha.to<BFloat16>());
  return alpha;
}

template <class O, bool kSubtracts>
struct ScaledRule {
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& /*other*/, const Scalar& alpha) {
    if (g.wanted(0)) g.set(0, grad);
    if (g.wanted(1)) g.set(1, (kSubtracts ? -grad : grad) * conj(alpha));
  }
  static Ternary of(const Tensor& self, const Tensor& other) {
    return {O::info, TernaryFunction::add_scaled, promoted_dtype({&self, &other}), self, other,
            self};
  }
  static Scalar factor(DType dtype, const Scalar& alpha) {
    return taken(dtype, kSubtracts ? negative(alpha) : alpha);
  }
  static Layout infer(const Tensor& self, const Tensor& other, const Scalar& alpha) {
    const Ternary t = of(self, other);
    return infer_ternary(with_factor(t, factor(t.dtype, alpha)));
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& alpha) {
    const Ternary t = of(self, other);
    run_ternary(t, out, factor(t.dtype, alpha));
  }
};
template <class O, bool kSubtracts>
struct ScaledInPlaceRule {
  using Fresh = ScaledRule<O, kSubtracts>;
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Tensor& other,
                       const Scalar& alpha) {
    Fresh::backward(g, grad, self, other, alpha);
  }
  static void check(const Tensor& self, const Tensor& other, const Scalar& alpha) {
    const Ternary t = Fresh::of(self, other);
    check_ternary(with_factor(t, Fresh::factor(t.dtype, alpha)));
  }
  static void cpu(const Tensor& self, const Tensor& other, const Scalar& alpha) {
    const Ternary t = Fresh::of(self, other);
    run_ternary(t, self, Fresh::factor(t.dtype, alpha));
  }
};

}  // namespace

template <>
struct Rule<op::add_scaled> : ScaledRule<op::add_scaled, false> {
  static constexpr std::string_view gradient = "AddBackward0";
};
template <>
struct Rule<op::add_scaled_> : ScaledInPlaceRule<op::add_scaled_, false> {
  static constexpr std::string_view gradient = "AddBackward0";
};
template <>
struct Rule<op::sub_scaled> : ScaledRule<op::sub_scaled, true> {
  static constexpr std::string_view gradient = "SubBackward0";
};
template <>
struct Rule<op::sub_scaled_> : ScaledInPlaceRule<op::sub_scaled_, true> {
  static constexpr std::string_view gradient = "SubBackward0";
};

template <>
struct Rule<op::lerp> {
  static std::string_view gradient_name(const Tensor&, const Tensor&, const Tensor& weight) {
    return lerp_node(weight);
  }
  static bool saves(std::size_t place, const Wanted& wanted) { return lerp_saves(place, wanted); }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Tensor& end,
                       const Tensor& weight) {
    lerp_backward(g, grad, self, end, weight);
  }
  static Layout infer(const Tensor& self, const Tensor& end, const Tensor& weight) {
    return infer_ternary(lerp_of(self, end, weight));
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& end, const Tensor& weight) {
    run_ternary(lerp_of(self, end, weight), out, 1);
  }
};
template <>
struct Rule<op::lerp_> {
  static std::string_view gradient_name(const Tensor&, const Tensor&, const Tensor& weight) {
    return lerp_node(weight);
  }
  static bool saves(std::size_t place, const Wanted& wanted) { return lerp_saves(place, wanted); }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Tensor& end,
                       const Tensor& weight) {
    lerp_backward(g, grad, self, end, weight);
  }
  static void check(const Tensor& self, const Tensor& end, const Tensor& weight) {
    check_ternary(lerp_of(self, end, weight));
  }
  static void cpu(const Tensor& self, const Tensor& end, const Tensor& weight) {
    run_ternary(lerp_of(self, end, weight), self, 1);
  }
};

namespace {

bool addcmul_saves(std::size_t place, const Wanted& wanted) {
  return (place == 1 && wanted[2]) || (place == 2 && wanted[1]);
}
void addcmul_backward(Gradient& g, const Tensor& grad, const Tensor& tensor1, const Tensor& tensor2,
                      const Scalar& value) {
  if (g.wanted(0)) g.set(0, grad);
  if (g.wanted(1)) g.set(1, grad * (tensor2 * value).conj());
  if (g.wanted(2)) g.set(2, grad * (tensor1 * value).conj());
}
bool addcdiv_saves(std::size_t place, const Wanted& wanted) {
  return (place == 1 && wanted[2]) || (place == 2 && (wanted[1] || wanted[2]));
}
void addcdiv_backward(Gradient& g, const Tensor& grad, const Tensor& tensor1, const Tensor& tensor2,
                      const Scalar& value) {
  if (g.wanted(0)) g.set(0, grad);
  if (g.wanted(1)) g.set(1, grad * (tensor2.to(grad.dtype()).reciprocal() * value).conj());
  if (g.wanted(2)) g.set(2, -grad * (tensor1 * value / (tensor2 * tensor2)).conj());
}

template <auto kOf>
struct TernaryRule {
  static Layout infer(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                      const Scalar& value) {
    return infer_ternary(with_factor(kOf(self, tensor1, tensor2), value));
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                  const Scalar& value) {
    run_ternary(kOf(self, tensor1, tensor2), out, value);
  }
};
template <auto kOf>
struct TernaryInPlaceRule {
  static void check(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                    const Scalar& value) {
    check_ternary(with_factor(kOf(self, tensor1, tensor2), value));
  }
  static void cpu(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
                  const Scalar& value) {
    run_ternary(kOf(self, tensor1, tensor2), self, value);
  }
};

}  // namespace

template <>
struct Rule<op::addcmul> : TernaryRule<addcmul_of> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::promote};
  static constexpr std::string_view gradient = "AddcmulBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return addcmul_saves(place, wanted);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
    addcmul_backward(g, grad, tensor1, tensor2, value);
  }
};
template <>
struct Rule<op::addcmul_> : TernaryInPlaceRule<addcmul_of> {
  static constexpr std::string_view gradient = "AddcmulBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return addcmul_saves(place, wanted);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
    addcmul_backward(g, grad, tensor1, tensor2, value);
  }
};
template <>
struct Rule<op::addcdiv> : TernaryRule<addcdiv_of> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::promote};
  static constexpr std::string_view gradient = "AddcdivBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return addcdiv_saves(place, wanted);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
    addcdiv_backward(g, grad, tensor1, tensor2, value);
  }
};
template <>
struct Rule<op::addcdiv_> : TernaryInPlaceRule<addcdiv_of> {
  static constexpr std::string_view gradient = "AddcdivBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return addcdiv_saves(place, wanted);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& tensor1, const Tensor& tensor2, const Scalar& value) {
    addcdiv_backward(g, grad, tensor1, tensor2, value);
  }
};

namespace {

// Whether it changes nothing; what it may not be is refused first.
bool is_one(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  check_alpha(promoted_dtype({&self, &other}), alpha);
  return alpha.kind() != Scalar::Kind::boolean && alpha.to<std::complex<double>>() == 1.0;
}
// Of bools, adding is "or", and a factor "and". False: they are no bools.
bool of_bools(const Tensor& self, const Tensor& other) {
  return self.dtype() == bool_ && other.dtype() == bool_;
}
Tensor scaled_bools(const Tensor& other, const Scalar& alpha) {
  return logical_and(other, alpha.to<bool>());
}
// sub says what is wrong with bools.
bool is_plain_sub(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return self.dtype() == bool_ || other.dtype() == bool_ || is_one(self, other, alpha);
}

}  // namespace

Tensor add(const Tensor& self, const Tensor& other, AlphaOptions options) {
  if (is_one(self, other, options.alpha)) return add(self, other);
  if (of_bools(self, other)) return add(self, scaled_bools(other, options.alpha));
  return call<op::add_scaled>(self, other, options.alpha);
}
Tensor sub(const Tensor& self, const Tensor& other, AlphaOptions options) {
  if (is_plain_sub(self, other, options.alpha)) return sub(self, other);
  return call<op::sub_scaled>(self, other, options.alpha);
}
const Tensor& add_out(const Tensor& out, const Tensor& self, const Tensor& other,
                      AlphaOptions options) {
  if (is_one(self, other, options.alpha)) return add_out(out, self, other);
  if (of_bools(self, other)) return add_out(out, self, scaled_bools(other, options.alpha));
  return into<op::add_scaled, OutDType::castable>(out, self, other, options.alpha);
}
const Tensor& sub_out(const Tensor& out, const Tensor& self, const Tensor& other,
                      AlphaOptions options) {
  if (is_plain_sub(self, other, options.alpha)) return sub_out(out, self, other);
  return into<op::sub_scaled, OutDType::castable>(out, self, other, options.alpha);
}

Tensor lerp(const Tensor& self, const Tensor& end, const Tensor& weight) {
  return call<op::lerp>(self, end, weight);
}
Tensor lerp(const Tensor& self, const Tensor& end, const Scalar& weight) {
  return call<op::lerp>(self, end, wrapped_number(weight));
}
const Tensor& lerp_out(const Tensor& out, const Tensor& self, const Tensor& end,
                       const Tensor& weight) {
  return into<op::lerp, OutDType::castable>(out, self, end, weight);
}
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               ValueOptions options) {
  return call<op::addcmul>(self, tensor1, tensor2, options.value);
}
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2,
               ValueOptions options) {
  return call<op::addcdiv>(self, tensor1, tensor2, options.value);
}
const Tensor& addcmul_out(const Tensor& out, const Tensor& self, const Tensor& tensor1,
                          const Tensor& tensor2, ValueOptions options) {
  return into<op::addcmul, OutDType::castable>(out, self, tensor1, tensor2, options.value);
}
const Tensor& addcdiv_out(const Tensor& out, const Tensor& self, const Tensor& tensor1,
                          const Tensor& tensor2, ValueOptions options) {
  return into<op::addcdiv, OutDType::castable>(out, self, tensor1, tensor2, options.value);
}

Tensor TensorArithmetic::add(const Tensor& other, AlphaOptions options) const {
  return tenon::add(itself(*this), other, options);
}
Tensor TensorArithmetic::sub(const Tensor& other, AlphaOptions options) const {
  return tenon::sub(itself(*this), other, options);
}
const Tensor& TensorArithmetic::add_(const Tensor& other, AlphaOptions options) const {
  if (is_one(itself(*this), other, options.alpha)) return add_(other);
  if (of_bools(itself(*this), other)) return add_(scaled_bools(other, options.alpha));
  return call<op::add_scaled_>(itself(*this), other, options.alpha);
}
const Tensor& TensorArithmetic::sub_(const Tensor& other, AlphaOptions options) const {
  if (is_plain_sub(itself(*this), other, options.alpha)) return sub_(other);
  return call<op::sub_scaled_>(itself(*this), other, options.alpha);
}

const Tensor& TensorMethods::lerp_(const Tensor& end, const Tensor& weight) const {
  return call<op::lerp_>(itself(*this), end, weight);
}
const Tensor& TensorMethods::lerp_(const Tensor& end, const Scalar& weight) const {
  return call<op::lerp_>(itself(*this), end, wrapped_number(weight));
}
const Tensor& TensorMethods::addcmul_(const Tensor& tensor1, const Tensor& tensor2,
                                      ValueOptions options) const {
  return call<op::addcmul_>(itself(*this), tensor1, tensor2, options.value);
}
const Tensor& TensorMethods::addcdiv_(const Tensor& tensor1, const Tensor& tensor2,
                                      ValueOptions options) const {
  return call<op::addcdiv_>(itself(*this), tensor1, tensor2, options.value);
}

}  // namespace tenon
