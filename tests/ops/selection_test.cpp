#include "tenon/ops/where.h"

#include <cmath>

#include "support/matchers.h"
#include "support/wrappers.h"
#include "tenon/ops/reductions.h"

namespace tenon {
namespace {

TEST(Where, PicksBroadcastsAndPromotes) {
  const Tensor x = tensor({-1.0, 2.0, -3.0});
  EXPECT_TRUE(equal(where(x > 0, x, 0), tensor({0.0, 2.0, 0.0})));
  EXPECT_TRUE(
      equal(where(tensor({{true}, {false}}), tensor({1, 2}), tensor(7)), tensor({{1, 2}, {7, 7}})));
  EXPECT_EQ(where(x > 0, ones({3}, {.dtype = int8}), 2.5).dtype(), float32);
  EXPECT_EQ(where(x > 0, 1, 2).dtype(), int64);
  for (const DType dtype : {float64, float16, complex128, uint8, float8_e5m2, bool_}) {
    const Tensor a = zeros({3}, {.dtype = dtype}), b = ones({3}, {.dtype = dtype});
    EXPECT_TRUE(
        equal(where(tensor({true, false, true}), a, b).to(float32), tensor({0.0, 1.0, 0.0})))
        << dtype;
  }
}

TEST(Where, ReadsStridedAndLargeOperands) {
  const Tensor x = arange(200000).view({400, 500}), y = -x;
  const Tensor picked = where((x % 3 == 0).t(), x.t(), y.t());
  EXPECT_EQ(picked[7][8].item<int>(), (8 * 500 + 7) % 3 == 0 ? 8 * 500 + 7 : -(8 * 500 + 7));
  EXPECT_EQ(picked.stride(), Dims({1, 500}));
  EXPECT_EQ(sum(picked).item<std::int64_t>(), sum(where(x % 3 == 0, x, y)).item<std::int64_t>());
}

TEST(Where, RefusesWhatIsNoMask) {
  expect_error<DTypeError>([] { where(ones({2}), ones({2}), 1); }, "bools", "torch.float32");
  expect_error<ShapeError>([] { where(ones({2}) > 0, ones({3}), ones({3})); }, "2", "3");
  EXPECT_EQ(
      where(empty({2, 1}, {.dtype = bool_, .device = "meta"}), empty({3}, {.device = "meta"}), 1)
          .shape(),
      Shape({2, 3}));
}

TEST(Where, TakesNumbersThatFitAndWritesIntoOthers) {
  expect_error<ValueError>([] { where(ones({2}) > 0, ones({2}, {.dtype = uint8}), 300); }, "300");
  EXPECT_TRUE(equal(where(tensor({1, 0}).to(uint8), 1, 2), tensor({1, 2})));
  const Tensor out = empty({2, 2});
  where_out(out.t(), tensor({true, false}), tensor({1.0, 2.0}), tensor({{5.0}, {6.0}}));
  EXPECT_TRUE(equal(out, tensor({{1.0, 1.0}, {5.0, 6.0}})));
}

TEST(MaskedFill, WritesWhereTheMaskHolds) {
  const Tensor x = arange(6.0).view({2, 3}), mask = tensor({true, false, true});
  EXPECT_TRUE(equal(masked_fill(x, mask, -1), tensor({{-1.0, 1.0, -1.0}, {-1.0, 4.0, -1.0}})));
  EXPECT_EQ(x.version(), 0);
  x.t().masked_fill_(tensor({{true}, {false}, {false}}), 9.0);
  EXPECT_TRUE(equal(x, tensor({{9.0, 1.0, 2.0}, {9.0, 4.0, 5.0}})));
  EXPECT_EQ(x.version(), 1);
  EXPECT_EQ(masked_fill(ones({3}), ones({2, 1}) > 0, 0).shape(), Shape({2, 3}));
  EXPECT_TRUE(equal(zeros({2}, {.dtype = int32}).masked_fill_(ones({2}) > 0, 1.5),
                    ones({2}, {.dtype = int32})));
  expect_error<ValueError>([] { zeros({2}, {.dtype = uint8}).masked_fill_(ones({2}) > 0, 300); },
                           "uint8", "300");
  // The mistake of every attention mask.
  expect_error<ValueError>([] { zeros({2}, {.dtype = float16}).masked_fill_(ones({2}) > 0, -1e9); },
                           "float16", "65504");
  expect_error<DeviceError>(
      [] { ones({2}).masked_fill_(ones({2}) > 0, empty({}, {.device = "meta"})); }, "meta");
  expect_error<ShapeError>([] { ones({3}).masked_fill_(ones({2, 3}) > 0, 1); }, "[2, 3]", "[3]");
  expect_error<ShapeError>([] { ones({3}).masked_fill_(ones({3}) > 0, ones({3})); },
                           "1 dimensions");
}

TEST(Clamp, KeepsBetweenTheBounds) {
  const Tensor x = tensor({-2.0, 0.5, 3.0, std::nan("")});
  EXPECT_TRUE(equal(clamp(x, {.min = 0, .max = 1}).narrow(0, 0, 3), tensor({0.0, 0.5, 1.0})));
  EXPECT_TRUE(std::isnan(clamp(x, {.min = 0})[3].item<double>()));
  EXPECT_TRUE(equal(clamp(tensor({1, 5}), {.max = 3}), tensor({1, 3})));
  EXPECT_EQ(clamp(tensor({1, 5}), {.min = 1.5}).dtype(), float32);
  EXPECT_TRUE(equal(clamp(tensor({1, 5}), {.min = 4, .max = 2}), tensor({2, 2})));
  EXPECT_TRUE(
      equal(clamp(tensor({1, 5}), ClampTensorOptions{.min = tensor({3, 3})}), tensor({3, 5})));
  expect_error<ValueError>([] { clamp(ones({2}), ClampOptions{}); }, "min", "max");
}

TEST(Clamp, KeepsTheSignOfZeroAndTheHistoryOfPyTorch) {
  EXPECT_TRUE(signbit(clamp(tensor({-0.0}), {.min = 0.0})).item<bool>());
  EXPECT_FALSE(signbit(clamp(tensor({0.0}), {.max = -0.0})).item<bool>());
  const Tensor x = ones({2}, {.requires_grad = true});
  EXPECT_EQ(clamp(x, {.min = 0}).grad_fn()->name(), "ClampBackward1");
  EXPECT_EQ(clamp(x, ClampTensorOptions{.max = ones({2})}).grad_fn()->name(), "ClampBackward0");
}

TEST(Clamp, WritesIntoItsArgumentOrAnother) {
  const Tensor x = tensor({-2.0, 0.5, 3.0}), out = empty({0});
  clamp_out(out, x, ClampOptions{.min = 0, .max = 1});
  EXPECT_TRUE(equal(out, tensor({0.0, 0.5, 1.0})));
  x.clamp_({.max = 1});
  EXPECT_TRUE(equal(x, tensor({-2.0, 0.5, 1.0})));
  expect_error<DTypeError>([] { ones({2}, {.dtype = int64}).clamp_({.min = 0.5}); }, "Float",
                           "Long");
  expect_error<ValueError>([] { clamp(ones({2}, {.dtype = uint8}), {.max = 300}); }, "300");
  expect_error<NotImplementedError>([] { clamp(ones({2}, {.dtype = complex64}), {.min = 0}); },
                                    "complex");
}

}  // namespace
}  // namespace tenon
