// The convolutions that users call, in terms of the one operator.
#include <atomic>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "base/warn.h"
#include "ops/elementwise/operands.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/convolution.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::conv1d::info{"conv1d", kind};
constinit OpInfo op::conv2d::info{"conv2d", kind};
constinit OpInfo op::conv3d::info{"conv3d", kind};
constinit OpInfo op::conv_transpose1d::info{"conv_transpose1d", kind};
constinit OpInfo op::conv_transpose2d::info{"conv_transpose2d", kind};
constinit OpInfo op::conv_transpose3d::info{"conv_transpose3d", kind};

namespace {

// The input with a batch, and whether it had one.
struct Batched {
  Tensor input;
  bool had_batch;
};
Batched batched(const OpInfo& op, const Tensor& input, const Tensor& weight, std::int64_t dims) {
  if (input.dim() != dims + 1 && input.dim() != dims + 2) {
    throw ShapeError(concat("Expected ", dims + 1, "D (unbatched) or ", dims + 2,
                            "D (batched) input to ", op.name(),
                            ", but got input of size: ", bracketed(input.shape())));
  }
  if (weight.dim() != dims + 2) {
    throw ShapeError(concat("Expected ", dims + 2, "-dimensional weight to ", op.name(),
                            ", but got weight of size ", bracketed(weight.shape()),
                            " for an input of size ", bracketed(input.shape())));
  }
  const bool had_batch = input.dim() == dims + 2;
  return {had_batch ? input : input.unsqueeze(0), had_batch};
}
Tensor as_it_came(const Tensor& result, const Batched& batched) {
  return batched.had_batch ? result : result.squeeze(0);
}

// What "same" puts before the input; where more is needed behind it, that is put there, and is more
// than was hoped for.
struct SamePadding {
  Dims before;
  bool is_uneven = false;
};
SamePadding same_padding(Tensor& input, const Tensor& weight, const Dims& stride,
                         const Dims& dilation) {
  for (const std::int64_t step : stride) {
    if (step != 1) {
      throw ValueError(concat("padding='same' is not supported for strided convolutions, and ",
                              "stride is ", bracketed(stride)));
    }
  }
  SamePadding padding;
  for (std::size_t d = 0; d < static_cast<std::size_t>(weight.dim()) - 2; ++d) {
    const std::int64_t step = d < dilation.size() ? dilation[d] : 1;
    const auto reach = checked_mul(step, weight.shape()[d + 2] - 1);
    if (!reach) {
      throw ShapeError(concat("convolution: a dilation of ", bracketed(dilation),
                              " is too large for a weight of size ", bracketed(weight.shape())));
    }
    const std::int64_t total = *reach;
    padding.before.push_back(total / 2);
    if (total % 2 == 0) continue;
    padding.is_uneven = true;
    Shape more = input.shape();
    more[d + 2] = 1;
    const Tensor nothing = zeros(more, {.dtype = input.dtype(), .device = input.device()});
    input = cat({input, nothing}, static_cast<std::int64_t>(d) + 2);
  }
  return padding;
}

Tensor convolve(const OpInfo& op, std::size_t dims, const Tensor& input, const Tensor& weight,
                const std::optional<Tensor>& bias, const Dims& stride, const Dims& padding,
                std::string_view padding_text, const Dims& dilation, std::int64_t groups) {
  Batched all = batched(op, input, weight, static_cast<std::int64_t>(dims));
  const Dims steps = expanded(stride, dims), spread = expanded(dilation, dims);
  Dims before = padding_text.empty() ? expanded(padding, dims) : Dims::filled(dims, 0);
  bool is_uneven = false;
  if (padding_text == "same") {
    SamePadding same = same_padding(all.input, weight, steps, spread);
    before = std::move(same.before);
    is_uneven = same.is_uneven;
  } else if (!padding_text.empty() && padding_text != "valid") {
    throw ValueError(concat("Invalid padding string: '", padding_text,
                            "', should be one of 'same' and 'valid'"));
  }
  const Tensor result = convolution(all.input, weight,
                                    {.bias = bias.value_or(Tensor()),
                                     .stride = steps,
                                     .padding = before,
                                     .dilation = spread,
                                     .groups = groups});
  // When the arguments are done with: the handler may change or destroy them.
  static constinit std::atomic<bool> said{false};
  if (is_uneven) {
    warn_once(said,
              "Using padding='same' with even kernel lengths and odd dilation may require a "
              "zero-padded copy of the input be created");
  }
  return as_it_came(result, all);
}
Tensor transpose(const OpInfo& op, std::size_t dims, const Tensor& input, const Tensor& weight,
                 const std::optional<Tensor>& bias, const Dims& stride, const Dims& padding,
                 const Dims& output_padding, std::int64_t groups, const Dims& dilation) {
  const Batched all = batched(op, input, weight, static_cast<std::int64_t>(dims));
  const Tensor result = convolution(all.input, weight,
                                    {.bias = bias.value_or(Tensor()),
                                     .stride = expanded(stride, dims),
                                     .padding = expanded(padding, dims),
                                     .dilation = expanded(dilation, dims),
                                     .transposed = true,
                                     .output_padding = expanded(output_padding, dims),
                                     .groups = groups});
  return as_it_came(result, all);
}

template <class O, std::size_t kDims>
struct ConvolveRule {
  static Tensor compose(const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, const Dims& stride, const Dims& padding,
                        std::string_view padding_text, const Dims& dilation, std::int64_t groups) {
    return convolve(O::info, kDims, input, weight, bias, stride, padding, padding_text, dilation,
                    groups);
  }
};
template <class O, std::size_t kDims>
struct TransposeRule {
  static Tensor compose(const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, const Dims& stride, const Dims& padding,
                        const Dims& output_padding, std::int64_t groups, const Dims& dilation) {
    return transpose(O::info, kDims, input, weight, bias, stride, padding, output_padding, groups,
                     dilation);
  }
};

}  // namespace

