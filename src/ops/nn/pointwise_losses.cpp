// Losses of pairs of elements.
#include <initializer_list>
#include <numbers>

#include "base/text.h"
#include "base/warn.h"
#include "core/element_copy.h"
#include "kernels/elementwise.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/losses.h"
#include "ops/support/own_arguments.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/activation.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/loss.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::mse_loss::info{"mse_loss", kind};
constinit OpInfo op::l1_loss::info{"l1_loss", kind};
constinit OpInfo op::smooth_l1_loss::info{"smooth_l1_loss", kind};
constinit OpInfo op::huber_loss::info{"huber_loss", kind};
constinit OpInfo op::binary_cross_entropy::info{"binary_cross_entropy", kind};
constinit OpInfo op::binary_cross_entropy_with_logits::info{"binary_cross_entropy_with_logits",
                                                            kind};
constinit OpInfo op::soft_margin_loss::info{"soft_margin_loss", kind};

Reduction reduction_of(std::string_view text) {
  if (text == "mean") return Reduction::mean;
  if (text == "sum") return Reduction::sum;
  if (text == "none") return Reduction::none;
  throw ValueError(concat(text, " is not a valid value for reduction: it is one of 'none', 'mean' ",
                          "and 'sum'"));
}

Tensor reduced(const Tensor& losses, std::string_view reduction) {
  switch (reduction_of(reduction)) {
    case Reduction::mean: return mean(losses);
    case Reduction::sum: return sum(losses);
    default: return losses;
  }
}

Tensor unreduced(const Tensor& grad, std::string_view reduction, std::int64_t count) {
  return reduction == "mean" ? grad / static_cast<double>(count) : grad;
}

std::string size_text(const Tensor& tensor) {
  return concat("torch.Size(", bracketed(tensor.shape()), ")");
}

void refuse_gradient(std::string_view op, std::string_view argument,
                     const std::optional<Tensor>& tensor) {
  if (!tensor || !is_grad_enabled() || !tensor->requires_grad()) return;
  throw AutogradError(
      concat("The function '", op, "' is not differentiable with respect to argument '", argument,
             "'. This input cannot have requires_grad True: pass ", argument, ".detach()"));
}

void check_loss_dtype(std::string_view op, DType dtype) {
  const DType wide = compute_dtype(dtype);
  if (wide != float32 && wide != float64) not_implemented(op, dtype);
}

namespace {

// The losses of pairs, with what each is called: value(input, target, number) is the loss of each
// pair, slope its derivative by the input, target_slope by the target.
struct Mse {
  static constexpr std::string_view name = "mse_loss", node = "MseLossBackward0";
  static Tensor value(const Tensor& x, const Tensor& t, double) {
    const Tensor d = x - t;
    return d * d;
  }
  static Tensor slope(const Tensor& x, const Tensor& t, double) { return (x - t) * 2; }
  static Tensor target_slope(const Tensor& x, const Tensor& t, double) { return (t - x) * 2; }
};
struct SmoothL1 {
  static constexpr std::string_view name = "smooth_l1_loss", node = "SmoothL1LossBackward0";
  static Tensor value(const Tensor& x, const Tensor& t, double beta) {
    const Tensor d = (x - t).abs();
    return where(d < beta, d * d * 0.5 / beta, d - 0.5 * beta);
  }
  static Tensor slope(const Tensor& x, const Tensor& t, double beta) {
    const Tensor d = x - t;
    return where(d.abs() < beta, d / beta, d.sign());
  }
  static Tensor target_slope(const Tensor& x, const Tensor& t, double beta) {
    return slope(t, x, beta);
  }
};
struct Huber {
  static constexpr std::string_view name = "huber_loss", node = "HuberLossBackward0";
  static Tensor value(const Tensor& x, const Tensor& t, double delta) {
    const Tensor d = (x - t).abs();
    return where(d <= delta, d * d * 0.5, (d - 0.5 * delta) * delta);
  }
  static Tensor slope(const Tensor& x, const Tensor& t, double delta) {
    const Tensor d = x - t;
    return where(d.abs() <= delta, d, d.sign() * delta);
  }
  static Tensor target_slope(const Tensor& x, const Tensor& t, double delta) {
    return slope(t, x, delta);
  }
};
struct SoftMargin {
  static constexpr std::string_view name = "soft_margin_loss", node = "SoftMarginLossBackward0";
  static Tensor value(const Tensor& x, const Tensor& t, double) { return -logsigmoid(t * x); }
  static Tensor slope(const Tensor& x, const Tensor& t, double) { return -t * (-t * x).sigmoid(); }
  static Tensor target_slope(const Tensor& x, const Tensor& t, double) { return slope(t, x, 0); }
};

}  // namespace

