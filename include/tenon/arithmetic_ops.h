// The operators behind tenon/arithmetic.h, which user-defined tensors match calls by: op::exp,
// op::add_ and so on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/api.h"
#include "tenon/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

// The functions, by number. Each is an operator in three forms: exp makes a tensor, exp_ writes
// into its argument, exp_out into another tensor, which comes first.
enum class UnaryName : std::uint8_t {
  // clang-format off
  neg, abs, square, reciprocal, sqrt, rsqrt, exp, exp2, expm1, log, log2, log10, log1p, sin, cos,
  tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, sigmoid, relu, erf, erfc, erfinv,
  lgamma, digamma, floor, ceil, round, trunc, frac, sign, sgn, angle, bitwise_not, logical_not,
  isnan, isinf, isfinite, signbit,
  // clang-format on
};
enum class BinaryName : std::uint8_t {
  // clang-format off
  add, sub, mul, div, floor_divide, trunc_divide, remainder, fmod, pow, maximum, minimum, fmax,
  fmin, atan2, hypot, copysign, nextafter, logaddexp, logaddexp2, xlogy, eq, ne, lt, le, gt, ge,
  logical_and, logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor, bitwise_left_shift,
  bitwise_right_shift,
  // clang-format on
};

// What is known of them at run time, in the order above: new, in place, out.
inline constexpr std::size_t kUnaryNames = static_cast<std::size_t>(UnaryName::signbit) + 1;
inline constexpr std::size_t kBinaryNames =
    static_cast<std::size_t>(BinaryName::bitwise_right_shift) + 1;
TENON_API extern OpInfo unary_infos[kUnaryNames][3];
TENON_API extern OpInfo binary_infos[kBinaryNames][3];

