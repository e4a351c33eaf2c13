// Many elements into one.
#include "tenon/ops/reductions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/elementwise.h"
#include "kernels/reduce.h"
#include "ops/elementwise/operands.h"
#include "ops/reduce/reductions.h"
#include "ops/support/gradients.h"
#include "ops/support/into.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/flip.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::sum::info{"sum", kind};
constinit OpInfo op::mean::info{"mean", kind};
constinit OpInfo op::prod::info{"prod", kind};
constinit OpInfo op::amax::info{"amax", kind};
constinit OpInfo op::amin::info{"amin", kind};
constinit OpInfo op::any::info{"any", kind};
constinit OpInfo op::all::info{"all", kind};
constinit OpInfo op::count_nonzero::info{"count_nonzero", kind};
constinit OpInfo op::argmax::info{"argmax", kind};
constinit OpInfo op::argmin::info{"argmin", kind};
constinit OpInfo op::max_dim::info{"max", kind};
constinit OpInfo op::min_dim::info{"min", kind};
constinit OpInfo op::max::info{"max", kind};
constinit OpInfo op::min::info{"min", kind};
constinit OpInfo op::var::info{"var", kind};
constinit OpInfo op::std_::info{"std", kind};
constinit OpInfo op::norm::info{"norm", kind};

void check_has(const OpInfo& info, ReduceFunction function, DType dtype) {
  if (!has_reduction(function, dtype)) not_implemented(info.name(), dtype);
}
DType sum_dtype(DType own, std::optional<DType> asked) {
  if (asked) return *asked;
  return is_integral(own) || own == bool_ ? int64 : own;
}
std::optional<DType> asked_or_own(std::optional<DType> asked, const Tensor& out) {
  return asked || !out.defined() ? asked : out.dtype();
}

namespace {

// Which dimensions go: those named, or all.
std::unique_ptr<bool[]> gone(const Dims& dim, std::int64_t ndim) {
  auto flags = std::make_unique<bool[]>(static_cast<std::size_t>(ndim));
  if (dim.empty()) std::fill_n(flags.get(), ndim, true);
  for (const std::int64_t d : wrap_dims(dim, ndim)) {
    if (ndim != 0) flags[static_cast<std::size_t>(d)] = true;
  }
  return flags;
}

Layout reduced_layout(const Tensor& self, const Dims& dim, bool keepdim, DType dtype) {
  const auto flags = gone(dim, self.dim());
  Shape shape;
  for (std::size_t d = 0; d < self.shape().size(); ++d) {
    if (!flags[d])
      shape.push_back(self.shape()[d]);
    else if (keepdim)
      shape.push_back(1);
  }
  return Layout::packed(shape, dtype, self.device());
}

void run_reduction(ReduceFunction function, const Tensor& out, const Tensor& self, const Dims& dim,
                   const ReduceParameters& parameters = {}) {
  const auto flags = gone(dim, self.dim());
  const bool keepdim = out.dim() == self.dim();
  Dims strides = Dims::filled(self.shape().size(), 0);
  for (std::size_t d = 0, next = 0; d < strides.size(); ++d) {
    if (!flags[d]) strides[d] = out.stride()[keepdim ? d : next++];
  }
  Operand to = operand(out);
  to.strides = strides;
  reduce(function, self.shape(), {flags.get(), strides.size()}, operand(self), self.dtype(), to,
         out.dtype(), parameters);
}

// Nothing is the largest of nothing.
void check_not_empty(const OpInfo& info, const Tensor& self, const Dims& dim) {
  if (dim.empty() && self.numel() == 0) {
    throw IndexError(concat(info.name(),
                            "(): Expected reduction dim to be specified for input.numel() == 0. "
                            "Specify the reduction dim with the 'dim' argument; the shape is ",
                            bracketed(self.shape())));
  }
  for (const std::int64_t d : wrap_dims(dim, self.dim())) {
    if (self.dim() != 0 && self.size(d) == 0) {
      throw IndexError(concat(info.name(), "(): Expected reduction dim ", d,
                              " to have non-zero size; the shape is ", bracketed(self.shape())));
    }
  }
}

void check_floating(const OpInfo& info, DType dtype) {
  if (is_floating_point(dtype) || is_complex(dtype)) return;
  throw DTypeError(concat(info.name(),
                          "(): input dtype should be either floating point or complex. Got ",
                          tenon::info(dtype).scalar_name,
                          " instead: convert it with to(dtype), or "
                          "name a dtype where there is that option"));
}

// A sum of 16-bit integers as such is the sum of 64-bit ones, cut: elements are converted first
// only where that makes a difference.
Tensor converted(const Tensor& self, DType result) {
  const bool whole = (is_integral(self.dtype()) || self.dtype() == bool_) && is_integral(result);
  return whole ? self : self.to(result);
}

}  // namespace

