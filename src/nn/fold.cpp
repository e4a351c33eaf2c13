#include "tenon/nn/fold.h"

#include "nn/number_or_tuple.h"
#include "tenon/ops/fold.h"

namespace tenon::nn {

namespace {

std::string text_of(const Dims& kernel_size, const Dims& dilation, const Dims& padding,
                    const Dims& stride) {
  return concat("kernel_size=", number_or_tuple(kernel_size),
                ", dilation=", number_or_tuple(dilation), ", padding=", number_or_tuple(padding),
                ", stride=", number_or_tuple(stride));
}

}  // namespace

Unfold::Unfold(const Dims& kernel, const Options& options)
    : kernel_size(kernel),
      dilation(options.dilation),
      padding(options.padding),
      stride(options.stride) {}
std::string Unfold::extra_repr() const { return text_of(kernel_size, dilation, padding, stride); }
Tensor Unfold::forward(const Tensor& input) {
  return unfold(input, kernel_size, {.dilation = dilation, .padding = padding, .stride = stride});
}

Fold::Fold(const Dims& size, const Dims& kernel, const Options& options)
    : output_size(size),
      kernel_size(kernel),
      dilation(options.dilation),
      padding(options.padding),
      stride(options.stride) {}
std::string Fold::extra_repr() const {
  return concat("output_size=", number_or_tuple(output_size), ", ",
                text_of(kernel_size, dilation, padding, stride));
}
Tensor Fold::forward(const Tensor& input) {
  return fold(input, output_size, kernel_size,
              {.dilation = dilation, .padding = padding, .stride = stride});
}

}  // namespace tenon::nn
