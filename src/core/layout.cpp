#include "tenon/layout.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// The dimensions of channels-last from the slowest to the fastest, or nothing if the format has no
// order of its own.
std::span<const std::size_t> format_order(MemoryFormat format) {
  static constexpr std::size_t k2d[] = {0, 2, 3, 1};
  static constexpr std::size_t k3d[] = {0, 2, 3, 4, 1};
  switch (format) {
    case MemoryFormat::channels_last: return k2d;
    case MemoryFormat::channels_last_3d: return k3d;
    default: return {};
  }
}

// Whether the strides are those of a packed tensor when the dimensions are walked from the fastest.
template <class DimAt>
bool packed_in_order(const Layout& layout, DimAt dim_at) noexcept {
  std::int64_t expected = 1;
  for (std::size_t i = layout.shape.size(); i-- > 0;) {
    const std::size_t d = dim_at(i);
    if (layout.shape[d] == 1) continue;
    if (layout.strides[d] != expected) return false;
    expected *= layout.shape[d];
  }
  return true;
}

// Sizes from fastest to slowest, multiplied up. An empty dimension counts as `empty`: 1 in the
// usual order, so that its neighbours keep a stride, but 0 in channels-last, as in PyTorch.
template <class DimAt>
void pack_strides(Dims& strides, const Shape& shape, DimAt dim_at, std::int64_t empty = 1) {
  strides = shape;  // for its length
  std::int64_t next = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    const std::size_t d = dim_at(i);
    strides[d] = next;
    next *= std::max(shape[d], empty);
  }
}

// Before any stride is calculated: afterwards no product of sizes overflows (Note [Sizes
// multiply]).
void check_sizes(const Shape& shape, DType dtype) {
  std::optional<std::int64_t> bytes = itemsize(dtype);
  for (const std::int64_t size : shape) {
    if (size < 0) {
      throw ShapeError(
          concat("Trying to create tensor with negative dimension ", size, ": ", bracketed(shape)));
    }
    if (bytes) bytes = checked_mul(*bytes, std::max<std::int64_t>(size, 1));
  }
  if (!bytes) {
    throw ShapeError(concat("Storage size calculation overflowed with sizes=", bracketed(shape),
                            " of ", itemsize(dtype),
                            " bytes each: a tensor has at most 2^63 - 1 bytes"));
  }
}

}  // namespace

bool Layout::is_contiguous(MemoryFormat format) const noexcept {
  switch (format) {
    case MemoryFormat::preserve: return true;
    case MemoryFormat::contiguous:
      return numel() == 0 || packed_in_order(*this, [](std::size_t i) { return i; });
    case MemoryFormat::channels_last:
    case MemoryFormat::channels_last_3d: {
      const auto order = format_order(format);
      return order.size() == shape.size() &&
             packed_in_order(*this, [&](std::size_t i) { return order[i]; });
    }
  }
  __builtin_unreachable();
}

bool Layout::is_non_overlapping_and_dense() const {
  if (numel() <= 1) return true;
  std::vector<std::size_t> order;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1) order.push_back(d);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  std::int64_t expected = 1;
  for (const std::size_t d : order) {
    if (strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

Layout Layout::packed(const Shape& shape, DType dtype, Device device, MemoryFormat format) {
  check_sizes(shape, dtype);
  const auto order = format_order(format);
  if (!order.empty() && order.size() != shape.size()) {
    throw ShapeError(
        concat("required rank ", order.size(), " tensor to use ",
               format == MemoryFormat::channels_last ? "channels_last" : "channels_last_3d",
               " format, but the shape is ", bracketed(shape)));
  }
  Layout layout;
  layout.shape = shape;
  if (order.empty()) {
    pack_strides(layout.strides, shape, [](std::size_t i) { return i; });
  } else {
    pack_strides(layout.strides, shape, [&](std::size_t i) { return order[i]; }, 0);
  }
  layout.dtype = dtype;
  layout.device = device;
  return layout;
}

Layout Layout::packed_like(const Layout& like, MemoryFormat format) {
  Layout layout = packed(like.shape, like.dtype, like.device,
                         format == MemoryFormat::preserve ? MemoryFormat::contiguous : format);
  if (format != MemoryFormat::preserve) return layout;
  if (like.is_contiguous() || like.is_non_overlapping_and_dense()) {
    layout.strides = like.strides;
    return layout;
  }
  // Note [Preserved order]
  // Gaps or overlaps: the dimensions keep their order in memory and are packed. A dimension of
  // stride 0 says nothing about order and stays where it is among its neighbours; equal strides are
  // ordered by size. The comparison is not transitive because of that, so this is an insertion sort
  // that stops where the answer is certain, and the result depends on its steps: they are
  // PyTorch's.
  std::vector<std::size_t> order(like.shape.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});  // fastest first
  const auto compare = [&](std::size_t a, std::size_t b) {
    const std::int64_t sa = like.strides[a], sb = like.strides[b];
    if (sa == 0 || sb == 0) return 0;
    if (sa != sb) return sa < sb ? -1 : 1;
    return like.shape[a] > like.shape[b] ? 1 : 0;
  };
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t moving = i;
    for (std::size_t j = i; j-- > 0;) {
      const int order_of = compare(order[j], order[moving]);
      if (order_of > 0) {
        std::swap(order[j], order[moving]);
        moving = j;
      } else if (order_of < 0) {
        break;
      }
    }
  }
  std::reverse(order.begin(), order.end());
  pack_strides(layout.strides, like.shape, [&](std::size_t i) { return order[i]; });
  return layout;
}

