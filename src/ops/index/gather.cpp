// Elements read by their number along a dimension.
#include "tenon/ops/scatter.h"

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/pick.h"
#include "ops/elementwise/operands.h"
#include "ops/index/positions.h"
#include "ops/support/gradients.h"
#include "ops/support/into.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::gather::info{"gather", kind};
constinit OpInfo op::index_select::info{"index_select", kind};
constinit OpInfo op::take::info{"take", kind};
constinit OpInfo op::take_along_dim::info{"take_along_dim", kind};

using namespace positions;

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
    g.set(0, slices_gradient(grad, g.shape(0), index, dim));
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
    const Tensor places = from_the_front(index.to(int64).reshape({-1}), shape.numel());
    g.set(0, slices_gradient(grad.reshape({-1}), {shape.numel()}, places, 0).reshape(shape));
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

}  // namespace tenon
