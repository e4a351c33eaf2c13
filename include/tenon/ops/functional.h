// What layers calculate, without the layers: torch.nn.functional.
//
//   Tensor y = linear(x, weight, {.bias = bias});
//   Tensor rows = embedding(tokens, table, {.padding_idx = 0});
//   Tensor kept = dropout(y, {.p = 0.1, .training = false});
//
// Each is an operator of its own, so a user-defined tensor can take over the whole of it
// (tenon/extend/wrapper.h); where none does, it is made of the operators of the other headers. All
// work on meta tensors.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API linear {
  using Signature = Tensor(const Tensor& input, const Tensor& weight,
                           const std::optional<Tensor>& bias);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API bilinear {
  using Signature = Tensor(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                           const std::optional<Tensor>& bias);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API embedding {
  using Signature = Tensor(const Tensor& input, const Tensor& weight,
                           std::optional<std::int64_t> padding_idx, std::optional<double> max_norm,
                           double norm_type, bool scale_grad_by_freq, bool sparse);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API feature_dropout {
  using Signature = Tensor(const Tensor& input, double p, bool training, bool inplace);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API alpha_dropout {
  using Signature = Tensor(const Tensor& input, double p, bool training, bool inplace);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API feature_alpha_dropout {
  using Signature = Tensor(const Tensor& input, double p, bool training, bool inplace);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API dropout {
  using Signature = Tensor(const Tensor& input, double p, bool training, bool inplace);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

// input times the transposed weight, plus the bias if there is one. The input is (*, in), where *
// is any number of dimensions; the weight (out, in) and the bias (out), for a result (*, out); or
// the weight (in) and the bias (), for a result (*). ShapeError, DTypeError or DeviceError if they
// do not fit, which says what both are.
TENON_API Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);
struct BiasOptions {
  Tensor bias = {};
};
inline Tensor linear(const Tensor& input, const Tensor& weight, const BiasOptions& options = {}) {
  return linear(input, weight, options.bias);
}

// For each output, input1 times its matrix of the weight times input2: of (*, in1) and (*, in2)
// with a weight (out, in1, in2) and a bias (out), the result is (*, out). Errors as for linear.
TENON_API Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                          const Tensor& bias);
inline Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                       const BiasOptions& options = {}) {
  return bilinear(input1, input2, weight, options.bias);
}

struct EmbeddingFunctionOptions {
  // A row whose gradient is left out; negative ones count from the end. The result is the same.
  std::optional<std::int64_t> padding_idx = {};
  // Rows that are used and whose norm is larger are scaled to it first, in the weight itself.
  std::optional<double> max_norm = {};
  double norm_type = 2;             // which norm that is
  bool scale_grad_by_freq = false;  // divides gradients by how often their row was used
  bool sparse = false;              // NotImplementedError: gradients are never sparse here
};
// The rows of the weight, which is a matrix, that the input names: int64 or int32 numbers of any
// shape (*), for a result (*, columns). IndexError if there is no such row, before anything is
// changed.
TENON_API Tensor embedding(const Tensor& input, const Tensor& weight,
                           const EmbeddingFunctionOptions& options = {});

struct DropoutFunctionOptions {
  double p = 0.5;  // how likely an element is left out
  bool training = true;
  bool inplace = false;  // writes into the input, and returns it
};
// Each element is zero with probability p, and else divided by 1 - p. The input itself if not
// training. ValueError for a p outside [0, 1]. Draws from the default generator.
TENON_API Tensor dropout(const Tensor& input, DropoutFunctionOptions options = {});

// Whole channels of (N, C, ...): dropout1d of (N, C, L) or (C, L), ShapeError for others; dropout2d
// of (N, C, H, W) or (N, C, L); dropout3d of (N, C, D, H, W) or (C, D, H, W). The last two warn of
// other numbers of dimensions.
TENON_API Tensor dropout1d(const Tensor& input, DropoutFunctionOptions options = {});
TENON_API Tensor dropout2d(const Tensor& input, DropoutFunctionOptions options = {});
TENON_API Tensor dropout3d(const Tensor& input, DropoutFunctionOptions options = {});

struct AlphaDropoutFunctionOptions {
  double p = 0.5;
  bool training = false;
  bool inplace = false;
};
// What is left out becomes the least value of selu, and the rest is moved so that mean and variance
// stay; of elements, and of whole channels.
TENON_API Tensor alpha_dropout(const Tensor& input, AlphaDropoutFunctionOptions options = {});
TENON_API Tensor feature_alpha_dropout(const Tensor& input,
                                       AlphaDropoutFunctionOptions options = {});

}  // namespace tenon
