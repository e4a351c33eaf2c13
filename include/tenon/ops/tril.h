// Parts of matrices: triangles and diagonals.
//
//   Tensor mask = triu(full({n, n}, -inf), 1);      // or x.triu({.diagonal = 1})
//   Tensor places = tril_indices(3, 3);             // (2, 6): rows, and columns
//
// What has more than two dimensions is a batch of matrices. A diagonal of 0 is the main one, of 1
// the one above it.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/ops/factories.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API tril {
  using Signature = Tensor(const Tensor& self, std::int64_t diagonal);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API triu {
  using Signature = Tensor(const Tensor& self, std::int64_t diagonal);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API tril_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t diagonal);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API triu_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t diagonal);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API diag {
  using Signature = Tensor(const Tensor& self, std::int64_t diagonal);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API diag_embed {
  using Signature = Tensor(const Tensor& self, std::int64_t offset, std::int64_t dim1,
                           std::int64_t dim2);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API trace {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};

}  // namespace op

// What is on the diagonal and below it (tril), or above it (triu), and zeros. ShapeError for less
// than two dimensions.
TENON_API Tensor tril(const Tensor& self, std::int64_t diagonal = 0);
TENON_API Tensor triu(const Tensor& self, std::int64_t diagonal = 0);
inline Tensor tril(const Tensor& self, TriangleOptions options) {
  return tril(self, options.diagonal);
}
inline Tensor triu(const Tensor& self, TriangleOptions options) {
  return triu(self, options.diagonal);
}

struct TriangleIndicesOptions {
  std::int64_t offset = 0;
  std::optional<DType> dtype = {};  // int64
  std::optional<Device> device = {};
};
// Where those elements are in a matrix, row by row: the rows, and the columns.
TENON_API Tensor tril_indices(std::int64_t row, std::int64_t col,
                              const TriangleIndicesOptions& options = {});
TENON_API Tensor triu_indices(std::int64_t row, std::int64_t col,
                              const TriangleIndicesOptions& options = {});

// Of a vector a matrix with it on the diagonal; of a matrix a copy of its diagonal.
TENON_API Tensor diag(const Tensor& self, std::int64_t diagonal = 0);
inline Tensor diag(const Tensor& self, TriangleOptions options) {
  return diag(self, options.diagonal);
}
// The last dimension on the diagonal of matrices, which are the dimensions dim1 and dim2 of the
// result.
TENON_API Tensor diag_embed(const Tensor& self, DiagEmbedOptions options = {});
// The sum of the diagonal of a matrix.
TENON_API Tensor trace(const Tensor& self);

}  // namespace tenon
