// Elements written by their number along a dimension.
#include <algorithm>
#include <complex>
#include <optional>
#include <vector>

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/elementwise.h"
#include "kernels/pick.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/index/positions.h"
#include "ops/index/scatter.h"
#include "ops/support/gradients.h"
#include "ops/support/itself.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/scatter.h"

namespace tenon {

constinit OpInfo op::scatter_::info{"scatter_", kind};
constinit OpInfo op::scatter_value_::info{"scatter_", kind};
constinit OpInfo op::scatter_add_::info{"scatter_add_", kind};
constinit OpInfo op::index_add_::info{"index_add_", kind};
constinit OpInfo op::index_copy_::info{"index_copy_", kind};
constinit OpInfo op::index_fill_::info{"index_fill_", kind};

using namespace positions;

namespace {

PickFunction function_of(op::ScatterReduce reduce) {
  switch (reduce) {
    case op::ScatterReduce::adds: return PickFunction::add;
    case op::ScatterReduce::multiplies: return PickFunction::multiply;
    case op::ScatterReduce::replaces: break;
  }
  return PickFunction::write;
}

op::ScatterReduce reduction(std::string_view name) {
  if (name.empty()) return op::ScatterReduce::replaces;
  if (name == "add") return op::ScatterReduce::adds;
  if (name == "multiply") return op::ScatterReduce::multiplies;
  throw ValueError(
      concat("scatter: reduce argument must be either add or multiply, but is '", name, "'"));
}

void check_written(const OpInfo& op, PickFunction function, const Tensor& self) {
  if (!has_pick(function, self.dtype())) not_implemented(op.name(), self.dtype());
  check_written_once(self.layout());
}

void check_scatter(const OpInfo& op, PickFunction function, const Tensor& self, std::int64_t dim,
                   const Tensor& index) {
  const std::size_t along = wrapped(dim, self);
  check_index_dtype(op, index);
  check_device(op, self, index);
  check_written(op, function, self);
  if (index.numel() == 0) return;
  check_dims("self", self, index);
  if (!fits_in(index, self, along)) {
    throw ShapeError(concat(op.name(), "(): Expected index ", bracketed(index.shape()),
                            " to be no larger than self ", bracketed(self.shape()),
                            " apart from dimension ", along));
  }
}
void check_scatter(const OpInfo& op, PickFunction function, const Tensor& self, std::int64_t dim,
                   const Tensor& index, const Tensor& src) {
  check_scatter(op, function, self, dim, index);
  check_device(op, self, src);
  if (src.dtype() != self.dtype()) {
    throw DTypeError(concat(op.name(), "(): Expected self.dtype to be equal to src.dtype, but got ",
                            repr(self.dtype()), " and ", repr(src.dtype())));
  }
  if (index.numel() == 0) return;
  check_dims("src", src, index);
  if (!fits_in(index, src, std::nullopt)) {
    throw ShapeError(concat(op.name(), "(): Expected index ", bracketed(index.shape()),
                            " to be no larger size than src ", bracketed(src.shape())));
  }
}

// Copies where what is read could be what is written.
Tensor beside(const Tensor& self, const Tensor& argument) {
  return may_share_memory(self, argument) ? argument.clone() : argument;
}

void run_scatter(const OpInfo& op, PickFunction function, const Tensor& self, std::int64_t dim,
                 const Tensor& index, const Tensor& src) {
  if (index.numel() == 0) return;
  const std::size_t along = wrapped(dim, self);
  pick_everywhere(function, along, beside(self, src),
                  checked_positions(op, beside(self, index), self, along), self);
}

}  // namespace

namespace {

// What is recorded with a reduction is scatter_reduce_, which has the same result.
bool reduces_recorded(op::ScatterReduce reduce, const Tensor& self, const Tensor& src) {
  return reduce != op::ScatterReduce::replaces && is_grad_enabled() &&
         (self.requires_grad() || src.requires_grad());
}
std::string_view reduced_as(op::ScatterReduce reduce) {
  return reduce == op::ScatterReduce::adds ? "sum" : "prod";
}

}  // namespace

void scattering::check(const OpInfo& op, PickFunction function, const Tensor& self,
                       std::int64_t dim, const Tensor& index, const Tensor& src) {
  check_scatter(op, function, self, dim, index, src);
}
void scattering::run(const OpInfo& op, PickFunction function, const Tensor& self, std::int64_t dim,
                     const Tensor& index, const Tensor& src) {
  run_scatter(op, function, self, dim, index, src);
}
Tensor scattering::read_part(const Tensor& src, const Tensor& index) {
  if (src.shape() == index.shape() || index.numel() == 0) return src;
  Tensor part = src;
  for (std::int64_t d = 0; d < index.dim(); ++d) part = part.narrow(d, 0, index.size(d));
  return part.reshape(index.shape());
}
Tensor scattering::narrowed_back(const Tensor& grad, const Shape& shape) {
  if (grad.numel() == shape.numel()) return grad.reshape(shape);
  return put_back(grad, shape, Layout::packed(shape, grad.dtype(), grad.device()));
}

template <>
struct Rule<op::scatter_> {
  static constexpr std::string_view gradient = "ScatterBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       const Tensor& index, const Tensor& /*src*/, op::ScatterReduce /*reduce*/) {
    if (g.wanted(0)) g.set(0, scatter(grad, dim, index, 0));
    if (g.wanted(2)) g.set(2, scattering::narrowed_back(gather(grad, dim, index), g.shape(2)));
  }
  static void check(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                    op::ScatterReduce reduce) {
    check_scatter(op::scatter_::info, function_of(reduce), self, dim, index, src);
  }
  static void cpu(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
                  op::ScatterReduce reduce) {
    run_scatter(op::scatter_::info, function_of(reduce), self, dim, index, src);
  }
};

