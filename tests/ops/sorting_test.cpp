#include "tenon/ops/sort.h"

#include <cmath>

#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

const double kNan = std::nan("");

TEST(Sorting, NanIsAboveEverythingAndEqualsKeepTheirOrder) {
  const Tensor x = tensor({3.0, kNan, -0.0, 0.0, 1.0, -HUGE_VAL, kNan, HUGE_VAL});
  const auto [values, indices] = sort(x);
  EXPECT_TRUE(equal(indices, tensor({5, 2, 3, 4, 0, 7, 1, 6})));
  EXPECT_TRUE(signbit(values[1]).item<bool>());
  EXPECT_TRUE(equal(argsort(x, {.descending = true}), tensor({1, 6, 7, 0, 4, 2, 3, 5})));
}

TEST(Sorting, EveryDtypeWithAnOrderIsSortedAlongAnyDimension) {
  manual_seed(1);
  for (const DType dtype : {float64, float32, float16, bfloat16, int64, int32, int16, int8, uint8,
                            uint16, uint32, uint64, bool_}) {
    // Long rows are sorted in another way than short ones.
    for (const std::int64_t n : {1, 5, 255, 256, 3000}) {
      const Tensor x = (randn({2, n, 2}) * 60).to(is_integral(dtype) ? int64 : float32).to(dtype);
      const auto [values, indices] = sort(x, {.dim = 1});
      EXPECT_TRUE(equal(gather(x, 1, indices), values)) << dtype;
      const Tensor wide = values.to(float64);
      EXPECT_TRUE(
          all(wide.narrow(1, 0, n - 1) <= wide.narrow(1, n > 1 ? 1 : 0, n - 1)).item<bool>())
          << dtype << n;
      const Tensor down = std::get<0>(sort(x, {.dim = 1, .descending = true}));
      EXPECT_TRUE(equal(down.to(float64), index_select(wide, 1, arange(n - 1, -1, -1))))
          << dtype << n;
    }
  }
  expect_error<NotImplementedError>([] { sort(ones({2}, {.dtype = complex64})); }, "sort",
                                    "ComplexFloat");
  expect_error<IndexError>([] { sort(ones({2}), {.dim = 3}); }, "3");
}

TEST(Sorting, TopkIsTheBeginningOfTheSortedRow) {
  manual_seed(2);
  const Tensor x = randint(0, 50, {4, 700});
  for (const std::int64_t k : {0, 1, 10, 699, 700}) {
    for (const bool largest : {true, false}) {
      const auto [values, indices] = topk(x, k, {.largest = largest});
      const auto [all_values, all_indices] = sort(x, {.descending = largest});
      EXPECT_TRUE(equal(values, all_values.narrow(1, 0, k)));
      EXPECT_TRUE(equal(indices, all_indices.narrow(1, 0, k)));
    }
  }
  expect_error<IndexError>([&] { topk(x, 701); }, "701", "700");
  expect_error<IndexError>([&] { topk(x, -1); }, "-1");
  EXPECT_EQ(std::get<0>(topk(tensor(2.0), 1)).item<double>(), 2);
}

TEST(Sorting, OutFormsFillBoth) {
  const Tensor x = tensor({2.0, 1.0}), values = empty({0}), indices = empty({0}, {.dtype = int64});
  sort_out(values, indices, x);
  EXPECT_TRUE(equal(values, tensor({1.0, 2.0})));
  EXPECT_TRUE(equal(indices, tensor({1, 0})));
  sort_out(x, indices, x);  // in place
  EXPECT_TRUE(equal(x, tensor({1.0, 2.0})));
  expect_error<DTypeError>([&] { sort_out(values, empty({2}, {.dtype = int8}), x); }, "int8");
  topk_out(values.narrow(0, 1, 1), indices.narrow(0, 0, 1), x, 1);
  EXPECT_TRUE(equal(values, tensor({1.0, 2.0})));
}

TEST(Unique, ElementsWithTheirPlacesAndCounts) {
  const auto [output, inverse, counts] =
      unique(tensor({{3, 1, 3}, {1, 2, 3}}), {.return_inverse = true, .return_counts = true});
  EXPECT_TRUE(equal(output, tensor({1, 2, 3})));
  EXPECT_TRUE(equal(inverse, tensor({{2, 0, 2}, {0, 1, 2}})));
  EXPECT_TRUE(equal(counts, tensor({2, 1, 3})));
  EXPECT_FALSE(unique(tensor({1})).inverse.defined());
  EXPECT_EQ(unique(tensor({kNan, 1.0, kNan})).output.numel(), 3);
  EXPECT_EQ(unique(empty({0})).output.shape(), Shape({0}));
}

TEST(Unique, SlicesInTheOrderOfTheirElements) {
  const Tensor x = tensor({{1, 2}, {0, 5}, {1, 2}, {0, 4}});
  const auto [output, inverse, counts] =
      unique(x, {.return_inverse = true, .return_counts = true, .dim = 0});
  EXPECT_TRUE(equal(output, tensor({{0, 4}, {0, 5}, {1, 2}})));
  EXPECT_TRUE(equal(inverse, tensor({2, 1, 2, 0})));
  EXPECT_TRUE(equal(counts, tensor({1, 1, 2})));
  expect_error<ShapeError>([] { unique(empty({2, 0}), {.dim = 0}); }, "0 sized");
  expect_error<NotImplementedError>([] { unique(empty({2}, {.device = "meta"})); }, "meta");
}

TEST(Unique, TheElementsOfAUserDefinedTensorAreNotAtHand) {
  std::vector<std::string> log;
  const Tensor t = make_tensor<LoggingTensor>(tensor({1.0, 2.0}), log);
  EXPECT_THROW(unique(t), NotImplementedError);
}

TEST(Sorting, RowsLargerThanMemoryAreOutOfMemory) {
  const Tensor endless = zeros({1}).expand({std::int64_t{1} << 60});
  EXPECT_THROW(topk(endless, 1), OutOfMemoryError);
}

TEST(Unique, ConsecutiveOnesOnly) {
  const auto result =
      unique_consecutive(tensor({1, 1, 2, 2, 1}), {.return_inverse = true, .return_counts = true});
  EXPECT_TRUE(equal(result.output, tensor({1, 2, 1})));
  EXPECT_TRUE(equal(result.inverse, tensor({0, 0, 1, 1, 2})));
  EXPECT_TRUE(equal(result.counts, tensor({2, 2, 1})));
}

}  // namespace
}  // namespace tenon
