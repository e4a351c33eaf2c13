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
#include "tenon/detail/function_names.h"
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

// The functions of one tensor, and into another that is there: exp(self) and exp_out(out, self).
// TENON_UNARY_FUNCTIONS (tenon/detail/function_names.h) lists them, from neg to signbit.
#define TENON_ROW(name, ...)                 \
  TENON_API Tensor name(const Tensor& self); \
  TENON_API const Tensor& name##_out(const Tensor& out, const Tensor& self);
TENON_UNARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW

// The n-th derivative of digamma. ValueError if n is negative.
TENON_API Tensor polygamma(std::int64_t n, const Tensor& input);

// The functions of two tensors, or of a number on either side, and into another tensor that is
// there: add(self, other), add(self, 2), add(2, other) and add_out(out, self, other).
// TENON_BINARY_FUNCTIONS (tenon/detail/function_names.h) lists them, from add to
// bitwise_right_shift.
#define TENON_ROW(name, ...)                                                                      \
  TENON_API Tensor name(const Tensor& self, const Tensor& other);                                 \
  TENON_API const Tensor& name##_out(const Tensor& out, const Tensor& self, const Tensor& other); \
  inline Tensor name(const Tensor& self, const Scalar& other) {                                   \
    return name(self, wrapped_number(other));                                                     \
  }                                                                                               \
  inline Tensor name(const Scalar& self, const Tensor& other) {                                   \
    return name(wrapped_number(self), other);                                                     \
  }
TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW

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
