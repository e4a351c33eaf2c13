// Losses and distances that are made of other operators.
#include <cmath>
#include <numbers>

#include "base/text.h"
#include "base/warn.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/losses.h"
#include "ops/support/own_arguments.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/activation.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/loss.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::kl_div::info{"kl_div", kind};
constinit OpInfo op::poisson_nll_loss::info{"poisson_nll_loss", kind};
constinit OpInfo op::gaussian_nll_loss::info{"gaussian_nll_loss", kind};
constinit OpInfo op::hinge_embedding_loss::info{"hinge_embedding_loss", kind};
constinit OpInfo op::margin_ranking_loss::info{"margin_ranking_loss", kind};
constinit OpInfo op::cosine_embedding_loss::info{"cosine_embedding_loss", kind};
constinit OpInfo op::triplet_margin_loss::info{"triplet_margin_loss", kind};
constinit OpInfo op::multilabel_soft_margin_loss::info{"multilabel_soft_margin_loss", kind};
constinit OpInfo op::cosine_similarity::info{"cosine_similarity", kind};
constinit OpInfo op::pairwise_distance::info{"pairwise_distance", kind};

namespace {

Tensor at_least(const Tensor& x, double least) { return clamp(x, ClampOptions{.min = least}); }

}  // namespace

template <>
struct Rule<op::kl_div> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target, std::string_view reduction,
                        bool log_target) {
    if (reduction != "mean") return loss(input, target, reduction, log_target);
    // See Note [Arguments of one's own].
    return with_own(
        [](const auto&... own) {
          warn(
              "reduction: 'mean' divides the total loss by both the batch size and the support "
              "size.'batchmean' divides only by the batch size, and aligns with the KL div math "
              "definition.'mean' will be changed to behave the same as 'batchmean' in the next "
              "major release.");
          return loss(own...);
        },
        input, target, reduction, log_target);
  }

 private:
  static Tensor loss(const Tensor& input, const Tensor& target, std::string_view reduction,
                     bool log_target) {
    const bool by_batch = reduction == "batchmean";
    if (!by_batch) reduction_of(reduction);
    const Tensor losses =
        log_target ? target.exp() * (target - input) : xlogy(target, target) - target * input;
    if (!by_batch) return reduced(losses, reduction);
    return input.dim() == 0 ? sum(losses) : sum(losses) / static_cast<double>(input.size(0));
  }
};

template <>
struct Rule<op::poisson_nll_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target, bool log_input, bool full,
                        double eps, std::string_view reduction) {
    reduction_of(reduction);
    Tensor losses = log_input ? input.exp() - target * input : input - target * (input + eps).log();
    if (full) {
      const Tensor stirling =
          target * target.log() - target + (target * (2 * std::numbers::pi)).log() * 0.5;
      losses = losses + masked_fill(stirling, target <= 1, 0);
    }
    return reduced(losses, reduction);
  }
};

template <>
struct Rule<op::gaussian_nll_loss> {
  static Tensor compose(const Tensor& input, const Tensor& target, const Tensor& var, bool full,
                        double eps, std::string_view reduction) {
    reduction_of(reduction);
    // On meta there is nothing to read, and a dtype that cannot be compared is refused all the
    // same.
    if ((var.is_cpu() || var.is_meta()) && !var.body().is_wrapper()) {
      const Tensor negative = any(var.detach() < 0);
      if (var.is_cpu() && negative.item<bool>()) throw ValueError("var has negative entry/entries");
    }
    const Tensor fitted = fit(var, input);
    // Below eps it is eps, and its gradient what it would be there.
    const Tensor now = fitted.detach(), bounded = fitted + (at_least(now, eps) - now);
    Tensor losses = (bounded.log() + square(input - target) / bounded) * 0.5;
    if (full) losses = losses + 0.5 * std::log(2 * std::numbers::pi);
    return reduced(losses, reduction);
  }

