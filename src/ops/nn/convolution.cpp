// Convolutions of any number of dimensions: shapes, and gradients.
#include "tenon/ops/convolution.h"

#include <algorithm>
#include <string>

#include "base/checked.h"
#include "base/text.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/convolve.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::convolution::info{"convolution", kind};
constinit OpInfo op::convolution_backward::info{"convolution_backward", kind};

// The gradient of the weight of a convolution that is not transposed; of one that is, input and
// gradient change places.
namespace op {
struct convolution_weight_gradient {
  using Signature = Tensor(const Tensor& input, const Tensor& grad, const Shape& weight,
                           const Dims& stride, const Dims& padding, const Dims& dilation,
                           std::int64_t groups);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo convolution_weight_gradient::info{"_convolution_weight_gradient", kind};
}  // namespace op

namespace {

// "(3 x 5)"
std::string crossed(const Dims& sizes) {
  std::string text = "(";
  for (const std::int64_t size : sizes) text += concat(text.size() > 1 ? " x " : "", size);
  return text + ")";
}

void check_count(const char* name, const Dims& values, std::size_t dims) {
  if (values.size() == dims) return;
  throw ValueError(concat("expected ", name, " to be a single integer value or a list of ", dims,
                          " values to match the convolution dimensions, but got ", name, "=",
                          bracketed(values)));
}

void check_numbers(const Dims& stride, const Dims& padding, const Dims& dilation,
                   const Dims& output_padding, std::int64_t groups) {
  const auto any = [](const Dims& values, auto&& bad) {
    return std::any_of(values.begin(), values.end(), bad);
  };
  const auto negative = [](std::int64_t value) { return value < 0; };
  const auto not_positive = [](std::int64_t value) { return value <= 0; };
  if (any(padding, negative))
    throw ValueError(concat("negative padding is not supported, but got ", bracketed(padding)));
  if (any(output_padding, negative)) {
    throw ValueError(
        concat("negative output_padding is not supported, but got ", bracketed(output_padding)));
  }
  if (any(stride, not_positive))
    throw ValueError(concat("non-positive stride is not supported, but got ", bracketed(stride)));
  if (any(dilation, not_positive))
    throw ValueError(concat("dilation should be greater than zero, but got ", bracketed(dilation)));
  if (groups <= 0)
    throw ValueError(concat("non-positive groups is not supported, but got ", groups));
}

void check_types(const Tensor& input, const char* name, const Tensor& other) {
  const Tensor both[] = {input, other};
  same_device("convolution", both);
  if (input.dtype() != other.dtype()) {
    throw DTypeError(concat("Input type (", repr(input.dtype()), ") and ", name, " type (",
                            repr(other.dtype()), ") should be the same: convert one with to()"));
  }
}

void check_ranks(const Tensor& input, const Tensor& weight) {
  if (weight.dim() < 3 || weight.dim() > 5) {
    throw ShapeError(concat("convolution: weight of size ", bracketed(weight.shape()), " has ",
                            weight.dim(), " dimensions, and should have 3 to 5"));
  }
  if (input.dim() != weight.dim()) {
    throw ShapeError(concat("Expected ", weight.dim(), "-dimensional input for ", weight.dim(),
                            "-dimensional weight ", bracketed(weight.shape()), ", but got ",
                            input.dim(), "-dimensional input of size ", bracketed(input.shape()),
                            " instead"));
  }
}

void check_channels(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                    bool transposed, std::int64_t groups) {
  const Shape& sizes = weight.shape();
  if (sizes[0] < groups) {
    throw ShapeError(concat("Given groups=", groups, ", expected weight to be at least ", groups,
                            " at dimension 0, but got weight of size ", bracketed(sizes),
                            " instead"));
  }
  if (sizes[0] % groups != 0) {
    throw ShapeError(concat("Given groups=", groups, ", expected weight to be divisible by ",
                            groups, " at dimension 0, but got weight of size ", bracketed(sizes),
                            " instead"));
  }
  const std::string given =
      transposed ? concat("Given transposed=1") : concat("Given groups=", groups);
  const std::int64_t channels = transposed ? sizes[0] : sizes[1] * groups;
  if (input.size(1) != channels) {
    throw ShapeError(concat(given, ", weight of size ", bracketed(sizes), ", expected input",
                            bracketed(input.shape()), " to have ", channels, " channels, but got ",
                            input.size(1), " channels instead"));
  }
  const std::int64_t out = transposed ? sizes[1] * groups : sizes[0];
  if (bias && (bias->dim() != 1 || bias->numel() != out)) {
    throw ShapeError(
        concat(transposed ? "Given transposed=1, weight of size " : "Given weight of size ",
               bracketed(sizes), ", expected bias to be 1-dimensional with ", out,
               " elements, but got bias of size ", bracketed(bias->shape()), " instead"));
  }
}

// Afterwards the sizes, steps and reaches along a dimension can be added up without overflow.
void check_reach(const Shape& input, const Shape& weight, const Dims& stride, const Dims& padding,
                 const Dims& dilation, const Dims& output_padding) {
  constexpr std::int64_t kMost = std::int64_t{1} << 59;
  for (std::size_t d = 0; d < stride.size(); ++d) {
    const std::int64_t size = std::max<std::int64_t>(input[d + 2], 1);
    const auto steps = checked_mul(size, stride[d]);
    const auto reach = checked_mul(std::max<std::int64_t>(weight[d + 2], 1), dilation[d]);
    if (steps && reach && std::max({*steps, *reach, padding[d], output_padding[d]}) < kMost)
      continue;
    throw ShapeError(concat("convolution: sizes that are too large: input ", bracketed(input),
                            ", weight ", bracketed(weight), ", stride ", bracketed(stride),
                            ", padding ", bracketed(padding), ", dilation ", bracketed(dilation),
                            ", output_padding ", bracketed(output_padding)));
  }
}

// Of the result of a convolution, without batch and channels.
Dims plain_sizes(const Shape& input, const Shape& weight, const Dims& stride, const Dims& padding,
                 const Dims& dilation) {
  Dims padded, kernel, out;
  bool fits = true;
  for (std::size_t d = 0; d < stride.size(); ++d) {
    padded.push_back(input[d + 2] + 2 * padding[d]);
    kernel.push_back(dilation[d] * (weight[d + 2] - 1) + 1);
    fits = fits && padded[d] >= kernel[d] && weight[d + 2] > 0;
    out.push_back((padded[d] - kernel[d]) / stride[d] + 1);
  }
  if (fits) return out;
  throw ShapeError(concat("Calculated padded input size per channel: ", crossed(padded),
                          ". Kernel size: ", crossed(kernel),
                          ". Kernel size can't be greater than actual input size (input ",
                          bracketed(input), ", weight ", bracketed(weight), ")"));
}

Dims transposed_sizes(const Shape& input, const Shape& weight, const Dims& stride,
                      const Dims& padding, const Dims& dilation, const Dims& output_padding) {
  Dims in, out;
  bool fits = true;
  for (std::size_t d = 0; d < stride.size(); ++d) {
    if (output_padding[d] >= stride[d] && output_padding[d] >= dilation[d]) {
      throw ValueError(concat(
          "output padding must be smaller than either stride or dilation, but got output_padding: ",
          bracketed(output_padding), " stride: ", bracketed(stride),
          " dilation: ", bracketed(dilation)));
    }
    in.push_back(input[d + 2]);
    out.push_back((input[d + 2] - 1) * stride[d] - 2 * padding[d] +
                  dilation[d] * (weight[d + 2] - 1) + output_padding[d] + 1);
    fits = fits && (out[d] > 0 || input[d + 2] == 0) && weight[d + 2] > 0;
  }
  if (fits) return out;
  throw ShapeError(concat("Given input size per channel: ", crossed(in),
                          ". Calculated output size per channel: ", crossed(out),
                          ". Output size is too small (input ", bracketed(input), ", weight ",
                          bracketed(weight), ")"));
}

// Channels last if either of the two has them last.
MemoryFormat format_of(const Tensor& input, const Tensor& weight) {
  const MemoryFormat last = input.dim() == 4   ? MemoryFormat::channels_last
                            : input.dim() == 5 ? MemoryFormat::channels_last_3d
                                               : MemoryFormat::contiguous;
  for (const Tensor* tensor : {&input, &weight}) {
    if (!tensor->is_contiguous() && tensor->is_contiguous(last)) return last;
  }
  return MemoryFormat::contiguous;
}

// The first sizes of what is too large by what output_padding has added.
Tensor cropped(Tensor tensor, const Shape& to) {
  for (std::size_t d = 2; d < to.size(); ++d) {
    if (tensor.shape()[d] != to[d]) tensor = tensor.narrow(static_cast<std::int64_t>(d), 0, to[d]);
  }
  return tensor;
}

// What a convolution of an input of that shape was calculated from, seen from its result: a
// convolution the other way round.
Tensor input_gradient(const Tensor& grad, const Tensor& weight, const Shape& input,
                      const Dims& stride, const Dims& padding, const Dims& dilation,
                      bool transposed, std::int64_t groups) {
  const Dims none = Dims::filled(stride.size(), 0);
  if (input.numel() == 0 || grad.numel() == 0)
    return zeros(input, {.dtype = grad.dtype(), .device = grad.device()});
  if (transposed) {
    return cropped(call<op::convolution>(grad, weight, std::nullopt, stride, padding, dilation,
                                         false, none, groups),
                   input);
  }
  Dims rest;
  for (std::size_t d = 0; d < stride.size(); ++d) {
    rest.push_back(input[d + 2] - ((grad.shape()[d + 2] - 1) * stride[d] - 2 * padding[d] +
                                   dilation[d] * (weight.shape()[d + 2] - 1) + 1));
  }
  return call<op::convolution>(grad, weight, std::nullopt, stride, padding, dilation, true, rest,
                               groups);
}
Tensor weight_gradient(const Tensor& grad, const Tensor& input, const Shape& weight,
                       const Dims& stride, const Dims& padding, const Dims& dilation,
                       bool transposed, std::int64_t groups) {
  return call<op::convolution_weight_gradient>(transposed ? grad : input, transposed ? input : grad,
                                               weight, stride, padding, dilation, groups);
}
Tensor bias_gradient(const Tensor& grad) {
  Dims dims{0};
  for (std::int64_t d = 2; d < grad.dim(); ++d) dims.push_back(d);
  return grad.sum(dims);
}

}  // namespace

template <>
struct Rule<op::convolution> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::lower_precision};
  static constexpr std::string_view gradient = "ConvolutionBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    // Note [A weight that is kept]
    return place == 1 || (place == 0 && wanted[1]);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& input, const Tensor& weight,
                       const std::optional<Tensor>& /*bias*/, const Dims& stride,
                       const Dims& padding, const Dims& dilation, bool transposed,
                       const Dims& /*output_padding*/, std::int64_t groups) {
    if (g.wanted(0)) {
      g.set(0, input_gradient(grad, weight, g.shape(0), stride, padding, dilation, transposed,
                              groups));
    }
    if (g.wanted(1)) {
      g.set(1, weight_gradient(grad, input, g.shape(1), stride, padding, dilation, transposed,
                               groups));
    }
    if (g.wanted(2)) {
      // A result without channels has nothing to say about the bias.
      const bool none = grad.size(1) != g.shape(2)[0];
      g.set(2, none ? zeros(g.shape(2), {.dtype = grad.dtype(), .device = grad.device()})
                    : bias_gradient(grad));
    }
  }
  static Layout infer(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                      const Dims& stride, const Dims& padding, const Dims& dilation,
                      bool transposed, const Dims& output_padding, std::int64_t groups) {
    check_ranks(input, weight);
    const auto dims = static_cast<std::size_t>(weight.dim()) - 2;
    check_count("stride", stride, dims);
    check_count("padding", padding, dims);
    check_count("dilation", dilation, dims);
    check_count("output_padding", output_padding, dims);
    check_numbers(stride, padding, dilation, output_padding, groups);
    check_channels(input, weight, bias, transposed, groups);
    check_types(input, "weight", weight);
    if (bias) check_types(input, "bias", *bias);
    if (!can_convolve(input.dtype())) not_implemented("convolution", input.dtype());
    check_reach(input.shape(), weight.shape(), stride, padding, dilation, output_padding);
    const Dims sizes = transposed
                           ? transposed_sizes(input.shape(), weight.shape(), stride, padding,
                                              dilation, output_padding)
                           : plain_sizes(input.shape(), weight.shape(), stride, padding, dilation);
    if (input.numel() == 0 && input.size(0) != 0 && input.size(1) != 0) {
      throw ShapeError(concat("Only zero batch or zero channel inputs are supported, but got ",
                              "input shape: ", bracketed(input.shape())));
    }
    // PyTorch's answer for an input without channels.
    const std::int64_t channels = input.size(1) == 0 ? 0
                                  : transposed       ? weight.size(1) * groups
                                                     : weight.size(0);
    Shape shape{input.size(0), channels};
    for (const std::int64_t size : sizes) shape.push_back(size);
    return Layout::packed(shape, input.dtype(), input.device(), format_of(input, weight));
  }
  static void cpu(Tensor& out, const Tensor& input, const Tensor& weight,
                  const std::optional<Tensor>& bias, const Dims& stride, const Dims& padding,
                  const Dims& dilation, bool transposed, const Dims& /*output_padding*/,
                  std::int64_t groups) {
    if (out.numel() == 0) return;
    const ConvolutionShape shape{stride, padding, dilation, groups};
    if (transposed)
      convolve_transposed(shape, out, input, weight, bias);
    else
      convolve(shape, out, input, weight, bias);
  }
};