template <>
struct Rule<op::sum> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32_set_opt_dtype};
  static std::string_view gradient_name(const Tensor&, const Dims& dim, bool,
                                        std::optional<DType>) {
    return dim.empty() ? "SumBackward0" : "SumBackward1";
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Dims& dim,
                       bool keepdim, std::optional<DType> /*dtype*/) {
    g.set(0, spread_reduced(grad, g.shape(0), dim, keepdim));
  }
  static Layout infer(const Tensor& self, const Dims& dim, bool keepdim,
                      std::optional<DType> dtype) {
    const DType result = sum_dtype(self.dtype(), dtype);
    check_has(op::sum::info, ReduceFunction::sum, result);
    check_convertible(self.dtype(), result);
    return reduced_layout(self, dim, keepdim, result);
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& dim, bool /*keepdim*/,
                  std::optional<DType> /*dtype*/) {
    run_reduction(ReduceFunction::sum, out, converted(self, out.dtype()), dim);
  }
};

template <>
struct Rule<op::mean> {
  static std::string_view gradient_name(const Tensor&, const Dims& dim, bool,
                                        std::optional<DType>) {
    return dim.empty() ? "MeanBackward0" : "MeanBackward1";
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Dims& dim,
                       bool keepdim, std::optional<DType> /*dtype*/) {
    const auto count = static_cast<double>(reduced_count(g.shape(0), dim));
    g.set(0, spread_reduced(grad, g.shape(0), dim, keepdim) / count);
  }
  static Layout infer(const Tensor& self, const Dims& dim, bool keepdim,
                      std::optional<DType> dtype) {
    const DType result = dtype.value_or(self.dtype());
    check_floating(op::mean::info, result);
    check_has(op::mean::info, ReduceFunction::mean, result);
    check_convertible(self.dtype(), result);
    return reduced_layout(self, dim, keepdim, result);
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& dim, bool /*keepdim*/,
                  std::optional<DType> /*dtype*/) {
    run_reduction(ReduceFunction::mean, out, self.to(out.dtype()), dim);
  }
};

template <>
struct Rule<op::prod> {
  static constexpr AutocastPolicies autocast = {AutocastPolicy::fp32,
                                                AutocastPolicy::fp32_set_opt_dtype};
  static std::string_view gradient_name(const Tensor&, const Dims& dim, bool,
                                        std::optional<DType>) {
    return dim.empty() ? "ProdBackward0" : "ProdBackward1";
  }
  static bool saves(std::size_t, const Wanted&) { return true; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Dims& dim,
                       bool keepdim, std::optional<DType> /*dtype*/) {
    g.set(0, prod_gradient(grad, self.to(grad.dtype()), g.result(), dim, keepdim));
  }
  static Layout infer(const Tensor& self, const Dims& dim, bool keepdim,
                      std::optional<DType> dtype) {
    const DType result = sum_dtype(self.dtype(), dtype);
    check_has(op::prod::info, ReduceFunction::prod, result);
    check_convertible(self.dtype(), result);
    return reduced_layout(self, dim, keepdim, result);
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& dim, bool /*keepdim*/,
                  std::optional<DType> /*dtype*/) {
    run_reduction(ReduceFunction::prod, out, converted(self, out.dtype()), dim);
  }
};

