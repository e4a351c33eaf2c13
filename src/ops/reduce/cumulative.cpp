// Sums and products of all elements up to each.
#include "core/element_copy.h"
#include "kernels/reduce.h"
#include "ops/elementwise/operands.h"
#include "ops/reduce/reductions.h"
#include "ops/support/gradients.h"
#include "ops/support/into.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/flip.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::cumsum::info{"cumsum", kind};
constinit OpInfo op::cumprod::info{"cumprod", kind};

namespace {

template <class O, ReduceFunction kFunction>
struct AccumulateRule {
  static Layout infer(const Tensor& self, std::int64_t dim, std::optional<DType> dtype) {
    wrap_dim(dim, self.dim());
    Layout like = self.layout();
    like.dtype = sum_dtype(self.dtype(), dtype);
    if (like.dtype == bool_) not_implemented(O::info.name(), like.dtype);
    check_has(O::info, kFunction, like.dtype);
    check_convertible(self.dtype(), like.dtype);
    return Layout::packed(like.shape, like.dtype, like.device);
  }
  static void cpu(Tensor& out, const Tensor& self, std::int64_t dim,
                  std::optional<DType> /*dtype*/) {
    const Tensor in = self.to(out.dtype());
    if (in.dim() == 0) return copy_tensor(out, in);
    accumulate(kFunction, in.shape(), static_cast<std::size_t>(wrap_dim(dim, in.dim())),
               operand(in), operand(out), in.dtype());
  }
};

}  // namespace

template <>
struct Rule<op::cumsum> : AccumulateRule<op::cumsum, ReduceFunction::sum> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32_set_opt_dtype};
  static constexpr std::string_view gradient = "CumsumBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       std::optional<DType> /*dtype*/) {
    g.set(0, grad.dim() == 0 ? grad : flip(flip(grad, dim).cumsum(dim), dim));
  }
};
template <>
struct Rule<op::cumprod> : AccumulateRule<op::cumprod, ReduceFunction::prod> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32_set_opt_dtype};
  static constexpr std::string_view gradient = "CumprodBackward0";
  static bool saves(std::size_t, const Wanted&) { return true; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, std::int64_t dim,
                       std::optional<DType> /*dtype*/) {
    g.set(0, cumprod_gradient(grad, self.to(grad.dtype()), g.result(), dim));
  }
};

Tensor cumsum(const Tensor& self, std::int64_t dim, DTypeOption options) {
  return call<op::cumsum>(self, dim, options.dtype);
}
Tensor cumprod(const Tensor& self, std::int64_t dim, DTypeOption options) {
  return call<op::cumprod>(self, dim, options.dtype);
}

const Tensor& cumsum_out(const Tensor& out, const Tensor& self, std::int64_t dim,
                         DTypeOption options) {
  return into<op::cumsum>(out, self, dim, asked_or_own(options.dtype, out));
}
const Tensor& cumprod_out(const Tensor& out, const Tensor& self, std::int64_t dim,
                          DTypeOption options) {
  return into<op::cumprod>(out, self, dim, asked_or_own(options.dtype, out));
}

}  // namespace tenon