template <>
struct Rule<op::convolution_weight_gradient> {
  static constexpr std::string_view gradient = "ConvolutionBackwardBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) { return wanted[1 - place]; }
  static void backward(Gradient& g, const Tensor& grad_weight, const Tensor& input,
                       const Tensor& grad, const Shape& /*weight*/, const Dims& stride,
                       const Dims& padding, const Dims& dilation, std::int64_t groups) {
    if (g.wanted(0)) {
      g.set(0, input_gradient(grad, grad_weight, g.shape(0), stride, padding, dilation, false,
                              groups));
    }
    if (g.wanted(1)) {
      const Dims none = Dims::filled(stride.size(), 0);
      const Tensor all = call<op::convolution>(input, grad_weight, std::nullopt, stride, padding,
                                               dilation, false, none, groups);
      g.set(1, cropped(all, g.shape(1)));
    }
  }
  static Layout infer(const Tensor& input, const Tensor& grad, const Shape& weight,
                      const Dims& /*stride*/, const Dims& /*padding*/, const Dims& /*dilation*/,
                      std::int64_t /*groups*/) {
    check_types(input, "gradient", grad);
    return Layout::packed(weight, input.dtype(), input.device());
  }
  static void cpu(Tensor& out, const Tensor& input, const Tensor& grad, const Shape& /*weight*/,
                  const Dims& stride, const Dims& padding, const Dims& dilation,
                  std::int64_t groups) {
    if (out.numel() == 0) return;
    if (input.numel() == 0 || grad.numel() == 0) {
      // Nobody is to see that the result was written to.
      out.variable_data().zero_();
      return;
    }
    convolution_weights({stride, padding, dilation, groups}, out, input, grad);
  }
};

