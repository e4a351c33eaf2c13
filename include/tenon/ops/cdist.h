// Distances and products of vectors in space.
#pragma once

#include <cstdint>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API cdist {
  using Signature = Tensor(const Tensor& x1, const Tensor& x2, double p);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API cross {
  using Signature = Tensor(const Tensor& self, const Tensor& other, std::int64_t dim);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API kron {
  using Signature = Tensor(const Tensor& self, const Tensor& other);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

struct CdistOptions {
  double p = 2;
  // PyTorch's hint how to calculate it. Here it is always from differences, which loses nothing.
  std::string_view compute_mode = "use_mm_for_euclid_dist_if_necessary";
};
// The distance of every row of x1 (*, P, M) to every row of x2 (*, R, M): (*, P, R).
TENON_API Tensor cdist(const Tensor& x1, const Tensor& x2, const CdistOptions& options = {});
inline Tensor cdist(const Tensor& x1, const Tensor& x2, double p) {
  return cdist(x1, x2, CdistOptions{.p = p});
}
// The product of vectors of three numbers, which lie along a dimension: by default the first of
// that size.
TENON_API Tensor cross(const Tensor& self, const Tensor& other);
TENON_API Tensor cross(const Tensor& self, const Tensor& other, std::int64_t dim);
inline Tensor cross(const Tensor& self, const Tensor& other, DimOptions options) {
  return cross(self, other, options.dim);
}
// Every element of one times the whole of the other.
TENON_API Tensor kron(const Tensor& self, const Tensor& other);

}  // namespace tenon