 private:
  static Tensor fit(const Tensor& var, const Tensor& input) {
    if (var.shape() == input.shape()) return var;
    Shape front = input.shape();
    if (input.dim() > 0) front.erase(front.size() - 1);
    if (input.dim() > 0 && var.shape() == front) return var.unsqueeze(-1);
    if (var.dim() == input.dim()) {
      std::int64_t differing = 0;
      for (std::size_t d = 0; d < var.shape().size(); ++d) {
        if (var.shape()[d] != input.shape()[d]) differing += var.shape()[d];
      }
      if (differing == 1) return var;
    }
    throw ShapeError(concat("var is of incorrect size: it is of shape ", bracketed(var.shape()),
                            ", and the input of ", bracketed(input.shape())));
  }
};

template <>
struct Rule<op::hinge_embedding_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target, double margin,
                        std::string_view reduction) {
    const Tensor apart_by = at_least(margin - input, 0);
    const Tensor losses = where(target != 1, apart_by, 0.0) + where(target != -1, input, 0.0);
    return reduced(losses, reduction);
  }
};

template <>
struct Rule<op::margin_ranking_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input1, const Tensor& input2, const Tensor& target,
                        double margin, std::string_view reduction) {
    if (input1.dim() != input2.dim() || input1.dim() != target.dim()) {
      throw ShapeError(
          concat("margin_ranking_loss : All input tensors should have same dimension but got ",
                 "sizes: input1: ", size_text(input1), ", input2: ", size_text(input2),
                 ", target: ", size_text(target)));
    }
    return reduced(at_least(-target * (input1 - input2) + margin, 0), reduction);
  }
};

template <>
struct Rule<op::cosine_embedding_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input1, const Tensor& input2, const Tensor& target,
                        double margin, std::string_view reduction) {
    if (target.dim() > 1) {
      throw ShapeError(concat("0D or 1D target tensor expected, multi-target not supported: it is ",
                              "of shape ", bracketed(target.shape())));
    }
    const std::int64_t dims = target.dim() + 1;
    if (input1.dim() != dims || input2.dim() != dims) {
      throw ShapeError(concat(target.dim(), "D target tensor expects ", dims,
                              "D input tensors, but found inputs with sizes ",
                              bracketed(input1.shape()), " and ", bracketed(input2.shape())));
    }
    constexpr double kSmall = 1e-12;
    const auto along = [&](const Tensor& t) { return sum(t, {target.dim()}); };
    const Tensor lengths = (along(input1 * input1) + kSmall) * (along(input2 * input2) + kSmall);
    const Tensor cosine = along(input1 * input2) / lengths.sqrt();
    const Tensor losses = where(target == 1, 1 - cosine, 0.0) +
                          where(target == -1, at_least(cosine - margin, 0), 0.0);
    return reduced(losses, reduction);
  }
};

namespace {

void check_triplet(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                   double margin, std::string_view reduction) {
  reduction_of(reduction);
  if (!(margin > 0)) throw ValueError(concat("margin must be greater than 0, got ", margin));
  if (anchor.dim() == positive.dim() && anchor.dim() == negative.dim()) return;
  throw ShapeError(concat("The anchor, positive, and negative tensors are expected to have the ",
                          "same number of dimensions, but got: anchor ", anchor.dim(),
                          "D, positive ", positive.dim(), "D, and negative ", negative.dim(),
                          "D inputs"));
}

template <class Distance>
Tensor triplet(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
               bool swap, std::string_view reduction, Distance&& distance) {
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (swap) far = minimum(far, distance(positive, negative));
  return reduced(at_least(near - far + margin, 0), reduction);
}

}  // namespace

template <>
struct Rule<op::pairwise_distance> {
  static Tensor compose(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
    const Tensor difference = x1 - x2 + eps;
    if (difference.dim() == 0) {
      throw ShapeError("pairwise_distance: both tensors have no dimensions, and so no vectors");
    }
    return norm(difference, p, {difference.dim() - 1}, {.keepdim = keepdim});
  }
};

template <>
struct Rule<op::triplet_margin_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                        double margin, double p, double eps, bool swap,
                        std::string_view reduction) {
    check_triplet(anchor, positive, negative, margin, reduction);
    return triplet(anchor, positive, negative, margin, swap, reduction,
                   [&](const Tensor& a, const Tensor& b) {
                     return pairwise_distance(a, b, {.p = p, .eps = eps});
                   });
  }
};

