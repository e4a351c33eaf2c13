// ResNet of basic blocks as torchvision has it, written from its Python source: the same names, so
// that the files fit.
#pragma once

#include <array>
#include <cstdint>

#include "tenon/tenon.h"

namespace resnet {

using namespace tenon;

class BasicBlock final : public nn::Layer {
 public:
  BasicBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(this, "conv1", in, out, 3, {.stride = stride, .padding = 1, .bias = false}),
        bn1(this, "bn1", out),
        relu(this, "relu", {.inplace = true}),
        conv2(this, "conv2", out, out, 3, {.padding = 1, .bias = false}),
        bn2(this, "bn2", out) {
    if (stride != 1 || in != out) {
      downsample = nn::make<nn::Sequential>(
          {nn::make<nn::Conv2d>(in, out, 1, {.stride = stride, .bias = false}),
           nn::make<nn::BatchNorm2d>(out)});
    }
  }
  nn::Child<nn::Conv2d> conv1;
  nn::Child<nn::BatchNorm2d> bn1;
  nn::Child<nn::ReLU> relu;
  nn::Child<nn::Conv2d> conv2;
  nn::Child<nn::BatchNorm2d> bn2;
  nn::Child<nn::Sequential> downsample{this, "downsample", nn::absent};

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor out = bn2(conv2(relu(bn1(conv1(x)))));
    return relu(out + (downsample.defined() ? downsample(x) : x));
  }
};

// Layers: how many blocks each of the four parts has. resnet18 is {2, 2, 2, 2}.
class ResNet final : public nn::Layer {
 public:
  explicit ResNet(const std::array<int, 4>& layers, std::int64_t num_classes = 1000) {
    std::int64_t in = 64, out = 64;
    nn::Sequential* const parts[] = {&*layer1, &*layer2, &*layer3, &*layer4};
    for (std::size_t i = 0; i < 4; ++i, out *= 2) {
      for (int block = 0; block < layers[i]; ++block) {
        parts[i]->append(nn::make<BasicBlock>(in, out, block == 0 && i != 0 ? 2 : 1));
        in = out;
      }
    }
    fc = nn::make<nn::Linear>(in, num_classes);
  }
  nn::Child<nn::Conv2d> conv1{this, "conv1", 3, 64, 7, {.stride = 2, .padding = 3, .bias = false}};
  nn::Child<nn::BatchNorm2d> bn1{this, "bn1", 64};
  nn::Child<nn::ReLU> relu{this, "relu", {.inplace = true}};
  nn::Child<nn::MaxPool2d> maxpool{this, "maxpool", 3, {.stride = 2, .padding = 1}};
  nn::Child<nn::Sequential> layer1{this, "layer1"}, layer2{this, "layer2"}, layer3{this, "layer3"},
      layer4{this, "layer4"};
  nn::Child<nn::AdaptiveAvgPool2d> avgpool{this, "avgpool", {1, 1}};
  nn::Child<nn::Linear> fc{this, "fc"};

 protected:
  Tensor forward(const Tensor& x) override {
    Tensor y = maxpool(relu(bn1(conv1(x))));
    y = layer4(layer3(layer2(layer1(y))));
    return fc(flatten(avgpool(y), 1));
  }
};

}  // namespace resnet
