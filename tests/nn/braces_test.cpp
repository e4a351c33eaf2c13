// Layers written in a network as they are in Python: sizes and options in braces.
#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

class Net final : public Layer {
 public:
  Child<AdaptiveAvgPool2d> avgpool{this, "avgpool", {1, 1}};
  Child<LayerNorm> norm{this, "norm", {4, 5}};
  Child<LayerNorm> norm_with_options{this, "norm_with_options", {4, 5}, {.eps = 1e-6}};
  Child<LayerNorm> norm_of_one{this, "norm_of_one", 4, {.eps = 1e-6}};
  Child<Conv2d> conv{this, "conv", 3, 4, {3, 5}};
  Child<Conv2d> conv_with_options{
      this, "conv_with_options", 3, 4, {3, 5}, {.stride = {1, 2}, .padding = {1, 0}}};
  Child<Conv2d> conv_same{this, "conv_same", 3, 4, 3, {.padding = "same"}};
  Child<Linear> linear{this, "linear", 3, 4, {}};
  Child<MaxPool2d> maxpool{this, "maxpool", {2, 3}, {.stride = 2}};
  Child<ZeroPad2d> pad{this, "pad", {1, 2, 3, 4}};
  Child<Unflatten> unflatten{this, "unflatten", 1, {2, 3}};
  Child<Upsample> upsample{this, "upsample", {.scale_factor = 2.0, .mode = "nearest"}};
  Child<Sequential> rest{this, "rest", make<Conv2d>(3, 4, {1, 1}), make<AdaptiveAvgPool2d>({1, 1}),
                         make<LayerNorm>({2, 3}, {.eps = 1.0})};

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

TEST(Braces, AreSizesWhereALayerTakesSizesAndOptionsWhereTheyAreNamed) {
  const Net net;
  EXPECT_EQ(net.avgpool->repr(), "AdaptiveAvgPool2d(output_size=(1, 1))");
  EXPECT_EQ(net.norm->normalized_shape, (Dims{4, 5}));
  EXPECT_EQ(net.norm_with_options->eps, 1e-6);
  EXPECT_EQ(net.norm_of_one->normalized_shape, Dims{4});
  EXPECT_EQ(net.conv->repr(), "Conv2d(3, 4, kernel_size=(3, 5), stride=(1, 1))");
  EXPECT_EQ(net.conv_with_options->repr(),
            "Conv2d(3, 4, kernel_size=(3, 5), stride=(1, 2), padding=(1, 0))");
  EXPECT_EQ(net.conv_same->repr(), "Conv2d(3, 4, kernel_size=(3, 3), stride=(1, 1), padding=same)");
  EXPECT_EQ(net.maxpool->repr(),
            "MaxPool2d(kernel_size=(2, 3), stride=2, padding=0, dilation=1, ceil_mode=False)");
  EXPECT_EQ(net.pad->repr(), "ZeroPad2d((1, 2, 3, 4))");
  EXPECT_EQ(net.unflatten->repr(), "Unflatten(dim=1, unflattened_size=(2, 3))");
  EXPECT_EQ(net.rest->repr(),
            "Sequential(\n  (0): Conv2d(3, 4, kernel_size=(1, 1), stride=(1, 1))\n"
            "  (1): AdaptiveAvgPool2d(output_size=(1, 1))\n"
            "  (2): LayerNorm((2, 3), eps=1.0, elementwise_affine=True, bias=True)\n)");
}

}  // namespace
}  // namespace tenon::nn
