#include "ops/views/view_rules.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "tenon/error.h"

namespace tenon::rules {

namespace {

std::size_t at(std::int64_t dim) { return static_cast<std::size_t>(dim); }

// Strides of dimensions with at most one element are never walked and may be anything, so they must
// not overflow either.
std::int64_t times(std::int64_t stride, std::int64_t factor) {
  return checked_mul(stride, factor).value_or(stride);
}

// The offset so many steps further. Only a tensor without elements can be so far away that this
// overflows, and then it does not matter.
std::int64_t moved(std::int64_t offset, std::int64_t steps, std::int64_t stride) {
  const auto way = checked_mul(steps, stride);
  return way ? checked_add(offset, *way).value_or(offset) : offset;
}

// Note [Sizes multiply]
// The sizes of every tensor, an empty one counted as 1, multiply to a number of bytes that fits 63
// bits, so that no product of some of them ever overflows. Layout::packed sees to it for new
// tensors, and this for views that show the same elements again and so could have any number of
// them.
Layout countable(Layout out, const char* op) {
  std::optional<std::int64_t> bytes = out.itemsize();
  for (const std::int64_t size : out.shape) {
    bytes = bytes ? checked_mul(*bytes, std::max<std::int64_t>(size, 1)) : std::nullopt;
  }
  if (bytes) return out;
  throw ShapeError(concat(op, ": a tensor of sizes ", bracketed(out.shape),
                          " has more elements than can be counted"));
}

// A dimension that is there: unlike wrap_dim, none of a tensor without dimensions.
std::size_t existing_dim(const Layout& self, std::int64_t dim, const char* op) {
  if (self.shape.empty()) throw IndexError(concat(op, "() cannot be applied to a 0-dim tensor."));
  return at(wrap_dim(dim, self.dim()));
}

}  // namespace

Shape infer_size(const Shape& shape, std::int64_t numel) {
  std::optional<std::size_t> inferred;
  std::optional<std::int64_t> known = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1) {
      if (inferred)
        throw ShapeError(
            concat("only one dimension can be inferred, but the shape is ", bracketed(shape)));
      inferred = d;
    } else if (shape[d] < 0) {
      throw ShapeError(concat("invalid shape dimension ", shape[d], " at index ", d, " of shape ",
                              bracketed(shape)));
    } else if (known) {
      known = checked_mul(*known, shape[d]);
    }
  }
  const bool fits = known && (inferred ? *known > 0 && numel % *known == 0 : *known == numel);
  if (fits && !inferred) return shape;
  if (fits) {
    Shape out = shape;
    out[*inferred] = numel / *known;
    return out;
  }
  if (inferred && known == 0 && numel == 0) {
    throw ShapeError(
        concat("cannot reshape tensor of 0 elements into shape ", bracketed(shape),
               " because the unspecified dimension size -1 can be any value and is ambiguous"));
  }
  throw ShapeError(concat("shape '", bracketed(shape), "' is invalid for input of size ", numel));
}

std::optional<Dims> view_strides(const Layout& layout, const Shape& shape) {
  if (layout.numel() == 0) {
    return layout.shape == shape ? layout.strides
                                 : Layout::packed(shape, layout.dtype, layout.device).strides;
  }
  Dims strides = Dims::filled(shape.size(), 1);
  // Old dimensions from the last, in runs that lie in memory as one dimension would. Each run must
  // be made up exactly by new dimensions, which then divide it.
  std::size_t next = shape.size();  // new dimensions still to be placed
  std::int64_t run_size = 1;
  for (std::size_t d = layout.shape.size(), run_end = d; d-- > 0;) {
    run_size *= layout.shape[d];
    const bool continues =
        d > 0 && (layout.shape[d - 1] == 1 ||
                  layout.strides[d - 1] == run_size * layout.strides[run_end - 1]);
    if (continues) continue;
    std::int64_t placed = 1;
    while (next > 0 && (placed < run_size || shape[next - 1] == 1)) {
      --next;
      strides[next] = placed * layout.strides[run_end - 1];
      placed *= shape[next];
    }
    if (placed != run_size) return std::nullopt;
    run_size = 1;
    run_end = d;
  }
  // A layout without dimensions has one element, and so have the new dimensions.
  return next == 0 || layout.shape.empty() ? std::optional(strides) : std::nullopt;
}

