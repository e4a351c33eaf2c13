// pad: values beside PyTorch's, gradients and errors.
#include <cmath>

#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/recorded_input.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

Tensor numbers(const Shape& shape) {
  return (arange(shape.numel(), {.dtype = float64}) + 1).reshape(shape);
}

TEST(Pad, PutsAConstantAround) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  EXPECT_TRUE(equal(pad(x, {1, 2}), tensor({{0, 1, 2, 0, 0}, {0, 3, 4, 0, 0}})));
  EXPECT_TRUE(equal(pad(x, {0, 0, 1, 0}, {.value = 7.9}), tensor({{7, 7}, {1, 2}, {3, 4}})));
  EXPECT_TRUE(equal(pad(x, {-1, 1, 0, -1}, {.value = 5}), tensor({{2, 5}})));
  EXPECT_TRUE(
      equal(pad(x > 2, {1, 0}, {.value = 1}), tensor({{true, false, false}, {true, true, true}})));
  EXPECT_EQ(pad(ones({3}), {-1, -2}).shape(), Shape({0}));
  EXPECT_EQ(pad(ones({2, 2, 0}), {1, 1}).shape(), Shape({2, 2, 2}));
  const Tensor y = ones({2, 3});
  EXPECT_FALSE(pad(y, {0, 0}).storage().is(y.storage()));
  EXPECT_TRUE(equal(pad(y, Dims()), y));
  EXPECT_TRUE(equal(pad(y.t(), {1, 0}), pad(y.t().contiguous(), {1, 0})));
}

TEST(Pad, ContinuesEdges) {
  const Tensor x = tensor({{1., 2., 3.}});
  EXPECT_TRUE(equal(pad(x, {2, 1}, {.mode = "reflect"}), tensor({{3., 2., 1., 2., 3., 2.}})));
  EXPECT_TRUE(equal(pad(x, {2, 1}, {.mode = "replicate"}), tensor({{1., 1., 1., 2., 3., 3.}})));
  EXPECT_TRUE(equal(pad(x, {2, 1}, {.mode = "circular"}), tensor({{2., 3., 1., 2., 3., 1.}})));
  EXPECT_TRUE(equal(pad(x, {4, 0}, {.mode = "replicate"}), tensor({{1., 1., 1., 1., 1., 2., 3.}})));
  // Negative ones take away, as PyTorch's do.
  EXPECT_TRUE(equal(pad(x, {-1, 2}, {.mode = "reflect"}), tensor({{2., 3., 2., 1.}})));
  EXPECT_TRUE(equal(pad(x, {-1, 2}, {.mode = "replicate"}), tensor({{2., 3., 3., 3.}})));
  EXPECT_TRUE(equal(pad(x, {-1, 2}, {.mode = "circular"}), tensor({{2., 3., 2., 3.}})));
  EXPECT_TRUE(equal(pad(x, {1, -1}, {.mode = "circular"}), tensor({{2., 1., 2.}})));
}

TEST(Pad, ContinuesSeveralDimensions) {
  const Tensor x = tensor({{{1, 2}, {3, 4}}});
  EXPECT_TRUE(equal(pad(x, {1, 1, 1, 0}, {.mode = "reflect"}),
                    tensor({{{4, 3, 4, 3}, {2, 1, 2, 1}, {4, 3, 4, 3}}})));
  EXPECT_TRUE(equal(pad(x, {0, 1, 1, 0}, {.mode = "circular"}),
                    tensor({{{3, 4, 3}, {1, 2, 1}, {3, 4, 3}}})));
  // Dimension after dimension.
  const Tensor y = numbers({2, 3, 2, 3, 4});
  for (const char* mode : {"reflect", "replicate", "circular"}) {
    const Tensor all = pad(y, {1, 2, 2, 1, 1, 0}, {.mode = mode});
    EXPECT_EQ(all.shape(), Shape({2, 3, 3, 6, 7}));
    Tensor step = pad(y.reshape({6, 6, 4}), {1, 2}, {.mode = mode}).reshape({2, 3, 2, 3, 7});
    step = pad(step.transpose(3, 4).reshape({12, 7, 3}), {2, 1}, {.mode = mode})
               .reshape({2, 3, 2, 7, 6})
               .transpose(3, 4);
    step = pad(step.movedim(2, 4).reshape({6, 42, 2}), {1, 0}, {.mode = mode})
               .reshape({2, 3, 6, 7, 3})
               .movedim(4, 2);
    EXPECT_TRUE(equal(all, step)) << mode;
  }
}

