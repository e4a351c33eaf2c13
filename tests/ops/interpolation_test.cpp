// interpolate beside what PyTorch gave, its gradients and errors; pixel_shuffle and its kin.
#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/recorded_input.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

Tensor sample(const Shape& shape, DType dtype = float64) { return recorded_input(shape, dtype); }

TEST(Interpolate, GivesWhatPyTorchGave) {
  const auto cases = recorded::rows("ops/cases/interpolation", 100);
  EXPECT_GT(cases.size(), 100);
  for (const auto& words : cases) {
    const std::string line = recorded::joined(words);
    ASSERT_EQ(words.size(), 11) << line;
    const DType dtype = recorded::dtype(words[7]);
    const Tensor x = sample(recorded::sizes(words[1]), dtype).requires_grad_();
    const Tensor y = interpolate(x, {.size = recorded::sizes(words[2]),
                                     .scale_factor = recorded::reals(words[3]),
                                     .mode = words[0],
                                     .align_corners = recorded::flag(words[4]),
                                     .recompute_scale_factor = recorded::flag(words[5]),
                                     .antialias = words[6] == "1"});
    ASSERT_EQ(y.shape(), Shape(recorded::sizes(words[8]))) << line;
    const double tolerance = dtype == float64 ? 1e-9 : 1e-4;
    EXPECT_NEAR(recorded_sum(y), std::stod(words[9]), tolerance) << line;
    y.backward({.gradient = sample(y.shape(), dtype)});
    EXPECT_NEAR(recorded_sum(x.grad()), std::stod(words[10]), tolerance) << line;
  }
}

TEST(Interpolate, HasTheGradientsDifferencesSay) {
  const auto check = [](const Shape& shape, const InterpolateOptions& options) {
    expect_gradients([&](const auto& a) { return interpolate(a[0], options).square(); },
                     {sample(shape).requires_grad_()});
  };
  check({2, 1, 5}, {.size = 8, .mode = "linear"});
  check({1, 2, 3, 4}, {.scale_factor = {2, 0.6}});
  check({1, 2, 3, 4}, {.size = {2, 7}, .mode = "nearest-exact"});
  check({1, 1, 3, 4}, {.size = {5, 3}, .mode = "bilinear", .align_corners = true});
  check({1, 1, 3, 4}, {.scale_factor = 1.7, .mode = "bicubic"});
  check({1, 1, 6, 5}, {.size = {2, 3}, .mode = "bicubic", .antialias = true});
  check({1, 1, 5, 4}, {.size = {2, 3}, .mode = "area"});
  check({1, 1, 2, 2, 3}, {.size = {3, 1, 4}, .mode = "trilinear"});
  expect_gradient(
      [](const auto& a) { return interpolate(a[0], {.scale_factor = 2, .mode = "bilinear"}); },
      {sample({1, 2, 4, 3}).transpose(2, 3).detach().requires_grad_()});
}

// PyTorch 2.14.1 repeats the first row where the result is one column.
TEST(Interpolate, AntialiasesResultsOfOneColumn) {
  const InterpolateOptions narrow{.size = {5, 1}, .mode = "bilinear", .antialias = true};
  const Tensor x = sample({1, 2, 6, 4});
  const Tensor y = interpolate(x, narrow);
  EXPECT_NEAR(y.reshape({-1})[0].item<double>(), 0.42361143, 1e-7);
  EXPECT_NEAR(y.reshape({-1})[4].item<double>(), -0.48815035, 1e-7);
  EXPECT_TRUE(equal(interpolate(x, {.size = {6, 4}, .mode = "bicubic", .antialias = true}), x));
}

TEST(Interpolate, TakesAnyStridesAndSixteenBits) {
  const Tensor x = sample({2, 5, 4, 3}, float32).permute({0, 3, 1, 2});
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    const InterpolateOptions options{.size = {7, 9}, .mode = mode};
    EXPECT_TRUE(equal(interpolate(x, options), interpolate(x.contiguous(), options)));
    for (const DType dtype : {bfloat16, float16}) {
      const Tensor narrow = x.to(dtype);
      EXPECT_TRUE(
          equal(interpolate(narrow, options), interpolate(narrow.to(float32), options).to(dtype)));
    }
  }
  EXPECT_TRUE(equal(interpolate(arange(4).view({1, 1, 4}).to(uint8), {.scale_factor = 2}),
                    tensor({{{0, 0, 1, 1, 2, 2, 3, 3}}}).to(uint8)));
}

