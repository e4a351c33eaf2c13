// Losses: how far a result is from what it should be, torch.nn.functional's.
//
//   Tensor loss = cross_entropy(logits, classes, {.label_smoothing = 0.1});
//   Tensor each = mse_loss(y, target, {.reduction = "none"});
//
// `reduction` is "mean", "sum" or "none", which gives one loss for each element or sample;
// ValueError for another word. Weights are tensors, none if undefined. 16-bit floats are calculated
// in float and rounded once where a loss is an operator of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/ops/loss_ops.h"
#include "tenon/tensor.h"

namespace tenon {

struct ReductionOptions {
  std::string_view reduction = "mean";
};
struct MseLossOptions {
  std::string_view reduction = "mean";
  Tensor weight = {};  // of the input's shape; "mean" then divides by its sum
};
using L1LossOptions = MseLossOptions;
struct SmoothL1LossOptions {
  std::string_view reduction = "mean";
  double beta = 1;
};
struct HuberLossOptions {
  std::string_view reduction = "mean";
  double delta = 1;
  Tensor weight = {};  // of the input's shape; "mean" divides by the number of elements
};
struct NllLossOptions {
  Tensor weight = {};  // one for each class
  std::int64_t ignore_index = -100;
  std::string_view reduction = "mean";
};
struct CrossEntropyOptions {
  Tensor weight = {};
  std::int64_t ignore_index = -100;
  std::string_view reduction = "mean";
  double label_smoothing = 0;
};
struct WeightOptions {
  Tensor weight = {};  // broadcasts to the input
  std::string_view reduction = "mean";
};
struct BceWithLogitsOptions {
  Tensor weight = {};
  std::string_view reduction = "mean";
  Tensor pos_weight = {};  // a factor of positive targets; broadcasts
};
struct KlDivOptions {
  std::string_view reduction = "mean";  // or "batchmean", which divides by the batch alone
  bool log_target = false;
};
struct PoissonNllLossOptions {
  bool log_input = true;
  bool full = false;  // with the rest of Stirling's formula
  double eps = 1e-8;
  std::string_view reduction = "mean";
};
struct GaussianNllLossOptions {
  bool full = false;  // with the constant
  double eps = 1e-6;  // the least variance
  std::string_view reduction = "mean";
};
struct HingeEmbeddingLossOptions {
  double margin = 1;
  std::string_view reduction = "mean";
};
struct MarginOptions {
  double margin = 0;
  std::string_view reduction = "mean";
};
struct TripletMarginLossOptions {
  double margin = 1;
  double p = 2;
  double eps = 1e-6;
  bool swap = false;
  std::string_view reduction = "mean";
};
struct TripletMarginWithDistanceLossOptions {
  std::function<Tensor(const Tensor&, const Tensor&)> distance_function = {};  // pairwise_distance
  double margin = 1;
  bool swap = false;
  std::string_view reduction = "mean";
};
struct MultiMarginLossOptions {
  std::int64_t p = 1;  // or 2
  double margin = 1;
  Tensor weight = {};  // one for each class
  std::string_view reduction = "mean";
};
struct CosineSimilarityOptions {
  std::int64_t dim = 1;
  double eps = 1e-8;
};
struct PairwiseDistanceOptions {
  double p = 2;
  double eps = 1e-6;
  bool keepdim = false;
};

// Of the difference d: d^2, |d|; smooth_l1 is d^2 / (2 beta) up to beta and |d| - beta / 2 beyond,
// huber the same times delta. Both arguments broadcast, with a warning. ValueError for a negative
// beta, and a delta that is not above 0.
TENON_API Tensor mse_loss(const Tensor& input, const Tensor& target,
                          const MseLossOptions& options = {});
TENON_API Tensor l1_loss(const Tensor& input, const Tensor& target,
                         const L1LossOptions& options = {});
TENON_API Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                                const SmoothL1LossOptions& options = {});
TENON_API Tensor huber_loss(const Tensor& input, const Tensor& target,
                            const HuberLossOptions& options = {});

// Minus the input of the class that the target names, int64 or uint8: of (N, C, ...) and (N, ...),
// or (C) and (). Targets that are ignore_index count for nothing; "mean" divides by the sum of the
// weights that were used, so it is NaN if all are ignored. IndexError for a class there is not.
TENON_API Tensor nll_loss(const Tensor& input, const Tensor& target,
                          const NllLossOptions& options = {});
// The same of the logarithm of the softmax. The target may be floating and of the input's shape:
// probabilities of the classes.
TENON_API Tensor cross_entropy(const Tensor& input, const Tensor& target,
                               const CrossEntropyOptions& options = {});
// Of probabilities, which ValueError says if they are none, and of logits. The target is of the
// input's shape.
TENON_API Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                                      const WeightOptions& options = {});
TENON_API Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                                  const BceWithLogitsOptions& options = {});
// Of the input, a logarithm, from the target.
TENON_API Tensor kl_div(const Tensor& input, const Tensor& target,
                        const KlDivOptions& options = {});
// Minus the logarithm of a Poisson distribution's probability, and of a normal distribution's with
// that variance: of the input's shape, or with one number for the last dimension.
TENON_API Tensor poisson_nll_loss(const Tensor& input, const Tensor& target,
                                  const PoissonNllLossOptions& options = {});
TENON_API Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                                   const GaussianNllLossOptions& options = {});
TENON_API Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, double var,
                                   const GaussianNllLossOptions& options = {});

// Targets of 1 and -1.
TENON_API Tensor soft_margin_loss(const Tensor& input, const Tensor& target,
                                  ReductionOptions options = {});
TENON_API Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target,
                                      HingeEmbeddingLossOptions options = {});
TENON_API Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2,
                                     const Tensor& target, MarginOptions options = {});
TENON_API Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2,
                                       const Tensor& target, MarginOptions options = {});

// How much farther than the margin the negative is to be than the positive. ValueError for a margin
// that is not above 0.
TENON_API Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive,
                                     const Tensor& negative, TripletMarginLossOptions options = {});
TENON_API Tensor triplet_margin_with_distance_loss(
    const Tensor& anchor, const Tensor& positive, const Tensor& negative,
    const TripletMarginWithDistanceLossOptions& options = {});

// One class for each row of (N, C) or (C); several, up to the first -1; probabilities of each.
TENON_API Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultiMarginLossOptions& options = {});
TENON_API Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                                        ReductionOptions options = {});
TENON_API Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                             const WeightOptions& options = {});

// The cosine of the angle between vectors along a dimension, and the norm of the difference along
// the last one. Both arguments broadcast.
TENON_API Tensor cosine_similarity(const Tensor& x1, const Tensor& x2,
                                   CosineSimilarityOptions options = {});
inline Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, std::int64_t dim) {
  return cosine_similarity(x1, x2, CosineSimilarityOptions{.dim = dim});
}
TENON_API Tensor pairwise_distance(const Tensor& x1, const Tensor& x2,
                                   PairwiseDistanceOptions options = {});

}  // namespace tenon
