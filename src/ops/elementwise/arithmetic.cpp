// Functions of one and of two tensors: which they are, and what they are called.
#include "tenon/ops/arithmetic.h"

#include <array>
#include <string_view>
#include <type_traits>

#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_gradients.h"
#include "ops/support/itself.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"

namespace tenon {

// The names of operators, in the order of UnaryFunction and BinaryFunction, and PyTorch's names of
// what is recorded for them: none where there is no gradient.
#define TENON_UNARY_FUNCTIONS(X)       \
  X(neg, "NegBackward0")               \
  X(abs, "AbsBackward0")               \
  X(square, "PowBackward0")            \
  X(reciprocal, "ReciprocalBackward0") \
  X(sqrt, "SqrtBackward0")             \
  X(rsqrt, "RsqrtBackward0")           \
  X(exp, "ExpBackward0")               \
  X(exp2, "Exp2Backward0")             \
  X(expm1, "Expm1Backward0")           \
  X(log, "LogBackward0")               \
  X(log2, "Log2Backward0")             \
  X(log10, "Log10Backward0")           \
  X(log1p, "Log1PBackward0")           \
  X(sin, "SinBackward0")               \
  X(cos, "CosBackward0")               \
  X(tan, "TanBackward0")               \
  X(asin, "AsinBackward0")             \
  X(acos, "AcosBackward0")             \
  X(atan, "AtanBackward0")             \
  X(sinh, "SinhBackward0")             \
  X(cosh, "CoshBackward0")             \
  X(tanh, "TanhBackward0")             \
  X(asinh, "AsinhBackward0")           \
  X(acosh, "AcoshBackward0")           \
  X(atanh, "AtanhBackward0")           \
  X(sigmoid, "SigmoidBackward0")       \
  X(relu, "ReluBackward0")             \
  X(erf, "ErfBackward0")               \
  X(erfc, "ErfcBackward0")             \
  X(erfinv, "ErfinvBackward0")         \
  X(lgamma, "LgammaBackward0")         \
  X(digamma, "DigammaBackward0")       \
  X(floor, "FloorBackward0")           \
  X(ceil, "CeilBackward0")             \
  X(round, "RoundBackward0")           \
  X(trunc, "TruncBackward0")           \
  X(frac, "FracBackward0")             \
  X(sign, "SignBackward0")             \
  X(sgn, "SgnBackward0")               \
  X(angle, "AngleBackward0")           \
  X(bitwise_not, "")                   \
  X(logical_not, "")                   \
  X(isnan, "")                         \
  X(isinf, "")                         \
  X(isfinite, "")                      \
  X(signbit, "")
#define TENON_BINARY_FUNCTIONS(X)      \
  X(add, "AddBackward0")               \
  X(sub, "SubBackward0")               \
  X(mul, "MulBackward0")               \
  X(div, "DivBackward0")               \
  X(floor_divide, "NotImplemented")    \
  X(trunc_divide, "DivBackward2")      \
  X(remainder, "RemainderBackward0")   \
  X(fmod, "FmodBackward0")             \
  X(pow, "PowBackward1")               \
  X(maximum, "MaximumBackward0")       \
  X(minimum, "MinimumBackward0")       \
  X(fmax, "FmaxBackward0")             \
  X(fmin, "FminBackward0")             \
  X(atan2, "Atan2Backward0")           \
  X(hypot, "HypotBackward0")           \
  X(copysign, "CopysignBackward0")     \
  X(nextafter, "NextafterBackward0")   \
  X(logaddexp, "LogaddexpBackward0")   \
  X(logaddexp2, "Logaddexp2Backward0") \
  X(xlogy, "XlogyBackward0")           \
  X(eq, "")                            \
  X(ne, "")                            \
  X(lt, "")                            \
  X(le, "")                            \
  X(gt, "")                            \
  X(ge, "")                            \
  X(logical_and, "")                   \
  X(logical_or, "")                    \
  X(logical_xor, "")                   \
  X(bitwise_and, "")                   \
  X(bitwise_or, "")                    \
  X(bitwise_xor, "")                   \
  X(bitwise_left_shift, "")            \
  X(bitwise_right_shift, "")

namespace op {

#define TENON_ROW(name, node)                                       \
  {OpInfo{#name, OpKind::pure}, OpInfo{#name "_", OpKind::inplace}, \
   OpInfo{#name "_out", OpKind::inplace}},
constinit OpInfo unary_infos[kUnaryFunctions][3] = {TENON_UNARY_FUNCTIONS(TENON_ROW)};
constinit OpInfo binary_infos[kBinaryFunctions][3] = {TENON_BINARY_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW

}  // namespace op

namespace {

#define TENON_ROW(name, node) std::string_view(node),
constexpr std::string_view kUnaryNodes[] = {TENON_UNARY_FUNCTIONS(TENON_ROW)};
constexpr std::string_view kBinaryNodes[] = {TENON_BINARY_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW
static_assert(std::size(kUnaryNodes) == kUnaryFunctions);
static_assert(std::size(kBinaryNodes) == kBinaryFunctions);

// The tables are looked up by number.
template <class Function, std::size_t N>
constexpr bool in_order(const Function (&functions)[N]) {
  for (std::size_t i = 0; i < N; ++i) {
    if (static_cast<std::size_t>(functions[i]) != i) return false;
  }
  return true;
}
#define TENON_ROW(name, node) UnaryFunction::name,
static_assert(in_order({TENON_UNARY_FUNCTIONS(TENON_ROW)}));
#undef TENON_ROW
#define TENON_ROW(name, node) BinaryFunction::name,
static_assert(in_order({TENON_BINARY_FUNCTIONS(TENON_ROW)}));
#undef TENON_ROW

// An answer has no gradient, but written over a number it ends that number's history.
constexpr std::string_view in_place_node(BinaryFunction function) {
  switch (function) {
    case BinaryFunction::eq: return "EqBackward1";
    case BinaryFunction::ne: return "NeBackward1";
    case BinaryFunction::lt: return "LtBackward1";
    case BinaryFunction::le: return "LeBackward1";
    case BinaryFunction::gt: return "GtBackward1";
    case BinaryFunction::ge: return "GeBackward1";
    default: return kBinaryNodes[static_cast<std::size_t>(function)];
  }
}

// Which of PyTorch's powers it is: of a number, to a number, or of a tensor to a tensor.
std::string_view power_node(const Tensor& self, const Tensor& exponent) {
  return exponent.body().is_wrapped_number() ? "PowBackward0"
         : self.body().is_wrapped_number()   ? "PowBackward2"
                                             : "PowBackward1";
}

}  // namespace

namespace {

// On CUDA: those whose results soon leave the range of float16.
constexpr AutocastPolicies autocast_of(UnaryFunction function) {
  switch (function) {
    case UnaryFunction::square:
    case UnaryFunction::reciprocal:
    case UnaryFunction::rsqrt:
    case UnaryFunction::exp:
    case UnaryFunction::expm1:
    case UnaryFunction::log:
    case UnaryFunction::log2:
    case UnaryFunction::log10:
    case UnaryFunction::log1p:
    case UnaryFunction::tan:
    case UnaryFunction::asin:
    case UnaryFunction::acos:
    case UnaryFunction::sinh:
    case UnaryFunction::cosh:
    case UnaryFunction::erfinv: return {.cuda = AutocastPolicy::fp32};
    default: return {};
  }
}

}  // namespace

template <UnaryFunction N>
struct Rule<op::Unary<N>> {
  static constexpr AutocastPolicies autocast = autocast_of(N);
  static constexpr std::string_view gradient = kUnaryNodes[static_cast<std::size_t>(N)];
  static Ref<Node> node(const Tensor& self) { return unary_node(N, gradient, self, false); }
  static void keep_result(Node& node, const Tensor& result) { keep_unary_result(node, result); }
  static Layout infer(const Tensor& self) { return infer_unary(N, self); }
  static void cpu(Tensor& out, const Tensor& self) { run_unary(N, out, self); }
};
template <UnaryFunction N>
struct Rule<op::UnaryInPlace<N>> {
  static constexpr std::string_view gradient = kUnaryNodes[static_cast<std::size_t>(N)];
  static Ref<Node> node(const Tensor& self) { return unary_node(N, gradient, self, true); }
  static void keep_result(Node& node, const Tensor& result) { keep_unary_result(node, result); }
  static void check(const Tensor& self) {
    if (N == UnaryFunction::abs && self.is_complex())
      throw NotImplementedError("In-place abs is not supported for complex tensors.");
    check_unary(N, self, self);
  }
  static void cpu(const Tensor& self) { run_unary(N, self, self); }
};
template <UnaryFunction N>
struct Rule<op::UnaryOut<N>> {
  static constexpr std::string_view gradient = no_gradient;
  static void check(const Tensor& out, const Tensor& self) { check_unary(N, out, self); }
  static void cpu(const Tensor& out, const Tensor& self) { run_unary(N, out, self); }
};
template <BinaryFunction N>
struct Rule<op::Binary<N>> {
  static constexpr AutocastPolicies autocast = {
      .cuda = N == BinaryFunction::atan2 ? AutocastPolicy::promote : AutocastPolicy::none};
  static constexpr std::string_view gradient = kBinaryNodes[static_cast<std::size_t>(N)];
  static Ref<Node> node(const Tensor& self, const Tensor& other) {
    return binary_node(N, gradient, self, other, false);
  }
  static void keep_result(Node& node, const Tensor& result) { keep_binary_result(node, result); }
  static Layout infer(const Tensor& self, const Tensor& other) {
    return infer_binary(N, self, other);
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& other) {
    run_binary(N, out, self, other);
  }
};
template <>
struct Rule<op::pow> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32};
  static Ref<Node> node(const Tensor& self, const Tensor& other) {
    return binary_node(BinaryFunction::pow, power_node(self, other), self, other, false);
  }
  static void keep_result(Node& node, const Tensor& result) { keep_binary_result(node, result); }
  static Layout infer(const Tensor& self, const Tensor& other) {
    return infer_binary(BinaryFunction::pow, self, other);
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& other) {
    run_binary(BinaryFunction::pow, out, self, other);
  }
};
template <BinaryFunction N>
struct Rule<op::BinaryInPlace<N>> {
  static constexpr std::string_view gradient = in_place_node(N);
  static Ref<Node> node(const Tensor& self, const Tensor& other) {
    return binary_node(N, gradient, self, other, true);
  }
  static void keep_result(Node& node, const Tensor& result) { keep_binary_result(node, result); }
  static void check(const Tensor& self, const Tensor& other) { check_binary(N, self, self, other); }
  static void cpu(const Tensor& self, const Tensor& other) { run_binary(N, self, self, other); }
};
template <BinaryFunction N>
struct Rule<op::BinaryOut<N>> {
  static constexpr std::string_view gradient = no_gradient;
  static void check(const Tensor& out, const Tensor& self, const Tensor& other) {
    check_binary(N, out, self, other);
  }
  static void cpu(const Tensor& out, const Tensor& self, const Tensor& other) {
    run_binary(N, out, self, other);
  }
};

// The functions and methods.

#define TENON_ROW(name, node)                                                            \
  Tensor name(const Tensor& self) { return call<op::Unary<UnaryFunction::name>>(self); } \
  const Tensor& name##_out(const Tensor& out, const Tensor& self) {                      \
    if (!std::string_view(node).empty()) check_no_history(out, self);                    \
    prepare_unary_out(UnaryFunction::name, out, self);                                   \
    return call<op::UnaryOut<UnaryFunction::name>>(out, self);                           \
  }                                                                                      \
  Tensor TensorArithmetic::name() const { return tenon::name(itself(*this)); }
TENON_UNARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW

#define TENON_ROW(name, node)                                                            \
  Tensor name(const Tensor& self, const Tensor& other) {                                 \
    return call<op::Binary<BinaryFunction::name>>(self, other);                          \
  }                                                                                      \
  const Tensor& name##_out(const Tensor& out, const Tensor& self, const Tensor& other) { \
    if (!std::string_view(node).empty()) {                                               \
      check_no_history(out, self);                                                       \
      check_no_history(out, other);                                                      \
    }                                                                                    \
    prepare_binary_out(BinaryFunction::name, out, self, other);                          \
    return call<op::BinaryOut<BinaryFunction::name>>(out, self, other);                  \
  }                                                                                      \
  Tensor TensorArithmetic::name(const Tensor& other) const {                             \
    return tenon::name(itself(*this), other);                                            \
  }                                                                                      \
  Tensor TensorArithmetic::name(const Scalar& other) const {                             \
    return tenon::name(itself(*this), other);                                            \
  }
TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW

#define TENON_IN_PLACE(name)                                           \
  const Tensor& TensorArithmetic::name##_() const {                    \
    return call<op::UnaryInPlace<UnaryFunction::name>>(itself(*this)); \
  }
TENON_IN_PLACE(neg)
TENON_IN_PLACE(abs)
TENON_IN_PLACE(square)
TENON_IN_PLACE(reciprocal)
TENON_IN_PLACE(sqrt)
TENON_IN_PLACE(rsqrt)
TENON_IN_PLACE(exp)
TENON_IN_PLACE(exp2)
TENON_IN_PLACE(expm1)
TENON_IN_PLACE(log)
TENON_IN_PLACE(log2)
TENON_IN_PLACE(log10)
TENON_IN_PLACE(log1p)
TENON_IN_PLACE(sin)
TENON_IN_PLACE(cos)
TENON_IN_PLACE(tan)
TENON_IN_PLACE(asin)
TENON_IN_PLACE(acos)
TENON_IN_PLACE(atan)
TENON_IN_PLACE(sinh)
TENON_IN_PLACE(cosh)
TENON_IN_PLACE(tanh)
TENON_IN_PLACE(asinh)
TENON_IN_PLACE(acosh)
TENON_IN_PLACE(atanh)
TENON_IN_PLACE(sigmoid)
TENON_IN_PLACE(relu)
TENON_IN_PLACE(erf)
TENON_IN_PLACE(erfc)
TENON_IN_PLACE(erfinv)
TENON_IN_PLACE(lgamma)
TENON_IN_PLACE(digamma)
TENON_IN_PLACE(floor)
TENON_IN_PLACE(ceil)
TENON_IN_PLACE(round)
TENON_IN_PLACE(trunc)
TENON_IN_PLACE(frac)
TENON_IN_PLACE(sign)
TENON_IN_PLACE(sgn)
TENON_IN_PLACE(bitwise_not)
TENON_IN_PLACE(logical_not)
#undef TENON_IN_PLACE

#define TENON_IN_PLACE(name)                                                    \
  const Tensor& TensorArithmetic::name##_(const Tensor& other) const {          \
    return call<op::BinaryInPlace<BinaryFunction::name>>(itself(*this), other); \
  }                                                                             \
  const Tensor& TensorArithmetic::name##_(const Scalar& other) const {          \
    return name##_(wrapped_number(other));                                      \
  }