template <>
struct Rule<op::multilabel_soft_margin_loss> {
  // Of what PyTorch adds up.
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32};
  static Tensor compose(const Tensor& input, const Tensor& target,
                        const std::optional<Tensor>& weight, std::string_view reduction) {
    if (input.dim() == 0) {
      throw ShapeError(
          "multilabel_soft_margin_loss: the input has no dimensions, and so no classes");
    }
    Tensor losses = (target - 1) * logsigmoid(-input) - target * logsigmoid(input);
    if (weight) losses = losses * *weight;
    return reduced(mean(losses, {input.dim() - 1}), reduction);
  }
};

template <>
struct Rule<op::cosine_similarity> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32};
  static Tensor compose(const Tensor& x1, const Tensor& x2, std::int64_t dim, double eps) {
    const DType dtype = result_type(x1, x2);
    if (!is_floating_point(dtype)) {
      throw DTypeError(
          concat("expected common dtype to be floating point, yet common dtype is ", repr(dtype)));
    }
    const Shape shape = binary_shape(x1, x2);
    const auto unit = [&](const Tensor& x) {
      const Tensor whole = x.to(dtype).expand(shape);
      const Tensor length = norm(whole, 2, {dim}, {.keepdim = true});
      // The bound is no part of the gradient.
      const Tensor now = length.detach();
      return whole / (length + (at_least(now, eps) - now));
    };
    return sum(unit(x1) * unit(x2), {dim});
  }
};

Tensor kl_div(const Tensor& input, const Tensor& target, const KlDivOptions& options) {
  return call<op::kl_div>(input, target, options.reduction, options.log_target);
}
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target,
                        const PoissonNllLossOptions& options) {
  return call<op::poisson_nll_loss>(input, target, options.log_input, options.full, options.eps,
                                    options.reduction);
}
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNllLossOptions& options) {
  return call<op::gaussian_nll_loss>(input, target, var, options.full, options.eps,
                                     options.reduction);
}
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, double var,
                         const GaussianNllLossOptions& options) {
  // See Note [Arguments of one's own].
  const Tensor own_input = input, own_target = target;
  const GaussianNllLossOptions own = options;
  return gaussian_nll_loss(own_input, own_target, full_like(own_input.detach(), var), own);
}
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target,
                            HingeEmbeddingLossOptions options) {
  return call<op::hinge_embedding_loss>(input, target, options.margin, options.reduction);
}
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           MarginOptions options) {
  return call<op::margin_ranking_loss>(input1, input2, target, options.margin, options.reduction);
}
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                             MarginOptions options) {
  return call<op::cosine_embedding_loss>(input1, input2, target, options.margin, options.reduction);
}
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           TripletMarginLossOptions options) {
  return call<op::triplet_margin_loss>(anchor, positive, negative, options.margin, options.p,
                                       options.eps, options.swap, options.reduction);
}
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive,
                                         const Tensor& negative,
                                         const TripletMarginWithDistanceLossOptions& options) {
  check_triplet(anchor, positive, negative, options.margin, options.reduction);
  // See Note [Arguments of one's own].
  return with_own(
      [](const Tensor& a, const Tensor& p, const Tensor& n,
         const TripletMarginWithDistanceLossOptions& own) {
        return triplet(a, p, n, own.margin, own.swap, own.reduction,
                       [&](const Tensor& one, const Tensor& other) {
                         return own.distance_function ? own.distance_function(one, other)
                                                      : pairwise_distance(one, other);
                       });
      },
      anchor, positive, negative, options);
}
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const WeightOptions& options) {
  return call<op::multilabel_soft_margin_loss>(input, target, options.weight, options.reduction);
}
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, CosineSimilarityOptions options) {
  return call<op::cosine_similarity>(x1, x2, options.dim, options.eps);
}
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, PairwiseDistanceOptions options) {
  return call<op::pairwise_distance>(x1, x2, options.p, options.eps, options.keepdim);
}

}  // namespace tenon