std::int64_t required_bytes(const Layout& layout) {
  if (std::any_of(layout.shape.begin(), layout.shape.end(),
                  [](std::int64_t size) { return size == 0; }))
    return 0;
  std::optional<std::int64_t> elements = checked_add<std::int64_t>(layout.offset, 1);
  for (std::size_t d = 0; d < layout.shape.size() && elements; ++d) {
    const auto reach = checked_mul(layout.shape[d] - 1, layout.strides[d]);
    elements = reach ? checked_add(*elements, *reach) : std::nullopt;
  }
  const auto bytes = elements ? checked_mul(*elements, layout.itemsize()) : std::nullopt;
  if (!bytes) {
    throw ShapeError(
        concat("Storage size calculation overflowed with sizes=", bracketed(layout.shape),
               " and strides=", bracketed(layout.strides), " at offset ", layout.offset));
  }
  return *bytes;
}

void check_layout(const Layout& layout) {
  if (layout.shape.size() != layout.strides.size()) {
    throw ShapeError(concat("mismatch in length of strides and shape: ", bracketed(layout.shape),
                            " has ", layout.shape.size(), " and ", bracketed(layout.strides),
                            " has ", layout.strides.size()));
  }
  const auto negative = [](std::int64_t value) { return value < 0; };
  if (layout.offset < 0 || std::any_of(layout.shape.begin(), layout.shape.end(), negative) ||
      std::any_of(layout.strides.begin(), layout.strides.end(), negative)) {
    throw ShapeError(concat("sizes ", bracketed(layout.shape), ", strides ",
                            bracketed(layout.strides), " and offset ", layout.offset,
                            ": none of them can be negative"));
  }
  Layout::packed(layout.shape, layout.dtype, layout.device);  // counts the elements
  required_bytes(layout);
}

std::int64_t wrap_dim(std::int64_t dim, std::int64_t ndim) {
  const std::int64_t range = std::max<std::int64_t>(ndim, 1);
  if (dim < -range || dim >= range) {
    throw IndexError(concat("Dimension out of range (expected to be in range of [", -range, ", ",
                            range - 1, "], but got ", dim, ")"));
  }
  return dim < 0 ? dim + range : dim;
}

Dims wrap_dims(std::span<const std::int64_t> dims, std::int64_t ndim) {
  Dims wrapped;
  for (const std::int64_t dim : dims) {
    const std::int64_t d = wrap_dim(dim, ndim);
    if (std::find(wrapped.begin(), wrapped.end(), d) != wrapped.end()) {
      throw ShapeError(
          concat("dim ", d, " appears multiple times in the list of dims ", bracketed(dims)));
    }
    wrapped.push_back(d);
  }
  return wrapped;
}

Shape broadcast_shapes(const Shape& a, const Shape& b) {
  const std::size_t ndim = std::max(a.size(), b.size());
  Shape out = Dims::filled(ndim, 1);
  for (std::size_t i = 1; i <= ndim; ++i) {
    const std::int64_t sa = i <= a.size() ? a[a.size() - i] : 1;
    const std::int64_t sb = i <= b.size() ? b[b.size() - i] : 1;
    if (sa != sb && sa != 1 && sb != 1) {
      throw ShapeError(concat("The size of tensor a (", sa, ") must match the size of tensor b (",
                              sb, ") at non-singleton dimension ", ndim - i, ": the shapes are ",
                              bracketed(a), " and ", bracketed(b)));
    }
    out[ndim - i] = sa == 1 ? sb : sa;
  }
  return out;
}

}  // namespace tenon
