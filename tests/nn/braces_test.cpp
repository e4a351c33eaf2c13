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

template <class M>
concept TakesTwoLists = requires { M({3, 3}, {2, 1}); };

TEST(Braces, OfNumbersWhereOptionsStandDoNotCompile) {
  // A second tuple would be a stride in Python, and two options here.
  EXPECT_FALSE(TakesTwoLists<MaxPool2d>);
  EXPECT_FALSE(TakesTwoLists<AvgPool2d>);
}

TEST(Braces, OfALayerItselfHoldItsArguments) {
  const std::int64_t n = 3;
  EXPECT_EQ(MaxPool2d({n, 2}).kernel_size, (Dims{3, 2}));
  EXPECT_EQ((MaxPool2d{{3, 2}, {.stride = 1}}.kernel_size), (Dims{3, 2}));
  // The same as in parentheses.
  EXPECT_EQ((MaxPool2d{3, 2}.repr()), MaxPool2d(3, 2).repr());
  EXPECT_EQ((AvgPool2d{3, 2}.repr()), AvgPool2d(3, 2).repr());
  EXPECT_EQ((MaxUnpool2d{3, 2}.repr()), MaxUnpool2d(3, 2).repr());
  EXPECT_EQ((LayerNorm{{n, 4}, {.eps = 2}}.repr()), LayerNorm({3, 4}, {.eps = 2}).repr());
  EXPECT_EQ(RMSNorm{n}.normalized_shape, Dims{3});
}

class Late final : public Layer {
 public:
  Child<Linear> fc{this, "fc"};
  Child<Sequential> downsample{this, "downsample", absent};
  Child<Fold> fold{this, "fold", {4, 5}, {2, 2}};
  Child<ConstantPad2d> pad{this, "pad", {1, 1, 0, 0}, 3.5};

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

TEST(Children, ThatAreNotThereYetAreNotInTheText) {
  Late net;
  EXPECT_EQ(net.repr(),
            "Late(\n  (fold): Fold(output_size=(4, 5), kernel_size=(2, 2), dilation=1, padding=0, "
            "stride=1)\n  (pad): ConstantPad2d(padding=(1, 1, 0, 0), value=3.5)\n)");
  net.fc = make<Linear>(2, 3);
  EXPECT_EQ(net.state_dict().size(), 2U);
  EXPECT_FALSE(net.downsample.defined());
}

TEST(Sequentials, TakeAListAndDrawInItsOrder) {
  manual_seed(0);
  const auto listed = make<Sequential>({make<Linear>(1, 2), make<ReLU>(), make<Linear>(2, 1)});
  manual_seed(0);
  const Linear first(1, 2);
  EXPECT_TRUE(equal(listed->get_parameter("0.weight"), first.weight));
  std::vector<std::shared_ptr<Module>> layers;
  for (int i = 0; i < 3; ++i) layers.push_back(make<Linear>(4, 4));
  Sequential net(layers);
  EXPECT_EQ(net.size(), 3U);
  EXPECT_EQ(net[1](ones({2, 4})).shape(), (Shape{2, 4}));
}

TEST(Indices, MayBePlacesOfAModule) {
  class Table final : public Layer {
   public:
    Parameter bias{this, "bias", rand({7, 2})};
    Buffer where{this, "where", tensor({0, 3, 3})};

   protected:
    Tensor forward(const Tensor&) override { return bias->index({where}); }
  };
  Table table;
  EXPECT_EQ(table(ones({})).shape(), (Shape{3, 2}));
  EXPECT_EQ(ones({5}).index({Slice(None, 3)}).shape(), Shape{3});
}

TEST(Options, MayBeNamedWhereNumbersStand) {
  const Tensor x = arange(6.0).reshape({2, 3});
  EXPECT_TRUE(equal(x.argmax({.dim = 1}), tensor({2, 2})));
  EXPECT_EQ(argmax(x, {.dim = 1, .keepdim = true}).shape(), (Shape{2, 1}));
  EXPECT_TRUE(equal(x.sum({0, 1}), tensor(15.F)));
  manual_seed(3);
  const Tensor named = zeros({4}).normal_({.mean = 1, .std = 0.02});
  manual_seed(3);
  EXPECT_TRUE(equal(named, zeros({4}).normal_(1, 0.02)));
}

}  // namespace
}  // namespace tenon::nn