namespace op {
// Of arguments of one shape and dtype. The number is beta or delta.
template <class F>
struct Pointwise {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::string_view reduction,
                           double number);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
template <class F>
constinit OpInfo Pointwise<F>::info{F::name, OpKind::pure};
}  // namespace op

template <class F>
struct Rule<op::Pointwise<F>> {
  static constexpr std::string_view gradient = F::node;
  static bool saves(std::size_t place, const Wanted&) { return place < 2; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& input, const Tensor& target,
                       std::string_view reduction, double number) {
    const DType wide = compute_dtype(grad.dtype());
    const Tensor each = unreduced(grad.to(wide), reduction, input.numel());
    const Tensor x = input.to(wide), t = target.to(wide);
    if (g.wanted(0)) g.set(0, each * F::slope(x, t, number));
    if (g.wanted(1)) g.set(1, each * F::target_slope(x, t, number));
  }
  static Layout infer(const Tensor& input, const Tensor& target, std::string_view reduction,
                      double) {
    check_loss_dtype(F::name, input.dtype());
    const Tensor both[] = {input, target};
    const bool each = reduction_of(reduction) == Reduction::none;
    return Layout::packed(each ? input.shape() : Shape(), input.dtype(),
                          same_device(F::name, both));
  }
  static void run(Tensor& out, const Tensor& input, const Tensor& target,
                  std::string_view reduction, double number) {
    const DType wide = compute_dtype(input.dtype());
    copy_tensor(out, reduced(F::value(input.to(wide), target.to(wide), number), reduction));
  }
};

namespace {

void warn_of_sizes(const Tensor& input, const Tensor& target) {
  warn(concat("Using a target size (", size_text(target), ") that is different to the input size (",
              size_text(input),
              "). This will likely lead to incorrect results due to broadcasting. Please ensure "
              "they have the same size."));
}
// A loss of two tensors, with a warning before if they are not of one size.
template <class Loss, class... A>
Tensor of_one_size(Loss&& loss, const Tensor& input, const Tensor& target, const A&... rest) {
  if (input.shape() == target.shape()) [[likely]]
    return loss(input, target, rest...);
  // See Note [Arguments of one's own].
  return with_own(
      [&](const Tensor& own_input, const Tensor& own_target, const auto&... own) -> Tensor {
        warn_of_sizes(own_input, own_target);
        return loss(own_input, own_target, own...);
      },
      input, target, rest...);
}

// Both of one shape and dtype.
struct Pair {
  Pair(std::string_view op, const Tensor& one, const Tensor& other) {
    const Tensor both[] = {one, other};
    same_device(op, both);
    const Shape shape = binary_shape(one, other);
    const DType dtype = result_type(one, other);
    input = one.to(dtype).expand(shape);
    target = other.to(dtype).expand(shape);
  }
  Tensor input, target;
};

template <class F>
Tensor pointwise(const Tensor& input, const Tensor& target, std::string_view reduction,
                 double number) {
  const Pair pair(F::name, input, target);
  return call<op::Pointwise<F>>(pair.input, pair.target, reduction, number);
}

void check_weight(const Tensor& input, const Tensor& weight) {
  if (weight.shape() == input.shape()) return;
  throw ShapeError(concat("Weights and input must have the same size: the weight is of shape ",
                          bracketed(weight.shape()), " and the input of ",
                          bracketed(input.shape())));
}

// Over the sum of the weights, not their number.
Tensor weighted_mean(const Tensor& losses, const Tensor& weight, std::string_view reduction) {
  const Tensor weighted = losses * weight;
  if (reduction_of(reduction) == Reduction::mean) return sum(weighted) / sum(weight);
  return reduced(weighted, reduction);
}

}  // namespace