TEST(Pad, GivesWhatPyTorchGave) {
  const auto cases = recorded::rows("ops/cases/padding", 100);
  EXPECT_GT(cases.size(), 100);
  for (const auto& words : cases) {
    const std::string line = recorded::joined(words);
    ASSERT_EQ(words.size(), 7) << line;
    const Tensor x = recorded_input(recorded::sizes(words[1])).requires_grad_();
    const auto value = words[3] == "-" ? std::nullopt : std::optional(std::stod(words[3]));
    const Tensor y = pad(x, recorded::sizes(words[2]), {.mode = words[0], .value = value});
    ASSERT_EQ(y.shape(), Shape(recorded::sizes(words[4]))) << line;
    EXPECT_NEAR(recorded_sum(y), std::stod(words[5]), 1e-9) << line;
    y.backward({.gradient = recorded_input(y.shape())});
    EXPECT_NEAR(recorded_sum(x.grad()), std::stod(words[6]), 1e-9) << line;
  }
}

TEST(Pad, KeepsEveryDtype) {
  const Tensor x = tensor({{1., 2., 3.}});
  for (const DType dtype : {bfloat16, float16, float64, complex64, int32, uint8, bool_}) {
    const Tensor y = pad(x.to(dtype), {1, 1}, {.mode = "reflect"});
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_TRUE(equal(y, pad(x, {1, 1}, {.mode = "reflect"}).to(dtype)));
  }
}

TEST(Pad, HasTheGradientsDifferencesSay) {
  const auto fresh = [](const Shape& shape) { return numbers(shape).sin().detach(); };
  for (const char* mode : {"constant", "reflect", "replicate", "circular"}) {
    const auto with = [&](Dims by) {
      return [=](const std::vector<Tensor>& a) { return pad(a[0], by, {.mode = mode}).square(); };
    };
    expect_gradients(with({2, 1}), {fresh({2, 3}).requires_grad_()});
    expect_gradients(with({-1, 2}), {fresh({2, 2, 4}).requires_grad_()});
    expect_gradients(with({1, 2, 2, 1}), {fresh({2, 3, 4}).transpose(1, 2).requires_grad_()});
    expect_gradient(with({1, 1, 1, 0, 0, 1}), {fresh({2, 2, 3, 2}).requires_grad_()});
  }
}

TEST(Pad, AddsGradientsOfSixteenBitsInFloat) {
  const Tensor x = zeros({1, 4}, {.dtype = bfloat16}).requires_grad_();
  pad(x, {300, 0}, {.mode = "replicate"}).sum().backward();
  EXPECT_EQ(x.grad().select(0, 0)[0].item<double>(), 300);  // 301, rounded
}

TEST(Pad, RecordsPyTorchsNodes) {
  const Tensor x = ones({1, 2, 3, 3}).requires_grad_();
  EXPECT_EQ(pad(x, {1, 1}).grad_fn()->name(), "ConstantPadNdBackward0");
  EXPECT_EQ(pad(x, {1, 1, 1, 1}, {.mode = "reflect"}).grad_fn()->name(),
            "ReflectionPad2DBackward0");
  EXPECT_EQ(pad(x, {1, 1, 1, 1, 1, 1}, {.mode = "replicate"}).grad_fn()->name(),
            "ReplicationPad3DBackward0");
}

TEST(Pad, TakesEmptyBatchesAndMeta) {
  EXPECT_EQ(pad(ones({3, 1}), {0, -1}, {.mode = "circular"}).shape(), Shape({3, 0}));
  EXPECT_EQ(pad(ones({0, 3, 4}), {1, 1}, {.mode = "reflect"}).shape(), Shape({0, 3, 6}));
  EXPECT_EQ(pad(ones({0, 3, 4}), {1, 1}, {.mode = "circular"}).shape(), Shape({0, 3, 6}));
  const Tensor meta = empty({2, 3}, {.device = Device("meta")});
  EXPECT_EQ(pad(meta, {1, 1}).shape(), Shape({2, 5}));
  EXPECT_EQ(pad(meta, {1, 1}, {.mode = "replicate"}).shape(), Shape({2, 5}));
}

