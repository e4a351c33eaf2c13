// The tables of the functions of one and of two elements. A row states everything about a function
// except its formula and the formula of its gradient.
//
// Every row of TENON_UNARY_FUNCTIONS, such as that of exp, declares
//   Tensor exp(const Tensor& self);                                  tenon/ops/arithmetic.h
//   const Tensor& exp_out(const Tensor& out, const Tensor& self);
//   Tensor x.exp(); const Tensor& x.exp_();                          methods of Tensor
//   op::exp, op::exp_                                                tenon/ops/arithmetic_ops.h
// Every row of TENON_BINARY_FUNCTIONS does so for two tensors, or for a tensor and a number.
//
// The columns:
//   name      PyTorch's name.
//   node      PyTorch's name of the node that is recorded for the gradient; "" if there is none. A
//             boolean function records only its in-place form, which ends a history.
//   result    The dtype of the result, compared with the dtype that the arguments promote to:
//               same           the same
//               number         the same, but int64 instead of bool
//               real           the same, but real instead of complex
//               floating       the same, but the default dtype instead of bool and whole numbers
//               real_floating  real and floating together
//               boolean        bool
//   kernel    The source in src/kernels/ that has the formula:
//               simd     unary_simd.cpp or binary_simd.cpp
//               math     unary_math.cpp or binary_math.cpp
//               both     the first for some dtypes, the second for others
//               swapped  none: the function is another one with exchanged operands
//   autocast  The AutocastPolicy of the function on CUDA.
//   forms     in_place, or new_only for a function without exp_.
//
// A new function is a row here, a formula in the kernel, and, if there is a node, a formula in
// src/ops/elementwise/elementwise_gradients.cpp. The library does not compile if one of them is
// missing, or if a kernel writes another result than its row states.
#pragma once

#include <cstddef>
#include <cstdint>

#define TENON_UNARY_FUNCTIONS(X)                                       \
  X(neg, "NegBackward0", same, simd, none, in_place)                   \
  X(abs, "AbsBackward0", real, both, none, in_place)                   \
  X(square, "PowBackward0", number, simd, fp32, in_place)              \
  X(reciprocal, "ReciprocalBackward0", floating, both, fp32, in_place) \
  X(sqrt, "SqrtBackward0", floating, both, none, in_place)             \
  X(rsqrt, "RsqrtBackward0", floating, both, fp32, in_place)           \
  X(exp, "ExpBackward0", floating, both, fp32, in_place)               \
  X(exp2, "Exp2Backward0", floating, math, none, in_place)             \
  X(expm1, "Expm1Backward0", floating, math, fp32, in_place)           \
  X(log, "LogBackward0", floating, math, fp32, in_place)               \
  X(log2, "Log2Backward0", floating, math, fp32, in_place)             \
  X(log10, "Log10Backward0", floating, math, fp32, in_place)           \
  X(log1p, "Log1PBackward0", floating, math, fp32, in_place)           \
  X(sin, "SinBackward0", floating, math, none, in_place)               \
  X(cos, "CosBackward0", floating, math, none, in_place)               \
  X(tan, "TanBackward0", floating, math, fp32, in_place)               \
  X(asin, "AsinBackward0", floating, math, fp32, in_place)             \
  X(acos, "AcosBackward0", floating, math, fp32, in_place)             \
  X(atan, "AtanBackward0", floating, math, none, in_place)             \
  X(sinh, "SinhBackward0", floating, math, fp32, in_place)             \
  X(cosh, "CoshBackward0", floating, math, fp32, in_place)             \
  X(tanh, "TanhBackward0", floating, both, none, in_place)             \
  X(asinh, "AsinhBackward0", floating, math, none, in_place)           \
  X(acosh, "AcoshBackward0", floating, math, none, in_place)           \
  X(atanh, "AtanhBackward0", floating, math, none, in_place)           \
  X(sigmoid, "SigmoidBackward0", floating, both, none, in_place)       \
  X(relu, "ReluBackward0", same, simd, none, in_place)                 \
  X(erf, "ErfBackward0", floating, math, none, in_place)               \
  X(erfc, "ErfcBackward0", floating, math, none, in_place)             \
  X(erfinv, "ErfinvBackward0", floating, math, fp32, in_place)         \
  X(lgamma, "LgammaBackward0", floating, math, none, in_place)         \
  X(digamma, "DigammaBackward0", floating, math, none, in_place)       \
  X(floor, "FloorBackward0", same, simd, none, in_place)               \
  X(ceil, "CeilBackward0", same, simd, none, in_place)                 \
  X(round, "RoundBackward0", same, simd, none, in_place)               \
  X(trunc, "TruncBackward0", same, simd, none, in_place)               \
  X(frac, "FracBackward0", same, simd, none, in_place)                 \
  X(sign, "SignBackward0", same, simd, none, in_place)                 \
  X(sgn, "SgnBackward0", same, both, none, in_place)                   \
  X(angle, "AngleBackward0", real_floating, math, none, new_only)      \
  X(bitwise_not, "", same, simd, none, in_place)                       \
  X(logical_not, "", boolean, simd, none, in_place)                    \
  X(isnan, "", boolean, simd, none, new_only)                          \
  X(isinf, "", boolean, simd, none, new_only)                          \
  X(isfinite, "", boolean, simd, none, new_only)                       \
  X(signbit, "", boolean, simd, none, new_only)

