// Elements in other places, and more than once.
#include "tenon/ops/flip.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/copy.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "ops/views/hidden_views.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/scatter.h"

namespace tenon {

constinit OpInfo op::flip::info{"flip", kind};
constinit OpInfo op::roll::info{"roll", kind};
constinit OpInfo op::repeat::info{"repeat", kind};
constinit OpInfo op::repeat_interleave::info{"repeat_interleave", kind};
constinit OpInfo op::repeat_interleave_each::info{"repeat_interleave", kind};
constinit OpInfo op::rot90::info{"rot90", kind};
constinit OpInfo op::meshgrid::info{"meshgrid", kind};

template <>
struct Rule<op::flip> {
  static constexpr std::string_view gradient = "FlipBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Dims& dims) {
    g.set(0, flip(grad, dims));
  }
  static Layout infer(const Tensor& self, const Dims& dims) {
    wrap_dims(dims, self.dim());
    return Layout::packed_like(self.layout());
  }
  static void run(Tensor& out, const Tensor& self, const Dims& dims) {
    Tensor turned = self;
    if (self.dim() > 0) {
      for (const std::int64_t dim : dims) {
        turned = index_select(
            turned, dim,
            arange(self.size(dim) - 1, -1, -1, {.dtype = int64, .device = self.device()}));
      }
    }
    out.variable_data().copy_(turned);
  }
};

template <>
struct Rule<op::roll> {
  static constexpr std::string_view gradient = "RollBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Dims& shifts,
                       const Dims& dims) {
    Dims back;
    for (const std::int64_t shift : shifts) back.push_back(-shift);
    g.set(0, roll(grad, back, {.dims = dims}));
  }
  static Layout infer(const Tensor& self, const Dims& shifts, const Dims& dims) {
    if (shifts.empty()) throw ValueError("`shifts` required");
    if (shifts.size() != dims.size() && !(dims.empty() && shifts.size() == 1)) {
      throw ValueError(concat("roll: shifts and dimensions must align. shifts: ", shifts.size(),
                              ", dims:", dims.size()));
    }
    for (const std::int64_t dim : dims) wrap_dim(dim, self.dim());
    return Layout::packed(self.shape(), self.dtype(), self.device());
  }
  static void run(Tensor& out, const Tensor& self, const Dims& shifts, const Dims& dims) {
    if (self.numel() == 0) return;
    const Tensor to = out.variable_data();
    if (dims.empty() || self.dim() == 0) {
      move_round(to.view({-1}), self.reshape({-1}), shifts[0], 0);
      return;
    }
    Tensor from = self;
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) {
      const Tensor between = empty_like(self);
      move_round(between, from, shifts[i], dims[i]);
      from = between;
    }
    move_round(to, from, shifts[dims.size() - 1], dims[dims.size() - 1]);
  }

 private:
  static void move_round(const Tensor& to, const Tensor& from, std::int64_t shift,
                         std::int64_t dim) {
    const std::int64_t size = from.size(dim), by = (shift % size + size) % size;
    to.narrow(dim, by, size - by).copy_(from.narrow(dim, 0, size - by));
    to.narrow(dim, 0, by).copy_(from.narrow(dim, size - by, by));
  }
};

template <>
struct Rule<op::repeat> {
  static constexpr std::string_view gradient = "RepeatBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Shape& sizes) {
    const Shape& shape = g.shape(0);
    if (grad.numel() == 0) {
      g.set(0, zeros(shape, {.dtype = grad.dtype(), .device = grad.device()}));
      return;
    }
    // The times come before the sizes, dimension by dimension.
    const std::size_t added = sizes.size() - shape.size();
    Shape split;
    Dims times;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      times.push_back(static_cast<std::int64_t>(split.size()));
      split.push_back(sizes[d]);
      if (d >= added) split.push_back(shape[d - added]);
    }
    g.set(0, times.empty() ? grad : grad.reshape(split).sum(times));
  }
  static Layout infer(const Tensor& self, const Shape& sizes) {
    const Shape& own = self.shape();
    if (sizes.size() < own.size()) {
      throw ShapeError(
          concat("repeat: Number of dimensions of repeat dims can not be smaller than "
                 "number of dimensions of tensor: ",
                 bracketed(sizes), " and a tensor of shape ", bracketed(own)));
    }
    Shape shape = sizes;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (sizes[d] < 0) {
        throw ValueError(concat("repeat: Trying to create tensor with negative dimension ",
                                sizes[d], ": ", bracketed(sizes)));
      }
      if (d < sizes.size() - own.size()) continue;
      const auto size = checked_mul(sizes[d], own[d + own.size() - sizes.size()]);
      if (!size) {
        throw ShapeError(concat("repeat: a tensor of shape ", bracketed(own), " repeated ",
                                bracketed(sizes), " times is too large"));
      }
      shape[d] = *size;
    }
    return Layout::packed(shape, self.dtype(), self.device());
  }
  static void run(Tensor& out, const Tensor& self, const Shape& sizes) {
    if (out.numel() == 0) return;
    const Shape& own = self.shape();
    Shape split, once;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      const std::int64_t size =
          d < sizes.size() - own.size() ? 1 : own[d + own.size() - sizes.size()];
      split.push_back(sizes[d]);
      split.push_back(size);
      once.push_back(1);
      once.push_back(size);
    }
    out.variable_data().view(split).copy_(self.reshape(once));
  }
};