template <UnaryName N>
struct Unary {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static constexpr OpInfo& info = unary_infos[static_cast<std::size_t>(N)][0];
};
template <UnaryName N>
struct UnaryInPlace {
  using Signature = const Tensor&(const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = unary_infos[static_cast<std::size_t>(N)][1];
};
template <UnaryName N>
struct UnaryOut {
  using Signature = const Tensor&(const Tensor& out, const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = unary_infos[static_cast<std::size_t>(N)][2];
};
template <BinaryName N>
struct Binary {
  using Signature = Tensor(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::pure;
  static constexpr OpInfo& info = binary_infos[static_cast<std::size_t>(N)][0];
};
template <BinaryName N>
struct BinaryInPlace {
  using Signature = const Tensor&(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = binary_infos[static_cast<std::size_t>(N)][1];
};
template <BinaryName N>
struct BinaryOut {
  using Signature = const Tensor&(const Tensor& out, const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = binary_infos[static_cast<std::size_t>(N)][2];
};

using neg = Unary<UnaryName::neg>;
using abs = Unary<UnaryName::abs>;
using square = Unary<UnaryName::square>;
using reciprocal = Unary<UnaryName::reciprocal>;
using sqrt = Unary<UnaryName::sqrt>;
using rsqrt = Unary<UnaryName::rsqrt>;
using exp = Unary<UnaryName::exp>;
using exp2 = Unary<UnaryName::exp2>;
using expm1 = Unary<UnaryName::expm1>;
using log = Unary<UnaryName::log>;
using log2 = Unary<UnaryName::log2>;
using log10 = Unary<UnaryName::log10>;
using log1p = Unary<UnaryName::log1p>;
using sin = Unary<UnaryName::sin>;
using cos = Unary<UnaryName::cos>;
using tan = Unary<UnaryName::tan>;
using asin = Unary<UnaryName::asin>;
using acos = Unary<UnaryName::acos>;
using atan = Unary<UnaryName::atan>;
using sinh = Unary<UnaryName::sinh>;
using cosh = Unary<UnaryName::cosh>;
using tanh = Unary<UnaryName::tanh>;
using asinh = Unary<UnaryName::asinh>;
using acosh = Unary<UnaryName::acosh>;
using atanh = Unary<UnaryName::atanh>;
using sigmoid = Unary<UnaryName::sigmoid>;
using relu = Unary<UnaryName::relu>;
using erf = Unary<UnaryName::erf>;
using erfc = Unary<UnaryName::erfc>;
using erfinv = Unary<UnaryName::erfinv>;
using lgamma = Unary<UnaryName::lgamma>;
using digamma = Unary<UnaryName::digamma>;
using floor = Unary<UnaryName::floor>;
using ceil = Unary<UnaryName::ceil>;
using round = Unary<UnaryName::round>;
using trunc = Unary<UnaryName::trunc>;
using frac = Unary<UnaryName::frac>;
using sign = Unary<UnaryName::sign>;
using sgn = Unary<UnaryName::sgn>;
using angle = Unary<UnaryName::angle>;
using bitwise_not = Unary<UnaryName::bitwise_not>;
using logical_not = Unary<UnaryName::logical_not>;
using isnan = Unary<UnaryName::isnan>;
using isinf = Unary<UnaryName::isinf>;
using isfinite = Unary<UnaryName::isfinite>;
using signbit = Unary<UnaryName::signbit>;

using neg_ = UnaryInPlace<UnaryName::neg>;
using abs_ = UnaryInPlace<UnaryName::abs>;
using square_ = UnaryInPlace<UnaryName::square>;
using reciprocal_ = UnaryInPlace<UnaryName::reciprocal>;
using sqrt_ = UnaryInPlace<UnaryName::sqrt>;
using rsqrt_ = UnaryInPlace<UnaryName::rsqrt>;
using exp_ = UnaryInPlace<UnaryName::exp>;
using exp2_ = UnaryInPlace<UnaryName::exp2>;
using expm1_ = UnaryInPlace<UnaryName::expm1>;
using log_ = UnaryInPlace<UnaryName::log>;
using log2_ = UnaryInPlace<UnaryName::log2>;
using log10_ = UnaryInPlace<UnaryName::log10>;
using log1p_ = UnaryInPlace<UnaryName::log1p>;
using sin_ = UnaryInPlace<UnaryName::sin>;
using cos_ = UnaryInPlace<UnaryName::cos>;
using tan_ = UnaryInPlace<UnaryName::tan>;
using asin_ = UnaryInPlace<UnaryName::asin>;
using acos_ = UnaryInPlace<UnaryName::acos>;
using atan_ = UnaryInPlace<UnaryName::atan>;
using sinh_ = UnaryInPlace<UnaryName::sinh>;
using cosh_ = UnaryInPlace<UnaryName::cosh>;
using tanh_ = UnaryInPlace<UnaryName::tanh>;
using asinh_ = UnaryInPlace<UnaryName::asinh>;
using acosh_ = UnaryInPlace<UnaryName::acosh>;
using atanh_ = UnaryInPlace<UnaryName::atanh>;
using sigmoid_ = UnaryInPlace<UnaryName::sigmoid>;
using relu_ = UnaryInPlace<UnaryName::relu>;
using erf_ = UnaryInPlace<UnaryName::erf>;
using erfc_ = UnaryInPlace<UnaryName::erfc>;
using erfinv_ = UnaryInPlace<UnaryName::erfinv>;
using lgamma_ = UnaryInPlace<UnaryName::lgamma>;
using digamma_ = UnaryInPlace<UnaryName::digamma>;
using floor_ = UnaryInPlace<UnaryName::floor>;
using ceil_ = UnaryInPlace<UnaryName::ceil>;
using round_ = UnaryInPlace<UnaryName::round>;
using trunc_ = UnaryInPlace<UnaryName::trunc>;
using frac_ = UnaryInPlace<UnaryName::frac>;
using sign_ = UnaryInPlace<UnaryName::sign>;
using sgn_ = UnaryInPlace<UnaryName::sgn>;
using bitwise_not_ = UnaryInPlace<UnaryName::bitwise_not>;
using logical_not_ = UnaryInPlace<UnaryName::logical_not>;

using add = Binary<BinaryName::add>;
using sub = Binary<BinaryName::sub>;
using mul = Binary<BinaryName::mul>;
using div = Binary<BinaryName::div>;
using floor_divide = Binary<BinaryName::floor_divide>;
using trunc_divide = Binary<BinaryName::trunc_divide>;
using remainder = Binary<BinaryName::remainder>;
using fmod = Binary<BinaryName::fmod>;
using pow = Binary<BinaryName::pow>;
using maximum = Binary<BinaryName::maximum>;
using minimum = Binary<BinaryName::minimum>;
using fmax = Binary<BinaryName::fmax>;
using fmin = Binary<BinaryName::fmin>;
using atan2 = Binary<BinaryName::atan2>;
using hypot = Binary<BinaryName::hypot>;
using copysign = Binary<BinaryName::copysign>;
using nextafter = Binary<BinaryName::nextafter>;
using logaddexp = Binary<BinaryName::logaddexp>;
using logaddexp2 = Binary<BinaryName::logaddexp2>;
using xlogy = Binary<BinaryName::xlogy>;
using eq = Binary<BinaryName::eq>;
using ne = Binary<BinaryName::ne>;
using lt = Binary<BinaryName::lt>;
using le = Binary<BinaryName::le>;
using gt = Binary<BinaryName::gt>;
using ge = Binary<BinaryName::ge>;
using logical_and = Binary<BinaryName::logical_and>;
using logical_or = Binary<BinaryName::logical_or>;
using logical_xor = Binary<BinaryName::logical_xor>;
using bitwise_and = Binary<BinaryName::bitwise_and>;
using bitwise_or = Binary<BinaryName::bitwise_or>;
using bitwise_xor = Binary<BinaryName::bitwise_xor>;
using bitwise_left_shift = Binary<BinaryName::bitwise_left_shift>;
using bitwise_right_shift = Binary<BinaryName::bitwise_right_shift>;

using add_ = BinaryInPlace<BinaryName::add>;
using sub_ = BinaryInPlace<BinaryName::sub>;
using mul_ = BinaryInPlace<BinaryName::mul>;
using div_ = BinaryInPlace<BinaryName::div>;
using floor_divide_ = BinaryInPlace<BinaryName::floor_divide>;
using trunc_divide_ = BinaryInPlace<BinaryName::trunc_divide>;
using remainder_ = BinaryInPlace<BinaryName::remainder>;
using fmod_ = BinaryInPlace<BinaryName::fmod>;
using pow_ = BinaryInPlace<BinaryName::pow>;
using atan2_ = BinaryInPlace<BinaryName::atan2>;
using hypot_ = BinaryInPlace<BinaryName::hypot>;
using copysign_ = BinaryInPlace<BinaryName::copysign>;
using nextafter_ = BinaryInPlace<BinaryName::nextafter>;
using xlogy_ = BinaryInPlace<BinaryName::xlogy>;
using eq_ = BinaryInPlace<BinaryName::eq>;
using ne_ = BinaryInPlace<BinaryName::ne>;
using lt_ = BinaryInPlace<BinaryName::lt>;
using le_ = BinaryInPlace<BinaryName::le>;
using gt_ = BinaryInPlace<BinaryName::gt>;
using ge_ = BinaryInPlace<BinaryName::ge>;
using logical_and_ = BinaryInPlace<BinaryName::logical_and>;
using logical_or_ = BinaryInPlace<BinaryName::logical_or>;
using logical_xor_ = BinaryInPlace<BinaryName::logical_xor>;
using bitwise_and_ = BinaryInPlace<BinaryName::bitwise_and>;
using bitwise_or_ = BinaryInPlace<BinaryName::bitwise_or>;
using bitwise_xor_ = BinaryInPlace<BinaryName::bitwise_xor>;
using bitwise_left_shift_ = BinaryInPlace<BinaryName::bitwise_left_shift>;
using bitwise_right_shift_ = BinaryInPlace<BinaryName::bitwise_right_shift>;

}  // namespace op

}  // namespace tenon