namespace {

template <class O, ReduceFunction kFunction>
struct ExtremeRule {
  static Layout infer(const Tensor& self, const Dims& dim, bool keepdim) {
    check_not_empty(O::info, self, dim);
    check_has(O::info, kFunction, self.dtype());
    return reduced_layout(self, dim, keepdim, self.dtype());
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& dim, bool /*keepdim*/) {
    run_reduction(kFunction, out, self, dim);
  }
};

template <class O, ReduceFunction kFunction>
struct ExtremeOfAllRule {
  static Layout infer(const Tensor& self) {
    check_not_empty(O::info, self, {});
    check_has(O::info, kFunction, self.dtype());
    return reduced_layout(self, {}, false, self.dtype());
  }
  static void cpu(Tensor& out, const Tensor& self) { run_reduction(kFunction, out, self, {}); }
};

template <class O, ReduceFunction kFunction>
struct TruthRule {
  static constexpr std::string_view gradient = no_gradient;
  static Layout infer(const Tensor& self, const Dims& dim, bool keepdim) {
    check_has(O::info, kFunction, self.dtype());
    return reduced_layout(self, dim, keepdim, self.dtype() == uint8 ? uint8 : bool_);
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& dim, bool /*keepdim*/) {
    run_reduction(kFunction, out, self, dim);
  }
};

template <class O, ReduceFunction kFunction>
struct WhereRule {
  static constexpr std::string_view gradient = no_gradient;
  static Layout infer(const Tensor& self, std::optional<std::int64_t> dim, bool keepdim) {
    const Dims dims = dim ? Dims{*dim} : Dims();
    check_not_empty(O::info, self, dims);
    check_has(O::info, kFunction, self.dtype());
    return reduced_layout(self, dims, keepdim, int64);
  }
  static void cpu(Tensor& out, const Tensor& self, std::optional<std::int64_t> dim,
                  bool /*keepdim*/) {
    if (dim) return run_reduction(kFunction, out, self, Dims{*dim});
    run_reduction(kFunction, out.view({}), self.reshape({-1}), {});
  }
};

// Of a bool tensor the positions are found among the numbers 0 and 1.
template <class O, ReduceFunction kValue, ReduceFunction kPlace>
struct ExtremeAndPlaceRule {
  static std::array<Layout, 2> infer(const Tensor& self, std::int64_t dim, bool keepdim) {
    check_not_empty(O::info, self, Dims{dim});
    check_has(O::info, kValue, self.dtype());
    return {reduced_layout(self, Dims{dim}, keepdim, self.dtype()),
            reduced_layout(self, Dims{dim}, keepdim, int64)};
  }
  static void cpu(std::array<Tensor, 2>& out, const Tensor& self, std::int64_t dim,
                  bool /*keepdim*/) {
    run_reduction(kValue, out[0], self, Dims{dim});
    run_reduction(kPlace, out[1], self.dtype() == bool_ ? self.to(uint8) : self, Dims{dim});
  }
};

}  // namespace

