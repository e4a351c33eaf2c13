// Arithmetic: functions of one and of two tensors, element by element.
//
//   Tensor y = (x - 0.5) * scale + exp(-x);      // broadcasts, and promotes dtypes as PyTorch does
//   y.mul_(2);                                   // in place
//   add_out(y, a, b);                            // into memory that is there
//
// A number is a tensor without dimensions that gives way: x * 2.5 keeps the dtype of x if that is a
// floating one. Whole numbers wrap; dividing them gives floating ones (div), or asks for a rounding
// mode. Results do not depend on the number of threads.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/ops/arithmetic_ops.h"
#include "tenon/tensor.h"

namespace tenon {

// The dtype that a function of both is calculated in, by PyTorch's rules: a tensor without
// dimensions gives way to one with, and a number to both, unless it is of a higher kind (floating
// among whole numbers, complex among real ones).
TENON_API DType result_type(const Tensor& a, const Tensor& b);
TENON_API DType result_type(const Tensor& a, const Scalar& b);
// Whether a result of one dtype may be written as another: not complex as real, not floating as
// whole, and nothing but bool as bool.
TENON_API bool can_cast(DType from, DType to);

// A number, as it takes part in arithmetic.
TENON_API Tensor wrapped_number(const Scalar& value);

TENON_API Tensor neg(const Tensor& self);
TENON_API Tensor abs(const Tensor& self);
TENON_API Tensor square(const Tensor& self);
TENON_API Tensor reciprocal(const Tensor& self);
TENON_API Tensor sqrt(const Tensor& self);
TENON_API Tensor rsqrt(const Tensor& self);
TENON_API Tensor exp(const Tensor& self);
TENON_API Tensor exp2(const Tensor& self);
TENON_API Tensor expm1(const Tensor& self);
TENON_API Tensor log(const Tensor& self);
TENON_API Tensor log2(const Tensor& self);
TENON_API Tensor log10(const Tensor& self);
TENON_API Tensor log1p(const Tensor& self);
TENON_API Tensor sin(const Tensor& self);
TENON_API Tensor cos(const Tensor& self);
TENON_API Tensor tan(const Tensor& self);
TENON_API Tensor asin(const Tensor& self);
TENON_API Tensor acos(const Tensor& self);
TENON_API Tensor atan(const Tensor& self);
TENON_API Tensor sinh(const Tensor& self);
TENON_API Tensor cosh(const Tensor& self);
TENON_API Tensor tanh(const Tensor& self);
TENON_API Tensor asinh(const Tensor& self);
TENON_API Tensor acosh(const Tensor& self);
TENON_API Tensor atanh(const Tensor& self);
TENON_API Tensor sigmoid(const Tensor& self);
TENON_API Tensor relu(const Tensor& self);
TENON_API Tensor erf(const Tensor& self);
TENON_API Tensor erfc(const Tensor& self);
TENON_API Tensor erfinv(const Tensor& self);
TENON_API Tensor lgamma(const Tensor& self);
TENON_API Tensor digamma(const Tensor& self);
// The n-th derivative of digamma. ValueError if n is negative.
TENON_API Tensor polygamma(std::int64_t n, const Tensor& input);
TENON_API Tensor floor(const Tensor& self);
TENON_API Tensor ceil(const Tensor& self);
TENON_API Tensor round(const Tensor& self);
TENON_API Tensor trunc(const Tensor& self);
TENON_API Tensor frac(const Tensor& self);
TENON_API Tensor sign(const Tensor& self);
TENON_API Tensor sgn(const Tensor& self);
TENON_API Tensor angle(const Tensor& self);
TENON_API Tensor bitwise_not(const Tensor& self);
TENON_API Tensor logical_not(const Tensor& self);
TENON_API Tensor isnan(const Tensor& self);
TENON_API Tensor isinf(const Tensor& self);
TENON_API Tensor isfinite(const Tensor& self);
TENON_API Tensor signbit(const Tensor& self);

TENON_API const Tensor& neg_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& abs_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& square_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& reciprocal_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& sqrt_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& rsqrt_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& exp_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& exp2_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& expm1_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& log_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& log2_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& log10_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& log1p_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& sin_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& cos_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& tan_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& asin_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& acos_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& atan_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& sinh_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& cosh_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& tanh_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& asinh_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& acosh_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& atanh_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& sigmoid_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& relu_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& erf_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& erfc_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& erfinv_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& lgamma_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& digamma_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& floor_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& ceil_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& round_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& trunc_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& frac_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& sign_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& sgn_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& angle_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& bitwise_not_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& logical_not_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& isnan_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& isinf_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& isfinite_out(const Tensor& out, const Tensor& self);
TENON_API const Tensor& signbit_out(const Tensor& out, const Tensor& self);

TENON_API Tensor add(const Tensor& self, const Tensor& other);
TENON_API Tensor sub(const Tensor& self, const Tensor& other);
TENON_API Tensor mul(const Tensor& self, const Tensor& other);
TENON_API Tensor div(const Tensor& self, const Tensor& other);
TENON_API Tensor floor_divide(const Tensor& self, const Tensor& other);
TENON_API Tensor trunc_divide(const Tensor& self, const Tensor& other);
TENON_API Tensor remainder(const Tensor& self, const Tensor& other);
TENON_API Tensor fmod(const Tensor& self, const Tensor& other);
TENON_API Tensor pow(const Tensor& self, const Tensor& other);
TENON_API Tensor maximum(const Tensor& self, const Tensor& other);
TENON_API Tensor minimum(const Tensor& self, const Tensor& other);
TENON_API Tensor fmax(const Tensor& self, const Tensor& other);
TENON_API Tensor fmin(const Tensor& self, const Tensor& other);
TENON_API Tensor atan2(const Tensor& self, const Tensor& other);
TENON_API Tensor hypot(const Tensor& self, const Tensor& other);
TENON_API Tensor copysign(const Tensor& self, const Tensor& other);
TENON_API Tensor nextafter(const Tensor& self, const Tensor& other);
TENON_API Tensor logaddexp(const Tensor& self, const Tensor& other);
TENON_API Tensor logaddexp2(const Tensor& self, const Tensor& other);
TENON_API Tensor xlogy(const Tensor& self, const Tensor& other);
TENON_API Tensor eq(const Tensor& self, const Tensor& other);
TENON_API Tensor ne(const Tensor& self, const Tensor& other);
TENON_API Tensor lt(const Tensor& self, const Tensor& other);
TENON_API Tensor le(const Tensor& self, const Tensor& other);
TENON_API Tensor gt(const Tensor& self, const Tensor& other);
TENON_API Tensor ge(const Tensor& self, const Tensor& other);
TENON_API Tensor logical_and(const Tensor& self, const Tensor& other);
TENON_API Tensor logical_or(const Tensor& self, const Tensor& other);
TENON_API Tensor logical_xor(const Tensor& self, const Tensor& other);
TENON_API Tensor bitwise_and(const Tensor& self, const Tensor& other);
TENON_API Tensor bitwise_or(const Tensor& self, const Tensor& other);
TENON_API Tensor bitwise_xor(const Tensor& self, const Tensor& other);
TENON_API Tensor bitwise_left_shift(const Tensor& self, const Tensor& other);
TENON_API Tensor bitwise_right_shift(const Tensor& self, const Tensor& other);

// Numbers on either side.
inline Tensor add(const Tensor& self, const Scalar& other) {
  return add(self, wrapped_number(other));
}
inline Tensor sub(const Tensor& self, const Scalar& other) {
  return sub(self, wrapped_number(other));
}
inline Tensor mul(const Tensor& self, const Scalar& other) {
  return mul(self, wrapped_number(other));
}
inline Tensor div(const Tensor& self, const Scalar& other) {
  return div(self, wrapped_number(other));
}
inline Tensor floor_divide(const Tensor& self, const Scalar& other) {
  return floor_divide(self, wrapped_number(other));
}
inline Tensor trunc_divide(const Tensor& self, const Scalar& other) {
  return trunc_divide(self, wrapped_number(other));
}
inline Tensor remainder(const Tensor& self, const Scalar& other) {
  return remainder(self, wrapped_number(other));
}
inline Tensor fmod(const Tensor& self, const Scalar& other) {
  return fmod(self, wrapped_number(other));
}
inline Tensor pow(const Tensor& self, const Scalar& other) {
  return pow(self, wrapped_number(other));
}
inline Tensor maximum(const Tensor& self, const Scalar& other) {
  return maximum(self, wrapped_number(other));
}
inline Tensor minimum(const Tensor& self, const Scalar& other) {
  return minimum(self, wrapped_number(other));
}
inline Tensor fmax(const Tensor& self, const Scalar& other) {
  return fmax(self, wrapped_number(other));
}
inline Tensor fmin(const Tensor& self, const Scalar& other) {
  return fmin(self, wrapped_number(other));
}
inline Tensor atan2(const Tensor& self, const Scalar& other) {
  return atan2(self, wrapped_number(other));
}
inline Tensor hypot(const Tensor& self, const Scalar& other) {
  return hypot(self, wrapped_number(other));
}
inline Tensor copysign(const Tensor& self, const Scalar& other) {
  return copysign(self, wrapped_number(other));
}
inline Tensor nextafter(const Tensor& self, const Scalar& other) {
  return nextafter(self, wrapped_number(other));
}
inline Tensor logaddexp(const Tensor& self, const Scalar& other) {
  return logaddexp(self, wrapped_number(other));
}
inline Tensor logaddexp2(const Tensor& self, const Scalar& other) {
  return logaddexp2(self, wrapped_number(other));
}
inline Tensor xlogy(const Tensor& self, const Scalar& other) {
  return xlogy(self, wrapped_number(other));
}
inline Tensor eq(const Tensor& self, const Scalar& other) {
  return eq(self, wrapped_number(other));
}
inline Tensor ne(const Tensor& self, const Scalar& other) {
  return ne(self, wrapped_number(other));
}
inline Tensor lt(const Tensor& self, const Scalar& other) {
  return lt(self, wrapped_number(other));
}
inline Tensor le(const Tensor& self, const Scalar& other) {
  return le(self, wrapped_number(other));
}
inline Tensor gt(const Tensor& self, const Scalar& other) {
  return gt(self, wrapped_number(other));
}
inline Tensor ge(const Tensor& self, const Scalar& other) {
  return ge(self, wrapped_number(other));
}
inline Tensor logical_and(const Tensor& self, const Scalar& other) {
  return logical_and(self, wrapped_number(other));
}
inline Tensor logical_or(const Tensor& self, const Scalar& other) {
  return logical_or(self, wrapped_number(other));
}
inline Tensor logical_xor(const Tensor& self, const Scalar& other) {
  return logical_xor(self, wrapped_number(other));
}
inline Tensor bitwise_and(const Tensor& self, const Scalar& other) {
  return bitwise_and(self, wrapped_number(other));
}
inline Tensor bitwise_or(const Tensor& self, const Scalar& other) {
  return bitwise_or(self, wrapped_number(other));
}
inline Tensor bitwise_xor(const Tensor& self, const Scalar& other) {
  return bitwise_xor(self, wrapped_number(other));
}
inline Tensor bitwise_left_shift(const Tensor& self, const Scalar& other) {
  return bitwise_left_shift(self, wrapped_number(other));
}
inline Tensor bitwise_right_shift(const Tensor& self, const Scalar& other) {
  return bitwise_right_shift(self, wrapped_number(other));
}
inline Tensor add(const Scalar& self, const Tensor& other) {
  return add(wrapped_number(self), other);
}
inline Tensor sub(const Scalar& self, const Tensor& other) {
  return sub(wrapped_number(self), other);
}
inline Tensor mul(const Scalar& self, const Tensor& other) {
  return mul(wrapped_number(self), other);
}
inline Tensor div(const Scalar& self, const Tensor& other) {
  return div(wrapped_number(self), other);
}
inline Tensor floor_divide(const Scalar& self, const Tensor& other) {
  return floor_divide(wrapped_number(self), other);
}
inline Tensor trunc_divide(const Scalar& self, const Tensor& other) {
  return trunc_divide(wrapped_number(self), other);
}
inline Tensor remainder(const Scalar& self, const Tensor& other) {
  return remainder(wrapped_number(self), other);
}
inline Tensor fmod(const Scalar& self, const Tensor& other) {
  return fmod(wrapped_number(self), other);
}
inline Tensor pow(const Scalar& self, const Tensor& other) {
  return pow(wrapped_number(self), other);
}
inline Tensor maximum(const Scalar& self, const Tensor& other) {
  return maximum(wrapped_number(self), other);
}
inline Tensor minimum(const Scalar& self, const Tensor& other) {
  return minimum(wrapped_number(self), other);
}
inline Tensor fmax(const Scalar& self, const Tensor& other) {
  return fmax(wrapped_number(self), other);
}
inline Tensor fmin(const Scalar& self, const Tensor& other) {
  return fmin(wrapped_number(self), other);
}
inline Tensor atan2(const Scalar& self, const Tensor& other) {
  return atan2(wrapped_number(self), other);
}
inline Tensor hypot(const Scalar& self, const Tensor& other) {
  return hypot(wrapped_number(self), other);
}
inline Tensor copysign(const Scalar& self, const Tensor& other) {
  return copysign(wrapped_number(self), other);
}
inline Tensor nextafter(const Scalar& self, const Tensor& other) {
  return nextafter(wrapped_number(self), other);
}
inline Tensor logaddexp(const Scalar& self, const Tensor& other) {
  return logaddexp(wrapped_number(self), other);
}
inline Tensor logaddexp2(const Scalar& self, const Tensor& other) {
  return logaddexp2(wrapped_number(self), other);
}
inline Tensor xlogy(const Scalar& self, const Tensor& other) {
  return xlogy(wrapped_number(self), other);
}
inline Tensor eq(const Scalar& self, const Tensor& other) {
  return eq(wrapped_number(self), other);
}
inline Tensor ne(const Scalar& self, const Tensor& other) {
  return ne(wrapped_number(self), other);
}
inline Tensor lt(const Scalar& self, const Tensor& other) {
  return lt(wrapped_number(self), other);
}
inline Tensor le(const Scalar& self, const Tensor& other) {
  return le(wrapped_number(self), other);
}
inline Tensor gt(const Scalar& self, const Tensor& other) {
  return gt(wrapped_number(self), other);
}
inline Tensor ge(const Scalar& self, const Tensor& other) {
  return ge(wrapped_number(self), other);
}
inline Tensor logical_and(const Scalar& self, const Tensor& other) {
  return logical_and(wrapped_number(self), other);
}
inline Tensor logical_or(const Scalar& self, const Tensor& other) {
  return logical_or(wrapped_number(self), other);
}
inline Tensor logical_xor(const Scalar& self, const Tensor& other) {
  return logical_xor(wrapped_number(self), other);
}
inline Tensor bitwise_and(const Scalar& self, const Tensor& other) {
  return bitwise_and(wrapped_number(self), other);
}
inline Tensor bitwise_or(const Scalar& self, const Tensor& other) {
  return bitwise_or(wrapped_number(self), other);
}
inline Tensor bitwise_xor(const Scalar& self, const Tensor& other) {
  return bitwise_xor(wrapped_number(self), other);
}
inline Tensor bitwise_left_shift(const Scalar& self, const Tensor& other) {
  return bitwise_left_shift(wrapped_number(self), other);
}
inline Tensor bitwise_right_shift(const Scalar& self, const Tensor& other) {
  return bitwise_right_shift(wrapped_number(self), other);
}

TENON_API const Tensor& add_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& sub_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& mul_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& div_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& floor_divide_out(const Tensor& out, const Tensor& self,
                                         const Tensor& other);
TENON_API const Tensor& trunc_divide_out(const Tensor& out, const Tensor& self,
                                         const Tensor& other);
TENON_API const Tensor& remainder_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& fmod_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& pow_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& maximum_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& minimum_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& fmax_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& fmin_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& atan2_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& hypot_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& copysign_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& nextafter_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& logaddexp_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& logaddexp2_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& xlogy_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& eq_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& ne_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& lt_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& le_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& gt_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& ge_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& logical_and_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& logical_or_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& logical_xor_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& bitwise_and_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& bitwise_or_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& bitwise_xor_out(const Tensor& out, const Tensor& self, const Tensor& other);
TENON_API const Tensor& bitwise_left_shift_out(const Tensor& out, const Tensor& self,
                                               const Tensor& other);
TENON_API const Tensor& bitwise_right_shift_out(const Tensor& out, const Tensor& self,
                                                const Tensor& other);

// True division, or, with a rounding mode of "floor" or "trunc", the quotient rounded: whole
// numbers stay whole then.
struct DivOptions {
  std::string_view rounding_mode = {};
};
TENON_API Tensor div(const Tensor& self, const Tensor& other, DivOptions options);
inline Tensor div(const Tensor& self, const Scalar& other, DivOptions options) {
  return div(self, wrapped_number(other), options);
}

// To so many digits after the point, or, if there are less than none, before it.
struct RoundOptions {
  std::int64_t decimals = 0;
};
TENON_API Tensor round(const Tensor& self, RoundOptions options);

inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, const Scalar& b) { return add(a, b); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, const Scalar& b) { return sub(a, b); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, const Scalar& b) { return mul(a, b); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, const Scalar& b) { return div(a, b); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return div(a, b); }
inline Tensor operator%(const Tensor& a, const Tensor& b) { return remainder(a, b); }
inline Tensor operator%(const Tensor& a, const Scalar& b) { return remainder(a, b); }
inline Tensor operator%(const Scalar& a, const Tensor& b) { return remainder(a, b); }
inline Tensor operator&(const Tensor& a, const Tensor& b) { return bitwise_and(a, b); }
inline Tensor operator&(const Tensor& a, const Scalar& b) { return bitwise_and(a, b); }
inline Tensor operator&(const Scalar& a, const Tensor& b) { return bitwise_and(a, b); }
inline Tensor operator|(const Tensor& a, const Tensor& b) { return bitwise_or(a, b); }
inline Tensor operator|(const Tensor& a, const Scalar& b) { return bitwise_or(a, b); }
inline Tensor operator|(const Scalar& a, const Tensor& b) { return bitwise_or(a, b); }
inline Tensor operator^(const Tensor& a, const Tensor& b) { return bitwise_xor(a, b); }
inline Tensor operator^(const Tensor& a, const Scalar& b) { return bitwise_xor(a, b); }
inline Tensor operator^(const Scalar& a, const Tensor& b) { return bitwise_xor(a, b); }
inline Tensor operator<<(const Tensor& a, const Tensor& b) { return bitwise_left_shift(a, b); }
inline Tensor operator<<(const Tensor& a, const Scalar& b) { return bitwise_left_shift(a, b); }
inline Tensor operator>>(const Tensor& a, const Tensor& b) { return bitwise_right_shift(a, b); }
inline Tensor operator>>(const Tensor& a, const Scalar& b) { return bitwise_right_shift(a, b); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<(const Tensor& a, const Scalar& b) { return lt(a, b); }
inline Tensor operator<(const Scalar& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator<=(const Tensor& a, const Scalar& b) { return le(a, b); }
inline Tensor operator<=(const Scalar& a, const Tensor& b) { return le(a, b); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>(const Tensor& a, const Scalar& b) { return gt(a, b); }
inline Tensor operator>(const Scalar& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator>=(const Tensor& a, const Scalar& b) { return ge(a, b); }
inline Tensor operator>=(const Scalar& a, const Tensor& b) { return ge(a, b); }
// Element by element, as in PyTorch: a tensor of bools. Whether two handles name one tensor is
// a.is(b), and whether all elements are equal is equal(a, b).
inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator==(const Tensor& a, const Scalar& b) { return eq(a, b); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator!=(const Tensor& a, const Scalar& b) { return ne(a, b); }
inline Tensor operator-(const Tensor& x) { return neg(x); }
inline Tensor operator+(const Tensor& x) { return x; }
inline Tensor operator~(const Tensor& x) { return bitwise_not(x); }
inline const Tensor& operator+=(const Tensor& a, const Tensor& b) { return a.add_(b); }
inline const Tensor& operator+=(const Tensor& a, const Scalar& b) { return a.add_(b); }
inline const Tensor& operator-=(const Tensor& a, const Tensor& b) { return a.sub_(b); }
inline const Tensor& operator-=(const Tensor& a, const Scalar& b) { return a.sub_(b); }
inline const Tensor& operator*=(const Tensor& a, const Tensor& b) { return a.mul_(b); }
inline const Tensor& operator*=(const Tensor& a, const Scalar& b) { return a.mul_(b); }
inline const Tensor& operator/=(const Tensor& a, const Tensor& b) { return a.div_(b); }
inline const Tensor& operator/=(const Tensor& a, const Scalar& b) { return a.div_(b); }
inline const Tensor& operator%=(const Tensor& a, const Tensor& b) { return a.remainder_(b); }
inline const Tensor& operator%=(const Tensor& a, const Scalar& b) { return a.remainder_(b); }
inline const Tensor& operator&=(const Tensor& a, const Tensor& b) { return a.bitwise_and_(b); }
inline const Tensor& operator&=(const Tensor& a, const Scalar& b) { return a.bitwise_and_(b); }
inline const Tensor& operator|=(const Tensor& a, const Tensor& b) { return a.bitwise_or_(b); }
inline const Tensor& operator|=(const Tensor& a, const Scalar& b) { return a.bitwise_or_(b); }
inline const Tensor& operator^=(const Tensor& a, const Tensor& b) { return a.bitwise_xor_(b); }
inline const Tensor& operator^=(const Tensor& a, const Scalar& b) { return a.bitwise_xor_(b); }

}  // namespace tenon
