// Values brought to mean 0 and variance 1: torch.nn.functional's layer_norm, batch_norm and their
// kin.
//
//   Tensor y = layer_norm(x, {768}, {.weight = w, .bias = b});
//   Tensor z = batch_norm(images, running_mean, running_var, {.training = true});
//
// float32 and float64 are calculated in their own precision, 16-bit floats in float32 and rounded
// once; those also take weights of float32. Statistics are the same on any number of threads.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API layer_norm {
  using Signature = Tensor(const Tensor& input, const Dims& normalized_shape,
                           const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                           double eps);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API rms_norm {
  using Signature = Tensor(const Tensor& input, const Dims& normalized_shape,
                           const std::optional<Tensor>& weight, std::optional<double> eps);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API group_norm {
  using Signature = Tensor(const Tensor& input, std::int64_t num_groups,
                           const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                           double eps);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API batch_norm {
  using Signature = Tensor(const Tensor& input, const std::optional<Tensor>& running_mean,
                           const std::optional<Tensor>& running_var,
                           const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                           bool training, double momentum, double eps);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API instance_norm {
  using Signature = Tensor(const Tensor& input, const std::optional<Tensor>& running_mean,
                           const std::optional<Tensor>& running_var,
                           const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                           bool use_input_stats, double momentum, double eps);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API local_response_norm {
  using Signature = Tensor(const Tensor& input, std::int64_t size, double alpha, double beta,
                           double k);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

struct LayerNormFunctionOptions {
  Tensor weight = {};  // of the normalized shape
  Tensor bias = {};
  double eps = 1e-5;
};
// Over the last dimensions together, which must be `normalized_shape`: (x - mean) / sqrt(variance +
// eps), times the weight, plus the bias. ShapeError if they are not.
TENON_API Tensor layer_norm(const Tensor& input, const Dims& normalized_shape,
                            const LayerNormFunctionOptions& options = {});

struct RMSNormFunctionOptions {
  Tensor weight = {};
  std::optional<double> eps = {};  // nothing: the distance from 1 to the next number of the dtype
};
// As layer_norm, without the mean: x / sqrt(mean of x^2 + eps), times the weight.
TENON_API Tensor rms_norm(const Tensor& input, const Dims& normalized_shape,
                          const RMSNormFunctionOptions& options = {});

struct GroupNormFunctionOptions {
  Tensor weight = {};  // one number for each channel
  Tensor bias = {};
  double eps = 1e-5;
};
// Of (N, C, *), the C channels in equal groups, each with its own statistics in each of the N.
TENON_API Tensor group_norm(const Tensor& input, std::int64_t num_groups,
                            const GroupNormFunctionOptions& options = {});

struct BatchNormFunctionOptions {
  Tensor weight = {};  // one number for each channel
  Tensor bias = {};
  bool training = false;
  double momentum = 0.1;  // how much of the running statistics is replaced
  double eps = 1e-5;
};
// Of (N, C, *), each channel over all the rest. With training the statistics are the input's, and
// the running ones, if they are there, move towards them, in place; else the running ones are used.
// Undefined tensors are none.
TENON_API Tensor batch_norm(const Tensor& input, const Tensor& running_mean,
                            const Tensor& running_var,
                            const BatchNormFunctionOptions& options = {});

struct InstanceNormFunctionOptions {
  Tensor running_mean = {};
  Tensor running_var = {};
  Tensor weight = {};
  Tensor bias = {};
  bool use_input_stats = true;
  double momentum = 0.1;
  double eps = 1e-5;
};
// Of (N, C, *), each channel of each of the N on its own.
TENON_API Tensor instance_norm(const Tensor& input,
                               const InstanceNormFunctionOptions& options = {});

struct LocalResponseNormFunctionOptions {
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;
};
// Of (N, C, *): x / (k + alpha * the mean of x^2 over `size` neighbouring channels)^beta.
TENON_API Tensor local_response_norm(const Tensor& input, std::int64_t size,
                                     const LocalResponseNormFunctionOptions& options = {});

}  // namespace tenon
