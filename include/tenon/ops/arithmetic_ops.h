// The operators behind tenon/ops/arithmetic.h, which user-defined tensors match calls by: op::exp,
// op::add_ and so on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/detail/api.h"
#include "tenon/detail/function_names.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

// Each function is an operator in three forms: exp makes a tensor, exp_ writes into its argument,
// exp_out into another tensor, which comes first.

// What is known of them at run time, in the order above: new, in place, out.
TENON_API extern OpInfo unary_infos[kUnaryFunctions][3];
TENON_API extern OpInfo binary_infos[kBinaryFunctions][3];

template <UnaryFunction N>
struct Unary {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static constexpr OpInfo& info = unary_infos[static_cast<std::size_t>(N)][0];
};
template <UnaryFunction N>
struct UnaryInPlace {
  using Signature = const Tensor&(const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = unary_infos[static_cast<std::size_t>(N)][1];
};
template <UnaryFunction N>
struct UnaryOut {
  using Signature = const Tensor&(const Tensor& out, const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = unary_infos[static_cast<std::size_t>(N)][2];
};
template <BinaryFunction N>
struct Binary {
  using Signature = Tensor(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::pure;
  static constexpr OpInfo& info = binary_infos[static_cast<std::size_t>(N)][0];
};
template <BinaryFunction N>
struct BinaryInPlace {
  using Signature = const Tensor&(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = binary_infos[static_cast<std::size_t>(N)][1];
};
template <BinaryFunction N>
struct BinaryOut {
  using Signature = const Tensor&(const Tensor& out, const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::inplace;
  static constexpr OpInfo& info = binary_infos[static_cast<std::size_t>(N)][2];
};

struct TENON_API polygamma {
  using Signature = Tensor(std::int64_t n, const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API polygamma_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t n);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};

using neg = Unary<UnaryFunction::neg>;
using abs = Unary<UnaryFunction::abs>;
using square = Unary<UnaryFunction::square>;
using reciprocal = Unary<UnaryFunction::reciprocal>;
using sqrt = Unary<UnaryFunction::sqrt>;
using rsqrt = Unary<UnaryFunction::rsqrt>;
using exp = Unary<UnaryFunction::exp>;
using exp2 = Unary<UnaryFunction::exp2>;
using expm1 = Unary<UnaryFunction::expm1>;
using log = Unary<UnaryFunction::log>;
using log2 = Unary<UnaryFunction::log2>;
using log10 = Unary<UnaryFunction::log10>;
using log1p = Unary<UnaryFunction::log1p>;
using sin = Unary<UnaryFunction::sin>;
using cos = Unary<UnaryFunction::cos>;
using tan = Unary<UnaryFunction::tan>;
using asin = Unary<UnaryFunction::asin>;
using acos = Unary<UnaryFunction::acos>;
using atan = Unary<UnaryFunction::atan>;
using sinh = Unary<UnaryFunction::sinh>;
using cosh = Unary<UnaryFunction::cosh>;
using tanh = Unary<UnaryFunction::tanh>;
using asinh = Unary<UnaryFunction::asinh>;
using acosh = Unary<UnaryFunction::acosh>;
using atanh = Unary<UnaryFunction::atanh>;
using sigmoid = Unary<UnaryFunction::sigmoid>;
using relu = Unary<UnaryFunction::relu>;
using erf = Unary<UnaryFunction::erf>;
using erfc = Unary<UnaryFunction::erfc>;
using erfinv = Unary<UnaryFunction::erfinv>;
using lgamma = Unary<UnaryFunction::lgamma>;
using digamma = Unary<UnaryFunction::digamma>;
using floor = Unary<UnaryFunction::floor>;
using ceil = Unary<UnaryFunction::ceil>;
using round = Unary<UnaryFunction::round>;
using trunc = Unary<UnaryFunction::trunc>;
using frac = Unary<UnaryFunction::frac>;
using sign = Unary<UnaryFunction::sign>;
using sgn = Unary<UnaryFunction::sgn>;
using angle = Unary<UnaryFunction::angle>;
using bitwise_not = Unary<UnaryFunction::bitwise_not>;
using logical_not = Unary<UnaryFunction::logical_not>;
using isnan = Unary<UnaryFunction::isnan>;
using isinf = Unary<UnaryFunction::isinf>;
using isfinite = Unary<UnaryFunction::isfinite>;
using signbit = Unary<UnaryFunction::signbit>;

using neg_ = UnaryInPlace<UnaryFunction::neg>;
using abs_ = UnaryInPlace<UnaryFunction::abs>;
using square_ = UnaryInPlace<UnaryFunction::square>;
using reciprocal_ = UnaryInPlace<UnaryFunction::reciprocal>;
using sqrt_ = UnaryInPlace<UnaryFunction::sqrt>;
using rsqrt_ = UnaryInPlace<UnaryFunction::rsqrt>;
using exp_ = UnaryInPlace<UnaryFunction::exp>;
using exp2_ = UnaryInPlace<UnaryFunction::exp2>;
using expm1_ = UnaryInPlace<UnaryFunction::expm1>;
using log_ = UnaryInPlace<UnaryFunction::log>;
using log2_ = UnaryInPlace<UnaryFunction::log2>;
using log10_ = UnaryInPlace<UnaryFunction::log10>;
using log1p_ = UnaryInPlace<UnaryFunction::log1p>;
using sin_ = UnaryInPlace<UnaryFunction::sin>;
using cos_ = UnaryInPlace<UnaryFunction::cos>;
using tan_ = UnaryInPlace<UnaryFunction::tan>;
using asin_ = UnaryInPlace<UnaryFunction::asin>;
using acos_ = UnaryInPlace<UnaryFunction::acos>;
using atan_ = UnaryInPlace<UnaryFunction::atan>;
using sinh_ = UnaryInPlace<UnaryFunction::sinh>;
using cosh_ = UnaryInPlace<UnaryFunction::cosh>;
using tanh_ = UnaryInPlace<UnaryFunction::tanh>;
using asinh_ = UnaryInPlace<UnaryFunction::asinh>;
using acosh_ = UnaryInPlace<UnaryFunction::acosh>;
using atanh_ = UnaryInPlace<UnaryFunction::atanh>;
using sigmoid_ = UnaryInPlace<UnaryFunction::sigmoid>;
using relu_ = UnaryInPlace<UnaryFunction::relu>;
using erf_ = UnaryInPlace<UnaryFunction::erf>;
using erfc_ = UnaryInPlace<UnaryFunction::erfc>;
using erfinv_ = UnaryInPlace<UnaryFunction::erfinv>;
using lgamma_ = UnaryInPlace<UnaryFunction::lgamma>;
using digamma_ = UnaryInPlace<UnaryFunction::digamma>;
using floor_ = UnaryInPlace<UnaryFunction::floor>;
using ceil_ = UnaryInPlace<UnaryFunction::ceil>;
using round_ = UnaryInPlace<UnaryFunction::round>;
using trunc_ = UnaryInPlace<UnaryFunction::trunc>;
using frac_ = UnaryInPlace<UnaryFunction::frac>;
using sign_ = UnaryInPlace<UnaryFunction::sign>;
using sgn_ = UnaryInPlace<UnaryFunction::sgn>;
using bitwise_not_ = UnaryInPlace<UnaryFunction::bitwise_not>;
using logical_not_ = UnaryInPlace<UnaryFunction::logical_not>;

using add = Binary<BinaryFunction::add>;
using sub = Binary<BinaryFunction::sub>;
using mul = Binary<BinaryFunction::mul>;
using div = Binary<BinaryFunction::div>;
using floor_divide = Binary<BinaryFunction::floor_divide>;
using trunc_divide = Binary<BinaryFunction::trunc_divide>;
using remainder = Binary<BinaryFunction::remainder>;
using fmod = Binary<BinaryFunction::fmod>;
using pow = Binary<BinaryFunction::pow>;
using maximum = Binary<BinaryFunction::maximum>;
using minimum = Binary<BinaryFunction::minimum>;
using fmax = Binary<BinaryFunction::fmax>;
using fmin = Binary<BinaryFunction::fmin>;
using atan2 = Binary<BinaryFunction::atan2>;
using hypot = Binary<BinaryFunction::hypot>;
using copysign = Binary<BinaryFunction::copysign>;
using nextafter = Binary<BinaryFunction::nextafter>;
using logaddexp = Binary<BinaryFunction::logaddexp>;
using logaddexp2 = Binary<BinaryFunction::logaddexp2>;
using xlogy = Binary<BinaryFunction::xlogy>;
using eq = Binary<BinaryFunction::eq>;
using ne = Binary<BinaryFunction::ne>;
using lt = Binary<BinaryFunction::lt>;
using le = Binary<BinaryFunction::le>;
using gt = Binary<BinaryFunction::gt>;
using ge = Binary<BinaryFunction::ge>;
using logical_and = Binary<BinaryFunction::logical_and>;
using logical_or = Binary<BinaryFunction::logical_or>;
using logical_xor = Binary<BinaryFunction::logical_xor>;
using bitwise_and = Binary<BinaryFunction::bitwise_and>;
using bitwise_or = Binary<BinaryFunction::bitwise_or>;
using bitwise_xor = Binary<BinaryFunction::bitwise_xor>;
using bitwise_left_shift = Binary<BinaryFunction::bitwise_left_shift>;
using bitwise_right_shift = Binary<BinaryFunction::bitwise_right_shift>;

using add_ = BinaryInPlace<BinaryFunction::add>;
using sub_ = BinaryInPlace<BinaryFunction::sub>;
using mul_ = BinaryInPlace<BinaryFunction::mul>;
using div_ = BinaryInPlace<BinaryFunction::div>;
using floor_divide_ = BinaryInPlace<BinaryFunction::floor_divide>;
using trunc_divide_ = BinaryInPlace<BinaryFunction::trunc_divide>;
using remainder_ = BinaryInPlace<BinaryFunction::remainder>;
using fmod_ = BinaryInPlace<BinaryFunction::fmod>;
using pow_ = BinaryInPlace<BinaryFunction::pow>;
using atan2_ = BinaryInPlace<BinaryFunction::atan2>;
using hypot_ = BinaryInPlace<BinaryFunction::hypot>;
using copysign_ = BinaryInPlace<BinaryFunction::copysign>;
using nextafter_ = BinaryInPlace<BinaryFunction::nextafter>;
using xlogy_ = BinaryInPlace<BinaryFunction::xlogy>;
using eq_ = BinaryInPlace<BinaryFunction::eq>;
using ne_ = BinaryInPlace<BinaryFunction::ne>;
using lt_ = BinaryInPlace<BinaryFunction::lt>;
using le_ = BinaryInPlace<BinaryFunction::le>;
using gt_ = BinaryInPlace<BinaryFunction::gt>;
using ge_ = BinaryInPlace<BinaryFunction::ge>;
using logical_and_ = BinaryInPlace<BinaryFunction::logical_and>;
using logical_or_ = BinaryInPlace<BinaryFunction::logical_or>;
using logical_xor_ = BinaryInPlace<BinaryFunction::logical_xor>;
using bitwise_and_ = BinaryInPlace<BinaryFunction::bitwise_and>;
using bitwise_or_ = BinaryInPlace<BinaryFunction::bitwise_or>;
using bitwise_xor_ = BinaryInPlace<BinaryFunction::bitwise_xor>;
using bitwise_left_shift_ = BinaryInPlace<BinaryFunction::bitwise_left_shift>;
using bitwise_right_shift_ = BinaryInPlace<BinaryFunction::bitwise_right_shift>;

}  // namespace op

}  // namespace tenon
