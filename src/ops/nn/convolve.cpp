#include "ops/nn/convolve.h"

#include <algorithm>
#include <limits>

#include "core/element_copy.h"
#include "kernels/convolution.h"
#include "ops/onednn/convolution.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

namespace {

// One dimension is two, the first of size one.
Tensor lifted(const Tensor& tensor) { return tensor.dim() == 3 ? tensor.unsqueeze(2) : tensor; }

ConvolutionSizes sizes_of(const ConvolutionShape& shape, const Tensor& in, const Tensor& out,
                          const Tensor& weight) {
  ConvolutionSizes s;
  s.batch = in.size(0);
  s.groups = shape.groups;
  s.in_channels = in.size(1);
  s.out_channels = out.size(1);
  const auto dims = static_cast<std::size_t>(in.dim()) - 2;
  s.dims = std::max<std::size_t>(2, dims);
  for (std::size_t d = 0; d < dims; ++d) {
    const std::size_t to = 3 - dims + d;
    s.in[to] = in.shape()[2 + d];
    s.out[to] = out.shape()[2 + d];
    s.kernel[to] = weight.shape()[2 + d];
    s.stride[to] = shape.stride[d];
    s.padding[to] = shape.padding[d];
    s.dilation[to] = shape.dilation[d];
  }
  return s;
}

// oneDNN calculates with 32-bit numbers in places.
bool is_for_onednn(const ConvolutionSizes& s) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  bool fits = std::max({s.batch, s.groups, s.in_channels, s.out_channels}) <= kMost;
  for (std::size_t d = 0; d < 3; ++d) {
    const std::int64_t largest =
        std::max({s.in[d], s.out[d], s.kernel[d], s.stride[d], s.padding[d], s.dilation[d]});
    // None of the sums below overflows if no number is larger.
    fits = fits && largest <= kMost && s.in[d] + 2 * s.padding[d] <= kMost &&
           s.dilation[d] * s.kernel[d] <= kMost && s.out[d] * s.stride[d] <= kMost;
  }
  return fits;
}

Tensor empty_of(const Tensor& like, DType dtype) {
  return empty(like.shape(), {.dtype = dtype, .device = Device::cpu()});
}
// As oneDNN takes it: packed, with the channels first or last.
Tensor plain(const Tensor& tensor) {
  if (tensor.is_contiguous()) return tensor;
  if (tensor.dim() == 4 && tensor.is_contiguous(MemoryFormat::channels_last)) return tensor;
  if (tensor.dim() == 5 && tensor.is_contiguous(MemoryFormat::channels_last_3d)) return tensor;
  return tensor.contiguous();
}

// For each channel.
void add_bias(const Tensor& result, const std::optional<Tensor>& bias) {
  if (!bias) return;
  Shape shape = Dims::filled(static_cast<std::size_t>(result.dim()) - 1, 1);
  shape[0] = bias->numel();
  // Nobody is to see that the result was written to more than once.
  result.variable_data().add_(bias->reshape(shape));
}

std::optional<Tensor> packed(const std::optional<Tensor>& tensor, DType dtype) {
  if (!tensor) return std::nullopt;
  return tensor->to(dtype).contiguous();
}

// By our own kernels, in doubles or in 64-bit whole numbers.
template <class F>
void in_wide(const Tensor& result, F&& f) {
  const DType wide = is_integral(result.dtype()) ? int64 : float64;
  const bool direct = result.dtype() == wide && result.is_contiguous();
  const Tensor sum = direct ? result.variable_data() : empty_of(result, wide);
  sum.zero_();
  if (wide == int64)
    f.template operator()<std::int64_t>(sum);
  else
    f.template operator()<double>(sum);
  if (!direct) copy_tensor(result, sum);
}
template <class T>
Tensor wide(const Tensor& tensor) {
  return tensor.to(dtype_of<T>).contiguous();
}

}  // namespace

bool can_convolve(DType dtype) {
  return is_integral(dtype) || dtype == float16 || dtype == bfloat16 || dtype == float32 ||
         dtype == float64;
}

void convolve(const ConvolutionShape& shape, const Tensor& out, const Tensor& in,
              const Tensor& weight, const std::optional<Tensor>& bias) {
  const ConvolutionSizes sizes = sizes_of(shape, in, out, weight);
  if ((in.dtype() == float32 || in.dtype() == bfloat16) && is_for_onednn(sizes)) {
    if (onednn_convolve(sizes, lifted(out), lifted(plain(in)), lifted(plain(weight)),
                        packed(bias, in.dtype())))
      return;
  }
  if (in.dtype() == bfloat16 || in.dtype() == float16) {
    const Tensor sum = empty_of(out, float32);
    convolve(shape, sum, in.to(float32), weight.to(float32), packed(bias, float32));
    return copy_tensor(out, sum);
  }
  in_wide(out, [&]<class T>(const Tensor& sum) {
    Convolution<T>::forward(sizes, wide<T>(in).template data<T>(),
                            wide<T>(weight).template data<T>(), sum.data<T>());
    add_bias(sum, packed(bias, dtype_of<T>));
  });
}

void convolve_transposed(const ConvolutionShape& shape, const Tensor& in, const Tensor& out,
                         const Tensor& weight, const std::optional<Tensor>& bias) {
  const ConvolutionSizes sizes = sizes_of(shape, in, out, weight);
  // With a bias bfloat16 is rounded once, after it is added.
  const bool once = in.dtype() == float32 || (in.dtype() == bfloat16 && !bias);
  if (once && is_for_onednn(sizes) &&
      onednn_convolve_transposed(sizes, lifted(in), lifted(plain(out)), lifted(plain(weight))))
    return add_bias(in, bias);
  if (in.dtype() == bfloat16 || in.dtype() == float16) {
    const Tensor sum = empty_of(in, float32);
    convolve_transposed(shape, sum, out.to(float32), weight.to(float32), packed(bias, float32));
    return copy_tensor(in, sum);
  }
  in_wide(in, [&]<class T>(const Tensor& sum) {
    Convolution<T>::transposed(sizes, wide<T>(out).template data<T>(),
                               wide<T>(weight).template data<T>(), sum.data<T>());
    add_bias(sum, packed(bias, dtype_of<T>));
  });
}

void convolution_weights(const ConvolutionShape& shape, const Tensor& weight, const Tensor& in,
                         const Tensor& out) {
  const ConvolutionSizes sizes = sizes_of(shape, in, out, weight);
  const DType dtype = in.dtype();
  if ((dtype == float32 || dtype == bfloat16) && is_for_onednn(sizes)) {
    const Tensor sum =
        dtype == float32 && weight.is_contiguous() ? weight : empty_of(weight, float32);
    if (onednn_convolution_weights(sizes, lifted(sum), lifted(plain(in)), lifted(plain(out)))) {
      if (!sum.is(weight)) copy_tensor(weight, sum);
      return;
    }
  }
  if (dtype == bfloat16 || dtype == float16) {
    const Tensor sum = empty_of(weight, float32);
    convolution_weights(shape, sum, in.to(float32), out.to(float32));
    return copy_tensor(weight, sum);
  }
  in_wide(weight, [&]<class T>(const Tensor& sum) {
    Convolution<T>::weights(sizes, wide<T>(in).template data<T>(), wide<T>(out).template data<T>(),
                            sum.data<T>());
  });
}

}  // namespace tenon
