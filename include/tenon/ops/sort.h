// Order: sorting, the largest few, and the different ones.
//
//   auto [values, indices] = sort(x, {.descending = true});
//   auto [best, labels] = topk(logits, 5);
//   UniqueResult words = unique(tokens, {.return_counts = true});
//
// NaN is above everything. Equals keep their order. Complex numbers have none.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API sort {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, std::int64_t dim,
                                               bool descending);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API topk {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, std::int64_t k, std::int64_t dim,
                                               bool largest);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};

}  // namespace op

// The elements along a dimension in order, and where they were.
TENON_API std::tuple<Tensor, Tensor> sort(const Tensor& self, SortOptions options = {});
TENON_API std::tuple<Tensor, Tensor> sort_out(const Tensor& values, const Tensor& indices,
                                              const Tensor& self, SortOptions options = {});
TENON_API Tensor argsort(const Tensor& self, SortOptions options = {});
// The k largest along a dimension, or the smallest, and where they are. Of equals the first.
TENON_API std::tuple<Tensor, Tensor> topk(const Tensor& self, std::int64_t k,
                                          TopkOptions options = {});
TENON_API std::tuple<Tensor, Tensor> topk_out(const Tensor& values, const Tensor& indices,
                                              const Tensor& self, std::int64_t k,
                                              TopkOptions options = {});

struct UniqueOptions {
  bool sorted = true;  // they are, whatever is said here
  bool return_inverse = false;
  bool return_counts = false;
  std::optional<std::int64_t> dim = {};  // of slices along it; else of elements
};
struct UniqueConsecutiveOptions {
  bool return_inverse = false;
  bool return_counts = false;
  std::optional<std::int64_t> dim = {};
};
struct UniqueResult {
  Tensor output;
  Tensor inverse;  // of each element the number of its equal in the output; undefined if not asked
  Tensor counts;   // how often each is there
};
// The different elements, in ascending order, or only without the repetitions of neighbours. NaN
// differs from NaN.
TENON_API UniqueResult unique(const Tensor& self, UniqueOptions options = {});
TENON_API UniqueResult unique_consecutive(const Tensor& self,
                                          UniqueConsecutiveOptions options = {});

}  // namespace tenon
