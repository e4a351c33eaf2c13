// The methods of Tensor that calculate, element by element. tenon/ops/arithmetic.h has the
// functions, and says how they promote and broadcast.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"
#include "tenon/scalar.h"

namespace tenon {

class Tensor;
struct DivOptions;
struct RoundOptions;

struct AlphaOptions {
  Scalar alpha = 1;  // a factor of the second operand
};

// A base of Tensor without anything in it: x.exp() is exp(x), x.exp_() writes into x.
class TENON_API TensorArithmetic {
 public:
  Tensor neg() const;
  Tensor abs() const;
  Tensor square() const;
  Tensor reciprocal() const;
  Tensor sqrt() const;
  Tensor rsqrt() const;
  Tensor exp() const;
  Tensor exp2() const;
  Tensor expm1() const;
  Tensor log() const;
  Tensor log2() const;
  Tensor log10() const;
  Tensor log1p() const;
  Tensor sin() const;
  Tensor cos() const;
  Tensor tan() const;
  Tensor asin() const;
  Tensor acos() const;
  Tensor atan() const;
  Tensor sinh() const;
  Tensor cosh() const;
  Tensor tanh() const;
  Tensor asinh() const;
  Tensor acosh() const;
  Tensor atanh() const;
  Tensor sigmoid() const;
  Tensor relu() const;
  Tensor erf() const;
  Tensor erfc() const;
  Tensor erfinv() const;
  Tensor lgamma() const;
  Tensor digamma() const;
  Tensor polygamma(std::int64_t n) const;
  Tensor floor() const;
  Tensor ceil() const;
  Tensor round() const;
  Tensor trunc() const;
  Tensor frac() const;
  Tensor sign() const;
  Tensor sgn() const;
  Tensor angle() const;
  Tensor bitwise_not() const;
  Tensor logical_not() const;
  Tensor isnan() const;
  Tensor isinf() const;
  Tensor isfinite() const;
  Tensor signbit() const;
  const Tensor& neg_() const;
  const Tensor& abs_() const;
  const Tensor& square_() const;
  const Tensor& reciprocal_() const;
  const Tensor& sqrt_() const;
  const Tensor& rsqrt_() const;
  const Tensor& exp_() const;
  const Tensor& exp2_() const;
  const Tensor& expm1_() const;
  const Tensor& log_() const;
  const Tensor& log2_() const;
  const Tensor& log10_() const;
  const Tensor& log1p_() const;
  const Tensor& sin_() const;
  const Tensor& cos_() const;
  const Tensor& tan_() const;
  const Tensor& asin_() const;
  const Tensor& acos_() const;
  const Tensor& atan_() const;
  const Tensor& sinh_() const;
  const Tensor& cosh_() const;
  const Tensor& tanh_() const;
  const Tensor& asinh_() const;
  const Tensor& acosh_() const;
  const Tensor& atanh_() const;
  const Tensor& sigmoid_() const;
  const Tensor& relu_() const;
  const Tensor& erf_() const;
  const Tensor& erfc_() const;
  const Tensor& erfinv_() const;
  const Tensor& lgamma_() const;
  const Tensor& digamma_() const;
  const Tensor& polygamma_(std::int64_t n) const;
  const Tensor& floor_() const;
  const Tensor& ceil_() const;
  const Tensor& round_() const;
  const Tensor& trunc_() const;
  const Tensor& frac_() const;
  const Tensor& sign_() const;
  const Tensor& sgn_() const;
  const Tensor& bitwise_not_() const;
  const Tensor& logical_not_() const;

  Tensor add(const Tensor& other) const;
  Tensor add(const Scalar& other) const;
  Tensor sub(const Tensor& other) const;
  Tensor sub(const Scalar& other) const;
  Tensor mul(const Tensor& other) const;
  Tensor mul(const Scalar& other) const;
  Tensor div(const Tensor& other) const;
  Tensor div(const Scalar& other) const;
  Tensor floor_divide(const Tensor& other) const;
  Tensor floor_divide(const Scalar& other) const;
  Tensor trunc_divide(const Tensor& other) const;
  Tensor trunc_divide(const Scalar& other) const;
  Tensor remainder(const Tensor& other) const;
  Tensor remainder(const Scalar& other) const;
  Tensor fmod(const Tensor& other) const;
  Tensor fmod(const Scalar& other) const;
  Tensor pow(const Tensor& other) const;
  Tensor pow(const Scalar& other) const;
  Tensor maximum(const Tensor& other) const;
  Tensor maximum(const Scalar& other) const;
  Tensor minimum(const Tensor& other) const;
  Tensor minimum(const Scalar& other) const;
  Tensor fmax(const Tensor& other) const;
  Tensor fmax(const Scalar& other) const;
  Tensor fmin(const Tensor& other) const;
  Tensor fmin(const Scalar& other) const;
  Tensor atan2(const Tensor& other) const;
  Tensor atan2(const Scalar& other) const;
  Tensor hypot(const Tensor& other) const;
  Tensor hypot(const Scalar& other) const;
  Tensor copysign(const Tensor& other) const;
  Tensor copysign(const Scalar& other) const;
  Tensor nextafter(const Tensor& other) const;
  Tensor nextafter(const Scalar& other) const;
  Tensor logaddexp(const Tensor& other) const;
  Tensor logaddexp(const Scalar& other) const;
  Tensor logaddexp2(const Tensor& other) const;
  Tensor logaddexp2(const Scalar& other) const;
  Tensor xlogy(const Tensor& other) const;
  Tensor xlogy(const Scalar& other) const;
  Tensor eq(const Tensor& other) const;
  Tensor eq(const Scalar& other) const;
  Tensor ne(const Tensor& other) const;
  Tensor ne(const Scalar& other) const;
  Tensor lt(const Tensor& other) const;
  Tensor lt(const Scalar& other) const;
  Tensor le(const Tensor& other) const;
  Tensor le(const Scalar& other) const;
  Tensor gt(const Tensor& other) const;
  Tensor gt(const Scalar& other) const;
  Tensor ge(const Tensor& other) const;
  Tensor ge(const Scalar& other) const;
  Tensor logical_and(const Tensor& other) const;
  Tensor logical_and(const Scalar& other) const;
  Tensor logical_or(const Tensor& other) const;
  Tensor logical_or(const Scalar& other) const;
  Tensor logical_xor(const Tensor& other) const;
  Tensor logical_xor(const Scalar& other) const;
  Tensor bitwise_and(const Tensor& other) const;
  Tensor bitwise_and(const Scalar& other) const;
  Tensor bitwise_or(const Tensor& other) const;
  Tensor bitwise_or(const Scalar& other) const;
  Tensor bitwise_xor(const Tensor& other) const;
  Tensor bitwise_xor(const Scalar& other) const;
  Tensor bitwise_left_shift(const Tensor& other) const;
  Tensor bitwise_left_shift(const Scalar& other) const;
  Tensor bitwise_right_shift(const Tensor& other) const;
  Tensor bitwise_right_shift(const Scalar& other) const;