template <>
struct Rule<op::scatter_value_> {
  static constexpr std::string_view gradient = "ScatterBackward1";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       const Tensor& index, const Scalar& /*value*/, op::ScatterReduce /*reduce*/) {
    g.set(0, scatter(grad, dim, index, 0));
  }
  static void check(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value,
                    op::ScatterReduce reduce) {
    check_scatter(op::scatter_::info, function_of(reduce), self, dim, index);
    check_value_fits(value, self.dtype());
  }
  static void cpu(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value,
                  op::ScatterReduce reduce) {
    const Tensor one = full({}, value, {.dtype = self.dtype(), .device = self.device()});
    run_scatter(op::scatter_::info, function_of(reduce), self, dim, index,
                one.expand(index.shape()));
  }
};

template <>
struct Rule<op::scatter_add_> {
  static constexpr std::string_view gradient = "ScatterAddBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       const Tensor& index, const Tensor& /*src*/) {
    if (g.wanted(0)) g.set(0, grad);
    if (g.wanted(2)) g.set(2, scattering::narrowed_back(gather(grad, dim, index), g.shape(2)));
  }
  static void check(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
    check_scatter(op::scatter_add_::info, PickFunction::add, self, dim, index, src);
  }
  static void cpu(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
    if (compute_dtype(self.dtype()) == self.dtype() || index.numel() < 2)
      return run_scatter(op::scatter_add_::info, PickFunction::add, self, dim, index, src);
    // See Note [Sums of 16-bit floats].
    const Tensor sums = self.to(float32);
    run_scatter(op::scatter_add_::info, PickFunction::add, sums, dim, index, src.to(float32));
    copy_tensor(self, sums);
  }
};

namespace {

void check_slices(const OpInfo& op, PickFunction function, const Tensor& self, std::int64_t dim,
                  const Tensor& index) {
  wrapped(dim, self);
  check_index_dtype(op, index);
  check_device(op, self, index);
  check_written(op, function, self);
  if (index.dim() > 1) {
    throw IndexError(concat(op.name(), "(): Index is supposed to be a vector, but its shape is ",
                            bracketed(index.shape())));
  }
}

void check_slices(const OpInfo& op, PickFunction function, const Tensor& self, std::int64_t dim,
                  const Tensor& index, const Tensor& source) {
  check_slices(op, function, self, dim, index);
  check_device(op, self, source);
  if (source.dtype() != self.dtype()) {
    throw DTypeError(concat(op.name(), "(): self (", info(self.dtype()).scalar_name,
                            ") and source (", info(source.dtype()).scalar_name,
                            ") must have the same scalar type"));
  }
  const std::size_t along = wrapped(dim, self);
  Dims expected = sizes(self);
  expected[along] = index.numel();
  const Dims given = sizes(source);
  if (given == expected) return;
  if (given.size() == expected.size() && given[along] != expected[along]) {
    throw IndexError(concat(op.name(), "(): Number of indices (", index.numel(),
                            ") should be equal to source.size(dim): (", given[along],
                            "), for dim: ", along));
  }
  throw ShapeError(concat(op.name(),
                          "(): source tensor shape must match self tensor shape, excluding the "
                          "specified dimension. Got self.shape = ",
                          bracketed(self.shape()), " source.shape = ", bracketed(source.shape())));
}

void run_slices(const OpInfo& op, PickFunction function, const Tensor& self, std::int64_t dim,
                const Tensor& index, const Tensor& source, const void* factor = nullptr) {
  const std::size_t along = wrapped(dim, self);
  const Tensor positions = checked_positions(op, beside(self, index), self, along);
  const Tensor own = beside(self, source);
  const Dims own_strides = strides(own);
  pick_slices(function, sizes(own), along, own, own_strides, positions, self, factor);
}

}  // namespace

