// Layers that multiply by a weight.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"

namespace tenon::nn {

struct LinearOptions {
  bool bias = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};

// y = x W^T + b, over the last dimension of x. The weight is (out_features, in_features); without
// bias its slot is null.
class TENON_API Linear : public Layer {
 public:
  using Options = LinearOptions;
  Linear(std::int64_t in_features, std::int64_t out_features, const Options& options = {});

  // Draws new values, as the constructor does.
  void reset_parameters();
  std::string extra_repr() const override;

  std::int64_t in_features, out_features;
  Parameter weight{this, "weight"};
  Parameter bias{this, "bias"};

 protected:
  Tensor forward(const Tensor& input) override;
};

// y = x1 A x2 + b, for one matrix A for each output.
class TENON_API Bilinear : public Callable<Tensor(const Tensor&, const Tensor&)> {
 public:
  using Options = LinearOptions;
  // ValueError unless there is something to multiply.
  Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features,
           const Options& options = {});

  void reset_parameters();
  std::string extra_repr() const override;

  std::int64_t in1_features, in2_features, out_features;
  Parameter weight{this, "weight"};
  Parameter bias{this, "bias"};

 protected:
  Tensor forward(const Tensor& input1, const Tensor& input2) override;
};

// Gives what it is given.
class TENON_API Identity : public Layer {
 public:
  // Whatever arguments the layer it stands for would have.
  template <class... A>
  explicit Identity(const A&... /*unused*/) {}
  explicit Identity(const Identity& other) : Layer(other) {}

 protected:
  Tensor forward(const Tensor& input) override { return input; }
};

}  // namespace tenon::nn