template <>
struct Rule<op::mse_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target, std::string_view reduction,
                        const std::optional<Tensor>& weight) {
    return of_one_size(loss, input, target, reduction, weight);
  }

 private:
  static Tensor loss(const Tensor& input, const Tensor& target, std::string_view reduction,
                     const std::optional<Tensor>& weight) {
    if (!weight) return pointwise<Mse>(input, target, reduction, 0);
    check_weight(input, *weight);
    return weighted_mean(square(input - target), *weight, reduction);
  }
};
template <>
struct Rule<op::l1_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target, std::string_view reduction,
                        const std::optional<Tensor>& weight) {
    return of_one_size(loss, input, target, reduction, weight);
  }

 private:
  static Tensor loss(const Tensor& input, const Tensor& target, std::string_view reduction,
                     const std::optional<Tensor>& weight) {
    const Tensor losses = (input - target).abs();
    if (!weight) return reduced(losses, reduction);
    check_weight(input, *weight);
    return weighted_mean(losses, *weight, reduction);
  }
};
template <>
struct Rule<op::smooth_l1_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target, std::string_view reduction,
                        double beta) {
    if (!(beta >= 0)) {
      throw ValueError(
          concat("smooth_l1_loss does not support negative values for beta, and it is ", beta));
    }
    return of_one_size(loss, input, target, reduction, beta);
  }

 private:
  static Tensor loss(const Tensor& input, const Tensor& target, std::string_view reduction,
                     double beta) {
    if (beta == 0) return reduced((input - target).abs(), reduction);
    return pointwise<SmoothL1>(input, target, reduction, beta);
  }
};
template <>
struct Rule<op::huber_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target, std::string_view reduction,
                        double delta, const std::optional<Tensor>& weight) {
    if (!(delta > 0)) {
      throw ValueError(
          concat("huber_loss does not support non-positive values for delta, and it is ", delta));
    }
    return of_one_size(loss, input, target, reduction, delta, weight);
  }

 private:
  static Tensor loss(const Tensor& input, const Tensor& target, std::string_view reduction,
                     double delta, const std::optional<Tensor>& weight) {
    if (!weight) return pointwise<Huber>(input, target, reduction, delta);
    check_weight(input, *weight);
    return reduced(pointwise<Huber>(input, target, "none", delta) * *weight, reduction);
  }
};
template <>
struct Rule<op::soft_margin_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target, std::string_view reduction) {
    return pointwise<SoftMargin>(input, target, reduction, 0);
  }
};