namespace {

// Note [Sums of 16-bit floats]
// What is added again and again to a 16-bit float would be rounded every time, and a count would
// stay at 256 for ever. So where positions repeat, the slices they name are added up in float32,
// and rounded once.
struct Repeated {
  Tensor distinct;  // positions, in order
  Tensor places;    // for each position its place among them
};
std::optional<Repeated> repeated(const Tensor& positions) {
  const Tensor packed = positions.contiguous();
  const auto* first = static_cast<const std::int64_t*>(packed.data_ptr());
  const std::vector<std::int64_t> all(first, first + packed.numel());
  std::vector<std::int64_t> distinct = all;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() == all.size()) return std::nullopt;
  std::vector<std::int64_t> places;
  places.reserve(all.size());
  for (const std::int64_t position : all) {
    places.push_back(std::lower_bound(distinct.begin(), distinct.end(), position) -
                     distinct.begin());
  }
  const TensorOptions here{.dtype = int64, .device = Device::cpu()};
  return Repeated{tensor(distinct, here), tensor(places, here)};
}

// False: there is nothing to be gained.
bool added_up_wide(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                   const Scalar& alpha) {
  if (compute_dtype(self.dtype()) == self.dtype() || self.dim() == 0 || index.numel() < 2)
    return false;
  const Tensor positions =
      checked_positions(op::index_add_::info, index, self, wrapped(dim, self)).view({-1});
  const auto found = repeated(positions);
  if (!found) return false;
  const Tensor sums = index_select(self, dim, found->distinct).to(float32);
  sums.index_add_(dim, found->places, source.to(float32), {.alpha = alpha});
  self.variable_data().index_copy_(dim, found->distinct, sums.to(self.dtype()));
  return true;
}

}  // namespace

template <>
struct Rule<op::index_add_> {
  static constexpr std::string_view gradient = "IndexAddBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       const Tensor& index, const Tensor& /*source*/, const Scalar& alpha) {
    if (g.wanted(0)) g.set(0, grad);
    if (g.wanted(2)) g.set(2, (index_select(grad, dim, index) * alpha).reshape(g.shape(2)));
  }
  static void check(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                    const Scalar& /*alpha*/) {
    check_slices(op::index_add_::info, PickFunction::add, self, dim, index, source);
  }
  static void cpu(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                  const Scalar& alpha) {
    if (added_up_wide(self, dim, index, source, alpha)) return;
    if (alpha.to<std::complex<double>>() == 1.0)
      return run_slices(op::index_add_::info, PickFunction::add, self, dim, index, source);
    const Tensor factor = full({}, alpha, {.dtype = self.dtype(), .device = Device::cpu()});
    if (self.dim() < 2) {
      return run_slices(op::index_add_::info, PickFunction::add, self, dim, index,
                        mul(source, factor));
    }
    // Slices are added with one rounding, single elements with two, as in PyTorch.
    run_slices(op::index_add_::info, PickFunction::add, self, dim, index, source,
               factor.data_ptr());
  }
};

template <>
struct Rule<op::index_copy_> {
  static constexpr std::string_view gradient = "IndexCopyBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       const Tensor& index, const Tensor& /*source*/) {
    if (g.wanted(0)) g.set(0, index_fill(grad, dim, index, 0));
    if (g.wanted(2)) g.set(2, index_select(grad, dim, index).reshape(g.shape(2)));
  }
  static void check(const Tensor& self, std::int64_t dim, const Tensor& index,
                    const Tensor& source) {
    check_slices(op::index_copy_::info, PickFunction::write, self, dim, index, source);
  }
  static void cpu(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source) {
    run_slices(op::index_copy_::info, PickFunction::write, self, dim, index, source);
  }
};

template <>
struct Rule<op::index_fill_> {
  static std::string_view gradient_name(const Tensor&, std::int64_t, const Tensor&,
                                        const Tensor& value) {
    return value.body().is_wrapped_number() ? "IndexFillBackward0" : "IndexFillBackward1";
  }
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       const Tensor& index, const Tensor& /*value*/) {
    if (g.wanted(0)) g.set(0, index_fill(grad, dim, index, 0));
    if (g.wanted(2)) g.set(2, index_select(grad, dim, index).sum());
  }
  static void check(const Tensor& self, std::int64_t dim, const Tensor& index,
                    const Tensor& value) {
    check_slices(op::index_fill_::info, PickFunction::write, self, dim, index);
    if (value.dim() != 0) {
      throw ShapeError(
          concat("index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
                 value.dim(), " dimension(s)."));
    }
    if (!value.is_cpu()) check_device(op::index_fill_::info, self, value);
    if (value.is_cpu()) check_value_fits(value.item(), self.dtype());
  }
  static void cpu(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& value) {
    const std::size_t along = wrapped(dim, self);
    const std::int64_t size = sizes(self)[along];
    const Tensor positions = checked_positions(op::index_fill_::info, beside(self, index), -size,
                                               size, concat("dimension ", along));
    Dims shape = sizes(self);
    shape[along] = index.numel();
    const Dims repeated = Dims::filled(shape.size(), 0);
    pick_slices(PickFunction::write, shape, along, value.to(self.dtype()), repeated,
                from_the_front(positions, size), self);
  }
};