Layout view(const Layout& self, const Shape& shape) {
  Layout out = self;
  out.shape = infer_size(shape, self.numel());
  auto strides = view_strides(self, out.shape);
  if (!strides) {
    throw ShapeError(
        concat("view size is not compatible with input tensor's size and stride (at least one "
               "dimension spans "
               "across two contiguous subspaces): shape ",
               bracketed(self.shape), " with strides ", bracketed(self.strides),
               " cannot be seen as ", bracketed(out.shape), ". Use .reshape(...) instead."));
  }
  out.strides = *std::move(strides);
  return out;
}

Layout view_dtype(const Layout& self, DType dtype) {
  if (self.conj || self.neg) {
    throw DTypeError(
        "view is not supported for conjugate or negative views when converting to a different "
        "dtype: call "
        "resolve_conj() or resolve_neg() first");
  }
  Layout out = self;
  out.dtype = dtype;
  const std::int64_t old_size = itemsize(self.dtype), new_size = itemsize(dtype);
  if (old_size == new_size) return out;
  const auto refuse = [&](const auto&... why) {
    throw ShapeError(concat(why..., " to view ", info(self.dtype).scalar_name, " as ",
                            info(dtype).scalar_name, " (different element sizes): shape ",
                            bracketed(self.shape), ", strides ", bracketed(self.strides),
                            ", storage offset ", self.offset));
  };
  if (self.shape.empty()) refuse("self.dim() cannot be 0");
  const std::size_t last = self.shape.size() - 1;
  if (self.strides[last] != 1) refuse("self.stride(-1) must be 1");
  if (old_size > new_size) {
    const std::int64_t ratio = old_size / new_size;
    for (std::size_t d = 0; d < last; ++d) out.strides[d] = times(self.strides[d], ratio);
    out.shape[last] *= ratio;
    out.offset = times(self.offset, ratio);
    return out;
  }
  const std::int64_t ratio = new_size / old_size;
  if (self.shape[last] % ratio != 0) refuse("self.size(-1) must be divisible by ", ratio);
  if (self.offset % ratio != 0) refuse("self.storage_offset() must be divisible by ", ratio);
  for (std::size_t d = 0; d < last; ++d) {
    if (self.strides[d] % ratio != 0) refuse("self.stride(", d, ") must be divisible by ", ratio);
    out.strides[d] /= ratio;
  }
  out.shape[last] /= ratio;
  out.offset /= ratio;
  return out;
}

Layout slice(const Layout& self, std::int64_t dim, std::optional<std::int64_t> start,
             std::optional<std::int64_t> end, std::int64_t step) {
  const std::size_t d = existing_dim(self, dim, "slice");
  if (step <= 0) throw ValueError(concat("slice step must be positive, got ", step));
  const std::int64_t size = self.shape[d];
  // As Python does it: from the end if negative, and never outside.
  const auto clamp = [&](std::int64_t position) {
    return std::clamp<std::int64_t>(position < 0 ? position + size : position, 0, size);
  };
  const std::int64_t first = clamp(start.value_or(0));
  const std::int64_t last = std::max(first, clamp(end.value_or(size)));
  Layout out = self;
  out.offset = moved(self.offset, first, self.strides[d]);
  const std::int64_t length = last - first;
  out.shape[d] = length / step + (length % step != 0 ? 1 : 0);
  out.strides[d] = times(self.strides[d], step);
  return out;
}

Layout select(const Layout& self, std::int64_t dim, std::int64_t index) {
  const std::size_t d = existing_dim(self, dim, "select");
  const std::int64_t size = self.shape[d];
  if (index < -size || index >= size) {
    throw IndexError(concat("select(): index ", index, " out of range for tensor of size ",
                            bracketed(self.shape), " at dimension ", d));
  }
  Layout out = self;
  out.offset = moved(self.offset, index < 0 ? index + size : index, self.strides[d]);
  out.shape.erase(d);
  out.strides.erase(d);
  return out;
}

