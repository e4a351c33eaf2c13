// Logarithms of sums of exponentials, and numbers in place of what is none.
#include <algorithm>
#include <limits>

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/elementwise.h"
#include "kernels/reduce.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::logsumexp::info{"logsumexp", kind};
constinit OpInfo op::nan_to_num::info{"nan_to_num", kind};

template <>
struct Rule<op::logsumexp> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32};
  static constexpr std::string_view gradient = "LogsumexpBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 0 || place == kResult; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Dims& dim,
                       bool keepdim) {
    const Tensor wide = self.to(grad.dtype());
    const Tensor whole = spread_reduced(g.result(), g.shape(0), dim, keepdim);
    const Tensor shares = masked_fill((wide - whole).exp(), whole.isinf() & (wide == whole), 0);
    g.set(0, spread_reduced(grad, g.shape(0), dim, keepdim) * shares);
  }
  static Layout infer(const Tensor& self, const Dims& dim, bool keepdim) {
    const Dims dims = wrap_dims(dim, self.dim());
    Shape shape;
    for (std::int64_t d = 0; d < self.dim(); ++d) {
      const bool reduced = dims.empty() || std::find(dims.begin(), dims.end(), d) != dims.end();
      if (!reduced) shape.push_back(self.size(d));
      if (reduced && keepdim) shape.push_back(1);
    }
    const DType dtype = self.is_floating_point() ? self.dtype() : get_default_dtype();
    if (is_complex(self.dtype()) || is_opaque(self.dtype()) ||
        !has_reduction(ReduceFunction::amax, dtype))
      not_implemented("logsumexp", self.dtype());
    return Layout::packed(shape, dtype, self.device());
  }
  static void run(Tensor& out, const Tensor& self, const Dims& dim, bool keepdim) {
    const bool narrow = out.dtype() == float16 || out.dtype() == bfloat16;
    const Tensor x = self.to(narrow ? float32 : out.dtype());
    if (x.numel() == 0) {
      out.variable_data().copy_(x.exp().sum(dim, {.keepdim = keepdim}).log());
      return;
    }
    // An infinite largest one would make everything NaN.
    const Tensor most = x.amax(dim, {.keepdim = true});
    const Tensor base = masked_fill(most, most.isinf(), 0);
    Tensor sum = (x - base).exp_().sum(dim, {.keepdim = true}).log_();
    sum = sum.add_(base);
    out.variable_data().copy_(sum.view(out.shape()));
  }
};

template <>
struct Rule<op::nan_to_num> {
  static constexpr std::string_view gradient = "NanToNumBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 0; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, double,
                       std::optional<double>, std::optional<double>) {
    g.set(0, masked_fill(grad, self.isfinite().logical_not(), 0));
  }
  static Layout infer(const Tensor& self, double, std::optional<double>, std::optional<double>) {
    if (is_complex(self.dtype()) ||
        (self.is_floating_point() && !has_binary(BinaryFunction::eq, self.dtype())))
      not_implemented("nan_to_num", self.dtype());
    return Layout::packed_like(self.layout());
  }
  static void run(Tensor& out, const Tensor& self, double nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
    const Tensor to = out.variable_data();
    to.copy_(self);
    if (!self.is_floating_point()) return;
    const auto infinity = std::numeric_limits<double>::infinity();
    const double most = largest(self.dtype());
    const Tensor is_above = self == infinity, is_below = self == -infinity, is_none = self.isnan();
    to.masked_fill_(is_none, nan);
    to.masked_fill_(is_above, posinf.value_or(most));
    to.masked_fill_(is_below, neginf.value_or(-most));
  }

 private:
  static double largest(DType dtype) {
    switch (dtype) {
      case float64: return std::numeric_limits<double>::max();
      case float16: return 65504;
      case bfloat16: return 3.3895313892515355e38;
      default: return static_cast<double>(std::numeric_limits<float>::max());
    }
  }
};

Tensor logsumexp(const Tensor& self, const Dims& dim, KeepdimOptions options) {
  return call<op::logsumexp>(self, dim, options.keepdim);
}
Tensor nan_to_num(const Tensor& self, const NanToNumOptions& options) {
  return call<op::nan_to_num>(self, options.nan, options.posinf, options.neginf);
}

}  // namespace tenon
