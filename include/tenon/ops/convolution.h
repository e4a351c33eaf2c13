// Convolutions: sliding windows times weights.
//
//   Tensor y = conv2d(x, weight, {.bias = b, .stride = 2, .padding = {1, 2}});
//   Tensor z = conv1d(x, weight, {.padding = "same"});
//   Tensor up = conv_transpose2d(x, weight, {.stride = 2, .output_padding = 1});
//
// The input is (batch, channels, sizes), or without the batch; the weight of a convolution (out, in
// / groups, kernel), that of a transposed one (in, out / groups, kernel). Sizes may be given as one
// number for all dimensions. float32 and bfloat16 are calculated by oneDNN, float16 through
// float32, doubles and whole numbers by us. The result is the same on any number of threads.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/shape.h"
#include "tenon/tensor.h"

namespace tenon {

// How much is put around an input: a number for all dimensions, a number for each, or "same" (the
// result is as large as the input) or "valid" (nothing).
class TENON_API ConvPadding {
 public:
  // 1 and {1, 2}: Note [Braces with names].
  template <std::integral... I>
  ConvPadding(I... sizes) : sizes_{static_cast<std::int64_t>(sizes)...} {}
  template <std::derived_from<Dims> D>
  ConvPadding(const D& sizes) : sizes_(sizes) {}
  template <class T>
    requires std::convertible_to<const T&, std::string_view>
  ConvPadding(const T& text) : text_(std::string_view(text)) {}

  bool is_text() const noexcept { return !text_.empty(); }
  const std::string& text() const noexcept { return text_; }  // empty if it is sizes
  const Dims& sizes() const noexcept { return sizes_; }
  friend bool operator==(const ConvPadding& a, const ConvPadding& b) noexcept = default;

  // "(1, 2)" or "same".
  std::string repr() const { return is_text() ? text_ : sizes_.repr(); }

 private:
  Dims sizes_;
  std::string text_;
};

namespace op {

// One for all numbers of dimensions, with a batch; all sizes are lists of that many numbers.
// aten::convolution.
struct TENON_API convolution {
  using Signature = Tensor(const Tensor& input, const Tensor& weight,
                           const std::optional<Tensor>& bias, const Dims& stride,
                           const Dims& padding, const Dims& dilation, bool transposed,
                           const Dims& output_padding, std::int64_t groups);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// The gradients of input, weight and bias, those that the mask does not ask for undefined.
struct TENON_API convolution_backward {
  using Signature = std::tuple<Tensor, Tensor, Tensor>(
      const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Dims& stride,
      const Dims& padding, const Dims& dilation, bool transposed, const Dims& output_padding,
      std::int64_t groups, const std::vector<bool>& output_mask);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
// `padding_text` is "same", "valid", or empty: then `padding` counts.
struct TENON_API conv1d {
  using Signature = Tensor(const Tensor& input, const Tensor& weight,
                           const std::optional<Tensor>& bias, const Dims& stride,
                           const Dims& padding, std::string_view padding_text, const Dims& dilation,
                           std::int64_t groups);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API conv2d {
  using Signature = conv1d::Signature;
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API conv3d {
  using Signature = conv1d::Signature;
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API conv_transpose1d {
  using Signature = Tensor(const Tensor& input, const Tensor& weight,
                           const std::optional<Tensor>& bias, const Dims& stride,
                           const Dims& padding, const Dims& output_padding, std::int64_t groups,
                           const Dims& dilation);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API conv_transpose2d {
  using Signature = conv_transpose1d::Signature;
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API conv_transpose3d {
  using Signature = conv_transpose1d::Signature;
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

struct ConvFunctionOptions {
  Tensor bias = {};
  Dims stride = 1;
  ConvPadding padding = 0;
  Dims dilation = 1;
  std::int64_t groups = 1;  // channels are cut into so many groups that do not see each other
};
// ShapeError, DTypeError or DeviceError if tensors do not fit together, which says what they are;
// ValueError for options that cannot be.
TENON_API Tensor conv1d(const Tensor& input, const Tensor& weight,
                        const ConvFunctionOptions& options = {});
TENON_API Tensor conv2d(const Tensor& input, const Tensor& weight,
                        const ConvFunctionOptions& options = {});
TENON_API Tensor conv3d(const Tensor& input, const Tensor& weight,
                        const ConvFunctionOptions& options = {});

// With the bias third, as it often is in PyTorch.
inline Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     ConvFunctionOptions options = {}) {
  options.bias = bias;
  return conv1d(input, weight, options);
}
inline Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     ConvFunctionOptions options = {}) {
  options.bias = bias;
  return conv2d(input, weight, options);
}
inline Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     ConvFunctionOptions options = {}) {
  options.bias = bias;
  return conv3d(input, weight, options);
}

struct ConvTransposeFunctionOptions {
  Tensor bias = {};
  Dims stride = 1;
  Dims padding = 0;         // so much is left out around the result
  Dims output_padding = 0;  // so much is added at the end of it
  std::int64_t groups = 1;
  Dims dilation = 1;
};
// What a convolution's gradient does: each element of the input is multiplied by the whole kernel,
// and the results are added where they overlap.
TENON_API Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                                  const ConvTransposeFunctionOptions& options = {});
TENON_API Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                                  const ConvTransposeFunctionOptions& options = {});
TENON_API Tensor conv_transpose3d(const Tensor& input, const Tensor& weight,
                                  const ConvTransposeFunctionOptions& options = {});

inline Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               ConvTransposeFunctionOptions options = {}) {
  options.bias = bias;
  return conv_transpose1d(input, weight, options);
}
inline Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               ConvTransposeFunctionOptions options = {}) {
  options.bias = bias;
  return conv_transpose2d(input, weight, options);
}
inline Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                               ConvTransposeFunctionOptions options = {}) {
  options.bias = bias;
  return conv_transpose3d(input, weight, options);
}

struct ConvolutionOptions {
  Tensor bias = {};
  Dims stride = 1;
  Dims padding = 0;
  Dims dilation = 1;
  bool transposed = false;
  Dims output_padding = 0;
  std::int64_t groups = 1;
};
// Either of them, of one to three dimensions besides batch and channels.
TENON_API Tensor convolution(const Tensor& input, const Tensor& weight,
                             const ConvolutionOptions& options = {});
struct ConvolutionBackwardOptions {
  Dims stride = 1;
  Dims padding = 0;
  Dims dilation = 1;
  bool transposed = false;
  Dims output_padding = 0;
  std::int64_t groups = 1;
  std::array<bool, 3> output_mask = {true, true, true};
};
// The gradients of its input, weight and bias, of those that the mask asks for.
TENON_API std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad_output, const Tensor& input, const Tensor& weight,
    const ConvolutionBackwardOptions& options = {});

}  // namespace tenon
