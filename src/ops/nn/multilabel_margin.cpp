// The loss of inputs that have several classes.
#include <algorithm>
#include <vector>

#include "base/text.h"
#include "base/thread_pool.h"
#include "core/element_copy.h"
#include "kernels/elementwise.h"
#include "kernels/pick.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/losses.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/loss.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::multilabel_margin_loss::info{"multilabel_margin_loss", kind};

namespace op {
// Of (N, C) and (N, C), checked.
struct multilabel_margin {
  using Signature = Tensor(const Tensor& input, const Tensor& target, std::string_view reduction);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo multilabel_margin::info{"multilabel_margin_loss", kind};
// How many times each input is inside a margin: as a class that is none, less than as a label.
struct multilabel_margin_slopes {
  using Signature = Tensor(const Tensor& input, const Tensor& target);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo multilabel_margin_slopes::info{"multilabel_margin_slopes", kind};
}  // namespace op

namespace {

// Calls pair(row, label, class, how far the class is inside the label's margin) for every label of
// a row, up to the first that is -1, with every class that is none. Rows are shared out.
template <class T, class F>
void for_inside_pairs(const Tensor& input, const Tensor& target, F&& pair) {
  const std::int64_t rows = input.size(0), classes = input.size(1);
  const T* x = input.data<T>();
  const auto* labels = target.data<std::int64_t>();
  constexpr std::int64_t kGrain = 1 << 15;
  parallel_for(
      0, rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, classes * classes)),
      [&](std::int64_t first, std::int64_t last) {
        std::vector<bool> is_label(static_cast<std::size_t>(classes));
        for (std::int64_t row = first; row < last; ++row) {
          const T* own = x + row * classes;
          const auto* named = labels + row * classes;
          const auto* end = std::find_if(named, named + classes, [](auto c) { return c < 0; });
          is_label.assign(static_cast<std::size_t>(classes), false);
          for (const auto* label = named; label != end; ++label)
            is_label[static_cast<std::size_t>(*label)] = true;
          for (const auto* label = named; label != end; ++label) {
            for (std::int64_t c = 0; c < classes; ++c) {
              if (is_label[static_cast<std::size_t>(c)]) continue;
              const T inside = own[c] - own[*label] + 1;
              if (inside > 0) pair(row, *label, c, inside);
            }
          }
        }
      });
}

// (N, C) of (N, C) or (C).
Tensor as_rows(const Tensor& tensor) { return tensor.dim() < 2 ? tensor.reshape({1, -1}) : tensor; }

// In float or double, packed.
template <class F>
void with_values(const Tensor& input, const Tensor& target, F&& f) {
  const DType wide = compute_dtype(input.dtype());
  const Tensor values = input.to(wide).contiguous(), labels = target.contiguous();
  if (wide == float64) {
    f.template operator()<double>(values, labels);
  } else {
    f.template operator()<float>(values, labels);
  }
}

}  // namespace

template <>
struct Rule<op::multilabel_margin_slopes> {
  static constexpr std::string_view gradient = "";
  static Layout infer(const Tensor& input, const Tensor& /*target*/) {
    return Layout::packed(input.shape(), compute_dtype(input.dtype()), input.device());
  }
  static void cpu(Tensor& out, const Tensor& input, const Tensor& target) {
    with_values(input, target, [&]<class T>(const Tensor& values, const Tensor& labels) {
      T* slopes = out.data<T>();
      const std::int64_t classes = input.size(1);
      std::fill_n(slopes, out.numel(), T(0));
      for_inside_pairs<T>(values, labels,
                          [&](std::int64_t row, std::int64_t label, std::int64_t c, T /*inside*/) {
                            slopes[row * classes + c] += 1;
                            slopes[row * classes + label] -= 1;
                          });
    });
  }
};

template <>
struct Rule<op::multilabel_margin> {
  static constexpr std::string_view gradient = "MultilabelMarginLossBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place < 2; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& input, const Tensor& target,
                       std::string_view reduction) {
    const Tensor each =
        unreduced(grad, reduction, input.size(0)) / static_cast<double>(input.size(1));
    const Tensor slopes = call<op::multilabel_margin_slopes>(input.detach(), target);
    g.set(0, slopes * (each.dim() == 0 ? each : each.reshape({-1, 1})));
  }
  static Layout infer(const Tensor& input, const Tensor& /*target*/, std::string_view reduction) {
    const bool each = reduction_of(reduction) == Reduction::none;
    return Layout::packed(each ? Shape({input.size(0)}) : Shape(), input.dtype(), input.device());
  }
  static void cpu(Tensor& out, const Tensor& input, const Tensor& target,
                  std::string_view reduction) {
    const Tensor losses = zeros({input.size(0)}, {.dtype = float64, .device = input.device()});
    with_values(input, target, [&]<class T>(const Tensor& values, const Tensor& labels) {
      auto* sums = losses.data<double>();
      for_inside_pairs<T>(values, labels,
                          [&](std::int64_t row, std::int64_t /*label*/, std::int64_t /*c*/,
                              T inside) { sums[row] += static_cast<double>(inside); });
    });
    copy_tensor(out, reduced(losses / static_cast<double>(input.size(1)), reduction));
  }
};

template <>
struct Rule<op::multilabel_margin_loss> {
  static constexpr AutocastPolicies autocast = kFullPrecision;
  static Tensor compose(const Tensor& input, const Tensor& target, std::string_view reduction) {
    reduction_of(reduction);
    check_loss_dtype("multilabel_margin_loss", input.dtype());
    if (input.dim() > 2) {
      throw ShapeError(
          concat("Expected non-empty vector or matrix with optional 0-dim batch size, ",
                 "but got: ", bracketed(input.shape())));
    }
    if (target.shape() != input.shape()) {
      throw ShapeError(concat("inconsistent target size: ", bracketed(target.shape()),
                              " for input of size: ", bracketed(input.shape())));
    }
    if (target.dtype() != int64) {
      throw DTypeError(
          concat("multilabel_margin_loss: the target is of int64, not ", repr(target.dtype())));
    }
    const Tensor rows = as_rows(input), labels = as_rows(target);
    if (labels.is_cpu() && !labels.body().is_wrapper()) {
      const auto bad = find_bad_position(labels.shape(), operand(labels), -1, rows.size(1));
      if (bad) {
        throw IndexError(concat("multilabel_margin_loss: argument #2 'target' is out of range: ",
                                bad->value, " is no class of ", rows.size(1), ", nor -1"));
      }
    }
    const Tensor loss = call<op::multilabel_margin>(rows, labels, reduction);
    return input.dim() < 2 && reduction == "none" ? loss.reshape({}) : loss;
  }
};

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, ReductionOptions options) {
  return call<op::multilabel_margin_loss>(input, target, options.reduction);
}

}  // namespace tenon
