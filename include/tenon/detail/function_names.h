// The functions of one and of two elements (tenon/ops/arithmetic.h), by number.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

enum class UnaryFunction : std::uint8_t {
  // clang-format off
  neg, abs, square, reciprocal, sqrt, rsqrt, exp, exp2, expm1, log, log2, log10, log1p, sin, cos,
  tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, sigmoid, relu, erf, erfc, erfinv,
  lgamma, digamma, floor, ceil, round, trunc, frac, sign, sgn, angle, bitwise_not, logical_not,
  isnan, isinf, isfinite, signbit,
  // clang-format on
};
enum class BinaryFunction : std::uint8_t {
  // clang-format off
  add, sub, mul, div, floor_divide, trunc_divide, remainder, fmod, pow, maximum, minimum, fmax,
  fmin, atan2, hypot, copysign, nextafter, logaddexp, logaddexp2, xlogy, eq, ne, lt, le, gt, ge,
  logical_and, logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor, bitwise_left_shift,
  bitwise_right_shift,
  // clang-format on
};

inline constexpr std::size_t kUnaryFunctions = static_cast<std::size_t>(UnaryFunction::signbit) + 1;
inline constexpr std::size_t kBinaryFunctions =
    static_cast<std::size_t>(BinaryFunction::bitwise_right_shift) + 1;

}  // namespace tenon