template <>
struct Rule<op::repeat_interleave> {
  static Tensor compose(const Tensor& self, std::int64_t repeats, std::optional<std::int64_t> dim) {
    if (repeats < 0)
      throw ValueError(
          concat("repeat_interleave: Repeats must be non-negative, but got ", repeats));
    const Tensor input = dim ? self : self.flatten();
    const std::int64_t d = wrap_dim(dim.value_or(0), input.dim());
    Tensor spread = input.dim() == 0 ? input.unsqueeze(0) : input;
    Shape shape = spread.shape();
    shape.insert(static_cast<std::size_t>(d) + 1, repeats);
    return spread.unsqueeze(d + 1).expand(shape).clone(MemoryFormat::contiguous).flatten(d, d + 1);
  }
};

template <>
struct Rule<op::repeat_interleave_each> {
  static Tensor compose(const Tensor& self, const Tensor& repeats, std::optional<std::int64_t> dim,
                        std::optional<std::int64_t> output_size) {
    const Tensor input = dim ? self : self.flatten();
    const std::int64_t d = wrap_dim(dim.value_or(0), input.dim());
    Tensor each = repeats;
    if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.size(0) == 1)) {
      each = repeats.reshape({1}).expand({input.size(d)});
    } else if (repeats.dim() != 1) {
      throw ShapeError(
          concat("repeat_interleave: repeats must be 0-dim or 1-dim tensor, but its "
                 "shape is ",
                 bracketed(repeats.shape())));
    } else if (repeats.size(0) != input.size(d)) {
      throw ShapeError(
          concat("repeat_interleave: repeats must have the same size as input along "
                 "dim, but got repeats.size(0) = ",
                 repeats.size(0), " and input.size(", d, ") = ", input.size(d)));
    }
    const Tensor places = repeat_interleave(each);
    if (output_size && places.size(0) != *output_size) {
      throw ValueError(concat("repeat_interleave: output_size is ", *output_size,
                              ", and the repeats add up to ", places.size(0)));
    }
    return index_select(input, d, places.to(input.device()));
  }
};

template <>
struct Rule<op::rot90> {
  static Tensor compose(const Tensor& self, std::int64_t k, const Dims& dims) {
    if (dims.size() != 2) {
      throw ValueError(
          concat("rot90: expected total rotation dims == 2, but got dims = ", dims.size()));
    }
    if (self.dim() < 2) {
      throw ShapeError(
          concat("rot90: expected total dims >= 2, but got total dims = ", self.dim()));
    }
    const std::int64_t a = wrap_dim(dims[0], self.dim()), b = wrap_dim(dims[1], self.dim());
    if (a == b) {
      throw ValueError(concat("rot90: expected rotation dims to be different, but got dim0 = ",
                              dims[0], " and dim1 = ", dims[1]));
    }
    switch ((k % 4 + 4) % 4) {
      case 1: return flip(self, b).transpose(a, b);
      case 2: return flip(self, dims);
      case 3: return flip(self, a).transpose(a, b);
      default: return self.clone(MemoryFormat::contiguous);
    }
  }
};

