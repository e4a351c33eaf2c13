// Activations as layers. What each calculates is in tenon/ops/activation.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/ops/activation.h"

namespace tenon::nn {

using ReLUOptions = InplaceOptions;
class TENON_API ReLU : public Layer {
 public:
  using Options = ReLUOptions;
  explicit ReLU(const Options& options = {}) : inplace(options.inplace) {}
  explicit ReLU(bool in_place) : inplace(in_place) {}
  std::string extra_repr() const override;

  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

using ReLU6Options = InplaceOptions;
class TENON_API ReLU6 : public Layer {
 public:
  using Options = ReLU6Options;
  explicit ReLU6(const Options& options = {}) : inplace(options.inplace) {}
  explicit ReLU6(bool in_place) : inplace(in_place) {}
  std::string extra_repr() const override;

  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

using SiLUOptions = InplaceOptions;
class TENON_API SiLU : public Layer {
 public:
  using Options = SiLUOptions;
  explicit SiLU(const Options& options = {}) : inplace(options.inplace) {}
  explicit SiLU(bool in_place) : inplace(in_place) {}
  std::string extra_repr() const override;

  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

using MishOptions = InplaceOptions;
class TENON_API Mish : public Layer {
 public:
  using Options = MishOptions;
  explicit Mish(const Options& options = {}) : inplace(options.inplace) {}
  explicit Mish(bool in_place) : inplace(in_place) {}
  std::string extra_repr() const override;

  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

using SELUOptions = InplaceOptions;
class TENON_API SELU : public Layer {
 public:
  using Options = SELUOptions;
  explicit SELU(const Options& options = {}) : inplace(options.inplace) {}
  explicit SELU(bool in_place) : inplace(in_place) {}
  std::string extra_repr() const override;

  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

// The text of these two does not say whether they are in place, as in PyTorch.
using HardswishOptions = InplaceOptions;
class TENON_API Hardswish : public Layer {
 public:
  using Options = HardswishOptions;
  explicit Hardswish(const Options& options = {}) : inplace(options.inplace) {}
  explicit Hardswish(bool in_place) : inplace(in_place) {}

  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

using HardsigmoidOptions = InplaceOptions;
class TENON_API Hardsigmoid : public Layer {
 public:
  using Options = HardsigmoidOptions;
  explicit Hardsigmoid(const Options& options = {}) : inplace(options.inplace) {}
  explicit Hardsigmoid(bool in_place) : inplace(in_place) {}

  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

class TENON_API Sigmoid : public Layer {
 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API Tanh : public Layer {
 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API LogSigmoid : public Layer {
 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API Softsign : public Layer {
 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API Tanhshrink : public Layer {
 protected:
  Tensor forward(const Tensor& input) override;
};

using ELUOptions = AlphaInplaceOptions;
class TENON_API ELU : public Layer {
 public:
  using Options = ELUOptions;
  explicit ELU(const Options& options = {}) : alpha(options.alpha), inplace(options.inplace) {}
  explicit ELU(double factor) : ELU(Options{.alpha = factor}) {}
  std::string extra_repr() const override;

  double alpha;
  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

using CELUOptions = AlphaInplaceOptions;
class TENON_API CELU : public Layer {
 public:
  using Options = CELUOptions;
  explicit CELU(const Options& options = {}) : alpha(options.alpha), inplace(options.inplace) {}
  explicit CELU(double factor) : CELU(Options{.alpha = factor}) {}
  std::string extra_repr() const override;

  double alpha;
  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

using LeakyReLUOptions = LeakyReluOptions;
class TENON_API LeakyReLU : public Layer {
 public:
  using Options = LeakyReLUOptions;
  explicit LeakyReLU(const Options& options = {})
      : negative_slope(options.negative_slope), inplace(options.inplace) {}
  explicit LeakyReLU(double slope) : LeakyReLU(Options{.negative_slope = slope}) {}
  std::string extra_repr() const override;

  double negative_slope;
  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

using HardtanhOptions = tenon::HardtanhOptions;
class TENON_API Hardtanh : public Layer {
 public:
  using Options = HardtanhOptions;
  // ValueError unless min_val is below max_val.
  explicit Hardtanh(const Options& options = {});
  Hardtanh(double low, double high) : Hardtanh(Options{.min_val = low, .max_val = high}) {}
  std::string extra_repr() const override;

  double min_val, max_val;
  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

using ThresholdOptions = InplaceOptions;
class TENON_API Threshold : public Layer {
 public:
  using Options = ThresholdOptions;
  Threshold(double limit, double replacement, const Options& options = {})
      : threshold(limit), value(replacement), inplace(options.inplace) {}
  std::string extra_repr() const override;

  double threshold, value;
  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

struct RReLUOptions {
  double lower = 1. / 8;
  double upper = 1. / 3;
  bool inplace = false;
};
class TENON_API RReLU : public Layer {
 public:
  using Options = RReLUOptions;
  explicit RReLU(const Options& options = {})
      : lower(options.lower), upper(options.upper), inplace(options.inplace) {}
  RReLU(double low, double high) : RReLU(Options{.lower = low, .upper = high}) {}
  std::string extra_repr() const override;

  double lower, upper;
  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

// A slope for every channel, or one for all, which is learnt.
struct PReLUOptions {
  std::int64_t num_parameters = 1;
  double init = 0.25;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
class TENON_API PReLU : public Layer {
 public:
  using Options = PReLUOptions;
  explicit PReLU(const Options& options = {});
  template <std::integral I>
  explicit PReLU(I parameters) : PReLU(Options{.num_parameters = parameters}) {}

  void reset_parameters();
  std::string extra_repr() const override;

  std::int64_t num_parameters;
  double init;
  Parameter weight{this, "weight"};

 protected:
  Tensor forward(const Tensor& input) override;
};

using GELUOptions = GeluOptions;
class TENON_API GELU : public Layer {
 public:
  using Options = GELUOptions;
  explicit GELU(const Options& options = {}) : approximate(options.approximate) {}
  explicit GELU(std::string_view how) : approximate(how) {}
  std::string extra_repr() const override;

  std::string approximate;

 protected:
  Tensor forward(const Tensor& input) override;
};

using HardshrinkOptions = LambdOptions;
class TENON_API Hardshrink : public Layer {
 public:
  using Options = HardshrinkOptions;
  explicit Hardshrink(const Options& options = {}) : lambd(options.lambd) {}
  explicit Hardshrink(double bound) : lambd(bound) {}
  std::string extra_repr() const override;

  double lambd;

 protected:
  Tensor forward(const Tensor& input) override;
};

using SoftshrinkOptions = LambdOptions;
class TENON_API Softshrink : public Layer {
 public:
  using Options = SoftshrinkOptions;
  explicit Softshrink(const Options& options = {}) : lambd(options.lambd) {}
  explicit Softshrink(double bound) : lambd(bound) {}
  std::string extra_repr() const override;

  double lambd;

 protected:
  Tensor forward(const Tensor& input) override;
};

using SoftplusOptions = tenon::SoftplusOptions;
class TENON_API Softplus : public Layer {
 public:
  using Options = SoftplusOptions;
  explicit Softplus(const Options& options = {})
      : beta(options.beta), threshold(options.threshold) {}
  explicit Softplus(double steepness) : Softplus(Options{.beta = steepness}) {}
  std::string extra_repr() const override;

  double beta, threshold;

 protected:
  Tensor forward(const Tensor& input) override;
};

using GLUOptions = GluOptions;
class TENON_API GLU : public Layer {
 public:
  using Options = GLUOptions;
  explicit GLU(const Options& options = {}) : dim(options.dim) {}
  template <std::integral I>
  explicit GLU(I along) : dim(along) {}
  std::string extra_repr() const override;

  std::int64_t dim;

 protected:
  Tensor forward(const Tensor& input) override;
};

struct DimOption {
  std::optional<std::int64_t> dim = {};  // without one as softmax, with a warning
};
using SoftminOptions = DimOption;
class TENON_API Softmin : public Layer {
 public:
  using Options = SoftminOptions;
  explicit Softmin(const Options& options = {}) : dim(options.dim) {}
  template <std::integral I>
  explicit Softmin(I along) : dim(along) {}
  std::string extra_repr() const override;

  std::optional<std::int64_t> dim;

 protected:
  Tensor forward(const Tensor& input) override;
};

using SoftmaxOptions = DimOption;
class TENON_API Softmax : public Layer {
 public:
  using Options = SoftmaxOptions;
  explicit Softmax(const Options& options = {}) : dim(options.dim) {}
  template <std::integral I>
  explicit Softmax(I along) : dim(along) {}
  std::string extra_repr() const override;

  std::optional<std::int64_t> dim;

 protected:
  Tensor forward(const Tensor& input) override;
};

using LogSoftmaxOptions = DimOption;
class TENON_API LogSoftmax : public Layer {
 public:
  using Options = LogSoftmaxOptions;
  explicit LogSoftmax(const Options& options = {}) : dim(options.dim) {}
  template <std::integral I>
  explicit LogSoftmax(I along) : dim(along) {}
  std::string extra_repr() const override;

  std::optional<std::int64_t> dim;

 protected:
  Tensor forward(const Tensor& input) override;
};

// Over the channels of (N, C, H, W) or (C, H, W). ShapeError for others.
class TENON_API Softmax2d : public Layer {
 protected:
  Tensor forward(const Tensor& input) override;
};

}  // namespace tenon::nn