template <>
struct Rule<op::convolution_backward> {
  static std::tuple<Tensor, Tensor, Tensor> compose(const Tensor& grad_output, const Tensor& input,
                                                    const Tensor& weight, const Dims& stride,
                                                    const Dims& padding, const Dims& dilation,
                                                    bool transposed, const Dims& output_padding,
                                                    std::int64_t groups,
                                                    const std::vector<bool>& output_mask) {
    if (output_mask.size() != 3) {
      throw ValueError(concat("convolution_backward: output_mask has ", output_mask.size(),
                              " elements, and should have one each for input, weight and bias"));
    }
    const Shape expected =
        Rule<op::convolution>::infer(input, weight, std::nullopt, stride, padding, dilation,
                                     transposed, output_padding, groups)
            .shape;
    if (grad_output.shape() != expected) {
      throw ShapeError(concat("convolution_backward: the gradient is of shape ",
                              bracketed(grad_output.shape()), ", and the result of shape ",
                              bracketed(expected)));
    }
    std::tuple<Tensor, Tensor, Tensor> grads;
    if (output_mask[0]) {
      std::get<0>(grads) = input_gradient(grad_output, weight, input.shape(), stride, padding,
                                          dilation, transposed, groups);
    }
    if (output_mask[1]) {
      std::get<1>(grads) = weight_gradient(grad_output, input, weight.shape(), stride, padding,
                                           dilation, transposed, groups);
    }
    if (output_mask[2]) std::get<2>(grads) = bias_gradient(grad_output);
    return grads;
  }
};

namespace {

// Lists of other lengths, and weights without dimensions to slide along, are refused where they are
// used.
Dims expanded(const Dims& values, const Tensor& weight) {
  if (weight.dim() < 3) return values;
  return tenon::expanded(values, static_cast<std::size_t>(weight.dim()) - 2);
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const ConvolutionOptions& o) {
  return call<op::convolution>(input, weight, o.bias, expanded(o.stride, weight),
                               expanded(o.padding, weight), expanded(o.dilation, weight),
                               o.transposed, expanded(o.output_padding, weight), o.groups);
}
std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad_output,
                                                        const Tensor& input, const Tensor& weight,
                                                        const ConvolutionBackwardOptions& o) {
  return call<op::convolution_backward>(
      grad_output, input, weight, expanded(o.stride, weight), expanded(o.padding, weight),
      expanded(o.dilation, weight), o.transposed, expanded(o.output_padding, weight), o.groups,
      std::vector<bool>(o.output_mask.begin(), o.output_mask.end()));
}

}  // namespace tenon
