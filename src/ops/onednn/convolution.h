// Convolutions by oneDNN.
//
// Note [Pieces of a convolution]
// As products are (Note [Threads of oneDNN]), a convolution is cut into pieces by its sizes alone,
// and our pool shares them out, each a convolution of oneDNN's on one thread: samples, stripes of
// rows of a sample, and blocks of channels where the weight is larger than the picture. A piece is
// brought into oneDNN's order of elements, calculated and brought back while it is in the cache.
// Weights in that order are kept (tenon/packed_weights.h).
#pragma once

#include <optional>

#include "kernels/convolution.h"
#include "tenon/tensor.h"

namespace tenon {

// Tensors of float32, or all of bfloat16, of two dimensions more than sizes.dims, on the CPU, of
// any strides. False, with nothing done: oneDNN has nothing fast for it.

// out = the convolution of in, plus the bias (out_channels) if there is one.
bool onednn_convolve(const ConvolutionSizes& sizes, const Tensor& out, const Tensor& in,
                     const Tensor& weight, const std::optional<Tensor>& bias);
// in = the transposed convolution of out.
bool onednn_convolve_transposed(const ConvolutionSizes& sizes, const Tensor& in, const Tensor& out,
                                const Tensor& weight);
// weight = its gradient, if out is that of the result of a convolution of in. It is packed, and of
// float32 whatever the others are.
bool onednn_convolution_weights(const ConvolutionSizes& sizes, const Tensor& weight,
                                const Tensor& in, const Tensor& out);

}  // namespace tenon
