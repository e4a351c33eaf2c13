// Convolutions of tensors on the CPU: which kernel.
#pragma once

#include <optional>

#include "tenon/tensor.h"

namespace tenon {

// The options of a convolution, a number for each dimension.
struct ConvolutionShape {
  Dims stride, padding, dilation;
  std::int64_t groups = 1;
};

bool can_convolve(DType dtype);

// All of one dtype, with a batch, on the CPU, and none without elements. The weight is (out, in /
// groups, kernel).

// out = the convolution of in, plus the bias.
void convolve(const ConvolutionShape& shape, const Tensor& out, const Tensor& in,
              const Tensor& weight, const std::optional<Tensor>& bias);
// in = the transposed convolution of out, plus the bias.
void convolve_transposed(const ConvolutionShape& shape, const Tensor& in, const Tensor& out,
                         const Tensor& weight, const std::optional<Tensor>& bias);
// weight = the gradient of the weight of a convolution of in, if out is that of its result.
void convolution_weights(const ConvolutionShape& shape, const Tensor& weight, const Tensor& in,
                         const Tensor& out);

}  // namespace tenon