Layout transpose(const Layout& self, std::int64_t dim0, std::int64_t dim1) {
  const std::size_t a = at(wrap_dim(dim0, self.dim())), b = at(wrap_dim(dim1, self.dim()));
  Layout out = self;
  if (self.shape.empty()) return out;
  std::swap(out.shape[a], out.shape[b]);
  std::swap(out.strides[a], out.strides[b]);
  return out;
}

Layout permute(const Layout& self, const Dims& dims) {
  if (dims.size() != self.shape.size()) {
    throw ShapeError(
        concat("permute: number of dimensions in the tensor input does not match the length of the "
               "desired "
               "ordering of dimensions i.e. input.dim() = ",
               self.dim(), " is not equal to len(dims) = ", dims.size()));
  }
  const Dims order = wrap_dims(dims, self.dim());
  Layout out = self;
  for (std::size_t d = 0; d < order.size(); ++d) {
    out.shape[d] = self.shape[at(order[d])];
    out.strides[d] = self.strides[at(order[d])];
  }
  return out;
}

Layout expand(const Layout& self, const Shape& size) {
  if (size.size() < self.shape.size()) {
    throw ShapeError(concat("expand: the number of sizes provided (", size.size(),
                            ") must be greater or equal to the number of "
                            "dimensions in the tensor (",
                            self.dim(), "). Target sizes: ", bracketed(size),
                            ". Tensor sizes: ", bracketed(self.shape)));
  }
  const std::size_t leading = size.size() - self.shape.size();
  Layout out = self;
  out.shape = size;
  out.strides =
      Dims::filled(size.size(), 0);  // and they stay so where there is nothing to step over
  for (std::size_t d = size.size(); d-- > 0;) {
    const bool is_new = d < leading;
    if (is_new && size[d] < 0) {
      throw ShapeError(concat("The expanded size of the tensor (", size[d],
                              ") isn't allowed in a leading, non-existing dimension ", d));
    }
    const std::int64_t own = is_new ? 1 : self.shape[d - leading];
    if (size[d] == -1) out.shape[d] = own;
    if (out.shape[d] == own && !self.shape.empty()) {
      // A new dimension of size 1 gets the stride it would have in a packed tensor.
      const bool last = d + 1 == size.size();
      out.strides[d] = !is_new ? self.strides[d - leading]
                       : last  ? 1
                               : times(out.strides[d + 1], out.shape[d + 1]);
    } else if (own != 1 || size[d] < -1) {
      throw ShapeError(
          concat("The expanded size of the tensor (", size[d], ") must match the existing size (",
                 own, ") at non-singleton dimension ", d, ".  Target sizes: ", bracketed(size),
                 ".  Tensor sizes: ", bracketed(self.shape)));
    }
  }
  return countable(std::move(out), "expand");
}

Layout squeeze(const Layout& self) {
  Layout out = self;
  for (std::size_t d = self.shape.size(); d-- > 0;) {
    if (self.shape[d] != 1) continue;
    out.shape.erase(d);
    out.strides.erase(d);
  }
  return out;
}

Layout squeeze(const Layout& self, const Dims& dims) {
  Dims wrapped = wrap_dims(dims, self.dim());
  std::sort(wrapped.begin(), wrapped.end(), std::greater<>());
  Layout out = self;
  for (const std::int64_t dim : wrapped) {
    if (self.shape.empty() || self.shape[at(dim)] != 1) continue;
    out.shape.erase(at(dim));
    out.strides.erase(at(dim));
  }
  return out;
}

Layout unsqueeze(const Layout& self, std::int64_t dim) {
  const std::size_t d = at(wrap_dim(dim, self.dim() + 1));
  Layout out = self;
  const std::int64_t stride = d == self.shape.size() ? 1 : times(self.strides[d], self.shape[d]);
  out.shape.insert(d, 1);
  out.strides.insert(d, stride);
  return out;
}

