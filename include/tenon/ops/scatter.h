// Elements by their number along a dimension: reading them (gather, index_select, take), and
// writing them (scatter, index_add, index_copy, index_fill).
//
//   Tensor rows = index_select(embedding, 0, tokens);
//   Tensor picked = gather(logits, 1, labels.unsqueeze(1));
//   histogram.scatter_add_(0, bins, ones);
//
// Positions are int64 or int32. All of them are looked at before anything is written: one that is
// out of range is an error that says which, and where it stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API gather {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, const Tensor& index);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API index_select {
  using Signature = Tensor(const Tensor& self, std::int64_t dim, const Tensor& index);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API take {
  using Signature = Tensor(const Tensor& self, const Tensor& index);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// What becomes of an element that is there: it is replaced, added to, or multiplied.
enum class ScatterReduce : std::uint8_t { replaces, adds, multiplies };
struct TENON_API scatter_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t dim, const Tensor& index,
                                  const Tensor& src, ScatterReduce reduce);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API scatter_value_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t dim, const Tensor& index,
                                  const Scalar& value, ScatterReduce reduce);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API scatter_add_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t dim, const Tensor& index,
                                  const Tensor& src);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
// What becomes of all elements that meet in one place.
enum class ReduceAs : std::uint8_t { sum, prod, mean, amax, amin };
struct TENON_API scatter_reduce_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t dim, const Tensor& index,
                                  const Tensor& src, ReduceAs reduce, bool include_self);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API index_add_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t dim, const Tensor& index,
                                  const Tensor& source, const Scalar& alpha);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API index_copy_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t dim, const Tensor& index,
                                  const Tensor& source);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API index_fill_ {
  using Signature = const Tensor&(const Tensor& self, std::int64_t dim, const Tensor& index,
                                  const Tensor& value);
  static constexpr OpKind kind = OpKind::inplace;
  static OpInfo info;
};
struct TENON_API take_along_dim {
  using Signature = Tensor(const Tensor& self, const Tensor& indices,
                           std::optional<std::int64_t> dim);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API masked_select {
  using Signature = Tensor(const Tensor& self, const Tensor& mask);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API nonzero {
  using Signature = Tensor(const Tensor& self);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

// out[i][j] = self[index[i][j]][j] for dimension 0, and so on. The index has as many dimensions as
// self, and is nowhere larger, except along dim.
TENON_API Tensor gather(const Tensor& self, std::int64_t dim, const Tensor& index);
TENON_API const Tensor& gather_out(const Tensor& out, const Tensor& self, std::int64_t dim,
                                   const Tensor& index);
// Slices of self, by number.
TENON_API Tensor index_select(const Tensor& self, std::int64_t dim, const Tensor& index);
TENON_API const Tensor& index_select_out(const Tensor& out, const Tensor& self, std::int64_t dim,
                                         const Tensor& index);
// Elements by their number in the whole tensor; negative ones count from the end.
TENON_API Tensor take(const Tensor& self, const Tensor& index);
TENON_API const Tensor& take_out(const Tensor& out, const Tensor& self, const Tensor& index);
// gather with dimensions that broadcast, and negative positions that count from the end; without a
// dimension, along the flattened tensor.
TENON_API Tensor take_along_dim(const Tensor& self, const Tensor& indices,
                                std::optional<std::int64_t> dim = {});
inline Tensor take_along_dim(const Tensor& self, const Tensor& indices,
                             TakeAlongDimOptions options) {
  return take_along_dim(self, indices, options.dim);
}
// The elements where the mask holds, in order, and the positions of those that are not zero: a row
// for each, or a tensor for each dimension.
TENON_API Tensor masked_select(const Tensor& self, const Tensor& mask);
TENON_API Tensor nonzero(const Tensor& self);
TENON_API std::vector<Tensor> nonzero_as_tuple(const Tensor& self);

// self[index[i][j]][j] = src[i][j]. Of several that meet in one place the last counts. With a
// reduction of "add" or "multiply", all do.
TENON_API Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index,
                         const Tensor& src, ScatterOptions options = {});
TENON_API Tensor scatter(const Tensor& self, std::int64_t dim, const Tensor& index,
                         const Scalar& value, ScatterOptions options = {});
TENON_API Tensor scatter_add(const Tensor& self, std::int64_t dim, const Tensor& index,
                             const Tensor& src);
// Of all elements of src that meet in one place, and the one that is there unless include_self is
// false, the "sum", "prod", "mean", "amax" or "amin". Places that no index names stay as they are.
TENON_API Tensor scatter_reduce(const Tensor& self, std::int64_t dim, const Tensor& index,
                                const Tensor& src, std::string_view reduce,
                                ScatterReduceOptions options = {});
// Slices of self, by number: added to (alpha times), replaced, or filled with one value.
TENON_API Tensor index_add(const Tensor& self, std::int64_t dim, const Tensor& index,
                           const Tensor& source, AlphaOptions options = {});
TENON_API Tensor index_copy(const Tensor& self, std::int64_t dim, const Tensor& index,
                            const Tensor& source);
TENON_API Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index,
                            const Tensor& value);
TENON_API Tensor index_fill(const Tensor& self, std::int64_t dim, const Tensor& index,
                            const Scalar& value);

}  // namespace tenon