TEST(Interpolate, TakesEmptyBatchesAndMeta) {
  EXPECT_EQ(interpolate(ones({0, 2, 3, 3}), {.scale_factor = 2}).shape(), Shape({0, 2, 6, 6}));
  const Tensor meta = empty({1, 2, 3, 3}, {.device = Device("meta")}).requires_grad_();
  const Tensor y = interpolate(meta, {.size = 5, .mode = "bicubic"});
  EXPECT_EQ(y.shape(), Shape({1, 2, 5, 5}));
  y.sum().backward();
  EXPECT_EQ(meta.grad().shape(), meta.shape());
}

TEST(Interpolate, RecordsPyTorchsNodes) {
  const Tensor x = ones({1, 2, 3, 3}).requires_grad_();
  EXPECT_EQ(interpolate(x, {.size = 4}).grad_fn()->name(), "UpsampleNearest2DBackward0");
  EXPECT_EQ(interpolate(x, {.size = 4, .mode = "bilinear"}).grad_fn()->name(),
            "UpsampleBilinear2DBackward0");
  EXPECT_EQ(interpolate(x, {.size = 4, .mode = "bicubic", .antialias = true}).grad_fn()->name(),
            "UpsampleBicubic2DAaBackward0");
}

TEST(Interpolate, IsCalledUpsampleToo) {
  const Tensor x = sample({1, 2, 3});
  EXPECT_TRUE(equal(upsample(x, {.scale_factor = 2}), interpolate(x, {.scale_factor = 2})));
}

TEST(Interpolate, SaysWhatDoesNotGoTogether) {
  const Tensor x = ones({1, 2, 3, 3});
  expect_error<ValueError>([&] { interpolate(x); },
                           "either size or scale_factor should be defined");
  expect_error<ValueError>([&] { interpolate(x, {.size = 2, .scale_factor = 2}); },
                           "only one of size or scale_factor should be defined");
  expect_error<ValueError>([&] { interpolate(x, {.size = 2, .align_corners = true}); },
                           "align_corners option can only be set with the interpolating modes");
  expect_error<ValueError>([&] { interpolate(x, {.size = 2, .recompute_scale_factor = true}); },
                           "not meaningful with an explicit size");
  expect_error<ShapeError>([&] { interpolate(x, {.size = {2, 3, 4}}); },
                           "same number of spatial dimensions", "[3, 3]", "(2, 3, 4)");
  expect_error<ShapeError>([&] { interpolate(x, {.scale_factor = {2, 3, 4}}); }, "[3, 3]",
                           "(2.0, 3.0, 4.0)");
  expect_error<ValueError>([&] { interpolate(x, {.size = 2, .antialias = true}); },
                           "Anti-alias option is restricted to bilinear, bicubic, and lanczos");
  expect_error<ValueError>([&] { interpolate(x, {.size = 2, .mode = "lanczos"}); },
                           "Lanczos mode requires {.antialias = true}");
  expect_error<ShapeError>([&] { interpolate(x, {.size = 2, .mode = "linear"}); },
                           "Got 4D input, but linear mode needs 3D input", "[1, 2, 3, 3]");
  expect_error<ShapeError>([&] { interpolate(ones({3, 3}), {.size = 2}); },
                           "Only 3D, 4D and 5D input Tensors supported (got 2D");
  expect_error<NotImplementedError>([&] { interpolate(x, {.size = 2, .mode = "foo"}); },
                                    "(got foo)");
  expect_error<ShapeError>([&] { interpolate(x, {.scale_factor = 0.1}); },
                           "Input and output sizes should be greater than 0", "[1, 2, 3, 3]",
                           "[0, 0]");
  expect_error<ShapeError>([&] { interpolate(ones({1, 0, 3}), {.size = 2}); }, "[1, 0, 3]");
  expect_error<ValueError>([&] { interpolate(x, {.scale_factor = -1}); }, "-1.0");
  expect_error<NotImplementedError>(
      [&] { interpolate(x.to(int64), {.size = 2, .mode = "bilinear"}); }, "'Long'");
}

