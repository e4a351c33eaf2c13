// Activations: torch.nn.functional's functions between layers.
//
//   Tensor y = gelu(x, {.approximate = "tanh"});
//   leaky_relu(x, {.negative_slope = 0.2, .inplace = true});
//   Tensor p = softmax(scores, -1);
//
// Of floating tensors, element by element unless they say otherwise; the 16-bit ones are calculated
// in float. NotImplementedError for other dtypes; threshold, hardtanh and relu6 also take whole
// numbers. `inplace` writes into the input and returns it. sigmoid, tanh and relu without options
// are in tenon/ops/arithmetic.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/ops/activation_ops.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/tensor.h"

namespace tenon {

struct InplaceOptions {
  bool inplace = false;
};
struct HardtanhOptions {
  double min_val = -1;
  double max_val = 1;
  bool inplace = false;
};
struct AlphaInplaceOptions {
  double alpha = 1;
  bool inplace = false;
};
struct LeakyReluOptions {
  double negative_slope = 0.01;
  bool inplace = false;
};
struct RreluFunctionOptions {
  double lower = 1. / 8;
  double upper = 1. / 3;
  bool training = false;
  bool inplace = false;
};
struct GeluOptions {
  std::string_view approximate = "none";  // or "tanh"
};
struct LambdOptions {
  double lambd = 0.5;
};
struct SoftplusOptions {
  double beta = 1;
  double threshold = 20;  // it is a straight line where x * beta is above
};
struct GluOptions {
  std::int64_t dim = -1;
};
struct SoftmaxOptions {
  // Without one, PyTorch's old choice, with a warning: 0 for tensors of 0, 1 or 3 dimensions, else
  // 1.
  std::optional<std::int64_t> dim = {};
  std::optional<DType> dtype = {};  // the input is converted to it first
};
struct GumbelSoftmaxOptions {
  double tau = 1;
  bool hard = false;  // a one where the largest is, zeros elsewhere; the gradient is the soft one's
  double eps = 1e-10;  // not used, as in PyTorch
  std::int64_t dim = -1;
};
struct NormalizeOptions {
  double p = 2;
  Dims dim = 1;
  double eps = 1e-12;
};

// x, but 0 where it is below.
TENON_API Tensor relu(const Tensor& input, InplaceOptions options);
TENON_API const Tensor& relu_(const Tensor& input);
// x, but value where it is not above threshold.
TENON_API Tensor threshold(const Tensor& input, double threshold, double value,
                           InplaceOptions options = {});
TENON_API const Tensor& threshold_(const Tensor& input, double threshold, double value);
// x, between the bounds. ValueError if min_val is above max_val.
TENON_API Tensor hardtanh(const Tensor& input, HardtanhOptions options = {});
TENON_API const Tensor& hardtanh_(const Tensor& input, HardtanhOptions options = {});
// x, between 0 and 6.
TENON_API Tensor relu6(const Tensor& input, InplaceOptions options = {});
// Straight from -3 to 3: from 0 to 1; and x times that.
TENON_API Tensor hardsigmoid(const Tensor& input, InplaceOptions options = {});
TENON_API Tensor hardswish(const Tensor& input, InplaceOptions options = {});
// x * sigmoid(x), and x * tanh(softplus(x)).
TENON_API Tensor silu(const Tensor& input, InplaceOptions options = {});
TENON_API Tensor mish(const Tensor& input, InplaceOptions options = {});
// x, and alpha * (e^x - 1) where it is not above 0; celu has x / alpha in the exponent, selu the
// constants that keep mean and variance. ValueError for an alpha of 0 in celu.
TENON_API Tensor elu(const Tensor& input, AlphaInplaceOptions options = {});
TENON_API const Tensor& elu_(const Tensor& input, AlphaInplaceOptions options = {});
TENON_API Tensor celu(const Tensor& input, AlphaInplaceOptions options = {});
TENON_API const Tensor& celu_(const Tensor& input, AlphaInplaceOptions options = {});
TENON_API Tensor selu(const Tensor& input, InplaceOptions options = {});
TENON_API const Tensor& selu_(const Tensor& input);
// x, and x times the slope where it is not above 0.
TENON_API Tensor leaky_relu(const Tensor& input, LeakyReluOptions options = {});
inline Tensor leaky_relu(const Tensor& input, double negative_slope) {
  return leaky_relu(input, LeakyReluOptions{.negative_slope = negative_slope});
}
TENON_API const Tensor& leaky_relu_(const Tensor& input, double negative_slope = 0.01);
// The same with slopes that are drawn for every element while training, and their middle else.
TENON_API Tensor rrelu(const Tensor& input, RreluFunctionOptions options = {});
TENON_API const Tensor& rrelu_(const Tensor& input, RreluFunctionOptions options = {});
// The same with a slope for every channel, which is dimension 1 (dimension 0 if there is one only),
// or one slope for all. ShapeError if their number is another.
TENON_API Tensor prelu(const Tensor& input, const Tensor& weight);
// x times how much of the normal distribution lies below x; "tanh" approximates it. ValueError for
// another word.
TENON_API Tensor gelu(const Tensor& input, GeluOptions options = {});
// x, but 0 from -lambd to lambd; softshrink moves the rest towards 0 by that much. ValueError for a
// negative lambd in softshrink.
TENON_API Tensor hardshrink(const Tensor& input, LambdOptions options = {});
inline Tensor hardshrink(const Tensor& input, double lambd) {
  return hardshrink(input, LambdOptions{lambd});
}
TENON_API Tensor softshrink(const Tensor& input, LambdOptions options = {});
inline Tensor softshrink(const Tensor& input, double lambd) {
  return softshrink(input, LambdOptions{lambd});
}
// x - tanh(x), x / (1 + |x|), log(1 + e^(beta x)) / beta, log(sigmoid(x)).
TENON_API Tensor tanhshrink(const Tensor& input);
TENON_API Tensor softsign(const Tensor& input);
TENON_API Tensor softplus(const Tensor& input, SoftplusOptions options = {});
TENON_API Tensor logsigmoid(const Tensor& input);
// The first half along a dimension times the sigmoid of the second. ShapeError if it is odd.
TENON_API Tensor glu(const Tensor& input, GluOptions options = {});
inline Tensor glu(const Tensor& input, std::int64_t dim) { return glu(input, GluOptions{dim}); }

// e^x over the sum of all e^x along a dimension, and its logarithm. NaN where all are -infinity.
// softmin is that of -x.
TENON_API Tensor softmax(const Tensor& input, SoftmaxOptions options = {});
inline Tensor softmax(const Tensor& input, std::int64_t dim, DTypeOption options = {}) {
  return softmax(input, SoftmaxOptions{dim, options.dtype});
}
TENON_API Tensor log_softmax(const Tensor& input, SoftmaxOptions options = {});
inline Tensor log_softmax(const Tensor& input, std::int64_t dim, DTypeOption options = {}) {
  return log_softmax(input, SoftmaxOptions{dim, options.dtype});
}
TENON_API Tensor softmin(const Tensor& input, SoftmaxOptions options = {});
inline Tensor softmin(const Tensor& input, std::int64_t dim, DTypeOption options = {}) {
  return softmin(input, SoftmaxOptions{dim, options.dtype});
}
// Softmax of the logits and noise, over tau. Draws from the default generator.
TENON_API Tensor gumbel_softmax(const Tensor& logits, GumbelSoftmaxOptions options = {});
// Divided by its norm along the dimensions, or by eps if that is larger.
TENON_API Tensor normalize(const Tensor& input, const NormalizeOptions& options = {});

}  // namespace tenon
