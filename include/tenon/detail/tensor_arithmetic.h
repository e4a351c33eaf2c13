// The methods of Tensor that calculate, element by element. tenon/ops/arithmetic.h has the
// functions, and says how they promote and broadcast.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"
#include "tenon/detail/function_names.h"
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
// TENON_UNARY_FUNCTIONS (tenon/detail/function_names.h) lists the functions of one tensor: x.exp(),
// and x.exp_() for those that have a form in place.
#define TENON_ROW(name, node, result, kernel, autocast, forms) \
  Tensor name() const;                                         \
  TENON_IF_##forms(const Tensor& name##_() const;)
  TENON_UNARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
  Tensor polygamma(std::int64_t n) const;
  const Tensor& polygamma_(std::int64_t n) const;

// TENON_BINARY_FUNCTIONS lists those of two, the second of which may be a number: x.add(y),
// x.add(2), and x.add_(y), x.add_(2) for those that have a form in place.
#define TENON_ROW(name, node, result, kernel, autocast, forms)       \
  Tensor name(const Tensor& other) const;                            \
  Tensor name(const Scalar& other) const;                            \
  TENON_IF_##forms(const Tensor& name##_(const Tensor& other) const; \
                   const Tensor& name##_(const Scalar& other) const;)
  TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW

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
