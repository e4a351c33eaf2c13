#include "tenon/nn/pooling.h"

#include "nn/number_or_tuple.h"
#include "tenon/error.h"

namespace tenon::nn {

namespace {

Dims or_kernel(const Dims& given, const Dims& kernel) { return given.empty() ? kernel : given; }

// As many numbers as there are dimensions, as PyTorch keeps them.
Dims all_of(std::string_view name, const Dims& given, std::size_t n) {
  if (given.size() == n) return given;
  if (given.size() == 1) return Dims::filled(n, given[0]);
  throw ValueError(concat(name, " must be a number or ", n, " of them, but got ", given));
}

}  // namespace

MaxPool::MaxPool(const Dims& kernel, const Options& options)
    : kernel_size(kernel),
      stride(or_kernel(options.stride, kernel)),
      padding(options.padding),
      dilation(options.dilation),
      return_indices(options.return_indices),
      ceil_mode(options.ceil_mode) {}
MaxPoolFunctionOptions MaxPool::function_options() const {
  return {.stride = stride, .padding = padding, .dilation = dilation, .ceil_mode = ceil_mode};
}
std::string MaxPool::extra_repr() const {
  return concat("kernel_size=", number_or_tuple(kernel_size), ", stride=", number_or_tuple(stride),
                ", padding=", number_or_tuple(padding), ", dilation=", number_or_tuple(dilation),
                ", ceil_mode=", ceil_mode);
}

AvgPool::AvgPool(const Dims& kernel, const Options& options)
    : kernel_size(kernel),
      stride(or_kernel(options.stride, kernel)),
      padding(options.padding),
      ceil_mode(options.ceil_mode),
      count_include_pad(options.count_include_pad),
      divisor_override(options.divisor_override) {}
AvgPoolFunctionOptions AvgPool::function_options() const {
  return {.stride = stride,
          .padding = padding,
          .ceil_mode = ceil_mode,
          .count_include_pad = count_include_pad,
          .divisor_override = divisor_override};
}
std::string AvgPool::extra_repr() const {
  return concat("kernel_size=", number_or_tuple(kernel_size), ", stride=", number_or_tuple(stride),
                ", padding=", number_or_tuple(padding));
}
AvgPool1d::AvgPool1d(const Dims& kernel, const Options& options)
    : AvgPool(all_of("kernel_size", kernel, 1),
              {.stride = all_of("stride", or_kernel(options.stride, kernel), 1),
               .padding = all_of("padding", options.padding, 1),
               .ceil_mode = options.ceil_mode,
               .count_include_pad = options.count_include_pad}) {}
std::string AvgPool1d::extra_repr() const {
  return concat("kernel_size=", kernel_size, ", stride=", stride, ", padding=", padding);
}
Tensor AvgPool1d::forward(const Tensor& input) {
  return avg_pool1d(input, kernel_size,
                    {.stride = stride,
                     .padding = padding,
                     .ceil_mode = ceil_mode,
                     .count_include_pad = count_include_pad});
}

std::string AdaptivePool::extra_repr() const { return concat("output_size=", output_size); }

LPPool::LPPool(const Scalar& norm, const Dims& kernel, const Options& options)
    : norm_type(norm), kernel_size(kernel), stride(options.stride), ceil_mode(options.ceil_mode) {}
std::string LPPool::extra_repr() const {
  return concat("norm_type=", norm_type, ", kernel_size=", number_or_tuple(kernel_size),
                ", stride=", number_or_tuple(stride), ", ceil_mode=", ceil_mode);
}

MaxUnpool::MaxUnpool(std::size_t dimensions, const Dims& kernel, const Options& options)
    : kernel_size(all_of("kernel_size", kernel, dimensions)),
      stride(all_of("stride", or_kernel(options.stride, kernel), dimensions)),
      padding(all_of("padding", options.padding, dimensions)) {}
std::string MaxUnpool::extra_repr() const {
  return concat("kernel_size=", kernel_size, ", stride=", stride, ", padding=", padding);
}

Tensor MaxPool1d::forward(const Tensor& input) {
  return max_pool1d(input, kernel_size, function_options());
}
std::tuple<Tensor, Tensor> MaxPool1d::with_indices(const Tensor& input) {
  return max_pool1d_with_indices(input, kernel_size, function_options());
}
Tensor MaxPool2d::forward(const Tensor& input) {
  return max_pool2d(input, kernel_size, function_options());
}
std::tuple<Tensor, Tensor> MaxPool2d::with_indices(const Tensor& input) {
  return max_pool2d_with_indices(input, kernel_size, function_options());
}
Tensor MaxPool3d::forward(const Tensor& input) {
  return max_pool3d(input, kernel_size, function_options());
}
std::tuple<Tensor, Tensor> MaxPool3d::with_indices(const Tensor& input) {
  return max_pool3d_with_indices(input, kernel_size, function_options());
}
Tensor AvgPool2d::forward(const Tensor& input) {
  return avg_pool2d(input, kernel_size, function_options());
}
Tensor AvgPool3d::forward(const Tensor& input) {
  return avg_pool3d(input, kernel_size, function_options());
}
Tensor AdaptiveAvgPool1d::forward(const Tensor& input) {
  return adaptive_avg_pool1d(input, output_size);
}
Tensor AdaptiveMaxPool1d::forward(const Tensor& input) {
  return adaptive_max_pool1d(input, output_size);
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool1d::with_indices(const Tensor& input) {
  return adaptive_max_pool1d_with_indices(input, output_size);
}
Tensor LPPool1d::forward(const Tensor& input) {
  return lp_pool1d(input, norm_type, kernel_size, {.stride = stride, .ceil_mode = ceil_mode});
}
Tensor MaxUnpool1d::forward(const Tensor& input, const Tensor& indices, const Dims& size) {
  return max_unpool1d(input, indices, kernel_size,
                      {.stride = stride, .padding = padding, .output_size = size});
}
Tensor AdaptiveAvgPool2d::forward(const Tensor& input) {
  return adaptive_avg_pool2d(input, output_size);
}
Tensor AdaptiveMaxPool2d::forward(const Tensor& input) {
  return adaptive_max_pool2d(input, output_size);
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool2d::with_indices(const Tensor& input) {
  return adaptive_max_pool2d_with_indices(input, output_size);
}
Tensor LPPool2d::forward(const Tensor& input) {
  return lp_pool2d(input, norm_type, kernel_size, {.stride = stride, .ceil_mode = ceil_mode});
}
Tensor MaxUnpool2d::forward(const Tensor& input, const Tensor& indices, const Dims& size) {
  return max_unpool2d(input, indices, kernel_size,
                      {.stride = stride, .padding = padding, .output_size = size});
}
Tensor AdaptiveAvgPool3d::forward(const Tensor& input) {
  return adaptive_avg_pool3d(input, output_size);
}
Tensor AdaptiveMaxPool3d::forward(const Tensor& input) {
  return adaptive_max_pool3d(input, output_size);
}
std::tuple<Tensor, Tensor> AdaptiveMaxPool3d::with_indices(const Tensor& input) {
  return adaptive_max_pool3d_with_indices(input, output_size);
}
Tensor LPPool3d::forward(const Tensor& input) {
  return lp_pool3d(input, norm_type, kernel_size, {.stride = stride, .ceil_mode = ceil_mode});
}
Tensor MaxUnpool3d::forward(const Tensor& input, const Tensor& indices, const Dims& size) {
  return max_unpool3d(input, indices, kernel_size,
                      {.stride = stride, .padding = padding, .output_size = size});
}

}  // namespace tenon::nn