template <>
struct Rule<op::conv1d> : ConvolveRule<op::conv1d, 1> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
};
template <>
struct Rule<op::conv2d> : ConvolveRule<op::conv2d, 2> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
};
template <>
struct Rule<op::conv3d> : ConvolveRule<op::conv3d, 3> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
};
template <>
struct Rule<op::conv_transpose1d> : TransposeRule<op::conv_transpose1d, 1> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
};
template <>
struct Rule<op::conv_transpose2d> : TransposeRule<op::conv_transpose2d, 2> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
};
template <>
struct Rule<op::conv_transpose3d> : TransposeRule<op::conv_transpose3d, 3> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
};

namespace {

template <class O>
Tensor call_with(const Tensor& input, const Tensor& weight, const ConvFunctionOptions& o) {
  return call<O>(input, weight, o.bias, o.stride, o.padding.sizes(), o.padding.text(), o.dilation,
                 o.groups);
}
template <class O>
Tensor call_with(const Tensor& input, const Tensor& weight, const ConvTransposeFunctionOptions& o) {
  return call<O>(input, weight, o.bias, o.stride, o.padding, o.output_padding, o.groups,
                 o.dilation);
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const ConvFunctionOptions& options) {
  return call_with<op::conv1d>(input, weight, options);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const ConvFunctionOptions& options) {
  return call_with<op::conv2d>(input, weight, options);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const ConvFunctionOptions& options) {
  return call_with<op::conv3d>(input, weight, options);
}
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                        const ConvTransposeFunctionOptions& options) {
  return call_with<op::conv_transpose1d>(input, weight, options);
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const ConvTransposeFunctionOptions& options) {
  return call_with<op::conv_transpose2d>(input, weight, options);
}
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight,
                        const ConvTransposeFunctionOptions& options) {
  return call_with<op::conv_transpose3d>(input, weight, options);
}

}  // namespace tenon
