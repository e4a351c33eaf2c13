// Elements by their number along a dimension.
#include "tenon/picking.h"

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/pick.h"
#include "ops/gradients.h"
#include "ops/into.h"
#include "ops/itself.h"
#include "ops/operands.h"
#include "tenon/custom_op.h"
#include "tenon/error.h"
#include "tenon/factories.h"
#include "tenon/ops.h"
#include "tenon/reductions.h"
#include "tenon/selection.h"

namespace tenon {

constinit OpInfo op::gather::info{"gather", kind};
constinit OpInfo op::index_select::info{"index_select", kind};
constinit OpInfo op::take::info{"take", kind};
constinit OpInfo op::scatter_::info{"scatter_", kind};
constinit OpInfo op::scatter_value_::info{"scatter_", kind};
constinit OpInfo op::scatter_add_::info{"scatter_add_", kind};
constinit OpInfo op::index_add_::info{"index_add_", kind};
constinit OpInfo op::index_copy_::info{"index_copy_", kind};
constinit OpInfo op::index_fill_::info{"index_fill_", kind};
constinit OpInfo op::take_along_dim::info{"take_along_dim", kind};

namespace {

// A tensor without dimensions counts as one with one element.
Dims sizes(const Tensor& tensor) { return tensor.dim() == 0 ? Dims{1} : Dims(tensor.shape()); }
Dims strides(const Tensor& tensor) { return tensor.dim() == 0 ? Dims{1} : tensor.stride(); }

void check_index_dtype(const OpInfo& op, const Tensor& index) {
  if (index.dtype() == int64 || index.dtype() == int32) return;
  throw DTypeError(concat(op.name(), "(): Expected dtype int32/int64 for index, but got ",
                          info(index.dtype()).name, ": convert it with to(int64)"));
}

void check_device(const OpInfo& op, const Tensor& self, const Tensor& other) {
  const Tensor both[] = {self, other};
  same_device(op.name(), both);
}

// The positions as kernels want them, every one of them in [low, size).
Tensor checked_positions(const OpInfo& op, const Tensor& index, std::int64_t low, std::int64_t size,
                         const std::string& of) {
  Tensor positions = index.to(int64);
  const auto bad = find_bad_position(positions.shape(), operand(positions), low, size);
  if (!bad) return positions;
  throw IndexError(concat(op.name(), "(): index ", bad->value, " is out of bounds for ", of,
                          " with size ", size, " (it stands at ", bracketed(bad->place),
                          " of an index of shape ", bracketed(index.shape()), ")"));
}
Tensor checked_positions(const OpInfo& op, const Tensor& index, const Tensor& self,
                         std::size_t dim) {
  return checked_positions(op, index, 0, sizes(self)[dim], concat("dimension ", dim));
}

// Those that count from the end, counted from the front.
Tensor from_the_front(const Tensor& positions, std::int64_t size) {
  return where(positions < 0, positions + size, positions);
}

std::size_t wrapped(std::int64_t dim, const Tensor& self) {
  return static_cast<std::size_t>(wrap_dim(dim, self.dim()));
}

// self as the table: positions say where to go along the dimension.
void pick(PickFunction function, std::span<const std::int64_t> shape, std::size_t dim,
          const Operand& own, const Operand& index, const Tensor& self,
          const void* factor = nullptr) {
  Dims table_strides = strides(self);
  const std::int64_t step = table_strides[dim];
  table_strides[dim] = 0;
  Operand table = operand(self);
  table.strides = table_strides;
  pick_elements(function, shape, dim, own, index, table, step, self.dtype(), factor);
}

// An index of one dimension, over the shape of slices it picks.
void pick_slices(PickFunction function, std::span<const std::int64_t> shape, std::size_t dim,
                 const Tensor& own, std::span<const std::int64_t> own_strides,
                 const Tensor& positions, const Tensor& self, const void* factor = nullptr) {
  Dims index_strides = Dims::filled(shape.size(), 0);
  index_strides[dim] = strides(positions)[0];
  Operand place = operand(own), index = operand(positions);
  place.strides = own_strides;
  index.strides = index_strides;
  pick(function, shape, dim, place, index, self, factor);
}

// An index with the dimensions of self.
void pick_everywhere(PickFunction function, std::size_t dim, const Tensor& own,
                     const Tensor& positions, const Tensor& self) {
  const Dims own_strides = strides(own), index_strides = strides(positions);
  Operand place = operand(own), index = operand(positions);
  place.strides = own_strides;
  index.strides = index_strides;
  pick(function, sizes(positions), dim, place, index, self);
}

void check_dims(const char* of, const Tensor& self, const Tensor& index) {
  if (sizes(self).size() == sizes(index).size()) return;
  throw ShapeError(concat("Index tensor must have the same number of dimensions as ", of,
                          " tensor: the index has ", index.dim(), ", it has ", self.dim()));
}

// Whether index is nowhere larger than other, `except` along one dimension.
bool fits_in(const Tensor& index, const Tensor& other, std::optional<std::size_t> except) {
  const Dims inner = sizes(index), outer = sizes(other);
  for (std::size_t d = 0; d < inner.size(); ++d) {
    if (d != except && inner[d] > outer[d]) return false;
  }
  return true;
}

}  // namespace

template <>
struct Rule<op::gather> {
  static constexpr std::string_view gradient = "GatherBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       const Tensor& index) {
    g.set(0, picked_gradient(grad, g.shape(0), index, dim, true));
  }
  static Layout infer(const Tensor& self, std::int64_t dim, const Tensor& index) {
    const std::size_t along = wrapped(dim, self);
    check_index_dtype(op::gather::info, index);
    check_device(op::gather::info, self, index);
    if (index.numel() != 0) {
      check_dims("input", self, index);
      if (!fits_in(index, self, along)) {
        throw ShapeError(concat("Size does not match: expected index ", bracketed(index.shape()),
                                " to be no larger than self ", bracketed(self.shape()),
                                " apart from dimension ", along));
      }
    }
    return Layout::packed(index.shape(), self.dtype(), self.device());
  }
  static void cpu(Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index) {
    if (index.numel() == 0) return;
    const std::size_t along = wrapped(dim, self);
    pick_everywhere(PickFunction::read, along, out,
                    checked_positions(op::gather::info, index, self, along), self);
  }
};