TEST(PixelShuffle, MovesChannelsIntoPixelsAndBack) {
  const Tensor x = arange(16).view({4, 2, 2});
  EXPECT_TRUE(equal(pixel_shuffle(x, 2),
                    tensor({{{0, 4, 1, 5}, {8, 12, 9, 13}, {2, 6, 3, 7}, {10, 14, 11, 15}}})));
  EXPECT_TRUE(equal(pixel_unshuffle(pixel_shuffle(x, 2), 2), x));
  const Tensor batch = sample({2, 3, 18, 2, 5});
  EXPECT_EQ(pixel_shuffle(batch, 3).shape(), Shape({2, 3, 2, 6, 15}));
  EXPECT_TRUE(equal(pixel_unshuffle(pixel_shuffle(batch, 3), 3), batch));
  EXPECT_EQ(pixel_shuffle(ones({0, 8, 2, 2}), 2).shape(), Shape({0, 2, 4, 4}));
  expect_gradients([](const auto& a) { return pixel_shuffle(a[0], 2).square(); },
                   {sample({4, 2, 1}).requires_grad_()});
  expect_gradients([](const auto& a) { return pixel_unshuffle(a[0], 2).square(); },
                   {sample({1, 2, 4}).requires_grad_()});
}

TEST(ChannelShuffle, TakesOneOfEachGroup) {
  const Tensor x = arange(6).view({1, 6, 1});
  EXPECT_TRUE(equal(channel_shuffle(x, 2).reshape({-1}), tensor({0, 3, 1, 4, 2, 5})));
  EXPECT_TRUE(equal(channel_shuffle(x, 3).reshape({-1}), tensor({0, 2, 4, 1, 3, 5})));
  EXPECT_EQ(channel_shuffle(ones({0, 6, 2}), 2).shape(), Shape({0, 6, 2}));
  EXPECT_EQ(channel_shuffle(ones({1, 6, 2}).requires_grad_(), 2).grad_fn()->name(),
            "ChannelShuffleBackward0");
  expect_gradients([](const auto& a) { return channel_shuffle(a[0], 2).square(); },
                   {sample({1, 2, 6}).transpose(1, 2).requires_grad_()});
}

TEST(PixelShuffle, SaysWhatDoesNotFit) {
  expect_error<ShapeError>([] { pixel_shuffle(ones({7, 2, 2}), 2); },
                           "input.size(-3)=7 is not divisible by the square of 2", "[7, 2, 2]");
  expect_error<ShapeError>([] { pixel_shuffle(ones({2, 2}), 2); }, "at least 3 dimensions",
                           "[2, 2]");
  expect_error<ValueError>([] { pixel_shuffle(ones({8, 2, 2}), 0); }, "positive upscale_factor",
                           "0");
  expect_error<ShapeError>([] { pixel_unshuffle(ones({8, 3, 2}), 2); }, "input.size(-2)=3");
  expect_error<ShapeError>([] { channel_shuffle(ones({2, 6, 3}), 4); }, "6 channels and 4 groups");
}

TEST(ChannelShuffle, OfNoChannelsHasAGradient) {
  const Tensor x = ones({2, 0, 3, 3}).requires_grad_();
  channel_shuffle(x, 2).sum().backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
}

// The second factor makes 3 of 3, and moves what is there all the same.
TEST(Interpolate, BicubicGoesByTheFactorWhereTheSizeStays) {
  const Tensor x = arange(6, {.dtype = float64}).view({1, 1, 2, 3});
  const Tensor y = interpolate(x, {.scale_factor = {2, 1.3}, .mode = "bicubic"});
  const double theirs[] = {-0.38412643661811574, 0.24386059114701913, 1.202895638939462,
                           0.6119673133818847,   1.2399543411470195,  2.198989388939462};
  ASSERT_EQ(y.shape(), Shape({1, 1, 4, 3}));
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(y.view(-1)[i].item<double>(), theirs[i], 1e-12);
}

}  // namespace
}  // namespace tenon
