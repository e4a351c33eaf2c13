// Convolutions of doubles and of whole numbers, which oneDNN does not have.
//
// Windows of the input become the columns of a matrix, which is multiplied by the weights. The
// order of additions depends on the sizes alone, not on how many threads there are.
#pragma once

#include <array>
#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// Of the convolution that makes `out` from `in`. One that is transposed makes `in` from `out`.
struct ConvolutionSizes {
  std::int64_t batch = 0, groups = 1;
  std::int64_t in_channels = 0, out_channels = 0;  // of all groups
  std::size_t dims = 2;                            // two or three; the others are of size one
  std::array<std::int64_t, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1};
  std::array<std::int64_t, 3> stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};

  std::int64_t in_positions() const noexcept { return in[0] * in[1] * in[2]; }
  std::int64_t out_positions() const noexcept { return out[0] * out[1] * out[2]; }
  std::int64_t kernel_positions() const noexcept { return kernel[0] * kernel[1] * kernel[2]; }
};

// All packed, in PyTorch's order of dimensions: (batch, channels, sizes) and (out_channels,
// in_channels / groups, kernel). What is calculated is added to what is there.
template <class T>
struct Convolution {
  // out += the convolution of in.
  static void forward(const ConvolutionSizes& sizes, const T* in, const T* weight, T* out);
  // in += the transposed convolution of out.
  static void transposed(const ConvolutionSizes& sizes, const T* out, const T* weight, T* in);
  // weight += what its gradient is, if out is that of the result.
  static void weights(const ConvolutionSizes& sizes, const T* in, const T* out, T* weight);
};
extern template struct TENON_API Convolution<double>;
extern template struct TENON_API Convolution<std::int64_t>;

}  // namespace tenon