template <>
struct Rule<op::amax> : ExtremeRule<op::amax, ReduceFunction::amax> {
  static constexpr std::string_view gradient = "AmaxBackward0";
  static bool saves(std::size_t, const Wanted&) { return true; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Dims& dim,
                       bool keepdim) {
    g.set(0, extreme_gradient(grad, self, g.result(), dim, keepdim));
  }
};
template <>
struct Rule<op::amin> : ExtremeRule<op::amin, ReduceFunction::amin> {
  static constexpr std::string_view gradient = "AminBackward0";
  static bool saves(std::size_t, const Wanted&) { return true; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Dims& dim,
                       bool keepdim) {
    g.set(0, extreme_gradient(grad, self, g.result(), dim, keepdim));
  }
};
template <>
struct Rule<op::max> : ExtremeOfAllRule<op::max, ReduceFunction::amax> {
  static constexpr std::string_view gradient = "MaxBackward1";
  static bool saves(std::size_t, const Wanted&) { return true; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self) {
    g.set(0, extreme_of_all_gradient(grad, self, g.result()));
  }
};
template <>
struct Rule<op::min> : ExtremeOfAllRule<op::min, ReduceFunction::amin> {
  static constexpr std::string_view gradient = "MinBackward1";
  static bool saves(std::size_t, const Wanted&) { return true; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self) {
    g.set(0, extreme_of_all_gradient(grad, self, g.result()));
  }
};
template <>
struct Rule<op::any> : TruthRule<op::any, ReduceFunction::any> {};
template <>
struct Rule<op::all> : TruthRule<op::all, ReduceFunction::all> {};
template <>
struct Rule<op::argmax> : WhereRule<op::argmax, ReduceFunction::argmax> {};
template <>
struct Rule<op::argmin> : WhereRule<op::argmin, ReduceFunction::argmin> {};
template <>
struct Rule<op::max_dim>
    : ExtremeAndPlaceRule<op::max_dim, ReduceFunction::amax, ReduceFunction::argmax> {
  static constexpr std::string_view gradient = "MaxBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == kResult + 1; }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& /*self*/,
                       std::int64_t dim, bool keepdim) {
    g.set(0, picked_gradient(grads[0], g.shape(0), g.result(1), dim, keepdim));
  }
};
template <>
struct Rule<op::min_dim>
    : ExtremeAndPlaceRule<op::min_dim, ReduceFunction::amin, ReduceFunction::argmin> {
  static constexpr std::string_view gradient = "MinBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == kResult + 1; }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& /*self*/,
                       std::int64_t dim, bool keepdim) {
    g.set(0, picked_gradient(grads[0], g.shape(0), g.result(1), dim, keepdim));
  }
};

template <>
struct Rule<op::count_nonzero> {
  static constexpr std::string_view gradient = no_gradient;
  static Layout infer(const Tensor& self, const Dims& dim) {
    check_has(op::count_nonzero::info, ReduceFunction::count_true, self.dtype());
    return reduced_layout(self, dim, false, int64);
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& dim) {
    run_reduction(ReduceFunction::count_true, out, self, dim);
  }
};

template <>
struct Rule<op::var> {
  static constexpr std::string_view gradient = "VarBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 0; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Dims& dim,
                       double correction, bool keepdim) {
    g.set(0, var_gradient(grad, self, dim, correction, keepdim));
  }
  static Layout infer(const Tensor& self, const Dims& dim, double /*correction*/, bool keepdim) {
    check_floating(op::var::info, self.dtype());
    check_has(op::var::info, ReduceFunction::var, self.dtype());
    return reduced_layout(self, dim, keepdim, to_real(self.dtype()));
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& dim, double correction,
                  bool /*keepdim*/) {
    run_reduction(ReduceFunction::var, out, self, dim, {.correction = correction});
  }
};

template <>
struct Rule<op::std_> {
  static constexpr std::string_view gradient = "StdBackward0";
  static bool saves(std::size_t, const Wanted&) { return true; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Dims& dim,
                       double correction, bool keepdim) {
    const Tensor result = g.result();
    const Tensor of_var = masked_fill(grad / (result * 2), result == 0, 0);
    g.set(0, var_gradient(of_var, self, dim, correction, keepdim));
  }
  static Layout infer(const Tensor& self, const Dims& dim, double /*correction*/, bool keepdim) {
    check_floating(op::std_::info, self.dtype());
    check_has(op::std_::info, ReduceFunction::var, self.dtype());
    return reduced_layout(self, dim, keepdim, to_real(self.dtype()));
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& dim, double correction,
                  bool /*keepdim*/) {
    // Rounded to the dtype after the root, not before.
    const Tensor wide = empty_like(out, {.dtype = float64});
    run_reduction(ReduceFunction::var, wide, self, dim, {.correction = correction});
    apply(UnaryFunction::sqrt, float64, wide.shape(), {operand(wide), float64},
          {operand(wide), float64});
    copy_tensor(out, wide);
  }
};

