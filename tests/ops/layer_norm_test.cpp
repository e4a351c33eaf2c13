// layer_norm and rms_norm: values, gradients and errors.
#include <cmath>

#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/threads.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

Tensor sample(const Shape& shape, double shift = 0) {
  return ((arange(shape.numel(), {.dtype = float64}) * 1.37 + 0.2 + shift).sin() * 2 + shift)
      .reshape(shape);
}
Tensor wanted(const Tensor& tensor) { return tensor.clone().detach().requires_grad_(); }
double furthest(const Tensor& a, const Tensor& b) {
  return (a.to(float64) - b.to(float64)).abs().max().item<double>();
}

// The definition, in float64.
Tensor by_definition(const Tensor& input, const Dims& dim, double eps, bool centred) {
  Tensor x = input.to(float64);
  if (centred) x = x - x.mean(dim, {.keepdim = true});
  return x * ((x * x).mean(dim, {.keepdim = true}) + eps).rsqrt();
}

TEST(LayerNorm, IsItsDefinitionForRowsOfAnyLength) {
  for (const std::int64_t n : {1, 2, 5, 16, 63, 64, 65, 130, 1000, 8192, 8200, 20000}) {
    const Tensor x = sample({3, n}, 0.5);
    EXPECT_LE(furthest(layer_norm(x, n), by_definition(x, -1, 1e-5, true)), 1e-12) << n;
    const Tensor narrow = x.to(float32);
    EXPECT_LE(furthest(layer_norm(narrow, n), by_definition(narrow, -1, 1e-5, true)), 1e-6) << n;
    EXPECT_LE(furthest(rms_norm(narrow, n, {.eps = 1e-5}), by_definition(narrow, -1, 1e-5, false)),
              1e-6)
        << n;
  }
}

TEST(LayerNorm, LosesNothingFarFromZero) {
  const Tensor x = (sample({4, 1024}) + 1000).to(float32);
  EXPECT_LE(furthest(layer_norm(x, 1024), by_definition(x, -1, 1e-5, true)), 1e-4);
}

TEST(LayerNorm, TakesAnyStridesAndSeveralDimensions) {
  const Tensor x = sample({4, 3, 5}).to(float32);
  const Tensor turned = x.transpose(0, 2);
  EXPECT_TRUE(equal(layer_norm(turned, {3, 4}), layer_norm(turned.contiguous(), {3, 4})));
  EXPECT_LE(furthest(layer_norm(turned, {3, 4}), by_definition(turned, {1, 2}, 1e-5, true)), 1e-6);
  const Tensor spread = sample({5}).to(float32).expand({3, 5});
  EXPECT_TRUE(equal(layer_norm(spread, 5)[0], layer_norm(spread[2], 5)));
}

TEST(LayerNorm, RoundsSixteenBitsOnce) {
  for (const DType dtype : {bfloat16, float16}) {
    const Tensor x = sample({70, 33}).to(dtype), w = sample({33}, 1).to(dtype),
                 b = sample({33}, 2).to(dtype);
    const Tensor wide =
        layer_norm(x.to(float32), 33, {.weight = w.to(float32), .bias = b.to(float32)});
    EXPECT_TRUE(equal(layer_norm(x, 33, {.weight = w, .bias = b}), wide.to(dtype)));
    EXPECT_TRUE(
        equal(layer_norm(x, 33, {.weight = w.to(float32), .bias = b.to(float32)}), wide.to(dtype)));
    EXPECT_TRUE(equal(rms_norm(x, 33, {.weight = w}),
                      rms_norm(x.to(float32), 33, {.weight = w.to(float32)}).to(dtype)));
  }
}

TEST(LayerNorm, HasTheGradientsDifferencesSay) {
  const auto f = [](const std::vector<Tensor>& a) {
    return layer_norm(a[0], {3, 2}, {.weight = a[1], .bias = a[2], .eps = 1e-3});
  };
  expect_gradients(f,
                   {wanted(sample({4, 3, 2})), wanted(sample({3, 2}, 1)), wanted(sample({3, 2}))});
  expect_gradients(f,
                   {sample({3, 2, 4}).requires_grad_().detach().permute({2, 0, 1}).requires_grad_(),
                    sample({3, 2}, 1), wanted(sample({3, 2}))});
  expect_gradients([](const auto& a) { return layer_norm(a[0], 5); }, {wanted(sample({5}))});
  expect_gradients([](const auto& a) { return layer_norm(a[0], 5, {.bias = a[1]}); },
                   {sample({2, 5}), wanted(sample({5}))});
  expect_gradient([](const auto& a) { return layer_norm(a[0], 70, {.weight = a[1]}); },
                  {wanted(sample({40, 70})), wanted(sample({70}))});
}

