// Losses of classes.
#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/elementwise.h"
#include "kernels/pick.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/losses.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/activation.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/loss.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/scatter.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::nll_loss::info{"nll_loss", kind};
constinit OpInfo op::cross_entropy::info{"cross_entropy", kind};
constinit OpInfo op::multi_margin_loss::info{"multi_margin_loss", kind};

namespace op {
// Of (N, C, ...) and int64 (N, ...), checked.
struct nll {
  using Signature = Tensor(const Tensor& input, const Tensor& target,
                           const std::optional<Tensor>& weight, std::int64_t ignore_index,
                           std::string_view reduction);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo nll::info{"nll_loss", kind};
// Of (N, C) and (N), checked.
struct multi_margin {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::int64_t p, double margin,
                           const std::optional<Tensor>& weight, std::string_view reduction);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo multi_margin::info{"multi_margin_loss", kind};
}  // namespace op

namespace {

// Targets that count, a class for each of them, and its weight: 0 for those that do not.
struct Classes {
  Classes(const Tensor& target, std::int64_t ignore_index, const std::optional<Tensor>& weight,
          DType dtype)
      : counts(target != ignore_index), named(masked_fill(target, logical_not(counts), 0)) {
    weights = counts.to(dtype);
    if (weight) {
      const Tensor of_each = index_select(weight->to(dtype), 0, named.reshape({-1}));
      weights = masked_fill(of_each.reshape(target.shape()), logical_not(counts), 0);
    }
  }
  Tensor counts, named, weights;
};

}  // namespace

template <>
struct Rule<op::nll> {
  static std::string_view gradient_name(const Tensor& input, const Tensor&,
                                        const std::optional<Tensor>&, std::int64_t,
                                        std::string_view) {
    return input.dim() > 2 ? "NllLoss2DBackward0" : "NllLossBackward0";
  }
  static bool saves(std::size_t place, const Wanted&) { return place == 1 || place == 2; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*input*/,
                       const Tensor& target, const std::optional<Tensor>& weight,
                       std::int64_t ignore_index, std::string_view reduction) {
    if (!g.wanted(0)) return;
    const DType wide = compute_dtype(grad.dtype());
    const Classes classes(target, ignore_index, weight, wide);
    Tensor each = -grad.to(wide) * classes.weights;
    if (reduction == "mean") each = each / sum(classes.weights);
    // Where all are ignored that is 0 / 0, and what is ignored has no gradient.
    each = masked_fill(each, logical_not(classes.counts), 0).to(grad.dtype());
    const Tensor none = zeros(g.shape(0), {.dtype = grad.dtype(), .device = grad.device()});
    g.set(0, none.scatter(1, classes.named.unsqueeze(1), each.unsqueeze(1)));
  }
  static Layout infer(const Tensor& input, const Tensor& target,
                      const std::optional<Tensor>& weight, std::int64_t,
                      std::string_view reduction) {
    check_loss_dtype("nll_loss", input.dtype());
    if (weight) check_convertible(weight->dtype(), compute_dtype(input.dtype()));
    const bool each = reduction_of(reduction) == Reduction::none;
    return Layout::packed(each ? target.shape() : Shape(), input.dtype(), input.device());
  }
  static void run(Tensor& out, const Tensor& input, const Tensor& target,
                  const std::optional<Tensor>& weight, std::int64_t ignore_index,
                  std::string_view reduction) {
    const DType wide = compute_dtype(input.dtype());
    const Classes classes(target, ignore_index, weight, wide);
    const Tensor picked = gather(input, 1, classes.named.unsqueeze(1)).squeeze(1).to(wide);
    const Tensor losses = masked_fill(-picked * classes.weights, logical_not(classes.counts), 0);
    const bool averaged = reduction == "mean";
    copy_tensor(out, averaged ? sum(losses) / sum(classes.weights) : reduced(losses, reduction));
  }
};

namespace {

void check_class_weight(std::string_view op, const std::optional<Tensor>& weight,
                        std::int64_t classes) {
  if (!weight || (weight->dim() == 1 && weight->numel() == classes)) return;
  throw ShapeError(concat(
      op, ": weight tensor should be defined either for all ", classes,
      " classes or no classes but got weight tensor of shape: ", bracketed(weight->shape())));
}

// Both are there to be looked at.
bool has_values(const Tensor& tensor) { return tensor.is_cpu() && !tensor.body().is_wrapper(); }

void check_classes_exist(std::string_view op, const Tensor& classes, std::int64_t count) {
  if (!has_values(classes)) return;
  const auto bad = find_bad_position(classes.shape(), operand(classes), 0, count);
  if (!bad) return;
  throw IndexError(concat(op, ": Target ", bad->value, " is out of bounds: there are ", count,
                          " classes (it stands at ", bracketed(bad->place),
                          " of a target of shape ", bracketed(classes.shape()), ")"));
}

void check_class_dtype(std::string_view op, const Tensor& target) {
  if (target.dtype() == int64 || target.dtype() == uint8) return;
  throw DTypeError(concat(op, ": expected target dtype to be Long or Byte, but got ",
                          info(target.dtype()).scalar_name,
                          ": classes are int64, or probabilities of the input's shape"));
}

void check_class_shapes(const Tensor& input, const Tensor& target) {
  if (input.dim() == 0) throw ShapeError("Expected 1 or more dimensions (got 0)");
  if (input.dim() == 1) {
    if (target.dim() == 0 || (target.dim() == 1 && target.size(0) == input.size(0))) return;
    throw ShapeError(concat("nll_loss: an input of shape ", bracketed(input.shape()),
                            " is one sample, whose target has no dimensions, but it is of shape ",
                            bracketed(target.shape())));
  }
  if (target.dim() == 0 || input.size(0) != target.size(0)) {
    throw ShapeError(
        concat("Expected input batch_size (", input.size(0), ") to match target batch_size (",
               target.dim() == 0 ? 0 : target.size(0), "): the input is of shape ",
               bracketed(input.shape()), " and the target of ", bracketed(target.shape())));
  }
  Shape expected = input.shape();
  expected.erase(1);
  if (target.shape() != expected) {
    throw ShapeError(concat("Expected target size ", bracketed(expected), ", got ",
                            bracketed(target.shape()), " for an input of shape ",
                            bracketed(input.shape())));
  }
}

std::int64_t class_dim(const Tensor& input) { return input.dim() == 1 ? 0 : 1; }

Tensor checked_nll(std::string_view op, const Tensor& input, const Tensor& target,
                   const std::optional<Tensor>& weight, std::int64_t ignore_index,
                   std::string_view reduction) {
  reduction_of(reduction);
  check_class_shapes(input, target);
  check_class_dtype(op, target);
  check_loss_dtype(op, input.dtype());
  const std::int64_t classes = input.size(class_dim(input));
  check_class_weight(op, weight, classes);
  const Tensor both[] = {input, target};
  same_device(op, both);
  if (weight) {
    const Tensor pair[] = {input, *weight};
    same_device(op, pair);
  }
  refuse_gradient("nll_loss", "weight", weight);
  const Tensor named = target.to(int64);
  if (has_values(named))
    check_classes_exist(op, masked_fill(named, named == ignore_index, 0), classes);
  if (input.dim() > 1) return call<op::nll>(input, named, weight, ignore_index, reduction);
  // One sample is a batch of one.
  if (target.dim() == 1 && target.size(0) != 1) {
    throw ShapeError(concat("nll_loss: an input of shape ", bracketed(input.shape()),
                            " is one sample, and has one target, not ", target.size(0)));
  }
  const Tensor loss =
      call<op::nll>(input.unsqueeze(0), named.reshape({1}), weight, ignore_index, reduction);
  return reduction == "none" ? loss.reshape(target.shape()) : loss;
}

}  // namespace

template <>
struct Rule<op::nll_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target,
                        const std::optional<Tensor>& weight, std::int64_t ignore_index,
                        std::string_view reduction) {
    return checked_nll("nll_loss", input, target, weight, ignore_index, reduction);
  }
};