#define TENON_BINARY_FUNCTIONS(X)                                  \
  X(add, "AddBackward0", same, simd, none, in_place)               \
  X(sub, "SubBackward0", same, simd, none, in_place)               \
  X(mul, "MulBackward0", same, simd, none, in_place)               \
  X(div, "DivBackward0", floating, both, none, in_place)           \
  X(floor_divide, "NotImplemented", same, math, none, in_place)    \
  X(trunc_divide, "DivBackward2", same, math, none, in_place)      \
  X(remainder, "RemainderBackward0", same, math, none, in_place)   \
  X(fmod, "FmodBackward0", same, math, none, in_place)             \
  X(pow, "PowBackward1", same, math, fp32, in_place)               \
  X(maximum, "MaximumBackward0", same, simd, none, new_only)       \
  X(minimum, "MinimumBackward0", same, simd, none, new_only)       \
  X(fmax, "FmaxBackward0", same, math, none, new_only)             \
  X(fmin, "FminBackward0", same, math, none, new_only)             \
  X(atan2, "Atan2Backward0", floating, math, promote, in_place)    \
  X(hypot, "HypotBackward0", same, math, none, in_place)           \
  X(copysign, "CopysignBackward0", floating, math, none, in_place) \
  X(nextafter, "NextafterBackward0", same, math, none, in_place)   \
  X(logaddexp, "LogaddexpBackward0", same, math, none, new_only)   \
  X(logaddexp2, "Logaddexp2Backward0", same, math, none, new_only) \
  X(xlogy, "XlogyBackward0", floating, math, none, in_place)       \
  X(eq, "EqBackward1", boolean, simd, none, in_place)              \
  X(ne, "NeBackward1", boolean, simd, none, in_place)              \
  X(lt, "LtBackward1", boolean, simd, none, in_place)              \
  X(le, "LeBackward1", boolean, simd, none, in_place)              \
  X(gt, "GtBackward1", boolean, swapped, none, in_place)           \
  X(ge, "GeBackward1", boolean, swapped, none, in_place)           \
  X(logical_and, "", boolean, math, none, in_place)                \
  X(logical_or, "", boolean, math, none, in_place)                 \
  X(logical_xor, "", boolean, math, none, in_place)                \
  X(bitwise_and, "", same, simd, none, in_place)                   \
  X(bitwise_or, "", same, simd, none, in_place)                    \
  X(bitwise_xor, "", same, simd, none, in_place)                   \
  X(bitwise_left_shift, "", same, math, none, in_place)            \
  X(bitwise_right_shift, "", same, math, none, in_place)

// TENON_IF_##forms(tokens) keeps the tokens for in_place, and drops them for new_only.
#define TENON_IF_in_place(...) __VA_ARGS__
#define TENON_IF_new_only(...)

namespace tenon {

#define TENON_ROW(name, ...) name,
enum class UnaryFunction : std::uint8_t { TENON_UNARY_FUNCTIONS(TENON_ROW) };
enum class BinaryFunction : std::uint8_t { TENON_BINARY_FUNCTIONS(TENON_ROW) };
#undef TENON_ROW

#define TENON_ROW(...) +1
inline constexpr std::size_t kUnaryFunctions = 0 TENON_UNARY_FUNCTIONS(TENON_ROW);
inline constexpr std::size_t kBinaryFunctions = 0 TENON_BINARY_FUNCTIONS(TENON_ROW);
#undef TENON_ROW

}  // namespace tenon