TEST(RmsNorm, HasTheGradientsDifferencesSay) {
  expect_gradients([](const auto& a) { return rms_norm(a[0], 5, {.weight = a[1], .eps = 1e-3}); },
                   {wanted(sample({3, 5})), wanted(sample({5}, 1))});
  expect_gradients([](const auto& a) { return rms_norm(a[0], {3, 2}); },
                   {wanted(sample({2, 3, 2}))});
}

TEST(LayerNorm, GivesSixteenBitGradients) {
  const Tensor x = sample({6, 9}).to(bfloat16), w = sample({9}, 1).to(bfloat16);
  const Tensor a = wanted(x), v = wanted(w), b = wanted(x.to(float32)), u = wanted(w.to(float32));
  layer_norm(a, 9, {.weight = v}).backward({.gradient = x});
  layer_norm(b, 9, {.weight = u}).backward({.gradient = x.to(float32)});
  EXPECT_TRUE(equal(a.grad(), b.grad().to(bfloat16)));
  EXPECT_TRUE(equal(v.grad(), u.grad().to(bfloat16)));
  const Tensor c = wanted(x);  // beside parameters of float32
  layer_norm(c, 9, {.weight = wanted(w.to(float32))}).backward({.gradient = x});
  EXPECT_EQ(c.grad().dtype(), bfloat16);
}

TEST(LayerNorm, IsTheSameOnAnyNumberOfThreads) {
  const Tensor x = sample({700, 130}).to(float32), w = sample({130}, 1).to(float32);
  expect_same_on_any_threads([&] {
    const Tensor a = wanted(x), v = wanted(w), b = wanted(w);
    const Tensor y = layer_norm(a, 130, {.weight = v, .bias = b});
    y.backward({.gradient = y.detach().sin()});
    return std::vector<Tensor>{y.detach(), a.grad(), v.grad(), b.grad()};
  });
}

TEST(LayerNorm, TakesWhatHasNoElements) {
  const Tensor x = zeros({0, 3}).requires_grad_(), w = ones({3}).requires_grad_();
  const Tensor y = layer_norm(x, 3, {.weight = w, .bias = w});
  EXPECT_EQ(y.shape(), Shape({0, 3}));
  y.sum().backward();
  EXPECT_TRUE(equal(w.grad(), zeros({3})));
  EXPECT_EQ(layer_norm(zeros({2, 0}), 0).shape(), Shape({2, 0}));
  EXPECT_EQ(rms_norm(zeros({0, 3}), 3).shape(), Shape({0, 3}));
}

TEST(LayerNorm, InfersShapesOnMeta) {
  const Tensor x = empty({2, 3, 4}, {.device = Device("meta")}).requires_grad_();
  const Tensor y = layer_norm(x, {3, 4});
  EXPECT_TRUE(y.is_meta());
  EXPECT_EQ(y.shape(), Shape({2, 3, 4}));
  y.sum().backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
}

TEST(LayerNorm, RecordsPyTorchsNode) {
  EXPECT_EQ(layer_norm(zeros({2, 3}).requires_grad_(), 3).grad_fn()->name(),
            "NativeLayerNormBackward0");
}

TEST(LayerNorm, SaysWhatDoesNotFit) {
  const Tensor x = ones({2, 3});
  expect_error<ShapeError>([&] { layer_norm(x, 4); },
                           "Given normalized_shape=[4], expected input with shape [*, 4]",
                           "[2, 3]");
  expect_error<ShapeError>([&] { layer_norm(ones({3}), {2, 3}); }, "[*, 2, 3]", "[3]");
  expect_error<ShapeError>([&] { layer_norm(x, Dims()); }, "normalized_shape = []");
  expect_error<ShapeError>([&] { layer_norm(x, 3, {.weight = ones({4})}); },
                           "Expected weight to be of same shape as normalized_shape", "[4]", "[3]");
  expect_error<ShapeError>([&] { rms_norm(x, 3, {.weight = ones({4})}); }, "[4]", "[3]");
  expect_error<ShapeError>([&] { layer_norm(x, 3, {.bias = ones({4})}); }, "Expected bias", "[4]");
  expect_error<DTypeError>([&] { layer_norm(x, 3, {.weight = ones({3}, {.dtype = float64})}); },
                           "torch.float64", "torch.float32");
  expect_error<DTypeError>(
      [&] {
        layer_norm(x.to(bfloat16), 3,
                   {.weight = ones({3}, {.dtype = bfloat16}), .bias = ones({3})});
      },
      "mixed dtype");
  expect_error<NotImplementedError>([&] { layer_norm(x.to(int64), 3); }, "'Long'");
  expect_error<NotImplementedError>([&] { rms_norm(x.to(int64), 3); }, "'Long'");
  expect_error<DeviceError>(
      [&] { layer_norm(x, 3, {.weight = ones({3}, {.device = Device("meta")})}); }, "meta", "cpu");
}

}  // namespace
}  // namespace tenon