TENON_IN_PLACE(add)
TENON_IN_PLACE(sub)
TENON_IN_PLACE(mul)
TENON_IN_PLACE(div)
TENON_IN_PLACE(floor_divide)
TENON_IN_PLACE(trunc_divide)
TENON_IN_PLACE(remainder)
TENON_IN_PLACE(fmod)
TENON_IN_PLACE(pow)
TENON_IN_PLACE(atan2)
TENON_IN_PLACE(hypot)
TENON_IN_PLACE(copysign)
TENON_IN_PLACE(nextafter)
TENON_IN_PLACE(xlogy)
TENON_IN_PLACE(eq)
TENON_IN_PLACE(ne)
TENON_IN_PLACE(lt)
TENON_IN_PLACE(le)
TENON_IN_PLACE(gt)
TENON_IN_PLACE(ge)
TENON_IN_PLACE(logical_and)
TENON_IN_PLACE(logical_or)
TENON_IN_PLACE(logical_xor)
TENON_IN_PLACE(bitwise_and)
TENON_IN_PLACE(bitwise_or)
TENON_IN_PLACE(bitwise_xor)
TENON_IN_PLACE(bitwise_left_shift)
TENON_IN_PLACE(bitwise_right_shift)
#undef TENON_IN_PLACE

}  // namespace tenon