template <>
struct Rule<op::norm> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32};
  static constexpr std::string_view gradient = "LinalgVectorNormBackward0";
  static bool saves(std::size_t, const Wanted&) { return true; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, double p,
                       const Dims& dim, bool keepdim) {
    g.set(0, norm_gradient(grad, self, g.result(), p, dim, keepdim));
  }
  static Layout infer(const Tensor& self, double p, const Dims& dim, bool keepdim) {
    if (p < 0 || std::isinf(p)) check_not_empty(op::norm::info, self, dim);
    check_floating(op::norm::info, self.dtype());
    check_has(op::norm::info, ReduceFunction::norm, self.dtype());
    return reduced_layout(self, dim, keepdim, to_real(self.dtype()));
  }
  static void cpu(Tensor& out, const Tensor& self, double p, const Dims& dim, bool /*keepdim*/) {
    run_reduction(ReduceFunction::norm, out, self, dim, {.p = p});
  }
};

Tensor sum(const Tensor& self, const Dims& dim, ReduceOptions options) {
  return call<op::sum>(self, dim, options.keepdim, options.dtype);
}
Tensor mean(const Tensor& self, const Dims& dim, ReduceOptions options) {
  return call<op::mean>(self, dim, options.keepdim, options.dtype);
}
Tensor prod(const Tensor& self, const Dims& dim, ReduceOptions options) {
  return call<op::prod>(self, dim, options.keepdim, options.dtype);
}
Tensor amax(const Tensor& self, const Dims& dim, KeepdimOptions options) {
  return call<op::amax>(self, dim, options.keepdim);
}
Tensor amin(const Tensor& self, const Dims& dim, KeepdimOptions options) {
  return call<op::amin>(self, dim, options.keepdim);
}
Tensor max(const Tensor& self) { return call<op::max>(self); }
Tensor min(const Tensor& self) { return call<op::min>(self); }
Tensor max(const Tensor& self, const Tensor& other) { return maximum(self, other); }
Tensor min(const Tensor& self, const Tensor& other) { return minimum(self, other); }
std::tuple<Tensor, Tensor> max(const Tensor& self, std::int64_t dim, KeepdimOptions options) {
  return call<op::max_dim>(self, dim, options.keepdim);
}
std::tuple<Tensor, Tensor> min(const Tensor& self, std::int64_t dim, KeepdimOptions options) {
  return call<op::min_dim>(self, dim, options.keepdim);
}
Tensor argmax(const Tensor& self, std::optional<std::int64_t> dim, KeepdimOptions options) {
  return call<op::argmax>(self, dim, options.keepdim);
}
Tensor argmin(const Tensor& self, std::optional<std::int64_t> dim, KeepdimOptions options) {
  return call<op::argmin>(self, dim, options.keepdim);
}
Tensor any(const Tensor& self, const Dims& dim, KeepdimOptions options) {
  return call<op::any>(self, dim, options.keepdim);
}
Tensor all(const Tensor& self, const Dims& dim, KeepdimOptions options) {
  return call<op::all>(self, dim, options.keepdim);
}
Tensor count_nonzero(const Tensor& self, const Dims& dim) {
  return call<op::count_nonzero>(self, dim);
}
namespace {

double correction_of(const VarOptions& options) {
  if (options.unbiased && options.correction)
    throw ValueError("var: unbiased and correction are two words for one thing: give one of them");
  if (options.unbiased) return *options.unbiased ? 1 : 0;
  return options.correction.value_or(1);
}

}  // namespace