// Binary cross entropy, of probabilities and of logits.
namespace op {
struct bce {
  using Signature = Tensor(const Tensor& input, const Tensor& target,
                           const std::optional<Tensor>& weight, std::string_view reduction);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo bce::info{"binary_cross_entropy", kind};
struct bce_with_logits {
  using Signature = Tensor(const Tensor& input, const Tensor& target,
                           const std::optional<Tensor>& weight,
                           const std::optional<Tensor>& pos_weight, std::string_view reduction);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo bce_with_logits::info{"binary_cross_entropy_with_logits", kind};
}  // namespace op

namespace {

Layout infer_bce(const OpInfo& op, const Tensor& input, std::string_view reduction,
                 std::initializer_list<const std::optional<Tensor>*> weights) {
  check_loss_dtype(op.name(), input.dtype());
  for (const std::optional<Tensor>* weight : weights) {
    if (*weight) check_convertible((*weight)->dtype(), compute_dtype(input.dtype()));
  }
  const bool each = reduction_of(reduction) == Reduction::none;
  return Layout::packed(each ? input.shape() : Shape(), input.dtype(), input.device());
}

}  // namespace

template <>
struct Rule<op::bce> {
  static constexpr std::string_view gradient = "BinaryCrossEntropyBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place < 3; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& input, const Tensor& target,
                       const std::optional<Tensor>& weight, std::string_view reduction) {
    const DType wide = compute_dtype(grad.dtype());
    const Tensor x = input.to(wide), t = target.to(wide);
    Tensor each = unreduced(grad.to(wide), reduction, x.numel());
    if (weight) each = each * weight->to(wide);
    // PyTorch's least divisor is a float, also of doubles.
    constexpr double kLeast = 1e-12F;
    if (g.wanted(0)) g.set(0, each * (x - t) / clamp((1 - x) * x, ClampOptions{.min = kLeast}));
    if (g.wanted(1)) g.set(1, each * ((1 - x).log() - x.log()));
  }
  static Layout infer(const Tensor& input, const Tensor& /*target*/,
                      const std::optional<Tensor>& weight, std::string_view reduction) {
    return infer_bce(op::bce::info, input, reduction, {&weight});
  }
  static void run(Tensor& out, const Tensor& input, const Tensor& target,
                  const std::optional<Tensor>& weight, std::string_view reduction) {
    const DType wide = compute_dtype(input.dtype());
    const Tensor x = input.to(wide), t = target.to(wide);
    // A logarithm is not below -100, so that a wrong certainty has a loss that is finite.
    const auto bounded = [](const Tensor& log) { return clamp(log, ClampOptions{.min = -100}); };
    Tensor losses = (t - 1) * bounded(log1p(-x)) - t * bounded(x.log());
    if (weight) losses = losses * weight->to(wide);
    copy_tensor(out, reduced(losses, reduction));
  }
};

template <>
struct Rule<op::bce_with_logits> {
  static constexpr std::string_view gradient = "BinaryCrossEntropyWithLogitsBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place < 4; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& x, const Tensor& t,
                       const std::optional<Tensor>& weight, const std::optional<Tensor>& pos_weight,
                       std::string_view reduction) {
    Tensor each = unreduced(grad, reduction, x.numel());
    if (weight) each = each * *weight;
    if (g.wanted(0)) {
      const Tensor positive = pos_weight ? t * *pos_weight : t;
      const Tensor total = pos_weight ? positive + 1 - t : Tensor();
      const Tensor s = x.sigmoid();
      g.set(0, each * ((pos_weight ? total * s : s) - positive));
    }
    if (g.wanted(1)) {
      const Tensor slope = pos_weight ? -x - (*pos_weight - 1) * logsigmoid(x) : -x;
      g.set(1, each * slope);
    }
  }
  static Layout infer(const Tensor& input, const Tensor& /*target*/,
                      const std::optional<Tensor>& weight, const std::optional<Tensor>& pos_weight,
                      std::string_view reduction) {
    return infer_bce(op::bce_with_logits::info, input, reduction, {&pos_weight, &weight});
  }
  static void run(Tensor& out, const Tensor& input, const Tensor& target,
                  const std::optional<Tensor>& weight, const std::optional<Tensor>& pos_weight,
                  std::string_view reduction) {
    const DType wide = compute_dtype(input.dtype());
    const Tensor x = input.to(wide), t = target.to(wide), log = logsigmoid(x);
    const Tensor positive = pos_weight ? ((pos_weight->to(wide) - 1) * t + 1) * log : log;
    Tensor losses = (1 - t) * x - positive;
    if (weight) losses = losses * weight->to(wide);
    copy_tensor(out, reduced(losses, reduction));
  }
};

