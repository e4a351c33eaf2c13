// The network of PyTorch's documentation of lazy modules.
#pragma once

#include "tenon/nn/activation.h"
#include "tenon/nn/lazy_layers.h"

namespace tenon::nn {

class LazyMLP : public Layer {
 public:
  Child<LazyLinear> fc1{this, "fc1", 10};
  Child<ReLU> relu1{this, "relu1"};
  Child<LazyLinear> fc2{this, "fc2", 1};
  Child<ReLU> relu2{this, "relu2"};

 protected:
  Tensor forward(const Tensor& x) override { return relu2(fc2(relu1(fc1(x)))); }
};

}  // namespace tenon::nn
