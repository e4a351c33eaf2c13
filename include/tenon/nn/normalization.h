// Layers that bring what passes to mean 0 and variance 1, each item of a batch on its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"

namespace tenon::nn {

struct LayerNormOptions {
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};

// Over the last dimensions together, which are normalized_shape; then times a weight, plus a bias,
// of that shape.
class TENON_API LayerNorm : public Layer {
 public:
  using Options = LayerNormOptions;
  explicit LayerNorm(const Dims& normalized_shape, const Options& options = {});
  // What LayerNorm({10}) means. An array, as in tenon/nn/pooling.h.
  template <std::size_t N>
  explicit LayerNorm(const std::int64_t (&normalized_shape_)[N], const Options& options = {})
      : LayerNorm(Dims(normalized_shape_), options) {}

  // A weight of ones and a bias of zeros.
  void reset_parameters();
  std::string extra_repr() const override;

  Dims normalized_shape;
  double eps;
  bool elementwise_affine;
  Parameter weight{this, "weight"};
  Parameter bias{this, "bias"};

 protected:
  Tensor forward(const Tensor& input) override;
};

struct RMSNormOptions {
  std::optional<double> eps = {};
  bool elementwise_affine = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};

// As LayerNorm, without a mean and a bias.
class TENON_API RMSNorm : public Layer {
 public:
  using Options = RMSNormOptions;
  explicit RMSNorm(const Dims& normalized_shape, const Options& options = {});
  // What RMSNorm({10}) means.
  template <std::size_t N>
  explicit RMSNorm(const std::int64_t (&normalized_shape_)[N], const Options& options = {})
      : RMSNorm(Dims(normalized_shape_), options) {}

  void reset_parameters();
  std::string extra_repr() const override;

  Dims normalized_shape;
  std::optional<double> eps;
  bool elementwise_affine;
  Parameter weight{this, "weight"};

 protected:
  Tensor forward(const Tensor& input) override;
};

struct GroupNormOptions {
  double eps = 1e-5;
  bool affine = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
  bool bias = true;
};

// Channels in equal groups, each with its own mean and variance.
class TENON_API GroupNorm : public Layer {
 public:
  using Options = GroupNormOptions;
  // ValueError unless the groups are equal.
  GroupNorm(std::int64_t num_groups, std::int64_t num_channels, const Options& options = {});

  void reset_parameters();
  std::string extra_repr() const override;

  std::int64_t num_groups, num_channels;
  double eps;
  bool affine;
  Parameter weight{this, "weight"};
  Parameter bias{this, "bias"};

 protected:
  Tensor forward(const Tensor& input) override;
};

struct LocalResponseNormOptions {
  double alpha = 1e-4;
  double beta = 0.75;
  double k = 1;
};

// Divides by what neighbouring channels have.
class TENON_API LocalResponseNorm : public Layer {
 public:
  using Options = LocalResponseNormOptions;
  explicit LocalResponseNorm(std::int64_t size, const Options& options = {});

  std::string extra_repr() const override;

  std::int64_t size;
  double alpha, beta, k;

 protected:
  Tensor forward(const Tensor& input) override;
};

}  // namespace tenon::nn
