// Layout: how the elements of a tensor lie in its storage. A plain value; the shape rules of
// operators calculate with it.
#pragma once

#include <cstdint>
#include <span>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/shape.h"

namespace tenon {

enum class MemoryFormat : std::uint8_t {
  contiguous,        // the last dimension is the fastest
  preserve,          // the order of the input's dimensions in memory, packed
  channels_last,     // of 4 dimensions (N, C, H, W), C is the fastest
  channels_last_3d,  // of 5 dimensions (N, C, D, H, W), C is the fastest
};

struct TENON_API Layout {
  Shape shape;
  Dims strides;             // in elements; never negative
  std::int64_t offset = 0;  // of the first element, in elements
  DType dtype = DType::float32;
  Device device;
  bool conj = false;  // elements stand for their conjugate
  bool neg = false;   // elements stand for their negative

  std::int64_t dim() const noexcept { return static_cast<std::int64_t>(shape.size()); }
  std::int64_t numel() const noexcept { return shape.numel(); }
  std::int64_t itemsize() const noexcept { return tenon::itemsize(dtype); }

  // Whether the elements are packed in this order, without gaps. preserve asks for nothing. Size-1
  // dimensions may have any stride.
  bool is_contiguous(MemoryFormat format = MemoryFormat::contiguous) const noexcept;
  // Whether the elements fill a stretch of memory exactly once, in any order of the dimensions.
  bool is_non_overlapping_and_dense() const;

  // A packed layout of that shape. ShapeError for a negative size, or if the bytes do not fit 63
  // bits.
  static Layout packed(const Shape& shape, DType dtype, Device device,
                       MemoryFormat format = MemoryFormat::contiguous);
  // Packed, with dimensions in the order they have in `like` (which gives shape, dtype and device).
  static Layout packed_like(const Layout& like, MemoryFormat format = MemoryFormat::preserve);
};

// Bytes that a storage must have to hold every element: 0 if there are none. ShapeError if that
// overflows.
TENON_API std::int64_t required_bytes(const Layout& layout);

// ShapeError unless there is a stride for each size, nothing is negative, and neither the number of
// elements nor the bytes they reach overflow.
TENON_API void check_layout(const Layout& layout);

// dim, with negative ones counted from the end. IndexError if it is out of range. A tensor without
// dimensions accepts 0 and -1.
TENON_API std::int64_t wrap_dim(std::int64_t dim, std::int64_t ndim);
// All of them, each at most once (ShapeError otherwise).
TENON_API Dims wrap_dims(std::span<const std::int64_t> dims, std::int64_t ndim);

// The shape both broadcast to; ShapeError with both shapes if there is none.
TENON_API Shape broadcast_shapes(const Shape& a, const Shape& b);

}  // namespace tenon