namespace {

// These give packed results, as in PyTorch; index_fill keeps the order of its argument.
Tensor packed_copy(const Tensor& self) {
  return self.clone({.memory_format = MemoryFormat::contiguous});
}

// The arguments of a function that is no operator by itself, as autocast has them.
std::pair<Tensor, Tensor> autocast_pair(const OpInfo& info, AutocastPolicies policies,
                                        const Tensor& given_self, const Tensor& given_src) {
  const Tensor self = given_self, src = given_src;  // see Note [Arguments of one's own]
  if (!detail::is_autocasting()) return {self, src};
  detail::AutocastCall cast(info, policies);
  cast.see(self);
  cast.see(src);
  if (!cast.applies()) return {self, src};
  cast.widen(self);
  cast.widen(src);
  return {cast.converted(self), cast.converted(src)};
}

}  // namespace

// See Note [Arguments of one's own]: each is a copy, and then an operator in place.
Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
               ScatterOptions options) {
  const Tensor own_index = index, own_src = src;
  return packed_copy(self).scatter_(dim, own_index, own_src, options);
}
Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value,
               ScatterOptions options) {
  const Tensor own_index = index;
  const Scalar own_value = value;
  return packed_copy(self).scatter_(dim, own_index, own_value, options);
}
Tensor scatter_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  const Tensor own_index = index;
  const auto [to, from] =
      autocast_pair(op::scatter_add_::info, {.cuda = AutocastPolicy::promote}, self, src);
  return packed_copy(to).scatter_add_(dim, own_index, from);
}
Tensor index_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                 AlphaOptions options) {
  const Tensor own_index = index, own_source = source;
  return packed_copy(self).index_add_(dim, own_index, own_source, options);
}
Tensor index_copy(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor own_index = index;
  const auto [to, from] =
      autocast_pair(op::index_copy_::info, {.cpu = AutocastPolicy::promote}, self, source);
  return packed_copy(to).index_copy_(dim, own_index, from);
}
Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& value) {
  const Tensor own_index = index, own_value = value;
  return self.clone().index_fill_(dim, own_index, own_value);
}
Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value) {
  const Tensor own_index = index;
  const Scalar own_value = value;
  return self.clone().index_fill_(dim, own_index, own_value);
}

const Tensor& TensorMethods::scatter_(std::int64_t dim, const Tensor& index, const Tensor& src,
                                      ScatterOptions options) const {
  const op::ScatterReduce reduce = reduction(options.reduce);
  if (reduces_recorded(reduce, itself(*this), src))
    return scatter_reduce_(dim, index, src, reduced_as(reduce));
  return call<op::scatter_>(itself(*this), dim, index, src, reduce);
}
const Tensor& TensorMethods::scatter_(std::int64_t dim, const Tensor& index, const Scalar& value,
                                      ScatterOptions options) const {
  const op::ScatterReduce reduce = reduction(options.reduce);
  if (reduces_recorded(reduce, itself(*this), index)) {
    const Tensor one = full({}, value, {.dtype = itself(*this).dtype(), .device = index.device()});
    return scatter_reduce_(dim, index, one.expand(index.shape()), reduced_as(reduce));
  }
  return call<op::scatter_value_>(itself(*this), dim, index, value, reduce);
}
const Tensor& TensorMethods::scatter_add_(std::int64_t dim, const Tensor& index,
                                          const Tensor& src) const {
  return call<op::scatter_add_>(itself(*this), dim, index, src);
}
const Tensor& TensorMethods::index_add_(std::int64_t dim, const Tensor& index, const Tensor& source,
                                        AlphaOptions options) const {
  return call<op::index_add_>(itself(*this), dim, index, source, options.alpha);
}
const Tensor& TensorMethods::index_copy_(std::int64_t dim, const Tensor& index,
                                         const Tensor& source) const {
  return call<op::index_copy_>(itself(*this), dim, index, source);
}
const Tensor& TensorMethods::index_fill_(std::int64_t dim, const Tensor& index,
                                         const Tensor& value) const {
  return call<op::index_fill_>(itself(*this), dim, index, value);
}
const Tensor& TensorMethods::index_fill_(std::int64_t dim, const Tensor& index,
                                         const Scalar& value) const {
  return call<op::index_fill_>(itself(*this), dim, index, wrapped_number(value));
}

}  // namespace tenon
