// The functions of elements.
#include <string>
#include <utility>

#include "ops/meta_dtypes.h"
#include "tenon/tenon.h"

namespace tenon {

// New ones, in place, and into another tensor.
#define TENON_METHOD(name) {#name, [](const Tensor& x) { return x.name(); }}
#define TENON_IN_PLACE(name) {#name, [](const Tensor& x) -> Tensor { return x.clone().name(); }}
#define TENON_INTO(name) \
  {#name, [](const Tensor& x, const Tensor& y) -> Tensor { return name(y.clone(), x); }}
#define TENON_METHOD_OF_TWO(name) \
  {#name, [](const Tensor& x, const Tensor& y) { return x.name(y); }}
#define TENON_IN_PLACE_OF_TWO(name) \
  {#name, [](const Tensor& x, const Tensor& y) -> Tensor { return x.clone().name(y); }}
#define TENON_INTO_OF_TWO(name) \
  {#name, [](const Tensor& x, const Tensor& y) -> Tensor { return name(y.clone(), x, x); }}
#define TENON_WITH_NUMBER(name)                               \
  {#name " 1", [](const Tensor& x) { return x.name(1); }}, {  \
    #name " 1.5", [](const Tensor& x) { return x.name(1.5); } \
  }

Named<OfOne> functions_of_elements() {
  return {
      // clang-format off
      TENON_METHOD(neg), TENON_METHOD(abs), TENON_METHOD(square), TENON_METHOD(reciprocal),
      TENON_METHOD(sqrt), TENON_METHOD(rsqrt), TENON_METHOD(exp), TENON_METHOD(exp2),
      TENON_METHOD(expm1), TENON_METHOD(log), TENON_METHOD(log2), TENON_METHOD(log10),
      TENON_METHOD(log1p), TENON_METHOD(sin), TENON_METHOD(cos), TENON_METHOD(tan),
      TENON_METHOD(asin), TENON_METHOD(acos), TENON_METHOD(atan), TENON_METHOD(sinh),
      TENON_METHOD(cosh), TENON_METHOD(tanh), TENON_METHOD(asinh), TENON_METHOD(acosh),
      TENON_METHOD(atanh), TENON_METHOD(sigmoid), TENON_METHOD(relu), TENON_METHOD(erf),
      TENON_METHOD(erfc), TENON_METHOD(erfinv), TENON_METHOD(lgamma), TENON_METHOD(digamma),
      TENON_METHOD(floor), TENON_METHOD(ceil), TENON_METHOD(round), TENON_METHOD(trunc),
      TENON_METHOD(frac), TENON_METHOD(sign), TENON_METHOD(sgn), TENON_METHOD(angle),
      TENON_METHOD(bitwise_not), TENON_METHOD(logical_not), TENON_METHOD(isnan),
      TENON_METHOD(isinf), TENON_METHOD(isfinite), TENON_METHOD(signbit),
      TENON_IN_PLACE(neg_), TENON_IN_PLACE(abs_), TENON_IN_PLACE(square_),
      TENON_IN_PLACE(reciprocal_), TENON_IN_PLACE(sqrt_), TENON_IN_PLACE(rsqrt_),
      TENON_IN_PLACE(exp_), TENON_IN_PLACE(exp2_), TENON_IN_PLACE(expm1_), TENON_IN_PLACE(log_),
      TENON_IN_PLACE(log2_), TENON_IN_PLACE(log10_), TENON_IN_PLACE(log1p_), TENON_IN_PLACE(sin_),
      TENON_IN_PLACE(cos_), TENON_IN_PLACE(tan_), TENON_IN_PLACE(asin_), TENON_IN_PLACE(acos_),
      TENON_IN_PLACE(atan_), TENON_IN_PLACE(sinh_), TENON_IN_PLACE(cosh_), TENON_IN_PLACE(tanh_),
      TENON_IN_PLACE(asinh_), TENON_IN_PLACE(acosh_), TENON_IN_PLACE(atanh_),
      TENON_IN_PLACE(sigmoid_), TENON_IN_PLACE(relu_), TENON_IN_PLACE(erf_), TENON_IN_PLACE(erfc_),
      TENON_IN_PLACE(erfinv_), TENON_IN_PLACE(lgamma_), TENON_IN_PLACE(digamma_),
      TENON_IN_PLACE(floor_), TENON_IN_PLACE(ceil_), TENON_IN_PLACE(round_), TENON_IN_PLACE(trunc_),
      TENON_IN_PLACE(frac_), TENON_IN_PLACE(sign_), TENON_IN_PLACE(sgn_),
      TENON_IN_PLACE(bitwise_not_), TENON_IN_PLACE(logical_not_),
      TENON_WITH_NUMBER(add), TENON_WITH_NUMBER(sub), TENON_WITH_NUMBER(mul),
      TENON_WITH_NUMBER(div), TENON_WITH_NUMBER(floor_divide), TENON_WITH_NUMBER(trunc_divide),
      TENON_WITH_NUMBER(remainder), TENON_WITH_NUMBER(fmod), TENON_WITH_NUMBER(pow),
      TENON_WITH_NUMBER(atan2), TENON_WITH_NUMBER(hypot), TENON_WITH_NUMBER(copysign),
      TENON_WITH_NUMBER(nextafter), TENON_WITH_NUMBER(xlogy), TENON_WITH_NUMBER(eq),
      TENON_WITH_NUMBER(ne), TENON_WITH_NUMBER(lt), TENON_WITH_NUMBER(le), TENON_WITH_NUMBER(gt),
      TENON_WITH_NUMBER(ge), TENON_WITH_NUMBER(logical_and), TENON_WITH_NUMBER(logical_or),
      TENON_WITH_NUMBER(logical_xor), TENON_WITH_NUMBER(bitwise_and), TENON_WITH_NUMBER(bitwise_or),
      TENON_WITH_NUMBER(bitwise_xor), TENON_WITH_NUMBER(bitwise_left_shift),
      TENON_WITH_NUMBER(bitwise_right_shift), TENON_WITH_NUMBER(maximum),
      TENON_WITH_NUMBER(minimum), TENON_WITH_NUMBER(fmax), TENON_WITH_NUMBER(fmin),
      TENON_WITH_NUMBER(logaddexp), TENON_WITH_NUMBER(logaddexp2),
      // clang-format on
  };
}

Named<OfTwo> functions_of_two_elements() {
  return {
      // clang-format off
      TENON_METHOD_OF_TWO(add), TENON_METHOD_OF_TWO(sub), TENON_METHOD_OF_TWO(mul),
      TENON_METHOD_OF_TWO(div), TENON_METHOD_OF_TWO(floor_divide),
      TENON_METHOD_OF_TWO(trunc_divide), TENON_METHOD_OF_TWO(remainder), TENON_METHOD_OF_TWO(fmod),
      TENON_METHOD_OF_TWO(pow), TENON_METHOD_OF_TWO(maximum), TENON_METHOD_OF_TWO(minimum),
      TENON_METHOD_OF_TWO(fmax), TENON_METHOD_OF_TWO(fmin), TENON_METHOD_OF_TWO(atan2),
      TENON_METHOD_OF_TWO(hypot), TENON_METHOD_OF_TWO(copysign), TENON_METHOD_OF_TWO(nextafter),
      TENON_METHOD_OF_TWO(logaddexp), TENON_METHOD_OF_TWO(logaddexp2), TENON_METHOD_OF_TWO(xlogy),
      TENON_METHOD_OF_TWO(eq), TENON_METHOD_OF_TWO(ne), TENON_METHOD_OF_TWO(lt),
      TENON_METHOD_OF_TWO(le), TENON_METHOD_OF_TWO(gt), TENON_METHOD_OF_TWO(ge),
      TENON_METHOD_OF_TWO(logical_and), TENON_METHOD_OF_TWO(logical_or),
      TENON_METHOD_OF_TWO(logical_xor), TENON_METHOD_OF_TWO(bitwise_and),
      TENON_METHOD_OF_TWO(bitwise_or), TENON_METHOD_OF_TWO(bitwise_xor),
      TENON_METHOD_OF_TWO(bitwise_left_shift), TENON_METHOD_OF_TWO(bitwise_right_shift),
      TENON_IN_PLACE_OF_TWO(add_), TENON_IN_PLACE_OF_TWO(sub_), TENON_IN_PLACE_OF_TWO(mul_),
      TENON_IN_PLACE_OF_TWO(div_), TENON_IN_PLACE_OF_TWO(floor_divide_),
      TENON_IN_PLACE_OF_TWO(trunc_divide_), TENON_IN_PLACE_OF_TWO(remainder_),
      TENON_IN_PLACE_OF_TWO(fmod_), TENON_IN_PLACE_OF_TWO(pow_), TENON_IN_PLACE_OF_TWO(atan2_),
      TENON_IN_PLACE_OF_TWO(hypot_), TENON_IN_PLACE_OF_TWO(copysign_),
      TENON_IN_PLACE_OF_TWO(nextafter_), TENON_IN_PLACE_OF_TWO(xlogy_), TENON_IN_PLACE_OF_TWO(eq_),
      TENON_IN_PLACE_OF_TWO(ne_), TENON_IN_PLACE_OF_TWO(lt_), TENON_IN_PLACE_OF_TWO(le_),
      TENON_IN_PLACE_OF_TWO(gt_), TENON_IN_PLACE_OF_TWO(ge_), TENON_IN_PLACE_OF_TWO(logical_and_),
      TENON_IN_PLACE_OF_TWO(logical_or_), TENON_IN_PLACE_OF_TWO(logical_xor_),
      TENON_IN_PLACE_OF_TWO(bitwise_and_), TENON_IN_PLACE_OF_TWO(bitwise_or_),
      TENON_IN_PLACE_OF_TWO(bitwise_xor_), TENON_IN_PLACE_OF_TWO(bitwise_left_shift_),
      TENON_IN_PLACE_OF_TWO(bitwise_right_shift_),
      TENON_INTO(neg_out), TENON_INTO(abs_out), TENON_INTO(square_out), TENON_INTO(reciprocal_out),
      TENON_INTO(sqrt_out), TENON_INTO(rsqrt_out), TENON_INTO(exp_out), TENON_INTO(exp2_out),
      TENON_INTO(expm1_out), TENON_INTO(log_out), TENON_INTO(log2_out), TENON_INTO(log10_out),
      TENON_INTO(log1p_out), TENON_INTO(sin_out), TENON_INTO(cos_out), TENON_INTO(tan_out),
      TENON_INTO(asin_out), TENON_INTO(acos_out), TENON_INTO(atan_out), TENON_INTO(sinh_out),
      TENON_INTO(cosh_out), TENON_INTO(tanh_out), TENON_INTO(asinh_out), TENON_INTO(acosh_out),
      TENON_INTO(atanh_out), TENON_INTO(sigmoid_out), TENON_INTO(relu_out), TENON_INTO(erf_out),
      TENON_INTO(erfc_out), TENON_INTO(erfinv_out), TENON_INTO(lgamma_out), TENON_INTO(digamma_out),
      TENON_INTO(floor_out), TENON_INTO(ceil_out), TENON_INTO(round_out), TENON_INTO(trunc_out),
      TENON_INTO(frac_out), TENON_INTO(sign_out), TENON_INTO(sgn_out), TENON_INTO(angle_out),
      TENON_INTO(bitwise_not_out), TENON_INTO(logical_not_out), TENON_INTO(isnan_out),
      TENON_INTO(isinf_out), TENON_INTO(isfinite_out), TENON_INTO(signbit_out),
      TENON_INTO_OF_TWO(add_out), TENON_INTO_OF_TWO(sub_out), TENON_INTO_OF_TWO(mul_out),
      TENON_INTO_OF_TWO(div_out), TENON_INTO_OF_TWO(floor_divide_out),
      TENON_INTO_OF_TWO(trunc_divide_out), TENON_INTO_OF_TWO(remainder_out),
      TENON_INTO_OF_TWO(fmod_out), TENON_INTO_OF_TWO(pow_out), TENON_INTO_OF_TWO(maximum_out),
      TENON_INTO_OF_TWO(minimum_out), TENON_INTO_OF_TWO(fmax_out), TENON_INTO_OF_TWO(fmin_out),
      TENON_INTO_OF_TWO(atan2_out), TENON_INTO_OF_TWO(hypot_out), TENON_INTO_OF_TWO(copysign_out),
      TENON_INTO_OF_TWO(nextafter_out), TENON_INTO_OF_TWO(logaddexp_out),
      TENON_INTO_OF_TWO(logaddexp2_out), TENON_INTO_OF_TWO(xlogy_out), TENON_INTO_OF_TWO(eq_out),
      TENON_INTO_OF_TWO(ne_out), TENON_INTO_OF_TWO(lt_out), TENON_INTO_OF_TWO(le_out),
      TENON_INTO_OF_TWO(gt_out), TENON_INTO_OF_TWO(ge_out), TENON_INTO_OF_TWO(logical_and_out),
      TENON_INTO_OF_TWO(logical_or_out), TENON_INTO_OF_TWO(logical_xor_out),
      TENON_INTO_OF_TWO(bitwise_and_out), TENON_INTO_OF_TWO(bitwise_or_out),
      TENON_INTO_OF_TWO(bitwise_xor_out), TENON_INTO_OF_TWO(bitwise_left_shift_out),
      TENON_INTO_OF_TWO(bitwise_right_shift_out),
      // clang-format on
  };
}

}  // namespace tenon
