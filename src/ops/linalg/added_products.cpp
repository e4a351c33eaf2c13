// Products of vectors and batches that are added to something.
#include <complex>

#include "base/text.h"
#include "core/element_copy.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/lerp.h"
#include "tenon/ops/matmul.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::baddbmm::info{"baddbmm", kind};
constinit OpInfo op::addbmm::info{"addbmm", kind};
constinit OpInfo op::addmv::info{"addmv", kind};
constinit OpInfo op::addr::info{"addr", kind};

namespace {

bool is(const Scalar& factor, double value) { return factor.to<std::complex<double>>() == value; }

// beta * self + alpha * product; nothing of self with a beta of 0.
Tensor added(std::string_view op, const Tensor& self, const Tensor& product, const Scalar& beta,
             const Scalar& alpha) {
  if (!broadcasts_to(self.shape(), product.shape())) {
    throw ShapeError(concat(op, ": self of shape ", bracketed(self.shape()),
                            " cannot be added to a product of shape ", bracketed(product.shape())));
  }
  if (self.dtype() != product.dtype()) {
    throw DTypeError(concat(op, ": self is of dtype ", repr(self.dtype()), " but the others of ",
                            repr(product.dtype()), ": convert one with to()"));
  }
  const Tensor scaled = is(alpha, 1) ? product : product * alpha;
  if (is(beta, 0)) return scaled;
  return add(scaled, self, {.alpha = beta});
}

}  // namespace

template <>
struct Rule<op::baddbmm> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
  static Tensor compose(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                        const Scalar& beta, const Scalar& alpha) {
    return added("baddbmm", self, bmm(batch1, batch2), beta, alpha);
  }
};
template <>
struct Rule<op::addbmm> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
  static Tensor compose(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
                        const Scalar& beta, const Scalar& alpha) {
    return added("addbmm", self, bmm(batch1, batch2).sum(0), beta, alpha);
  }
};
template <>
struct Rule<op::addmv> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::lower_precision};
  static Tensor compose(const Tensor& self, const Tensor& mat, const Tensor& vec,
                        const Scalar& beta, const Scalar& alpha) {
    return added("addmv", self, mv(mat, vec), beta, alpha);
  }
};
template <>
struct Rule<op::addr> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::lower_precision};
  static Tensor compose(const Tensor& self, const Tensor& vec1, const Tensor& vec2,
                        const Scalar& beta, const Scalar& alpha) {
    return added("addr", self, outer(vec1, vec2), beta, alpha);
  }
};

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
               const AddmmOptions& options) {
  return call<op::baddbmm>(self, batch1, batch2, options.beta, options.alpha);
}
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2,
              const AddmmOptions& options) {
  return call<op::addbmm>(self, batch1, batch2, options.beta, options.alpha);
}
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec,
             const AddmmOptions& options) {
  return call<op::addmv>(self, mat, vec, options.beta, options.alpha);
}
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2,
            const AddmmOptions& options) {
  return call<op::addr>(self, vec1, vec2, options.beta, options.alpha);
}

}  // namespace tenon
