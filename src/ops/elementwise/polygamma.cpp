// The derivatives of digamma.
#include "kernels/polygamma.h"

#include "base/text.h"
#include "core/element_copy.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/support/itself.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"

namespace tenon {

constinit OpInfo op::polygamma::info{"polygamma", kind};
constinit OpInfo op::polygamma_::info{"polygamma_", kind};

namespace {

void check(std::int64_t n, const Tensor& self) {
  if (n < 0)
    throw ValueError(concat("polygamma(n, x) does not support negative n, and n is ", n, "."));
  if (self.is_complex()) not_implemented("polygamma", self.dtype());
}

// What it has in common with digamma, which it is for 0: dtypes, shape and order in memory.
void calculate(std::int64_t n, const Tensor& out, const Tensor& self) {
  if (n == 0) return run_unary(UnaryFunction::digamma, out, self);
  const Tensor from = apart(out, self);
  const Tensor real = from.is_floating_point() ? from : from.to(out.dtype());
  apply_polygamma(n, out.shape(), {operand(out), out.dtype()}, {operand(real), real.dtype()});
}

}  // namespace

template <>
struct Rule<op::polygamma> {
  static constexpr std::string_view gradient = "PolygammaBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 0; }
  static void backward(Gradient& g, const Tensor& grad, std::int64_t n, const Tensor& self) {
    g.set(0, grad * polygamma(n + 1, self));
  }
  static Layout infer(std::int64_t n, const Tensor& self) {
    check(n, self);
    return infer_unary(UnaryFunction::digamma, self);
  }
  static void cpu(Tensor& out, std::int64_t n, const Tensor& self) { calculate(n, out, self); }
};

template <>
struct Rule<op::polygamma_> {
  static constexpr std::string_view gradient = "PolygammaBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 0; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, std::int64_t n) {
    g.set(0, grad * polygamma(n + 1, self));
  }
  static void check(const Tensor& self, std::int64_t n) {
    tenon::check(n, self);
    check_unary(UnaryFunction::digamma, self, self);
  }
  static void cpu(const Tensor& self, std::int64_t n) { calculate(n, self, self); }
};

Tensor polygamma(std::int64_t n, const Tensor& input) { return call<op::polygamma>(n, input); }
Tensor TensorArithmetic::polygamma(std::int64_t n) const {
  return call<op::polygamma>(n, itself(*this));
}
const Tensor& TensorArithmetic::polygamma_(std::int64_t n) const {
  return call<op::polygamma_>(itself(*this), n);
}

}  // namespace tenon
