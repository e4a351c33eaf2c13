// Networks of lazy layers.
#pragma once

#include "tenon/nn/activation.h"
#include "tenon/nn/conv.h"
#include "tenon/nn/lazy_layers.h"

namespace tenon::nn {

// The one of PyTorch's documentation.
class LazyMLP : public Layer {
 public:
  Child<LazyLinear> fc1{this, "fc1", 10};
  Child<ReLU> relu1{this, "relu1"};
  Child<LazyLinear> fc2{this, "fc2", 1};
  Child<ReLU> relu2{this, "relu2"};

 protected:
  Tensor forward(const Tensor& x) override { return relu2(fc2(relu1(fc1(x)))); }
};

// Lazy and other layers, as in tests/record/lazy.py.
class LazyMixed : public Layer {
 public:
  Child<LazyConv2d> conv{this, "conv", 6, 3};
  Child<LazyBatchNorm2d> norm{this, "norm"};
  Child<Conv2d> eager{this, "eager", 6, 5, 2};
  Child<LazyConvTranspose2d> up{this, "up", 4, 2};
  Child<LazyInstanceNorm2d> style{this, "style"};
  Child<LazyLinear> head{this, "head", 3};
  Child<Linear> last{this, "last", 3, 2};

 protected:
  Tensor forward(const Tensor& x) override {
    return last(head(style(up(eager(norm(conv(x))))).flatten(1)));
  }
};

}  // namespace tenon::nn
