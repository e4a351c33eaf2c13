// Layers that bring each channel to mean 0 and variance 1: over a batch, or in each item of it.
//
//   nn::Child<nn::BatchNorm2d> bn{this, "bn", 64};
//   nn::InstanceNorm2d style(64, {.affine = true});
//
// A call of a training layer that tracks writes its running statistics: one call at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/nn/load_state_dict.h"

namespace tenon::nn {

struct BatchNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // nothing: the running statistics are those of all batches
  bool affine = true;
  bool track_running_stats = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
  bool bias = true;
};
struct InstanceNormOptions {
  double eps = 1e-5;
  std::optional<double> momentum = 0.1;  // nothing: the running statistics stay as they are
  bool affine = false;
  bool track_running_stats = false;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
  bool bias = true;
};

// What they have in common. State dicts from before num_batches_tracked was there (version 1) are
// loaded as if it were.
class TENON_API NormBase : public Layer {
 public:
  // The running statistics as they were at first.
  void reset_running_stats();
  // And the weight and the bias: ones and zeros.
  void reset_parameters();
  std::string extra_repr() const override;
  std::int64_t version() const override { return 2; }

  std::int64_t num_features;
  double eps;
  std::optional<double> momentum;
  bool affine, track_running_stats;
  Parameter weight{this, "weight"};
  Parameter bias{this, "bias"};
  Buffer running_mean{this, "running_mean"};
  Buffer running_var{this, "running_var"};
  Buffer num_batches_tracked{this, "num_batches_tracked"};

 protected:
  NormBase(std::int64_t num_features, const BatchNormOptions& options);
  // Of a layer that was made without tensors: those that the options ask for, without shapes.
  void make_lazy(const BatchNormOptions& options);
  void load_from_state_dict(LoadContext& context) override;
};

class TENON_API BatchNormBase : public NormBase {
 public:
  using Options = BatchNormOptions;

 protected:
  // Takes inputs of `dims` dimensions, or of `or_dims`.
  BatchNormBase(std::int64_t num_features, const Options& options, std::int64_t dims,
                std::int64_t or_dims);
  Tensor forward(const Tensor& input) override;
  // How many an input has. ValueError if it is none for this layer.
  std::int64_t channels_of(const Tensor& input) const;

 private:
  std::int64_t dims_, or_dims_;
};

// Of (N, C) or (N, C, L).
class TENON_API BatchNorm1d : public BatchNormBase {
 public:
  explicit BatchNorm1d(std::int64_t channels, const Options& options = {})
      : BatchNormBase(channels, options, 2, 3) {}
};
// Of (N, C, H, W).
class TENON_API BatchNorm2d : public BatchNormBase {
 public:
  explicit BatchNorm2d(std::int64_t channels, const Options& options = {})
      : BatchNormBase(channels, options, 4, 4) {}
};
// Of (N, C, D, H, W).
class TENON_API BatchNorm3d : public BatchNormBase {
 public:
  explicit BatchNorm3d(std::int64_t channels, const Options& options = {})
      : BatchNormBase(channels, options, 5, 5) {}
};

class TENON_API InstanceNormBase : public NormBase {
 public:
  using Options = InstanceNormOptions;

 protected:
  // Takes inputs of that many dimensions, or of one more, the first of which is the batch.
  InstanceNormBase(std::int64_t num_features, const Options& options, std::int64_t unbatched);
  Tensor forward(const Tensor& input) override;
  void load_from_state_dict(LoadContext& context) override;
  // How many an input has. ValueError if it is none for this layer.
  std::int64_t channels_of(const Tensor& input) const;

 private:
  std::int64_t unbatched_;
};

// Of (C, L) or (N, C, L).
class TENON_API InstanceNorm1d : public InstanceNormBase {
 public:
  explicit InstanceNorm1d(std::int64_t channels, const Options& options = {})
      : InstanceNormBase(channels, options, 2) {}
};
// Of (C, H, W) or (N, C, H, W).
class TENON_API InstanceNorm2d : public InstanceNormBase {
 public:
  explicit InstanceNorm2d(std::int64_t channels, const Options& options = {})
      : InstanceNormBase(channels, options, 3) {}
};
// Of (C, D, H, W) or (N, C, D, H, W).
class TENON_API InstanceNorm3d : public InstanceNormBase {
 public:
  explicit InstanceNorm3d(std::int64_t channels, const Options& options = {})
      : InstanceNormBase(channels, options, 4) {}
};

}  // namespace tenon::nn
