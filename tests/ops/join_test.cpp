#include <limits>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Cat, TakesAListAndADimension) {
  const Tensor a = arange(4).view({2, 2}), b = arange(2).view({2, 1});
  EXPECT_EQ(cat({a, b}, 1).repr(), "tensor([[0, 1, 0],\n        [2, 3, 1]])");
  EXPECT_EQ(cat({a, a}, {.dim = -1}).shape(), Shape({2, 4}));
  const std::vector<Tensor> list{a, a};
  EXPECT_EQ(cat(list).shape(), Shape({4, 2}));
  EXPECT_EQ(stack(list, {.dim = 2}).shape(), Shape({2, 2, 2}));
  EXPECT_EQ(stack({tensor(1), tensor(2.5)}).dtype(), float32);
}

TEST(Cat, ConjugatesAreResolved) {
  const Tensor c = tensor({std::complex<double>(1, 2)});
  EXPECT_TRUE(
      equal(cat({c, c.conj()}), tensor({std::complex<double>(1, 2), std::complex<double>(1, -2)})));
}

TEST(Cat, MessagesSayWhichTensor) {
  const Tensor x = zeros({2, 3, 4});
  expect_error<ValueError>([] { cat(std::vector<Tensor>{}); }, "non-empty list");
  expect_error<ShapeError>([&] { cat({x, zeros({2, 3})}); }, "got 3 and 2", "position 1");
  expect_error<ShapeError>([&] { cat({x, zeros({2, 2, 4})}); }, "except in dimension 0",
                           "Expected size 3 but got size 2", "number 1");
  expect_error<ShapeError>([] { cat({tensor(1)}); }, "position 0", "unsqueeze");
  expect_error<DeviceError>([] { cat({zeros({1}), zeros({1}, {.device = "meta"})}); }, "cpu",
                            "meta");
  expect_error<DTypeError>([] { cat({zeros({1}), zeros({1}, {.dtype = float8_e5m2})}); },
                           "Float8_e5m2");
  expect_error<ShapeError>([] { stack({zeros({2}), zeros({3})}); }, "[2] at entry 0",
                           "[3] at entry 1");
  expect_error<ValueError>([] { stack(std::vector<Tensor>{}); }, "non-empty");
  const Tensor huge = empty({std::numeric_limits<std::int64_t>::max() / 8}, {.device = "meta"});
  expect_error<ShapeError>([&] { cat({huge, huge, huge, huge, huge, huge, huge, huge, huge}); },
                           "more than can be counted");
}

}  // namespace
}  // namespace tenon