TEST(Pad, RefusesAValueThatTheDtypeHasNot) {
  const Tensor x = ones({3}, {.dtype = int64});
  expect_error<ValueError>([&] { pad(x, {1, 1}, {.value = 1e30}); }, "int64");
  expect_error<ValueError>([&] { pad(x, {1, 1}, {.value = std::nan("")}); }, "int64");
  expect_error<ValueError>([&] { pad(x.to(int8), {1, 1}, {.value = 300}); }, "int8");
  expect_error<ValueError>([&] { pad(x.to(uint8), {1, 1}, {.value = -1}); }, "uint8");
  EXPECT_TRUE(equal(pad(x, {1, 0}, {.value = 2.5}), tensor({2, 1, 1, 1})));
}

TEST(Pad, SaysWhatDoesNotFit) {
  const Tensor x = ones({2, 3});
  expect_error<ValueError>([&] { pad(x, 1); }, "Padding length must be divisible by 2", "(1,)");
  expect_error<ShapeError>([&] { pad(ones({3}), {1, 1, 1, 1}); },
                           "padding length 4 and input of dimension 1");
  expect_error<ShapeError>([&] { pad(ones({3}), {-2, -2}); }, "[3]", "(-2, -2)");
  expect_error<ShapeError>([&] { pad(ones({3}), {-4, 2}); }, "[3]", "(-4, 2)");
  expect_error<ShapeError>([&] { pad(ones({3}), {1, 1}, {.mode = "reflect"}); },
                           "Padding size 2 is not supported for 1D input tensor", "[3]");
  expect_error<ShapeError>([&] { pad(ones({1, 1, 4, 4, 4}), {1, 1}, {.mode = "circular"}); },
                           "Padding size 2 is not supported for 5D");
  expect_error<ShapeError>(
      [&] { pad(x, {3, 1}, {.mode = "reflect"}); },
      "Padding size should be less than the corresponding input dimension, but got: padding (3, 1) "
      "at dimension 1 of input [2, 3]");
  expect_error<ShapeError>([&] { pad(x, {4, 1}, {.mode = "circular"}); },
                           "Padding value causes wrapping around more than once", "[2, 3]");
  expect_error<ShapeError>([&] { pad(x, {-2, -1}, {.mode = "replicate"}); }, "empty dimension");
  // One dimension that comes out empty is enough, but not of a reflection.
  const Tensor image = ones({3, 2, 2});
  expect_error<ShapeError>([&] { pad(image, {-1, -1, 0, 0}, {.mode = "replicate"}); },
                           "empty dimension");
  expect_error<ShapeError>([&] { pad(image, {0, 0, -1, -1}, {.mode = "replicate"}); },
                           "empty dimension");
  EXPECT_EQ(pad(image, {-1, -1, 0, 0}, {.mode = "reflect"}).shape(), Shape({3, 2, 0}));
  expect_error<ShapeError>([&] { pad(x, {-2, -2}, {.mode = "circular"}); }, "empty dimension");
  expect_error<ShapeError>([&] { pad(x, {-3, 1}, {.mode = "circular"}); }, "empty dimension");
  expect_error<ShapeError>(
      [&] { pad(x, {std::int64_t{1} << 62, std::int64_t{1} << 62}, {.mode = "replicate"}); },
      "pad");
  expect_error<ShapeError>([&] { pad(ones({2, 2, 0}), {1, 1}, {.mode = "reflect"}); },
                           "Expected 2D or 3D (batch mode) tensor", "[2, 2, 0]");
  expect_error<ShapeError>([&] { pad(ones({0, 3}), {1, 1}, {.mode = "reflect"}); }, "[0, 3]");
  expect_error<NotImplementedError>([&] { pad(x, {1, 1}, {.mode = "foo"}); },
                                    "Unrecognised padding mode foo");
  expect_error<ValueError>([&] { pad(x, {1, 1}, {.mode = "reflect", .value = 2}); },
                           "Padding mode \"reflect\" doesn't take in value argument", "2.0");
  expect_error<ShapeError>([&] { pad(x, {std::int64_t{1} << 62, std::int64_t{1} << 62}); }, "pad");
}

}  // namespace
}  // namespace tenon