template <>
struct Rule<op::cross_entropy> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
  static Tensor compose(const Tensor& input, const Tensor& target,
                        const std::optional<Tensor>& weight, std::int64_t ignore_index,
                        std::string_view reduction, double label_smoothing) {
    reduction_of(reduction);
    if (!(label_smoothing >= 0 && label_smoothing <= 1)) {
      throw ValueError(
          concat("label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing));
    }
    if (input.dim() == 0) throw ShapeError("Expected 1 or more dimensions (got 0)");
    if (input.shape() == target.shape())
      return of_probabilities(input, target, weight, ignore_index, reduction, label_smoothing);
    check_class_dtype("cross_entropy", target);
    const Tensor log = log_softmax(input, class_dim(input));
    const Tensor loss = checked_nll("cross_entropy", log, target, weight, ignore_index, reduction);
    if (label_smoothing == 0) return loss;
    const Tensor even = of_all_classes(log, target, weight, ignore_index, reduction);
    const auto classes = static_cast<double>(input.size(class_dim(input)));
    return loss * (1 - label_smoothing) + even * (label_smoothing / classes);
  }

 private:
  static Tensor along_classes(const Tensor& weight, const Tensor& input) {
    Shape shape(Dims::filled(static_cast<std::size_t>(input.dim()), 1));
    shape[static_cast<std::size_t>(class_dim(input))] = weight.numel();
    return weight.reshape(shape);
  }

  static Tensor of_probabilities(const Tensor& input, const Tensor& target,
                                 const std::optional<Tensor>& weight, std::int64_t ignore_index,
                                 std::string_view reduction, double label_smoothing) {
    if (!target.is_floating_point()) {
      throw DTypeError(concat("Expected floating point type for target with class probabilities, ",
                              "got ", info(target.dtype()).scalar_name, " of shape ",
                              bracketed(target.shape()),
                              ": classes have one dimension less than the input"));
    }
    if (ignore_index >= 0)
      throw ValueError("ignore_index is not supported for floating point target");
    const std::int64_t dim = class_dim(input), classes = input.size(dim);
    check_class_weight("cross_entropy", weight, classes);
    const auto count = static_cast<double>(classes);
    const Tensor expected =
        label_smoothing > 0 ? target * (1 - label_smoothing) + label_smoothing / count : target;
    Tensor losses = log_softmax(input, dim) * expected;
    if (weight) losses = losses * along_classes(*weight, input);
    switch (reduction_of(reduction)) {
      case Reduction::none: return -sum(losses, {dim});
      case Reduction::sum: return -sum(losses);
      default: return -sum(losses) / (static_cast<double>(input.numel()) / count);
    }
  }

  // What the loss would be if all classes were equally right.
  static Tensor of_all_classes(const Tensor& log, const Tensor& target,
                               const std::optional<Tensor>& weight, std::int64_t ignore_index,
                               std::string_view reduction) {
    const std::int64_t dim = class_dim(log);
    const Tensor weighted = weight ? log * along_classes(*weight, log) : log;
    const Classes classes(target.to(int64), ignore_index, weight, log.dtype());
    const Tensor losses =
        masked_fill(-sum(weighted, {dim}), logical_not(classes.counts).reshape(target.shape()), 0);
    if (reduction != "mean") return reduced(losses, reduction);
    return sum(losses) / sum(classes.weights);
  }
};

namespace {

// Rows of (N, C), and where the class of each is.
struct Margins {
  Margins(const Tensor& input, const Tensor& target, double margin) {
    const Tensor own = gather(input, 1, target.unsqueeze(1));
    is_own = arange(input.size(1), {.device = input.device()}) == target.unsqueeze(1);
    // How far each other class is inside the margin.
    inside = masked_fill(clamp(input - own + margin, ClampOptions{.min = 0}), is_own, 0);
  }
  Tensor is_own, inside;
};

}  // namespace

template <>
struct Rule<op::multi_margin> {
  static constexpr std::string_view gradient = "MultiMarginLossBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place < 3; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& input, const Tensor& target,
                       std::int64_t p, double margin, const std::optional<Tensor>& weight,
                       std::string_view reduction) {
    if (!g.wanted(0)) return;
    const Margins margins(input, target, margin);
    Tensor each = unreduced(grad, reduction, input.size(0)) / static_cast<double>(input.size(1));
    if (weight) each = each * index_select(*weight, 0, target);
    const Tensor slope = p == 1 ? (margins.inside > 0).to(input.dtype()) : margins.inside * 2;
    const Tensor others = slope * (each.dim() == 0 ? each : each.unsqueeze(1));
    g.set(0, where(margins.is_own, -sum(others, {1}, {.keepdim = true}), others));
  }
  static Layout infer(const Tensor& input, const Tensor& target, std::int64_t, double,
                      const std::optional<Tensor>& weight, std::string_view reduction) {
    if (weight) check_convertible(weight->dtype(), compute_dtype(input.dtype()));
    const bool each = reduction_of(reduction) == Reduction::none;
    return Layout::packed(each ? target.shape() : Shape(), input.dtype(), input.device());
  }
  static void run(Tensor& out, const Tensor& input, const Tensor& target, std::int64_t p,
                  double margin, const std::optional<Tensor>& weight, std::string_view reduction) {
    const DType wide = compute_dtype(input.dtype());
    const Margins margins(input.to(wide), target, margin);
    Tensor losses = sum(p == 1 ? margins.inside : square(margins.inside), {1}) /
                    static_cast<double>(input.size(1));
    if (weight) losses = losses * index_select(weight->to(wide), 0, target);
    copy_tensor(out, reduced(losses, reduction));
  }
};

