#include "tenon/nn/conv.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "ops/elementwise/operands.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/padding.h"
#include "tenon/uninitialized.h"

namespace tenon::nn::detail {

namespace {

Dims expanded(const char* name, const Dims& values, std::size_t dims) {
  Dims numbers = tenon::expanded(values, dims);
  if (numbers.size() == dims) return numbers;
  throw ValueError(concat(name, " should be one number or ", dims, ", but got ", values.repr()));
}
ConvPadding expanded(const ConvPadding& padding, std::size_t dims) {
  return padding.is_text() ? padding : ConvPadding(expanded("padding", padding.sizes(), dims));
}

void check_padding(const ConvPadding& padding, const Dims& stride) {
  if (!padding.is_text()) return;
  if (padding.text() != "same" && padding.text() != "valid") {
    throw ValueError(concat("Invalid padding string '", padding.text(),
                            "', should be one of {'same', 'valid'}"));
  }
  const bool strided =
      std::any_of(stride.begin(), stride.end(), [](std::int64_t step) { return step != 1; });
  if (padding.text() == "same" && strided)
    throw ValueError("padding='same' is not supported for strided convolutions");
}

void check_padding_mode(std::string_view mode) {
  for (const std::string_view known : {"zeros", "reflect", "replicate", "circular"}) {
    if (mode == known) return;
  }
  throw ValueError(
      concat("padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got "
             "padding_mode='",
             mode, "'"));
}

Tensor convolve(std::size_t dims, const Tensor& input, const Tensor& weight,
                const ConvFunctionOptions& options) {
  return dims == 1   ? conv1d(input, weight, options)
         : dims == 2 ? conv2d(input, weight, options)
                     : conv3d(input, weight, options);
}

}  // namespace

template <class Base>
ConvBase<Base>::ConvBase(const Setting& s)
    : in_channels(s.in_channels),
      out_channels(s.out_channels),
      kernel_size(expanded("kernel_size", s.kernel_size, s.dims)),
      stride(expanded("stride", s.stride, s.dims)),
      padding(expanded(s.padding, s.dims)),
      dilation(expanded("dilation", s.dilation, s.dims)),
      transposed(s.transposed),
      output_padding(expanded("output_padding", s.output_padding, s.dims)),
      groups(s.groups),
      padding_mode(s.padding_mode) {
  if (groups <= 0) throw ValueError(concat("groups must be a positive integer, but got ", groups));
  if (in_channels % groups != 0) {
    throw ValueError(
        concat("in_channels must be divisible by groups, but got ", in_channels, " and ", groups));
  }
  if (out_channels % groups != 0) {
    throw ValueError(concat("out_channels must be divisible by groups, but got ", out_channels,
                            " and ", groups));
  }
  check_padding(padding, stride);
  check_padding_mode(padding_mode);
  Shape shape = transposed ? Shape{in_channels, out_channels / groups}
                           : Shape{out_channels, in_channels / groups};
  for (const std::int64_t size : kernel_size) shape.push_back(size);
  const EmptyOptions like{.dtype = s.dtype, .device = s.device};
  weight = make_parameter(empty(shape, like));
  bias = s.bias ? make_parameter(empty({out_channels}, like)) : Tensor();
  // On meta there is nothing to draw values for.
  if (!weight->is_meta()) reset_parameters();
}

template <class Base>
void ConvBase<Base>::reset_parameters() {
  const Guard guard(*this, "reset_parameters() was running");
  if (is_lazy(weight) || is_lazy(bias)) return;
  init::kaiming_uniform_(weight, {.a = std::sqrt(5.0)});
  if (!bias.defined()) return;
  const Shape& shape = weight->shape();
  std::int64_t fan_in = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) fan_in *= shape[d];
  if (fan_in == 0) return;
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  init::uniform_(bias, {.a = -bound, .b = bound});
}

template <class Base>
std::string ConvBase<Base>::extra_repr() const {
  const auto only = [](const Dims& values, std::int64_t value) {
    return std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == value; });
  };
  std::string text = concat(in_channels, ", ", out_channels, ", kernel_size=", kernel_size.repr(),
                            ", stride=", stride.repr());
  if (padding.is_text() || !only(padding.sizes(), 0)) text += concat(", padding=", padding.repr());
  if (!only(dilation, 1)) text += concat(", dilation=", dilation.repr());
  if (!only(output_padding, 0)) text += concat(", output_padding=", output_padding.repr());
  if (groups != 1) text += concat(", groups=", groups);
  if (!bias.defined()) text += ", bias=False";
  if (padding_mode != "zeros") text += concat(", padding_mode=", padding_mode);
  return text;
}

