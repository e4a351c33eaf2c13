// The operators: a tag for each, which user-defined tensors match calls by, and the functions that
// PyTorch has in torch.*. What is a method only (x.view) is in tenon/tensor.h; what makes tensors
// from nothing is in tenon/ops/factories.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

// Views.

struct TENON_API view {
  using Signature = Tensor(const Tensor& self, const Shape& size);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API view_dtype {
  using Signature = Tensor(const Tensor& self, DType dtype);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
// A view that autograd does not see as one: the second half of a reshape that had to copy.
struct TENON_API unsafe_view {
  using Signature = Tensor(const Tensor& self, const Shape& size);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API alias {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API detach {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API slice {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, std::optional<std::int64_t> start,
                           std::optional<std::int64_t> end, std::int64_t step);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API select {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, std::int64_t index);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API transpose {
  using Signature = Tensor(const Tensor& self, std::int64_t dim0, std::int64_t dim1);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API t {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API permute {
  using Signature = Tensor(const Tensor& self, const Dims& dims);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API expand {
  using Signature = Tensor(const Tensor& self, const Shape& size);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API squeeze {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API squeeze_dim {
  using Signature = Tensor(const Tensor& self, std::int64_t dim);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API squeeze_dims {
  using Signature = Tensor(const Tensor& self, const Dims& dim);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API unsqueeze {
  using Signature = Tensor(const Tensor& self, std::int64_t dim);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API as_strided {
  using Signature = Tensor(const Tensor& self, const Shape& size, const Dims& stride,
                           std::optional<std::int64_t> storage_offset);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API diagonal {
  using Signature = Tensor(const Tensor& self, std::int64_t offset, std::int64_t dim1,
                           std::int64_t dim2);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API unfold {
  using Signature = Tensor(const Tensor& self, std::int64_t dimension, std::int64_t size,
                           std::int64_t step);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API split {
  using Signature = std::vector<Tensor>(const Tensor& self, std::int64_t split_size,
                                        std::int64_t dim);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API split_with_sizes {
  using Signature = std::vector<Tensor>(const Tensor& self, const Dims& split_sizes,
                                        std::int64_t dim);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API unbind {
  using Signature = std::vector<Tensor>(const Tensor& self, std::int64_t dim);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API view_as_real {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API view_as_complex {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API conj {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};
struct TENON_API neg_view {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::view;
  static OpInfo info;
};

// New tensors.

struct TENON_API clone {
  using Signature = Tensor(const Tensor& self, MemoryFormat memory_format);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// Every conversion that changes something. What is not given stays.
struct TENON_API to_copy {
  using Signature = Tensor(const Tensor& self, std::optional<DType> dtype,
                           std::optional<Device> device, bool non_blocking,
                           MemoryFormat memory_format);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API empty_like {
  using Signature = Tensor(const Tensor& self, std::optional<DType> dtype,
                           std::optional<Device> device, MemoryFormat memory_format);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API full_like {
  using Signature = Tensor(const Tensor& self, const Scalar& fill_value, std::optional<DType> dtype,
                           std::optional<Device> device, MemoryFormat memory_format);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API cat {
  using Signature = Tensor(std::span<const Tensor> tensors, std::int64_t dim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API stack {
  using Signature = Tensor(std::span<const Tensor> tensors, std::int64_t dim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API complex {
  using Signature = Tensor(const Tensor& real, const Tensor& imag);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API polar {
  using Signature = Tensor(const Tensor& abs, const Tensor& angle);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// By tensors of positions (masks have become positions before); nothing where a dimension is taken
// whole.
struct TENON_API index {
  using Signature = Tensor(const Tensor& self, const std::vector<std::optional<Tensor>>& indices);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};

// Writes.

struct TENON_API copy_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& src, bool non_blocking);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API fill_ {
  using Signature = const Tensor&(const Tensor& self, const Scalar& value);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API fill_tensor_ {
  using Signature = const Tensor&(const Tensor& self, const Tensor& value);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API zero_ {
  using Signature = const Tensor&(const Tensor& self);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API index_put_ {
  using Signature = const Tensor&(const Tensor& self,
                                  const std::vector<std::optional<Tensor>>& indices,
                                  const Tensor& values);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};

// Answers.

struct TENON_API equal {
  using Signature = bool(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::query;
  static OpInfo info;
};
struct TENON_API item {
  using Signature = Scalar(const Tensor& self);
  static constexpr OpKind kind = OpKind::query;
  static OpInfo info;
};

// Written with the others.

struct TENON_API reshape {
  using Signature = Tensor(const Tensor& self, const Shape& shape);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API flatten {
  using Signature = Tensor(const Tensor& self, std::int64_t start_dim, std::int64_t end_dim);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API unflatten {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, const Shape& sizes);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API narrow {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, std::int64_t start,
                           std::int64_t length);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API movedim {
  using Signature = Tensor(const Tensor& self, const Dims& source, const Dims& destination);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API chunk {
  using Signature = std::vector<Tensor>(const Tensor& self, std::int64_t chunks, std::int64_t dim);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API contiguous {
  using Signature = Tensor(const Tensor& self, MemoryFormat memory_format);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API real {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API imag {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

// Functions.

// Tensors one after another along a dimension that exists (cat), or along a new one (stack).
TENON_API Tensor cat(std::span<const Tensor> tensors, std::int64_t dim = 0);
inline Tensor cat(std::span<const Tensor> tensors, DimOptions options) {
  return cat(tensors, options.dim);
}
template <std::size_t N>
Tensor cat(const Tensor (&tensors)[N], std::int64_t dim = 0) {
  return cat(std::span<const Tensor>(tensors), dim);
}
template <std::size_t N>
Tensor cat(const Tensor (&tensors)[N], DimOptions options) {
  return cat(tensors, options.dim);
}
TENON_API Tensor stack(std::span<const Tensor> tensors, std::int64_t dim = 0);
inline Tensor stack(std::span<const Tensor> tensors, DimOptions options) {
  return stack(tensors, options.dim);
}
template <std::size_t N>
Tensor stack(const Tensor (&tensors)[N], std::int64_t dim = 0) {
  return stack(std::span<const Tensor>(tensors), dim);
}
template <std::size_t N>
Tensor stack(const Tensor (&tensors)[N], DimOptions options) {
  return stack(tensors, options.dim);
}

// Other names of cat.
inline Tensor concat(std::span<const Tensor> tensors, DimOptions options = {}) {
  return cat(tensors, options.dim);
}
template <std::size_t N>
Tensor concat(const Tensor (&tensors)[N], DimOptions options = {}) {
  return cat(tensors, options.dim);
}
inline Tensor concatenate(std::span<const Tensor> tensors, DimOptions options = {}) {
  return cat(tensors, options.dim);
}
template <std::size_t N>
Tensor concatenate(const Tensor (&tensors)[N], DimOptions options = {}) {
  return cat(tensors, options.dim);
}

// Whether two tensors have the same shape and equal numbers. Dtypes may differ; NaN equals nothing.
TENON_API bool equal(const Tensor& a, const Tensor& b);

// The last dimension of size 2 made of real and imaginary parts, and back. Views.
TENON_API Tensor view_as_real(const Tensor& self);
TENON_API Tensor view_as_complex(const Tensor& self);

// Complex numbers of their parts, or of their sizes and angles. Both float32 or both float64.
TENON_API Tensor complex(const Tensor& real, const Tensor& imag);
TENON_API Tensor polar(const Tensor& abs, const Tensor& angle);

inline Tensor reshape(const Tensor& self, const Shape& shape) { return self.reshape(shape); }
inline Tensor narrow(const Tensor& self, std::int64_t dim, std::int64_t start,
                     std::int64_t length) {
  return self.narrow(dim, start, length);
}
inline Tensor select(const Tensor& self, std::int64_t dim, std::int64_t index) {
  return self.select(dim, index);
}
inline Tensor transpose(const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  return self.transpose(dim0, dim1);
}
inline Tensor permute(const Tensor& self, const Dims& dims) { return self.permute(dims); }
inline Tensor movedim(const Tensor& self, const Dims& source, const Dims& destination) {
  return self.movedim(source, destination);
}
inline Tensor t(const Tensor& self) { return self.t(); }
inline Tensor broadcast_to(const Tensor& self, const Shape& size) {
  return self.broadcast_to(size);
}
inline Tensor squeeze(const Tensor& self) { return self.squeeze(); }
inline Tensor squeeze(const Tensor& self, const Dims& dim) { return self.squeeze(dim); }
inline Tensor unsqueeze(const Tensor& self, std::int64_t dim) { return self.unsqueeze(dim); }
inline Tensor flatten(const Tensor& self, std::int64_t start_dim = 0, std::int64_t end_dim = -1) {
  return self.flatten(start_dim, end_dim);
}
inline Tensor flatten(const Tensor& self, FlattenOptions options) { return self.flatten(options); }
inline Tensor unflatten(const Tensor& self, std::int64_t dim, const Shape& sizes) {
  return self.unflatten(dim, sizes);
}
inline Tensor as_strided(const Tensor& self, const Shape& size, const Dims& stride,
                         std::optional<std::int64_t> storage_offset = {}) {
  return self.as_strided(size, stride, storage_offset);
}
inline Tensor diagonal(const Tensor& self, DiagonalOptions options = {}) {
  return self.diagonal(options);
}
inline std::vector<Tensor> split(const Tensor& self, std::int64_t split_size,
                                 std::int64_t dim = 0) {
  return self.split(split_size, dim);
}
inline std::vector<Tensor> split(const Tensor& self, std::int64_t split_size, DimOptions options) {
  return self.split(split_size, options);
}
inline std::vector<Tensor> split(const Tensor& self, const Dims& split_sizes,
                                 std::int64_t dim = 0) {
  return self.split(split_sizes, dim);
}
inline std::vector<Tensor> split(const Tensor& self, const Dims& split_sizes, DimOptions options) {
  return self.split(split_sizes, options);
}
inline std::vector<Tensor> chunk(const Tensor& self, std::int64_t chunks, std::int64_t dim = 0) {
  return self.chunk(chunks, dim);
}
inline std::vector<Tensor> chunk(const Tensor& self, std::int64_t chunks, DimOptions options) {
  return self.chunk(chunks, options);
}
inline std::vector<Tensor> tensor_split(const Tensor& self, std::int64_t sections,
                                        std::int64_t dim = 0) {
  return self.tensor_split(sections, dim);
}
inline std::vector<Tensor> tensor_split(const Tensor& self, std::int64_t sections,
                                        DimOptions options) {
  return self.tensor_split(sections, options);
}
inline std::vector<Tensor> tensor_split(const Tensor& self, const Dims& indices,
                                        std::int64_t dim = 0) {
  return self.tensor_split(indices, dim);
}
inline std::vector<Tensor> tensor_split(const Tensor& self, const Dims& indices,
                                        DimOptions options) {
  return self.tensor_split(indices, options);
}
inline Tensor ravel(const Tensor& self) { return self.ravel(); }
inline Tensor moveaxis(const Tensor& self, const Dims& source, const Dims& destination) {
  return self.movedim(source, destination);
}
inline std::vector<Tensor> unbind(const Tensor& self, std::int64_t dim = 0) {
  return self.unbind(dim);
}
inline std::vector<Tensor> unbind(const Tensor& self, DimOptions options) {
  return self.unbind(options);
}
inline Tensor real(const Tensor& self) { return self.real(); }
inline Tensor imag(const Tensor& self) { return self.imag(); }
inline Tensor conj(const Tensor& self) { return self.conj(); }
inline Tensor resolve_conj(const Tensor& self) { return self.resolve_conj(); }
inline Tensor resolve_neg(const Tensor& self) { return self.resolve_neg(); }
inline Tensor clone(const Tensor& self, CloneOptions options = {}) { return self.clone(options); }
inline Tensor detach(const Tensor& self) { return self.detach(); }

}  // namespace tenon
