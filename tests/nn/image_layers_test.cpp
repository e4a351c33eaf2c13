// Layers that pad, resize and rearrange: beside values that PyTorch wrote down, text and errors.
#include "nn/recorded_layers.h"

namespace tenon::nn {
namespace {

TEST_F(RecordedLayers, Upsample) {
  nn::Upsample nearest({.scale_factor = 2});
  check("upsample", nearest);
  nn::Upsample bilinear({.scale_factor = 2, .mode = "bilinear"});
  check("upsample_bi", bilinear);
}

TEST_F(RecordedLayers, PixelShuffle) {
  nn::PixelShuffle layer(2);
  check("pixshuf", layer);
}

TEST_F(RecordedLayers, ZeroPad) {
  nn::ZeroPad2d layer(1);
  check("zeropad", layer);
}

TEST_F(RecordedLayers, GroupNorm) {
  nn::GroupNorm layer(2, 6);
  check("gn", layer);
}

TEST(ImageLayers, SayWhatTheyAre) {
  EXPECT_EQ(ConstantPad2d(1, 3.5).repr(), "ConstantPad2d(padding=(1, 1, 1, 1), value=3.5)");
  EXPECT_EQ(ConstantPad1d({1, 2}, 3).repr(), "ConstantPad1d(padding=(1, 2), value=3)");
  EXPECT_EQ(ZeroPad2d({1, 2, 3, 4}).repr(), "ZeroPad2d((1, 2, 3, 4))");
  EXPECT_EQ(ZeroPad1d(2).repr(), "ZeroPad1d((2, 2))");
  EXPECT_EQ(ReflectionPad1d(2).repr(), "ReflectionPad1d((2, 2))");
  EXPECT_EQ(ReplicationPad3d(1).repr(), "ReplicationPad3d((1, 1, 1, 1, 1, 1))");
  EXPECT_EQ(CircularPad2d(1).repr(), "CircularPad2d((1, 1, 1, 1))");
  EXPECT_EQ(Upsample({.scale_factor = 2}).repr(), "Upsample(scale_factor=2.0, mode='nearest')");
  EXPECT_EQ(Upsample({.size = {3, 4}, .mode = "bilinear", .align_corners = true}).repr(),
            "Upsample(size=(3, 4), mode='bilinear')");
  EXPECT_EQ(Upsample({.scale_factor = {2.5, 2}}).repr(),
            "Upsample(scale_factor=(2.5, 2.0), mode='nearest')");
  EXPECT_EQ(Upsample({.size = 4}).repr(), "Upsample(size=4, mode='nearest')");
  EXPECT_EQ(Upsample().repr(), "Upsample(size=None, mode='nearest')");
  EXPECT_EQ(UpsamplingNearest2d({.scale_factor = 2}).repr(),
            "UpsamplingNearest2d(scale_factor=2.0, mode='nearest')");
  EXPECT_EQ(UpsamplingBilinear2d({.size = 5}).repr(),
            "UpsamplingBilinear2d(size=5, mode='bilinear')");
  EXPECT_EQ(PixelShuffle(3).repr(), "PixelShuffle(upscale_factor=3)");
  EXPECT_EQ(PixelUnshuffle(2).repr(), "PixelUnshuffle(downscale_factor=2)");
  EXPECT_EQ(ChannelShuffle(2).repr(), "ChannelShuffle(groups=2)");
  EXPECT_EQ(Unflatten(1, {2, 3}).repr(), "Unflatten(dim=1, unflattened_size=(2, 3))");
  EXPECT_EQ(GroupNorm(2, 4).repr(), "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)");
  EXPECT_EQ(GroupNorm(2, 4, {.affine = false}).repr(),
            "GroupNorm(2, 4, eps=1e-05, affine=False, bias=False)");
  EXPECT_EQ(GroupNorm(2, 4, {.bias = false}).repr(),
            "GroupNorm(2, 4, eps=1e-05, affine=True, bias=False)");
  EXPECT_EQ(LocalResponseNorm(2).repr(), "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)");
}

TEST(PadLayers, PadWithTheirMode) {
  const Tensor x = arange(12.0).view({1, 3, 4});
  EXPECT_TRUE(equal(ConstantPad1d({1, 2}, 3)(x), pad(x, {1, 2}, {.value = 3})));
  EXPECT_TRUE(equal(ConstantPad2d(1, 2.5)(x), pad(x, {1, 1, 1, 1}, {.value = 2.5})));
  EXPECT_TRUE(equal(ConstantPad3d(1, 1)(x), pad(x, {1, 1, 1, 1, 1, 1}, {.value = 1})));
  EXPECT_TRUE(equal(ZeroPad1d(1)(x), pad(x, {1, 1})));
  EXPECT_TRUE(equal(ZeroPad3d(1)(x), pad(x, {1, 1, 1, 1, 1, 1})));
  EXPECT_TRUE(equal(ReflectionPad1d(2)(x), pad(x, {2, 2}, {.mode = "reflect"})));
  EXPECT_TRUE(equal(ReflectionPad2d(1)(x), pad(x, {1, 1, 1, 1}, {.mode = "reflect"})));
  EXPECT_TRUE(equal(ReplicationPad1d(2)(x), pad(x, {2, 2}, {.mode = "replicate"})));
  EXPECT_TRUE(
      equal(ReplicationPad2d({1, 0, 2, 3})(x), pad(x, {1, 0, 2, 3}, {.mode = "replicate"})));
  EXPECT_TRUE(equal(CircularPad1d(2)(x), pad(x, {2, 2}, {.mode = "circular"})));
  EXPECT_TRUE(equal(CircularPad2d(1)(x), pad(x, {1, 1, 1, 1}, {.mode = "circular"})));
  const Tensor deep = x.unsqueeze(0);
  EXPECT_EQ(ReflectionPad3d({0, 1, 0, 1, 0, 0})(deep).shape(), Shape({1, 1, 4, 5}));
  EXPECT_EQ(ReplicationPad3d(1)(deep).shape(), Shape({1, 3, 5, 6}));
  EXPECT_EQ(CircularPad3d(1)(deep).shape(), Shape({1, 3, 5, 6}));
  expect_error<ShapeError>([&] { CircularPad2d(1)(ones({3, 3})); },
                           "expected 3D or 4D input (got 2D input)");
  expect_error<ValueError>([] { ReflectionPad1d({1, 2, 3}); }, "(1, 2, 3)", "2");
}

TEST(ImageLayers, CalculateWhatTheirFunctionsDo) {
  const Tensor x = arange(72.0).sin().view({1, 8, 3, 3});
  EXPECT_TRUE(equal(UpsamplingNearest2d({.size = 5})(x), interpolate(x, {.size = 5})));
  EXPECT_TRUE(
      equal(UpsamplingBilinear2d({.scale_factor = 2})(x),
            interpolate(x, {.scale_factor = 2, .mode = "bilinear", .align_corners = true})));
  EXPECT_TRUE(equal(PixelUnshuffle(3)(x), pixel_unshuffle(x, 3)));
  EXPECT_TRUE(equal(ChannelShuffle(4)(x), channel_shuffle(x, 4)));
  EXPECT_EQ(Unflatten(1, {2, -1})(x).shape(), Shape({1, 2, 4, 3, 3}));
  EXPECT_TRUE(
      equal(LocalResponseNorm(3, {.alpha = 0.1})(x), local_response_norm(x, 3, {.alpha = 0.1})));
  EXPECT_TRUE(equal(GroupNorm(2, 8)(x), group_norm(x, 2)));
}

TEST(GroupNorm, RefusesUnequalGroups) {
  EXPECT_EQ(message_of<ValueError>([] { GroupNorm(4, 6); }),
            "num_channels (6) must be divisible by num_groups (4)");
  expect_error<ValueError>([] { GroupNorm(0, 6); }, "num_groups");
}

TEST(ImageLayers, AreCloned) {
  const auto copy = nn::clone(ReflectionPad2d({1, 2, 3, 4}));
  EXPECT_EQ(copy->repr(), "ReflectionPad2d((1, 2, 3, 4))");
  EXPECT_EQ((*copy)(ones({1, 5, 5})).shape(), Shape({1, 12, 8}));
}

}  // namespace
}  // namespace tenon::nn
