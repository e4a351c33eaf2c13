#include "tenon/ops/lerp.h"

#include <cmath>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Fused, RoundsOnce) {
  // Values where a product that is rounded before it is added gives another sum.
  const float x = 1.0f + 0x1p-23f, y = 1.0f - 0x1p-23f;
  const Tensor a = full({9}, -1.0), b = full({9}, x), c = full({9}, y);
  const auto once = static_cast<double>(std::fma(x, y, -1.0f));
  ASSERT_NE(once, static_cast<double>(x * y - 1.0f));
  EXPECT_TRUE(equal(addcmul(a, b, c), full({9}, once)));
  EXPECT_TRUE(equal(add(a, b, {.alpha = y}), full({9}, once)));
  EXPECT_TRUE(equal(sub(a, b, {.alpha = -y}), full({9}, once)));
}

TEST(Fused, AStepOfAdamIsWhatItSays) {
  const Tensor p = tensor({1.0, -2.0}), g = tensor({0.5, 0.25}), m = zeros({2}), v = zeros({2});
  m.lerp_(g, 0.1);
  v.mul_(0.999).addcmul_(g, g, {.value = 0.001});
  p.addcdiv_(m, v.sqrt().add_(1e-8), {.value = -0.01});
  EXPECT_TRUE(allclose(m, tensor({0.05, 0.025})));
  EXPECT_TRUE(allclose(v, tensor({0.00025, 0.0000625})));
  EXPECT_TRUE(allclose(p, tensor({1.0 - 0.01 * 0.05 / std::sqrt(0.00025),
                                  -2.0 - 0.01 * 0.025 / std::sqrt(0.0000625)})));
}

TEST(Fused, LerpEndsWhereItShould) {
  const Tensor a = tensor({1.0, 2.0}), b = tensor({3.0, 1e8});
  EXPECT_TRUE(equal(lerp(a, b, 0), a));
  EXPECT_TRUE(equal(lerp(a, b, 1), b));
  EXPECT_TRUE(equal(lerp(a, b, tensor({0.0, 1.0})), tensor({1.0, 1e8})));
  EXPECT_TRUE(equal(lerp(a, b, tensor(1)), b));  // a weight without dimensions is converted
  expect_error<DTypeError>([&] { lerp(a, b.to(float64), 0.5); }, "float32", "float64", "end");
  expect_error<NotImplementedError>([] { lerp(tensor({1}), tensor({2}), 0.5); }, "lerp", "Long");
}

TEST(Fused, ConvertsBroadcastsAndReadsBeforeItWrites) {
  const Tensor x = ones({2, 3}, {.dtype = bfloat16});
  EXPECT_EQ(addcmul(x, tensor({1, 2, 3}), tensor({{2.0}, {3.0}}, {.dtype = bfloat16})).dtype(),
            bfloat16);
  const Tensor y = arange(5.0);
  y.slice(0, 1).add_(y.slice(0, 0, 4), {.alpha = 2});
  EXPECT_TRUE(equal(y, tensor({0.0, 1.0, 4.0, 7.0, 10.0})));
  EXPECT_TRUE(equal(add(tensor({1, 2}), tensor({3, 4}), {.alpha = 2}), tensor({7, 10})));
  const Tensor out = empty({0});
  addcdiv_out(out, ones({2}), ones({2}), full({2}, 4.0), {.value = 2});
  EXPECT_TRUE(equal(out, full({2}, 1.5)));
}

TEST(Fused, RefusesWhatPyTorchRefuses) {
  expect_error<DTypeError>([] { add(tensor({1}), tensor({2}), {.alpha = 0.5}); }, "alpha",
                           "floating point");
  expect_error<DTypeError>([] { add(ones({1}), ones({1}), {.alpha = true}); }, "Boolean alpha");
  expect_error<DTypeError>([] { add(tensor({1}), tensor({2}), {.alpha = 1.0}); }, "alpha");
  expect_error<DTypeError>([] { tensor({1}).sub_(tensor({2}), {.alpha = 1.0}); }, "alpha");
  expect_error<DTypeError>([] { addcdiv(ones({1}), tensor({1}), tensor({2})); }, "addcdiv",
                           "rounding_mode");
  const Tensor none = empty({0}, {.dtype = uint8});
  expect_error<ValueError>([&] { addcmul(none, none, none, {.value = -2.0}); }, "uint8", "-2");
  expect_error<DTypeError>([] { tensor({1}).addcmul_(ones({1}), ones({1})); }, "Float", "Long");
  expect_error<ShapeError>([] { ones({3}).addcmul_(ones({2, 3}), ones({3})); }, "[3]", "[2, 3]");
  expect_error<DeviceError>([] { ones({3}).lerp_(empty({3}, {.device = "meta"}), 0.5); }, "meta");
  EXPECT_EQ(
      addcmul(empty({2, 1}, {.device = "meta"}), empty({3}, {.device = "meta"}), 2.0 * ones({}))
          .shape(),
      Shape({2, 3}));
}

TEST(Fused, HistoryHasTheNamesOfPyTorch) {
  const Tensor x = ones({2}, {.requires_grad = true});
  EXPECT_EQ(add(x, x, {.alpha = 2}).grad_fn()->name(), "AddBackward0");
  EXPECT_EQ(sub(x, x, {.alpha = 2}).grad_fn()->name(), "SubBackward0");
  EXPECT_EQ(lerp(x, x, 0.5).grad_fn()->name(), "LerpBackward0");
  EXPECT_EQ(lerp(x, x, x).grad_fn()->name(), "LerpBackward1");
  EXPECT_EQ(addcmul(x, x, x).grad_fn()->name(), "AddcmulBackward0");
  EXPECT_EQ(addcdiv(x, x, x).grad_fn()->name(), "AddcdivBackward0");
}

}  // namespace
}  // namespace tenon
