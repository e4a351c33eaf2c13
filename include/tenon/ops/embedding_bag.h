// Sums, means or largest elements of rows of a table, without the rows in between.
//
//   Tensor bags = embedding_bag(words, table, {.offsets = tensor({0, 4}), .mode = "sum"});
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API embedding_bag {
  using Signature = Tensor(const Tensor& input, const Tensor& weight,
                           const std::optional<Tensor>& offsets, std::optional<double> max_norm,
                           double norm_type, bool scale_grad_by_freq, std::string_view mode,
                           bool sparse, const std::optional<Tensor>& per_sample_weights,
                           bool include_last_offset, std::optional<std::int64_t> padding_idx);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

struct EmbeddingBagFunctionOptions {
  Tensor offsets = {};  // where each bag begins, of an input of one dimension
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  std::string mode = "mean";         // "sum", "mean" or "max"
  bool sparse = false;               // NotImplementedError: gradients are never sparse here
  Tensor per_sample_weights = {};    // a factor of each row; with "sum" only
  bool include_last_offset = false;  // the last of the offsets is where the last bag ends
  std::optional<std::int64_t> padding_idx = {};  // a row that no bag counts
};
// Of an input (B, N) of numbers of rows, each row a bag, or (N) with offsets (B): (B, columns). A
// bag with nothing in it is zeros.
TENON_API Tensor embedding_bag(const Tensor& input, const Tensor& weight,
                               const EmbeddingBagFunctionOptions& options = {});

}  // namespace tenon
