// The operators behind tenon/ops/loss.h, which user-defined tensors match calls by.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon::op {

struct TENON_API mse_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::string_view reduction,
                           const std::optional<Tensor>& weight);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API l1_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::string_view reduction,
                           const std::optional<Tensor>& weight);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API smooth_l1_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::string_view reduction,
                           double beta);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API huber_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::string_view reduction,
                           double delta, const std::optional<Tensor>& weight);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API nll_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target,
                           const std::optional<Tensor>& weight, std::int64_t ignore_index,
                           std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API cross_entropy {
  using Signature = Tensor(const Tensor& input, const Tensor& target,
                           const std::optional<Tensor>& weight, std::int64_t ignore_index,
                           std::string_view reduction, double label_smoothing);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API binary_cross_entropy {
  using Signature = Tensor(const Tensor& input, const Tensor& target,
                           const std::optional<Tensor>& weight, std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API binary_cross_entropy_with_logits {
  using Signature = Tensor(const Tensor& input, const Tensor& target,
                           const std::optional<Tensor>& weight, std::string_view reduction,
                           const std::optional<Tensor>& pos_weight);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API kl_div {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::string_view reduction,
                           bool log_target);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API poisson_nll_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target, bool log_input, bool full,
                           double eps, std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API gaussian_nll_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target, const Tensor& var, bool full,
                           double eps, std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API soft_margin_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API hinge_embedding_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target, double margin,
                           std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API margin_ranking_loss {
  using Signature = Tensor(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API cosine_embedding_loss {
  using Signature = Tensor(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API triplet_margin_loss {
  using Signature = Tensor(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           double margin, double p, double eps, bool swap,
                           std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API multi_margin_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::int64_t p, double margin,
                           const std::optional<Tensor>& weight, std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API multilabel_margin_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API multilabel_soft_margin_loss {
  using Signature = Tensor(const Tensor& input, const Tensor& target,
                           const std::optional<Tensor>& weight, std::string_view reduction);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API cosine_similarity {
  using Signature = Tensor(const Tensor& x1, const Tensor& x2, std::int64_t dim, double eps);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API pairwise_distance {
  using Signature = Tensor(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace tenon::op