Layout as_strided(const Layout& self, const Shape& size, const Dims& stride,
                  std::optional<std::int64_t> offset, std::size_t storage_bytes) {
  if (size.size() != stride.size()) {
    throw ShapeError(concat("mismatch in length of strides and shape: ", bracketed(size), " has ",
                            size.size(), " and ", bracketed(stride), " has ", stride.size()));
  }
  for (const std::int64_t s : stride) {
    if (s < 0)
      throw ShapeError(
          concat("as_strided: Negative strides are not supported at the moment, got strides: ",
                 bracketed(stride)));
  }
  for (const std::int64_t n : size) {
    if (n < 0) throw ShapeError(concat("as_strided: negative sizes, got ", bracketed(size)));
  }
  Layout out = self;
  out.shape = size;
  out.strides = stride;
  out.offset = offset.value_or(self.offset);
  if (out.offset < 0) throw ShapeError(concat("as_strided: invalid storage offset ", out.offset));
  const std::int64_t needed = required_bytes(out);
  if (static_cast<std::size_t>(needed) > storage_bytes) {
    throw ShapeError(concat("as_strided: sizes ", bracketed(size), ", strides ", bracketed(stride),
                            ", storage offset ", out.offset, ", and itemsize ", out.itemsize(),
                            " requiring a storage size of ", needed,
                            " are out of bounds for storage of size ", storage_bytes));
  }
  return countable(std::move(out), "as_strided");
}

Layout diagonal(const Layout& self, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
  const std::size_t a = at(wrap_dim(dim1, self.dim())), b = at(wrap_dim(dim2, self.dim()));
  if (a == b)
    throw ShapeError(concat("diagonal dimensions cannot be identical ", dim1, ", ", dim2));
  const std::int64_t rows = self.shape[a], columns = self.shape[b];
  // Compared before it is added: any offset is allowed, and one beyond the edge gives nothing.
  const std::int64_t length = offset >= 0
                                  ? (offset >= columns ? 0 : std::min(rows, columns - offset))
                                  : (offset <= -rows ? 0 : std::min(rows + offset, columns));
  Layout out = self;
  if (length > 0) {
    out.offset = offset >= 0 ? moved(self.offset, offset, self.strides[b])
                             : moved(self.offset, -offset, self.strides[a]);
  }
  out.shape.erase(std::max(a, b));
  out.shape.erase(std::min(a, b));
  out.strides.erase(std::max(a, b));
  out.strides.erase(std::min(a, b));
  out.shape.push_back(length);
  out.strides.push_back(checked_add(self.strides[a], self.strides[b]).value_or(self.strides[a]));
  return out;
}

Layout unfold(const Layout& self, std::int64_t dim, std::int64_t size, std::int64_t step) {
  const std::size_t d = at(wrap_dim(dim, self.dim()));
  const std::int64_t have = self.shape.empty() ? 1 : self.shape[d];
  if (size < 0) throw ShapeError(concat("size is ", size, " but must be >= 0"));
  if (size > have)
    throw ShapeError(
        concat("maximum size for tensor at dimension ", d, " is ", have, " but size is ", size));
  if (step <= 0) throw ShapeError(concat("step is ", step, " but must be > 0"));
  Layout out = self;
  const std::int64_t stride = self.shape.empty() ? 1 : self.strides[d];
  if (!self.shape.empty()) {
    out.shape[d] = (have - size) / step + 1;
    out.strides[d] = times(stride, step);
  }
  out.shape.push_back(size);
  out.strides.push_back(stride);
  return countable(std::move(out), "unfold");
}

void check_pieces(std::int64_t count, const char* op) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (count <= kMost) return;
  throw ValueError(
      concat(op, ": ", count, " tensors would come out, and ", kMost, " are the most"));
}

std::vector<Layout> split(const Layout& self, std::int64_t split_size, std::int64_t dim) {
  if (self.shape.empty()) throw ShapeError("split expects at least a 1-dimensional tensor");
  if (split_size < 0)
    throw ValueError(
        concat("split expects split_size be non-negative, but got split_size=", split_size));
  const std::size_t d = at(wrap_dim(dim, self.dim()));
  const std::int64_t size = self.shape[d];
  if (split_size == 0 && size != 0) {
    throw ValueError(concat(
        "split_size can only be 0 if dimension size is 0, but got dimension size of ", size));
  }
  if (split_size != 0) check_pieces(size / split_size, "split");
  std::vector<Layout> out;
  for (std::int64_t first = 0; first < size; first += split_size) {
    Layout& piece = out.emplace_back(self);
    piece.offset = moved(self.offset, first, self.strides[d]);
    piece.shape[d] = std::min(split_size, size - first);
    if (split_size > size - first) break;  // and adding it would overflow
  }
  if (out.empty()) out.push_back(self);
  return out;
}

