#include "tenon/ops/reductions.h"

#include <cmath>

#include "support/matchers.h"
#include "support/threads.h"
#include "support/wrappers.h"
#include "tenon/ops/arithmetic.h"

namespace tenon {
namespace {

TEST(Reductions, OverAllSomeOrOneDimension) {
  const Tensor x = arange(24.0).view({2, 3, 4});
  EXPECT_EQ(x.sum().item<double>(), 276.0);
  EXPECT_TRUE(equal(x.sum({0, 2}), tensor({60.0, 92.0, 124.0})));
  EXPECT_EQ(x.sum(1, {.keepdim = true}).shape(), Shape({2, 1, 4}));
  EXPECT_TRUE(equal(x.mean(-1), tensor({{1.5, 5.5, 9.5}, {13.5, 17.5, 21.5}})));
  EXPECT_TRUE(equal(x.permute({2, 0, 1}).sum(0), x.sum(2)));
  EXPECT_TRUE(equal(sum(ones({2, 2}, {.dtype = bool_})), tensor(4)));
  EXPECT_EQ(prod(tensor({2, 3, 4})).item<int>(), 24);
}

TEST(Reductions, ExtremesAndWhereTheyAre) {
  const Tensor x = tensor({{1.0, 5.0, 5.0}, {7.0, 0.0, 2.0}});
  const auto [values, indices] = max(x, 1);
  EXPECT_TRUE(equal(values, tensor({5.0, 7.0})));
  EXPECT_TRUE(equal(indices, tensor({1, 0})));
  EXPECT_EQ(x.argmax().item<int>(), 3);
  EXPECT_EQ(x.t().argmax().item<int>(), 1);
  EXPECT_EQ(x.argmin(0).shape(), Shape({3}));
  EXPECT_EQ(x.max().item<double>(), 7.0);
  EXPECT_TRUE(std::isnan(max(tensor({1.0, std::nan(""), 3.0})).item<double>()));
  EXPECT_EQ(argmax(tensor({1.0, std::nan(""), std::nan("")})).item<int>(), 1);
}

TEST(Reductions, OfNothing) {
  const Tensor none = zeros({0, 3});
  EXPECT_EQ(none.sum().item<double>(), 0.0);
  EXPECT_EQ(none.prod().item<double>(), 1.0);
  EXPECT_TRUE(std::isnan(none.mean().item<double>()));
  EXPECT_TRUE(equal(none.sum(0), zeros({3})));
  EXPECT_EQ(none.amax(1).shape(), Shape({0}));
  EXPECT_TRUE(none.all().item<bool>());
  EXPECT_FALSE(none.any().item<bool>());
  expect_error<IndexError>([&] { none.amax(0); }, "reduction dim 0", "[0, 3]");
  expect_error<IndexError>([&] { none.max(); }, "max()", "numel() == 0");
  expect_error<IndexError>([&] { none.argmax(); }, "argmax()");
}

TEST(Reductions, DtypesAndDimensionsThatCannotAreNamed) {
  expect_error<DTypeError>([] { mean(tensor({1, 2})); }, "mean()", "Long", "to(dtype)");
  EXPECT_EQ(mean(tensor({1, 2}), {}, {.dtype = float32}).item<double>(), 1.5);
  expect_error<DTypeError>([] { var(tensor({1, 2})); }, "var()", "Long");
  expect_error<NotImplementedError>([] { amax(ones({2}, {.dtype = complex64})); }, "ComplexFloat");
  expect_error<IndexError>([] { sum(ones({2}), 1); }, "got 1");
  expect_error<Error>([] { sum(ones({2, 2}), {0, 0}); }, "0");
}

TEST(Reductions, VarianceAndNormAreAccurate) {
  const Tensor far = full({1000}, 1e8, {.dtype = float64}) + arange(1000.0, {.dtype = float64});
  EXPECT_NEAR(var(far).item<double>(), 83416.66666666667, 1e-4);
  EXPECT_EQ(var(tensor({1.0, 3.0}), {}, {.correction = 0}).item<double>(), 1.0);
  EXPECT_FLOAT_EQ(tenon::std(tensor({1.0, 3.0})).item<float>(), std::sqrt(2.0f));
  EXPECT_EQ(norm(tensor({3.0, -4.0})).item<double>(), 5.0);
  EXPECT_EQ(norm(tensor({3.0, -4.0}), 1).item<double>(), 7.0);
  EXPECT_EQ(norm(tensor({3.0, -4.0}), HUGE_VAL).item<double>(), 4.0);
  EXPECT_EQ(norm(tensor({std::complex<double>(3, 4)})).dtype(), float32);
}

TEST(Reductions, SumsOfManyFloatsAreExactToTheLastDigit) {
  const Tensor x = full({3'000'001}, 0.1);
  const double exact = 3'000'001 * static_cast<double>(0.1f);
  EXPECT_EQ(x.sum().item<float>(), static_cast<float>(exact));
}

TEST(Reductions, DoNotDependOnTheNumberOfThreads) {
  manual_seed(1);
  const Tensor wide = randn({7, 100'000}), tall = randn({100'000, 7}), cube = randn({50, 60, 70});
  expect_same_on_any_threads([&] {
    return std::vector<Tensor>{wide.sum(1),      tall.sum(0),     wide.sum(0),
                               cube.var({0, 2}), cube.norm(2, 1), wide.sum()};
  });
}

TEST(Reductions, CumulativeOnesGoAlongADimension) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_TRUE(equal(x.cumsum(1), tensor({{1, 3, 6}, {4, 9, 15}})));
  EXPECT_TRUE(equal(x.t().cumsum(0), tensor({{1, 4}, {3, 9}, {6, 15}})));
  EXPECT_TRUE(equal(x.cumprod(0), tensor({{1, 2, 3}, {4, 10, 18}})));
  EXPECT_EQ(ones({2}, {.dtype = int8}).cumsum(0).dtype(), int64);
  EXPECT_EQ(tensor(3.0).cumsum(0).item<double>(), 3.0);
}

TEST(Reductions, BoolsAreNotAccumulatedAsSuch) {
  expect_error<NotImplementedError>([] { cumsum(tensor({1, 0}), 0, {.dtype = bool_}); }, "cumsum",
                                    "Bool");
  expect_error<IndexError>([] { norm(empty({0}), -1); }, "norm");
}

TEST(Reductions, WriteIntoMemoryThatIsThere) {
  const Tensor x = arange(6.0).view({2, 3}), out = empty({3}),
               wide = empty({0}, {.dtype = float64});
  const void* const memory = out.data_ptr();
  sum_out(out, x, 0);
  EXPECT_TRUE(equal(out, tensor({3.0, 5.0, 7.0})));
  EXPECT_EQ(out.data_ptr(), memory);
  mean_out(wide, x, 1);
  EXPECT_TRUE(equal(wide, tensor({1.0, 4.0}, {.dtype = float64})));
  const Tensor values = empty({2}), indices = empty({2}, {.dtype = int64});
  max_out(values, indices, x, 1);
  EXPECT_TRUE(equal(values, tensor({2.0, 5.0})));
  EXPECT_TRUE(equal(indices, tensor({2, 2})));
  cumsum_out(x, x, 1);  // what is read is what is written
  EXPECT_TRUE(equal(x, tensor({{0.0, 1.0, 3.0}, {3.0, 7.0, 12.0}})));
  expect_error<ShapeError>([&] { sum_out(out, x, 1); }, "[3]", "[2]");
  sum_out(indices, x, 1);  // calculated in the dtype it is written in
  EXPECT_TRUE(equal(indices, tensor({4, 22})));
  const Tensor many = full({1000}, 0.1, {.dtype = bfloat16}), total = empty({});
  sum_out(total, many);
  EXPECT_NEAR(total.item<double>(), 100.09765625, 1e-6);  // not rounded to bfloat16 on the way
  const Tensor nothing = zeros({0});
  sum_out(nothing, nothing);  // it takes the shape of the result after it was read
  EXPECT_EQ(nothing.shape(), Shape({}));
  EXPECT_EQ(nothing.item<double>(), 0);
  expect_error<DTypeError>([&] { argmax_out(empty({2}), x, 1); }, "int64", "float32");
  expect_error<DTypeError>([&] { max_out(empty({2}), empty({2}, {.dtype = int8}), x, 1); }, "int64",
                           "int8");
  argmax_out(indices, ones({2, 3}, {.requires_grad = true}), 1);  // positions have no gradient
  expect_error<AutogradError>([&] { sum_out(out, ones({2, 3}, {.requires_grad = true}), 0); },
                              "out");
}

TEST(Reductions, OnMetaThereAreShapesOnly) {
  const Tensor x = empty({1000000, 3, 1000000}, {.device = "meta"});
  EXPECT_EQ(x.sum({0, 2}).shape(), Shape({3}));
  EXPECT_EQ(x.argmax(1).dtype(), int64);
  EXPECT_EQ(std::get<1>(x.max(0)).shape(), Shape({3, 1000000}));
  EXPECT_TRUE(x.cumsum(1).is_meta());
}

TEST(Reductions, HistoryHasTheNamesOfPyTorch) {
  const Tensor x = ones({2, 2}).requires_grad_();
  EXPECT_EQ(x.sum().grad_fn()->name(), "SumBackward0");
  EXPECT_EQ(x.sum(0).grad_fn()->name(), "SumBackward1");
  const auto [values, indices] = x.max(0);
  EXPECT_EQ(values.grad_fn()->name(), "MaxBackward0");
  EXPECT_FALSE(indices.requires_grad());
}

TEST(Close, ComparesWithinATolerance) {
  const Tensor a = tensor({1.0, 2.0, HUGE_VAL}), b = tensor({1.0 + 1e-6, 2.1, HUGE_VAL});
  EXPECT_TRUE(equal(isclose(a, b), tensor({true, false, true})));
  EXPECT_FALSE(allclose(a, b));
  EXPECT_TRUE(allclose(a, b, {.atol = 0.2}));
  const Tensor nan = tensor({std::nan("")});
  EXPECT_FALSE(allclose(nan, nan));
  EXPECT_TRUE(allclose(nan, nan, {.equal_nan = true}));
  EXPECT_TRUE(allclose(tensor({100000}), tensor({100001})));
  expect_error<DTypeError>([] { isclose(ones({1}), tensor({1})); }, "Float", "Long");
  expect_error<ValueError>([] { isclose(ones({1}), ones({1}), {.rtol = -1}); }, "-1");
}

}  // namespace
}  // namespace tenon
