// First values for parameters: torch.nn.init.
//
//   init::kaiming_uniform_(weight, {.a = std::sqrt(5.0)});
//   init::trunc_normal_(table, {.std = 0.02, .generator = own});
//   init::xavier_normal_(weight, {.gain = init::calculate_gain("tanh")});
//
// All write into the tensor and return it, record nothing, and do nothing on meta. Those that draw
// take PyTorch's numbers from the generator, the default one if none is named, and leave it where
// PyTorch would: the same seed gives the same parameters, bit for bit (orthogonal_ apart, which
// agrees to rounding). ValueError, with nothing drawn, for shapes and options that cannot be.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/generator.h"
#include "tenon/scalar.h"
#include "tenon/tensor.h"

namespace tenon::nn::init {

struct GainOptions {
  std::optional<double> param = {};  // of "leaky_relu" its negative slope, 0.01 if nothing is said
};
// By how much weights before that function should be larger for its result to vary as its input
// does: 1 for "linear", the convolutions ("conv1d", "conv_transpose2d", ...) and "sigmoid", 5/3 for
// "tanh", the square root of 2 for "relu" and of 2 / (1 + param^2) for "leaky_relu", 3/4 for
// "selu". ValueError for others.
TENON_API double calculate_gain(std::string_view nonlinearity, GainOptions options = {});

struct UniformOptions {
  double a = 0;
  double b = 1;
  std::optional<Generator> generator = {};
};
struct NormalOptions {
  double mean = 0;
  double std = 1;
  std::optional<Generator> generator = {};
};
struct TruncNormalOptions {
  double mean = 0;
  double std = 1;
  double a = -2;
  double b = 2;
  std::optional<Generator> generator = {};
};
// Uniform in [a, b); normal; normal with what is outside [a, b] drawn again.
TENON_API const Tensor& uniform_(const Tensor& tensor, const UniformOptions& options = {});
TENON_API const Tensor& normal_(const Tensor& tensor, const NormalOptions& options = {});
// Warns if the mean is more than two standard deviations outside: few draws are good then.
TENON_API const Tensor& trunc_normal_(const Tensor& tensor, const TruncNormalOptions& options = {});

TENON_API const Tensor& constant_(const Tensor& tensor, const Scalar& val);
TENON_API const Tensor& ones_(const Tensor& tensor);
TENON_API const Tensor& zeros_(const Tensor& tensor);

// A matrix with ones on its diagonal, so that a linear layer passes on what it is given.
TENON_API const Tensor& eye_(const Tensor& tensor);

struct DiracOptions {
  std::int64_t groups = 1;
};
// The same for a convolution, of three to five dimensions: a one in the middle of each channel's
// own kernel, in every group.
TENON_API const Tensor& dirac_(const Tensor& tensor, DiracOptions options = {});

// The next four take the tensor for a weight (out, in, kernel...): its fan in is in times the size
// of a kernel, its fan out is out times that.

struct XavierOptions {
  double gain = 1;
  std::optional<Generator> generator = {};
};
// With the variance gain^2 * 2 / (fan in + fan out). Glorot's.
TENON_API const Tensor& xavier_uniform_(const Tensor& tensor, const XavierOptions& options = {});
TENON_API const Tensor& xavier_normal_(const Tensor& tensor, const XavierOptions& options = {});

struct KaimingOptions {
  double a = 0;                      // the negative slope, if the function is "leaky_relu"
  std::string_view mode = "fan_in";  // or "fan_out"
  std::string_view nonlinearity = "leaky_relu";
  std::optional<Generator> generator = {};
};
// With the variance gain^2 / fan. He's. Of a tensor without elements: warns, and does nothing.
TENON_API const Tensor& kaiming_uniform_(const Tensor& tensor, const KaimingOptions& options = {});
TENON_API const Tensor& kaiming_normal_(const Tensor& tensor, const KaimingOptions& options = {});

struct OrthogonalOptions {
  double gain = 1;
  std::optional<Generator> generator = {};
};
// A random matrix, of as many rows as the tensor, whose rows are orthonormal, or else its columns,
// times the gain. float32 and float64; NotImplementedError otherwise.
TENON_API const Tensor& orthogonal_(const Tensor& tensor, const OrthogonalOptions& options = {});

struct SparseOptions {
  double std = 0.01;
  std::optional<Generator> generator = {};
};
// A matrix of normal numbers, in each column of which that fraction, rounded up to whole elements,
// is zero. Which ones is drawn from the default generator even if another is named, as in PyTorch.
TENON_API const Tensor& sparse_(const Tensor& tensor, double sparsity,
                                const SparseOptions& options = {});

}  // namespace tenon::nn::init