Tensor var(const Tensor& self, const Dims& dim, VarOptions options) {
  return call<op::var>(self, dim, correction_of(options), options.keepdim);
}
Tensor std(const Tensor& self, const Dims& dim, VarOptions options) {
  return call<op::std_>(self, dim, correction_of(options), options.keepdim);
}
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, const Dims& dim, VarOptions options) {
  // See Note [Arguments of one's own].
  const Tensor own = self;
  const Dims own_dim = dim;
  return {var(own, own_dim, options), mean(own, own_dim, {.keepdim = options.keepdim})};
}
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, const Dims& dim, VarOptions options) {
  const Tensor own = self;  // see the same note
  const Dims own_dim = dim;
  return {std(own, own_dim, options), mean(own, own_dim, {.keepdim = options.keepdim})};
}
Tensor norm(const Tensor& self, double p, const Dims& dim, KeepdimOptions options) {
  return call<op::norm>(self, p, dim, options.keepdim);
}

// Into memory that is there. Sums and products are calculated in its dtype, if none is named.

const Tensor& sum_out(const Tensor& out, const Tensor& self, const Dims& dim,
                      ReduceOptions options) {
  return into<op::sum>(out, self, dim, options.keepdim, asked_or_own(options.dtype, out));
}
const Tensor& mean_out(const Tensor& out, const Tensor& self, const Dims& dim,
                       ReduceOptions options) {
  return into<op::mean>(out, self, dim, options.keepdim, asked_or_own(options.dtype, out));
}
const Tensor& prod_out(const Tensor& out, const Tensor& self, const Dims& dim,
                       ReduceOptions options) {
  return into<op::prod>(out, self, dim, options.keepdim, asked_or_own(options.dtype, out));
}
const Tensor& amax_out(const Tensor& out, const Tensor& self, const Dims& dim,
                       KeepdimOptions options) {
  return into<op::amax>(out, self, dim, options.keepdim);
}
const Tensor& amin_out(const Tensor& out, const Tensor& self, const Dims& dim,
                       KeepdimOptions options) {
  return into<op::amin>(out, self, dim, options.keepdim);
}
const Tensor& any_out(const Tensor& out, const Tensor& self, const Dims& dim,
                      KeepdimOptions options) {
  return into<op::any>(out, self, dim, options.keepdim);
}
const Tensor& all_out(const Tensor& out, const Tensor& self, const Dims& dim,
                      KeepdimOptions options) {
  return into<op::all>(out, self, dim, options.keepdim);
}
const Tensor& max_out(const Tensor& out, const Tensor& self) { return into<op::max>(out, self); }
std::tuple<Tensor, Tensor> max_out(const Tensor& values, const Tensor& indices, const Tensor& self,
                                   std::int64_t dim, KeepdimOptions options) {
  return into_both<op::max_dim>(values, indices, self, dim, options.keepdim);
}
const Tensor& min_out(const Tensor& out, const Tensor& self) { return into<op::min>(out, self); }
std::tuple<Tensor, Tensor> min_out(const Tensor& values, const Tensor& indices, const Tensor& self,
                                   std::int64_t dim, KeepdimOptions options) {
  return into_both<op::min_dim>(values, indices, self, dim, options.keepdim);
}
const Tensor& argmax_out(const Tensor& out, const Tensor& self, std::optional<std::int64_t> dim,
                         KeepdimOptions options) {
  return into<op::argmax>(out, self, dim, options.keepdim);
}
const Tensor& argmin_out(const Tensor& out, const Tensor& self, std::optional<std::int64_t> dim,
                         KeepdimOptions options) {
  return into<op::argmin>(out, self, dim, options.keepdim);
}
const Tensor& var_out(const Tensor& out, const Tensor& self, const Dims& dim, VarOptions options) {
  return into<op::var>(out, self, dim, correction_of(options), options.keepdim);
}
const Tensor& std_out(const Tensor& out, const Tensor& self, const Dims& dim, VarOptions options) {
  return into<op::std_>(out, self, dim, correction_of(options), options.keepdim);
}
const Tensor& norm_out(const Tensor& out, const Tensor& self, double p, const Dims& dim,
                       KeepdimOptions options) {
  return into<op::norm>(out, self, p, dim, options.keepdim);
}

}  // namespace tenon