namespace {

// (N, C) of (N, C) or (C).
Tensor as_rows(const Tensor& tensor) { return tensor.dim() < 2 ? tensor.reshape({1, -1}) : tensor; }

}  // namespace

template <>
struct Rule<op::multi_margin_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target, std::int64_t p, double margin,
                        const std::optional<Tensor>& weight, std::string_view reduction) {
    reduction_of(reduction);
    if (p != 1 && p != 2) throw ValueError(concat("only p == 1 and p == 2 supported, not ", p));
    check_loss_dtype("multi_margin_loss", input.dtype());
    if (input.dim() > 2 || (input.dim() == 2 && input.size(1) == 0) ||
        (input.dim() == 1 && input.size(0) == 0)) {
      throw ShapeError(
          concat("Expected non-empty vector or matrix with optional 0-dim batch size, ",
                 "but got: ", bracketed(input.shape())));
    }
    const Tensor rows = as_rows(input);
    const bool fits = input.dim() == 2 ? target.dim() == 1 : target.dim() <= 1;
    if (!fits || target.numel() != rows.size(0)) {
      throw ShapeError(concat("multi_margin_loss: target tensor should be 1-D with size equal to ",
                              "the number of input samples (batch size). Expected target size [",
                              rows.size(0), "], but got ", bracketed(target.shape()),
                              ". Input has shape ", bracketed(input.shape())));
    }
    if (target.dtype() != int64) {
      throw DTypeError(
          concat("multi_margin_loss: the target is of int64, not ", repr(target.dtype())));
    }
    if (weight && weight->dim() != 1) {
      throw ShapeError(
          concat("weight must be one-dimensional, and its shape is ", bracketed(weight->shape())));
    }
    if (weight && weight->numel() != rows.size(1)) {
      throw ShapeError(concat("inconsistent weight size, expected ", rows.size(1), " but got ",
                              bracketed(weight->shape())));
    }
    check_classes_exist("multi_margin_loss", target, rows.size(1));
    refuse_gradient("multi_margin_loss", "weight", weight);
    const Tensor loss =
        call<op::multi_margin>(rows, target.reshape({-1}), p, margin, weight, reduction);
    return reduction == "none" ? loss.reshape(target.shape()) : loss;
  }
};

Tensor nll_loss(const Tensor& input, const Tensor& target, const NllLossOptions& options) {
  return call<op::nll_loss>(input, target, options.weight, options.ignore_index, options.reduction);
}
Tensor cross_entropy(const Tensor& input, const Tensor& target,
                     const CrossEntropyOptions& options) {
  return call<op::cross_entropy>(input, target, options.weight, options.ignore_index,
                                 options.reduction, options.label_smoothing);
}
Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                         const MultiMarginLossOptions& options) {
  return call<op::multi_margin_loss>(input, target, options.p, options.margin, options.weight,
                                     options.reduction);
}

}  // namespace tenon
