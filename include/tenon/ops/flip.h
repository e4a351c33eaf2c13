// The elements of a tensor in other places, and more than once: copies, where tenon/ops/ops.h has
// views.
//
//   Tensor keys = repeat_interleave(k, 4, {.dim = 1});          // each head four times
//   Tensor shifted = roll(x, {-2, -2}, {.dims = {1, 2}});
//   auto grid = meshgrid({arange(7), arange(7)}, {.indexing = "ij"});
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"
#include "tenon/tensor_list.h"

namespace tenon {

namespace op {

struct TENON_API flip {
  using Signature = Tensor(const Tensor& self, const Dims& dims);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API roll {
  using Signature = Tensor(const Tensor& self, const Dims& shifts, const Dims& dims);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API repeat {
  using Signature = Tensor(const Tensor& self, const Shape& sizes);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API repeat_interleave {
  using Signature = Tensor(const Tensor& self, std::int64_t repeats,
                           std::optional<std::int64_t> dim);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API repeat_interleave_each {
  using Signature = Tensor(const Tensor& self, const Tensor& repeats,
                           std::optional<std::int64_t> dim,
                           std::optional<std::int64_t> output_size);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API rot90 {
  using Signature = Tensor(const Tensor& self, std::int64_t k, const Dims& dims);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API meshgrid {
  using Signature = std::vector<Tensor>(std::span<const Tensor> tensors, std::string_view indexing);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

// In reverse order along these dimensions.
TENON_API Tensor flip(const Tensor& self, const Dims& dims);
// Moved along dimensions; what leaves at one end comes in at the other. Without dimensions, of the
// flattened tensor.
TENON_API Tensor roll(const Tensor& self, const Dims& shifts, const RollOptions& options = {});
inline Tensor roll(const Tensor& self, const Dims& shifts, std::int64_t dim) {
  return roll(self, shifts, RollOptions{.dims = dim});
}
// The whole tensor so many times along each dimension; more numbers than dimensions make new ones
// in front. Of fewer, tile leaves the first dimensions alone, and repeat is a ShapeError.
TENON_API Tensor repeat(const Tensor& self, const Shape& sizes);
TENON_API Tensor tile(const Tensor& self, const Shape& dims);
// Each element, or slice along dim, so many times in a row. Without a dimension, of the flattened
// tensor. Of repeats that are a tensor, each says it of its own.
TENON_API Tensor repeat_interleave(const Tensor& self, std::int64_t repeats,
                                   const RepeatInterleaveOptions& options = {});
TENON_API Tensor repeat_interleave(const Tensor& self, std::int64_t repeats, std::int64_t dim);
TENON_API Tensor repeat_interleave(const Tensor& self, const Tensor& repeats,
                                   const RepeatInterleaveOptions& options = {});
TENON_API Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, std::int64_t dim);
TENON_API Tensor repeat_interleave(const Tensor& repeats);  // the number of each, so often

// Turned by 90 degrees, k times, in the plane of two dimensions, from the first to the second.
TENON_API Tensor rot90(const Tensor& self, Rot90Options options = {});
inline Tensor rot90(const Tensor& self, std::int64_t k, const Dims& dims = {0, 1}) {
  return rot90(self, Rot90Options{.k = k, .dims = dims});
}

struct MeshgridOptions {
  std::string_view indexing = "ij";  // or "xy": the first two dimensions exchanged
};
// The coordinates of every point of a grid, a tensor for each dimension. Views.
TENON_API std::vector<Tensor> meshgrid(TensorList tensors, MeshgridOptions options = {});

inline std::vector<Tensor> meshgrid(const Tensor& a, const Tensor& b,
                                    MeshgridOptions options = {}) {
  return meshgrid({a, b}, options);
}
inline std::vector<Tensor> meshgrid(const Tensor& a, const Tensor& b, const Tensor& c,
                                    MeshgridOptions options = {}) {
  return meshgrid({a, b, c}, options);
}
// Views of all of them in the shape they broadcast to.
TENON_API std::vector<Tensor> broadcast_tensors(TensorList tensors);

// cat of rows and of columns: tensors of fewer dimensions are given them.
TENON_API Tensor hstack(TensorList tensors);
TENON_API Tensor vstack(TensorList tensors);

// transpose, as NumPy calls it.
inline Tensor swapaxes(const Tensor& self, std::int64_t axis0, std::int64_t axis1) {
  return self.transpose(axis0, axis1);
}
inline Tensor swapdims(const Tensor& self, std::int64_t dim0, std::int64_t dim1) {
  return self.transpose(dim0, dim1);
}

}  // namespace tenon