template <>
struct Rule<op::index_select> {
  static constexpr std::string_view gradient = "IndexSelectBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       const Tensor& index) {
    const Tensor zero = zeros(g.shape(0), {.dtype = grad.dtype(), .device = grad.device()});
    g.set(0, index_add(zero, dim, index, grad));
  }
  static Layout infer(const Tensor& self, std::int64_t dim, const Tensor& index) {
    const std::size_t along = wrapped(dim, self);
    check_index_dtype(op::index_select::info, index);
    check_device(op::index_select::info, self, index);
    if (index.dim() > 1) {
      throw IndexError(concat("index_select(): Index is supposed to be a vector, but its shape is ",
                              bracketed(index.shape())));
    }
    if (self.dim() == 0) {
      if (index.numel() != 1) {
        throw ShapeError(concat("index_select(): Index to scalar can have only 1 value, got ",
                                index.numel(), " value(s)"));
      }
      return Layout::packed({}, self.dtype(), self.device());
    }
    Shape shape = self.shape();
    shape[along] = index.numel();
    return Layout::packed(shape, self.dtype(), self.device());
  }
  static void cpu(Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index) {
    const std::size_t along = wrapped(dim, self);
    const Tensor positions = checked_positions(op::index_select::info, index, self, along);
    const Dims out_strides = strides(out);
    pick_slices(PickFunction::read, sizes(out), along, out, out_strides, positions, self);
  }
};

template <>
struct Rule<op::take> {
  static constexpr std::string_view gradient = "TakeBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& index) {
    const Shape& shape = g.shape(0);
    const std::int64_t n = shape.numel();
    const Tensor flat = zeros({n}, {.dtype = grad.dtype(), .device = grad.device()});
    const Tensor places = index.to(int64).reshape({-1});
    const Tensor counted = where(places < 0, places + n, places);
    g.set(0, index_add(flat, 0, counted, grad.reshape({-1})).reshape(shape));
  }
  static Layout infer(const Tensor& self, const Tensor& index) {
    check_index_dtype(op::take::info, index);
    check_device(op::take::info, self, index);
    if (self.numel() == 0 && index.numel() != 0)
      throw IndexError("take(): tried to take from an empty tensor");
    return Layout::packed(index.shape(), self.dtype(), self.device());
  }
  static void cpu(Tensor& out, const Tensor& self, const Tensor& index) {
    if (index.numel() == 0) return;
    const std::int64_t n = self.numel();
    const Tensor positions =
        checked_positions(op::take::info, index, -n, n, "the flattened tensor").reshape({-1});
    const Tensor flat = self.contiguous().view({-1}), to = out.view({-1});
    pick_everywhere(PickFunction::read, 0, to, from_the_front(positions, n), flat);
  }
};

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

void check_replaces(op::ScatterReduce reduce) {
  if (reduce == op::ScatterReduce::replaces) return;
  throw NotImplementedError(
      "the derivative of 'scatter' with a reduction is not implemented: use scatter_add");
}

// What was read for an index smaller than the source, as large as the source: the rest is zero.
Tensor narrowed_back(const Tensor& grad, const Shape& shape) {
  if (grad.numel() == shape.numel()) return grad.reshape(shape);
  return put_back(grad, shape, Layout::packed(shape, grad.dtype(), grad.device()));
}

}  // namespace

