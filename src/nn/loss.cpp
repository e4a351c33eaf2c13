#include "tenon/nn/loss.h"

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"

namespace tenon::nn {

Tensor MSELoss::forward(const Tensor& input, const Tensor& target) {
  return mse_loss(input, target, {.reduction = reduction});
}

Tensor L1Loss::forward(const Tensor& input, const Tensor& target) {
  return l1_loss(input, target, {.reduction = reduction});
}

Tensor SoftMarginLoss::forward(const Tensor& input, const Tensor& target) {
  return soft_margin_loss(input, target, {.reduction = reduction});
}

Tensor MultiLabelMarginLoss::forward(const Tensor& input, const Tensor& target) {
  return multilabel_margin_loss(input, target, {.reduction = reduction});
}

Tensor SmoothL1Loss::forward(const Tensor& input, const Tensor& target) {
  return smooth_l1_loss(input, target, {.reduction = reduction, .beta = beta});
}

Tensor HuberLoss::forward(const Tensor& input, const Tensor& target) {
  return huber_loss(input, target, {.reduction = reduction, .delta = delta});
}

CrossEntropyLoss::CrossEntropyLoss(const Options& options)
    : ignore_index(options.ignore_index),
      reduction(options.reduction),
      label_smoothing(options.label_smoothing) {
  weight = options.weight;
}
Tensor CrossEntropyLoss::forward(const Tensor& input, const Tensor& target) {
  return cross_entropy(input, target,
                       {.weight = weight,
                        .ignore_index = ignore_index,
                        .reduction = reduction,
                        .label_smoothing = label_smoothing});
}

NLLLoss::NLLLoss(const Options& options)
    : ignore_index(options.ignore_index), reduction(options.reduction) {
  weight = options.weight;
}
Tensor NLLLoss::forward(const Tensor& input, const Tensor& target) {
  return nll_loss(input, target,
                  {.weight = weight, .ignore_index = ignore_index, .reduction = reduction});
}

BCELoss::BCELoss(const Options& options) : reduction(options.reduction) { weight = options.weight; }
Tensor BCELoss::forward(const Tensor& input, const Tensor& target) {
  return binary_cross_entropy(input, target, {.weight = weight, .reduction = reduction});
}

BCEWithLogitsLoss::BCEWithLogitsLoss(const Options& options) : reduction(options.reduction) {
  weight = options.weight;
  pos_weight = options.pos_weight;
}
Tensor BCEWithLogitsLoss::forward(const Tensor& input, const Tensor& target) {
  return binary_cross_entropy_with_logits(
      input, target, {.weight = weight, .reduction = reduction, .pos_weight = pos_weight});
}

Tensor KLDivLoss::forward(const Tensor& input, const Tensor& target) {
  return kl_div(input, target, {.reduction = reduction, .log_target = log_target});
}

MultiLabelSoftMarginLoss::MultiLabelSoftMarginLoss(const Options& options)
    : reduction(options.reduction) {
  weight = options.weight;
}
Tensor MultiLabelSoftMarginLoss::forward(const Tensor& input, const Tensor& target) {
  return multilabel_soft_margin_loss(input, target, {.weight = weight, .reduction = reduction});
}

MultiMarginLoss::MultiMarginLoss(const Options& options)
    : p(options.p), margin(options.margin), reduction(options.reduction) {
  if (p != 1 && p != 2) throw ValueError(concat("only p == 1 and p == 2 supported, not ", p));
  if (options.weight.defined() && options.weight.dim() != 1) {
    throw ShapeError(concat("MultiMarginLoss: expected weight to be None or 1D tensor, got ",
                            options.weight.dim(), "D instead"));
  }
  weight = options.weight;
}
Tensor MultiMarginLoss::forward(const Tensor& input, const Tensor& target) {
  return multi_margin_loss(input, target,
                           {.p = p, .margin = margin, .weight = weight, .reduction = reduction});
}

Tensor PoissonNLLLoss::forward(const Tensor& input, const Tensor& target) {
  return poisson_nll_loss(
      input, target, {.log_input = log_input, .full = full, .eps = eps, .reduction = reduction});
}

Tensor HingeEmbeddingLoss::forward(const Tensor& input, const Tensor& target) {
  return hinge_embedding_loss(input, target, {.margin = margin, .reduction = reduction});
}

Tensor GaussianNLLLoss::forward(const Tensor& input, const Tensor& target, const Tensor& var) {
  return gaussian_nll_loss(input, target, var, {.full = full, .eps = eps, .reduction = reduction});
}

Tensor MarginRankingLoss::forward(const Tensor& input1, const Tensor& input2,
                                  const Tensor& target) {
  return margin_ranking_loss(input1, input2, target, {.margin = margin, .reduction = reduction});
}

Tensor CosineEmbeddingLoss::forward(const Tensor& input1, const Tensor& input2,
                                    const Tensor& target) {
  return cosine_embedding_loss(input1, input2, target, {.margin = margin, .reduction = reduction});
}

TripletMarginLoss::TripletMarginLoss(const Options& options)
    : margin(options.margin),
      p(options.p),
      eps(options.eps),
      swap(options.swap),
      reduction(options.reduction) {
  if (!(margin > 0)) throw ValueError(concat("margin must be greater than 0, got ", margin));
}
Tensor TripletMarginLoss::forward(const Tensor& anchor, const Tensor& positive,
                                  const Tensor& negative) {
  return triplet_margin_loss(
      anchor, positive, negative,
      {.margin = margin, .p = p, .eps = eps, .swap = swap, .reduction = reduction});
}

TripletMarginWithDistanceLoss::TripletMarginWithDistanceLoss(const Options& options)
    : distance_function(options.distance_function),
      margin(options.margin),
      swap(options.swap),
      reduction(options.reduction) {
  if (!(margin > 0)) throw ValueError(concat("margin must be greater than 0, got ", margin));
  if (!distance_function) distance = std::make_shared<PairwiseDistance>();
}
Tensor TripletMarginWithDistanceLoss::forward(const Tensor& anchor, const Tensor& positive,
                                              const Tensor& negative) {
  TripletMarginWithDistanceLossOptions options{.distance_function = distance_function,
                                               .margin = margin,
                                               .swap = swap,
                                               .reduction = reduction};
  const detail::Guard guard(*this, "forward() was running");
  if (!distance_function && distance) {
    options.distance_function = [&](const Tensor& a, const Tensor& b) {
      guard.check();  // it is called several times
      return (*distance)(a, b);
    };
  }
  return triplet_margin_with_distance_loss(anchor, positive, negative, options);
}

Tensor CosineSimilarity::forward(const Tensor& x1, const Tensor& x2) {
  return cosine_similarity(x1, x2, {.dim = dim, .eps = eps});
}

Tensor PairwiseDistance::forward(const Tensor& x1, const Tensor& x2) {
  return pairwise_distance(x1, x2, {.p = p, .eps = eps, .keepdim = keepdim});
}

}  // namespace tenon::nn