template class ConvBase<Layer>;
template class ConvBase<ConvTransposeCallable>;

Conv::Conv(std::size_t dims, std::int64_t in, std::int64_t out, const Dims& kernel,
           const ConvOptions& o)
    : ConvBase({dims, in, out, kernel, o.stride, o.padding, o.dilation, false, Dims{0}, o.groups,
                o.bias, o.padding_mode, o.device, o.dtype}) {}

Tensor Conv::forward(const Tensor& input) {
  const std::size_t dims = kernel_size.size();
  ConvFunctionOptions options{
      .bias = bias, .stride = stride, .padding = padding, .dilation = dilation, .groups = groups};
  if (padding_mode == "zeros") return convolve(dims, input, weight, options);
  // What is wrong with the input is better said by the convolution.
  const auto rank = static_cast<std::size_t>(input.dim());
  if (rank != dims + 1 && rank != dims + 2) return convolve(dims, input, weight, options);
  Dims around;  // the last dimension's first, as pad() takes them
  for (std::size_t d = dims; d-- > 0;) {
    std::int64_t before = 0, after = 0;
    if (padding.text() == "same") {
      const std::int64_t total = dilation[d] * (kernel_size[d] - 1);
      before = total / 2;
      after = total - before;
    } else if (!padding.is_text()) {
      before = after = padding.sizes()[d];
    }
    around.push_back(before);
    around.push_back(after);
  }
  options.padding = 0;
  const Tensor own_weight = weight;  // what pad() lets go of may be somebody's, who destroys this
  return convolve(dims, pad(input, around, {.mode = padding_mode}), own_weight, options);
}

ConvTranspose::ConvTranspose(std::size_t dims, std::int64_t in, std::int64_t out,
                             const Dims& kernel, const ConvTransposeOptions& o)
    : ConvBase({dims, in, out, kernel, o.stride, o.padding, o.dilation, true, o.output_padding,
                o.groups, o.bias, o.padding_mode, o.device, o.dtype}) {
  if (padding_mode != "zeros") {
    throw ValueError(concat("Only \"zeros\" padding mode is supported for ConvTranspose", dims,
                            "d, but got ", padding_mode));
  }
}

namespace {

// The output_padding that makes the result of that size.
Dims padding_for(const Tensor& input, const Dims& wanted, const Dims& kernel, const Dims& stride,
                 const Dims& padding, const Dims& dilation) {
  const std::size_t dims = kernel.size();
  const auto rank = static_cast<std::size_t>(input.dim());
  const std::size_t others = rank == dims + 2 ? 2 : 1;
  Dims sizes = wanted;
  if (sizes.size() == others + dims) {
    for (std::size_t i = 0; i < others; ++i) sizes.erase(0);
  }
  if (sizes.size() != dims) {
    throw ValueError(concat("ConvTranspose", dims, "D: for ", rank,
                            "D input, output_size must have ", dims, " or ", others + dims,
                            " elements (got ", wanted.size(), ")"));
  }
  Dims least, most, given, rest;
  bool possible = true;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t size = input.shape()[rank - dims + d];
    given.push_back(size);
    least.push_back((size - 1) * stride[d] - 2 * padding[d] + dilation[d] * (kernel[d] - 1) + 1);
    most.push_back(least[d] + stride[d] - 1);
    rest.push_back(sizes[d] - least[d]);
    possible = possible && sizes[d] >= least[d] && sizes[d] <= most[d];
  }
  if (possible) return rest;
  throw ValueError(concat("requested an output size of ", sizes.repr(),
                          ", but valid sizes range from ", bracketed(least), " to ",
                          bracketed(most), " (for an input of ", Shape(given).repr(), ")"));
}

}  // namespace

Tensor ConvTranspose::forward(const Tensor& input, const Dims& output_size) {
  const std::size_t dims = kernel_size.size();
  const auto rank = static_cast<std::size_t>(input.dim());
  const bool fits = rank == dims + 1 || rank == dims + 2;
  const ConvTransposeFunctionOptions options{
      .bias = bias,
      .stride = stride,
      .padding = padding.sizes(),
      .output_padding =
          !output_size.empty() && fits
              ? padding_for(input, output_size, kernel_size, stride, padding.sizes(), dilation)
              : output_padding,
      .groups = groups,
      .dilation = dilation};
  return dims == 1   ? conv_transpose1d(input, weight, options)
         : dims == 2 ? conv_transpose2d(input, weight, options)
                     : conv_transpose3d(input, weight, options);
}

}  // namespace tenon::nn::detail