namespace {

void check_broadcasts(std::string_view op, const char* name, const std::optional<Tensor>& weight,
                      const Tensor& input) {
  if (!weight) return;
  const Tensor both[] = {input, *weight};
  same_device(op, both);
  if (broadcasts_to(weight->shape(), input.shape())) return;
  throw ShapeError(concat(op, ": ", name, " of shape ", bracketed(weight->shape()),
                          " does not broadcast to an input of shape ", bracketed(input.shape())));
}

}  // namespace

template <>
struct Rule<op::binary_cross_entropy> {
  static constexpr AutocastPolicies autocast = {AutocastPolicy::fp32, AutocastPolicy::banned};
  static Tensor compose(const Tensor& input, const Tensor& target,
                        const std::optional<Tensor>& weight, std::string_view reduction) {
    constexpr std::string_view kName = "binary_cross_entropy";
    if (target.shape() != input.shape()) {
      throw ShapeError(concat("Using a target size (", size_text(target),
                              ") that is different to the input size (", size_text(input),
                              ") is deprecated. Please ensure they have the same size."));
    }
    check_broadcasts(kName, "weight", weight, input);
    const Tensor both[] = {input, target};
    same_device(kName, both);
    if (input.dtype() != target.dtype()) {
      throw DTypeError(concat(kName, ": the input is of ", repr(input.dtype()),
                              " but the target of ", repr(target.dtype()),
                              ": convert one with to()"));
    }
    check_probabilities(input, "input",
                        ": use binary_cross_entropy_with_logits for what is not a probability");
    check_probabilities(target, "target", "");
    refuse_gradient(kName, "weight", weight);
    return call<op::bce>(input, target, weight, reduction);
  }

 private:
  static void check_probabilities(const Tensor& tensor, std::string_view which,
                                  std::string_view advice) {
    if (!tensor.is_cpu() || tensor.body().is_wrapper() || tensor.numel() == 0) return;
    check_loss_dtype("binary_cross_entropy", tensor.dtype());
    const Tensor x = tensor.detach();
    if (all((x >= 0).logical_and(x <= 1)).item<bool>()) return;
    throw ValueError(concat("all elements of ", which,
                            " should be between 0 and 1, but they are from ", min(x).item<double>(),
                            " to ", max(x).item<double>(), advice));
  }
};

template <>
struct Rule<op::binary_cross_entropy_with_logits> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target,
                        const std::optional<Tensor>& weight, std::string_view reduction,
                        const std::optional<Tensor>& pos_weight) {
    constexpr std::string_view kName = "binary_cross_entropy_with_logits";
    if (target.shape() != input.shape()) {
      throw ShapeError(concat("Target size (", size_text(target),
                              ") must be the same as input size (", size_text(input), ")"));
    }
    check_broadcasts(kName, "weight", weight, input);
    check_broadcasts(kName, "pos_weight", pos_weight, input);
    const Pair pair(kName, input, target);
    refuse_gradient(kName, "weight", weight);
    refuse_gradient(kName, "pos_weight", pos_weight);
    return call<op::bce_with_logits>(pair.input, pair.target, weight, pos_weight, reduction);
  }
};

Tensor mse_loss(const Tensor& input, const Tensor& target, const MseLossOptions& options) {
  return call<op::mse_loss>(input, target, options.reduction, options.weight);
}
Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossOptions& options) {
  return call<op::l1_loss>(input, target, options.reduction, options.weight);
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target,
                      const SmoothL1LossOptions& options) {
  return call<op::smooth_l1_loss>(input, target, options.reduction, options.beta);
}
Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossOptions& options) {
  return call<op::huber_loss>(input, target, options.reduction, options.delta, options.weight);
}
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, ReductionOptions options) {
  return call<op::soft_margin_loss>(input, target, options.reduction);
}
Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const WeightOptions& options) {
  return call<op::binary_cross_entropy>(input, target, options.weight, options.reduction);
}
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BceWithLogitsOptions& options) {
  return call<op::binary_cross_entropy_with_logits>(input, target, options.weight,
                                                    options.reduction, options.pos_weight);
}

}  // namespace tenon