template <>
struct Rule<op::meshgrid> {
  static std::vector<Tensor> compose(std::span<const Tensor> tensors, std::string_view indexing) {
    if (tensors.empty()) throw ValueError("meshgrid expects a non-empty TensorList");
    if (indexing != "ij" && indexing != "xy") {
      throw ValueError(
          concat("meshgrid: indexing must be one of \"xy\" or \"ij\", but received: ", indexing));
    }
    same_device("meshgrid", tensors);
    std::vector<Tensor> axes(tensors.begin(), tensors.end());
    Shape shape;
    const bool exchanged = indexing == "xy" && axes.size() >= 2;
    if (exchanged) std::swap(axes[0], axes[1]);
    for (const Tensor& axis : axes) {
      if (axis.dim() > 1) {
        throw ShapeError(
            concat("meshgrid: Expected 0D or 1D tensor in the tensor list but got one "
                   "of shape ",
                   bracketed(axis.shape())));
      }
      if (axis.dtype() != axes[0].dtype()) {
        throw DTypeError(concat("meshgrid expects all tensors to have the same dtype, but got ",
                                repr(axes[0].dtype()), " and ", repr(axis.dtype())));
      }
      shape.push_back(axis.numel());
    }
    std::vector<Tensor> grids;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Shape along = Dims::filled(axes.size(), 1);
      along[i] = axes[i].numel();
      grids.push_back(axes[i].view(along).expand(shape));
    }
    if (exchanged) std::swap(grids[0], grids[1]);
    return grids;
  }
};

Tensor flip(const Tensor& self, const Dims& dims) { return call<op::flip>(self, dims); }
Tensor roll(const Tensor& self, const Dims& shifts, const RollOptions& options) {
  return call<op::roll>(self, shifts, options.dims);
}
Tensor repeat(const Tensor& self, const Shape& sizes) { return call<op::repeat>(self, sizes); }
Tensor tile(const Tensor& self, const Shape& dims) {
  Shape sizes = dims;
  while (static_cast<std::int64_t>(sizes.size()) < self.dim()) sizes.insert(0, 1);
  return repeat(self, sizes);
}
Tensor repeat_interleave(const Tensor& self, std::int64_t repeats,
                         const RepeatInterleaveOptions& given) {
  const RepeatInterleaveOptions options = given;  // see Note [Arguments of one's own]
  Tensor out = call<op::repeat_interleave>(self, repeats, options.dim);
  if (options.output_size && options.dim && out.size(*options.dim) != *options.output_size) {
    throw ValueError(concat("repeat_interleave: output_size is ", *options.output_size,
                            ", and the repeats add up to ", out.size(*options.dim)));
  }
  return out;
}
Tensor repeat_interleave(const Tensor& self, std::int64_t repeats, std::int64_t dim) {
  return repeat_interleave(self, repeats, RepeatInterleaveOptions{.dim = dim});
}
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats,
                         const RepeatInterleaveOptions& options) {
  return call<op::repeat_interleave_each>(self, repeats, options.dim, options.output_size);
}
Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::int64_t dim) {
  return repeat_interleave(self, repeats, RepeatInterleaveOptions{.dim = dim});
}
Tensor repeat_interleave(const Tensor& given) {
  const Tensor repeats = given;  // see Note [Arguments of one's own]
  if (repeats.dim() != 1) {
    throw ShapeError(concat("repeat_interleave only accepts 1D vector as repeat, but got ",
                            bracketed(repeats.shape())));
  }
  if (repeats.dtype() != int64 && repeats.dtype() != int32) {
    throw DTypeError(concat("repeats has to be Long or Int tensor, but it is of ",
                            tenon::repr(repeats.dtype())));
  }
  if (repeats.is_meta())
    throw NotImplementedError("repeat_interleave: repeats on meta do not say how long it is");
  const Tensor counts = repeats.to({.dtype = int64, .device = Device::cpu()}).contiguous();
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < counts.numel(); ++i) {
    const std::int64_t times = counts.data<std::int64_t>()[i];
    if (times < 0) throw ValueError("repeats can not be negative");
    places.insert(places.end(), static_cast<std::size_t>(times), i);
  }
  return tensor(places, {.dtype = repeats.dtype(), .device = repeats.device()});
}
Tensor rot90(const Tensor& self, Rot90Options options) {
  return call<op::rot90>(self, options.k, options.dims);
}
std::vector<Tensor> meshgrid(TensorList tensors, MeshgridOptions options) {
  return call<op::meshgrid>(tensors, options.indexing);
}
std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  Shape shape;
  for (const Tensor& one : tensors) shape = broadcast_shapes(shape, one.shape());
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& one : tensors) out.push_back(one.expand(shape));
  return out;
}
Tensor hstack(TensorList tensors) {
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.dim() == 0 ? t.reshape({1}) : t);
  return cat(parts, !parts.empty() && parts[0].dim() > 1 ? 1 : 0);
}
Tensor vstack(TensorList tensors) {
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.dim() < 2 ? t.reshape({1, t.numel()}) : t);
  return cat(parts, 0);
}

}  // namespace tenon