  const Tensor& add_(const Tensor& other) const;
  const Tensor& add_(const Scalar& other) const;
  const Tensor& sub_(const Tensor& other) const;
  const Tensor& sub_(const Scalar& other) const;
  const Tensor& mul_(const Tensor& other) const;
  const Tensor& mul_(const Scalar& other) const;
  const Tensor& div_(const Tensor& other) const;
  const Tensor& div_(const Scalar& other) const;
  const Tensor& floor_divide_(const Tensor& other) const;
  const Tensor& floor_divide_(const Scalar& other) const;
  const Tensor& trunc_divide_(const Tensor& other) const;
  const Tensor& trunc_divide_(const Scalar& other) const;
  const Tensor& remainder_(const Tensor& other) const;
  const Tensor& remainder_(const Scalar& other) const;
  const Tensor& fmod_(const Tensor& other) const;
  const Tensor& fmod_(const Scalar& other) const;
  const Tensor& pow_(const Tensor& other) const;
  const Tensor& pow_(const Scalar& other) const;
  const Tensor& atan2_(const Tensor& other) const;
  const Tensor& atan2_(const Scalar& other) const;
  const Tensor& hypot_(const Tensor& other) const;
  const Tensor& hypot_(const Scalar& other) const;
  const Tensor& copysign_(const Tensor& other) const;
  const Tensor& copysign_(const Scalar& other) const;
  const Tensor& nextafter_(const Tensor& other) const;
  const Tensor& nextafter_(const Scalar& other) const;
  const Tensor& xlogy_(const Tensor& other) const;
  const Tensor& xlogy_(const Scalar& other) const;
  const Tensor& eq_(const Tensor& other) const;
  const Tensor& eq_(const Scalar& other) const;
  const Tensor& ne_(const Tensor& other) const;
  const Tensor& ne_(const Scalar& other) const;
  const Tensor& lt_(const Tensor& other) const;
  const Tensor& lt_(const Scalar& other) const;
  const Tensor& le_(const Tensor& other) const;
  const Tensor& le_(const Scalar& other) const;
  const Tensor& gt_(const Tensor& other) const;
  const Tensor& gt_(const Scalar& other) const;
  const Tensor& ge_(const Tensor& other) const;
  const Tensor& ge_(const Scalar& other) const;
  const Tensor& logical_and_(const Tensor& other) const;
  const Tensor& logical_and_(const Scalar& other) const;
  const Tensor& logical_or_(const Tensor& other) const;
  const Tensor& logical_or_(const Scalar& other) const;
  const Tensor& logical_xor_(const Tensor& other) const;
  const Tensor& logical_xor_(const Scalar& other) const;
  const Tensor& bitwise_and_(const Tensor& other) const;
  const Tensor& bitwise_and_(const Scalar& other) const;
  const Tensor& bitwise_or_(const Tensor& other) const;
  const Tensor& bitwise_or_(const Scalar& other) const;
  const Tensor& bitwise_xor_(const Tensor& other) const;
  const Tensor& bitwise_xor_(const Scalar& other) const;
  const Tensor& bitwise_left_shift_(const Tensor& other) const;
  const Tensor& bitwise_left_shift_(const Scalar& other) const;
  const Tensor& bitwise_right_shift_(const Tensor& other) const;
  const Tensor& bitwise_right_shift_(const Scalar& other) const;

  // With a factor, rounded once (tenon/ops/lerp.h).
  Tensor add(const Tensor& other, AlphaOptions options) const;
  Tensor sub(const Tensor& other, AlphaOptions options) const;
  const Tensor& add_(const Tensor& other, AlphaOptions options) const;
  const Tensor& sub_(const Tensor& other, AlphaOptions options) const;
  Tensor div(const Tensor& other, DivOptions options) const;
  Tensor div(const Scalar& other, DivOptions options) const;
  Tensor round(RoundOptions options) const;

 protected:
  TensorArithmetic() noexcept = default;
};

}  // namespace tenon