template <>
struct Rule<op::scatter_> {
  static constexpr std::string_view gradient = "ScatterBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t dim,
                       const Tensor& index, const Tensor& /*src*/, op::ScatterReduce reduce) {
    check_replaces(reduce);
    if (g.wanted(0)) g.set(0, scatter(grad, dim, index, 0));
    if (g.wanted(2)) g.set(2, narrowed_back(gather(grad, dim, index), g.shape(2)));
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
                       const Tensor& index, const Scalar& /*value*/, op::ScatterReduce reduce) {
    check_replaces(reduce);
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
    if (g.wanted(2)) g.set(2, narrowed_back(gather(grad, dim, index), g.shape(2)));
  }
  static void check(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
    check_scatter(op::scatter_add_::info, PickFunction::add, self, dim, index, src);
  }
  static void cpu(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
    run_scatter(op::scatter_add_::info, PickFunction::add, self, dim, index, src);
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

template <>
struct Rule<op::take_along_dim> {
  static Tensor compose(const Tensor& self, const Tensor& indices,
                        std::optional<std::int64_t> dim) {
    if (indices.dtype() != int64) {
      throw DTypeError(concat("take_along_dim(): dtype of indices should be Long but got ",
                              info(indices.dtype()).scalar_name));
    }
    if (!dim) return take(self, indices.reshape({-1}));
    if (self.dim() != indices.dim()) {
      throw ShapeError(concat(
          "take_along_dim(): input and indices should have the same number of "
          "dimensions, but got ",
          self.dim(), " dimensions for input, and ", indices.dim(), " dimensions for indices"));
    }
    // All dimensions broadcast, but for the one.
    const std::int64_t along = wrap_dim(*dim, self.dim());
    Shape one = self.shape(), other = indices.shape();
    const auto at = static_cast<std::size_t>(along);
    const std::int64_t self_size = one[at], index_size = other[at];
    one[at] = other[at] = 1;
    Shape both = broadcast_shapes(one, other);
    both[at] = self_size;
    const Tensor wide = self.expand(both);
    both[at] = index_size;
    // Before they are moved, so that the error names them as they are.
    if (both.numel() != 0 && indices.is_cpu() && !indices.body().is_wrapper()) {
      checked_positions(op::take_along_dim::info, indices, -self_size, self_size,
                        concat("dimension ", along));
    }
    return gather(wide, along, from_the_front(indices, self_size).expand(both));
  }
};

Tensor gather(const Tensor& self, std::int64_t dim, const Tensor& index) {
  return call<op::gather>(self, dim, index);
}
const Tensor& gather_out(const Tensor& out, const Tensor& self, std::int64_t dim,
                         const Tensor& index) {
  return into<op::gather>(out, self, dim, index);
}
Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index) {
  return call<op::index_select>(self, dim, index);
}
const Tensor& index_select_out(const Tensor& out, const Tensor& self, std::int64_t dim,
                               const Tensor& index) {
  return into<op::index_select>(out, self, dim, index);
}
Tensor take(const Tensor& self, const Tensor& index) { return call<op::take>(self, index); }
const Tensor& take_out(const Tensor& out, const Tensor& self, const Tensor& index) {
  return into<op::take>(out, self, index);
}
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<std::int64_t> dim) {
  return call<op::take_along_dim>(self, indices, dim);
}

namespace {

// These give packed results, as in PyTorch; index_fill keeps the order of its argument.
Tensor packed_copy(const Tensor& self) {
  return self.clone({.memory_format = MemoryFormat::contiguous});
}

}  // namespace

Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src,
               ScatterOptions options) {
  return packed_copy(self).scatter_(dim, index, src, options);
}
Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value,
               ScatterOptions options) {
  return packed_copy(self).scatter_(dim, index, value, options);
}
Tensor scatter_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  return packed_copy(self).scatter_add_(dim, index, src);
}
Tensor index_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source,
                 AlphaOptions options) {
  return packed_copy(self).index_add_(dim, index, source, options);
}
Tensor index_copy(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& source) {
  return packed_copy(self).index_copy_(dim, index, source);
}
Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& value) {
  return self.clone().index_fill_(dim, index, value);
}
Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index, const Scalar& value) {
  return self.clone().index_fill_(dim, index, value);
}

const Tensor& TensorMethods::scatter_(std::int64_t dim, const Tensor& index, const Tensor& src,
                                      ScatterOptions options) const {
  return call<op::scatter_>(itself(*this), dim, index, src, reduction(options.reduce));
}
const Tensor& TensorMethods::scatter_(std::int64_t dim, const Tensor& index, const Scalar& value,
                                      ScatterOptions options) const {
  return call<op::scatter_value_>(itself(*this), dim, index, value, reduction(options.reduce));
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