std::vector<Layout> split_with_sizes(const Layout& self, const Dims& sizes, std::int64_t dim) {
  if (self.shape.empty()) throw ShapeError("split expects at least a 1-dimensional tensor");
  const std::size_t d = at(wrap_dim(dim, self.dim()));
  std::optional<std::int64_t> total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      throw ValueError(
          concat("split_with_sizes expects split_sizes have only non-negative entries, but got "
                 "split_sizes=",
                 bracketed(sizes)));
    }
    total = total ? checked_add(*total, size) : std::nullopt;
  }
  if (total != self.shape[d]) {
    throw ShapeError(concat("split_with_sizes expects split_sizes to sum exactly to ",
                            self.shape[d], " (input tensor's size at dimension ", d,
                            "), but got split_sizes=", bracketed(sizes)));
  }
  std::vector<Layout> out;
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    Layout& piece = out.emplace_back(self);
    piece.offset = moved(self.offset, first, self.strides[d]);
    piece.shape[d] = size;
    first += size;
  }
  return out;
}

std::vector<Layout> unbind(const Layout& self, std::int64_t dim) {
  if (self.shape.empty())
    throw IndexError(concat("Dimension specified as ", dim, " but tensor has no dimensions"));
  const std::size_t d = at(wrap_dim(dim, self.dim()));
  check_pieces(self.shape[d], "unbind");
  std::vector<Layout> out;
  out.reserve(at(self.shape[d]));
  for (std::int64_t i = 0; i < self.shape[d]; ++i) out.push_back(select(self, dim, i));
  return out;
}

Layout view_as_real(const Layout& self) {
  if (!is_complex(self.dtype))
    throw DTypeError(
        concat("view_as_real is only supported for complex tensors, not ", repr(self.dtype)));
  if (self.conj) {
    throw DTypeError(
        "view_as_real doesn't work on unresolved conjugated tensors: resolve_conj() first, which "
        "copies");
  }
  Layout out = self;
  out.dtype = to_real(self.dtype);
  for (std::int64_t& stride : out.strides) stride = times(stride, 2);
  out.offset = times(self.offset, 2);
  out.shape.push_back(2);
  out.strides.push_back(1);
  return out;
}

Layout view_as_complex(const Layout& self) {
  if (self.dtype != float64 && self.dtype != float32 && self.dtype != float16) {
    throw DTypeError(
        concat("view_as_complex is only supported for half, float and double tensors, but got a "
               "tensor of scalar type: ",
               info(self.dtype).scalar_name));
  }
  if (self.shape.empty() || self.shape.back() != 2) {
    throw ShapeError(concat("Tensor must have a last dimension of size 2, but the shape is ",
                            bracketed(self.shape)));
  }
  const auto refuse = [&](const char* why) {
    throw ShapeError(concat("view_as_complex: ", why, ": strides ", bracketed(self.strides),
                            ", storage offset ", self.offset));
  };
  if (self.strides.back() != 1) refuse("Tensor must have a last dimension with stride 1");
  if (self.offset % 2 != 0) refuse("Tensor must have a storage_offset divisible by 2");
  Layout out = self;
  out.dtype = to_complex(self.dtype);
  out.shape.erase(out.shape.size() - 1);
  out.strides.erase(out.strides.size() - 1);
  for (std::size_t d = 0; d < out.shape.size(); ++d) {
    if (out.strides[d] % 2 != 0 && out.shape[d] != 1)
      refuse("Tensor must have a stride divisible by 2 for all but last dimension");
    out.strides[d] /= 2;
  }
  out.offset /= 2;
  return out;
}

}  // namespace tenon::rules
