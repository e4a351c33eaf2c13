// Dropout: leaves out elements at random while training.
#pragma once

#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"

namespace tenon::nn {

struct DropoutOptions {
  double p = 0.5;
  bool inplace = false;
};

class TENON_API Dropout : public Layer {
 public:
  using Options = DropoutOptions;
  // ValueError for a p outside [0, 1].
  explicit Dropout(const Options& options = {});
  explicit Dropout(double probability) : Dropout(Options{.p = probability}) {}

  std::string extra_repr() const override;

  double p;
  bool inplace;

 protected:
  Tensor forward(const Tensor& input) override;
};

// Leaves out whole channels (tenon/ops/functional.h).
class TENON_API Dropout1d : public Dropout {
 public:
  using Dropout::Dropout;

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API Dropout2d : public Dropout {
 public:
  using Dropout::Dropout;

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API Dropout3d : public Dropout {
 public:
  using Dropout::Dropout;

 protected:
  Tensor forward(const Tensor& input) override;
};

// Keeps mean and variance, for layers with selu; of elements, and of whole channels. As in PyTorch,
// `inplace` is not looked at.
class TENON_API AlphaDropout : public Dropout {
 public:
  using Dropout::Dropout;

 protected:
  Tensor forward(const Tensor& input) override;
};
class TENON_API FeatureAlphaDropout : public Dropout {
 public:
  using Dropout::Dropout;

 protected:
  Tensor forward(const Tensor& input) override;
};

}  // namespace tenon::nn
