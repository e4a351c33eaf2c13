#include "tenon/ops/scatter.h"

#include <cmath>
#include <complex>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Picking, GatherTakesOneOfEachColumn) {
  const Tensor x = arange(12).view({3, 4});
  EXPECT_TRUE(equal(gather(x, 0, tensor({{0, 1}, {2, 0}})), tensor({{0, 5}, {8, 1}})));
  EXPECT_TRUE(equal(gather(x, -1, tensor({{3}, {0}, {1}}).to(int32)), tensor({{3}, {4}, {9}})));
  EXPECT_TRUE(equal(gather(x.t(), 1, tensor({{2}, {0}})), tensor({{8}, {1}})));
  EXPECT_EQ(gather(tensor(3), 0, tensor({0, 0})).shape(), Shape({2}));
}

TEST(Picking, APositionOutOfRangeIsNamedWithItsPlace) {
  const Tensor x = arange(12.0).view({3, 4});
  expect_error<IndexError>([&] { gather(x, 0, tensor({{0, 1}, {2, 5}})); }, "index 5",
                           "dimension 0", "size 3", "[1, 1]", "[2, 2]");
  expect_error<IndexError>([&] { gather(x, 0, tensor({{-1}})); }, "index -1");
  expect_error<IndexError>([&] { index_select(x, 1, tensor({0, 4})); }, "index 4", "dimension 1",
                           "size 4", "[1]");
  expect_error<IndexError>([&] { take(x, tensor({0, 12})); }, "index 12", "size 12", "[1]");
  expect_error<IndexError>([&] { take(empty({0}), tensor({0})); }, "empty");
  const Tensor before = x.clone();
  expect_error<IndexError>([&] { x.scatter_(0, tensor({{0, 7}}), 1.0); }, "index 7", "[0, 1]");
  expect_error<IndexError>([&] { x.index_add_(0, tensor({0, 3}), ones({2, 4})); }, "index 3");
  expect_error<IndexError>([&] { x.index_fill_(0, tensor({0, -4}), 1.0); }, "index -4");
  EXPECT_TRUE(equal(x, before));
  EXPECT_EQ(x.version(), 0);
}

TEST(Picking, ShapesAndDtypesThatDoNotFitAreNamed) {
  const Tensor x = ones({3, 4});
  expect_error<DTypeError>([&] { gather(x, 0, ones({1, 1})); }, "gather", "int64", "float32");
  expect_error<ShapeError>([&] { gather(x, 0, tensor({0})); }, "dimensions");
  expect_error<ShapeError>([&] { gather(x, 0, zeros({2, 5}, {.dtype = int64})); }, "[2, 5]",
                           "[3, 4]");
  expect_error<ShapeError>([&] { x.scatter_(0, zeros({2, 2}, {.dtype = int64}), ones({1, 2})); },
                           "[2, 2]", "[1, 2]");
  expect_error<DTypeError>(
      [&] { x.scatter_(0, zeros({1, 1}, {.dtype = int64}), ones({1, 1}, {.dtype = float64})); },
      "float32", "float64");
  expect_error<ValueError>([&] { x.scatter_(0, tensor({{0}}), 1.0, {.reduce = "max"}); }, "max",
                           "add", "multiply");
  expect_error<IndexError>([&] { index_select(x, 0, tensor({{0}})); }, "vector");
  expect_error<IndexError>([&] { x.index_copy_(0, tensor({0}), ones({2, 4})); }, "(1)", "(2)");
  expect_error<ShapeError>([&] { x.index_add_(0, tensor({0, 1}), ones({2, 3})); }, "[3, 4]",
                           "[2, 3]");
}

TEST(Picking, IndexSelectCopiesSlices) {
  const Tensor x = arange(12.0).view({3, 4});
  EXPECT_TRUE(equal(index_select(x, 0, tensor({2, 0, 2})), stack({x[2], x[0], x[2]})));
  EXPECT_TRUE(equal(index_select(x, 1, tensor({3, 1})), stack({x.t()[3], x.t()[1]}, 1)));
  EXPECT_EQ(index_select(x, 0, empty({0}, {.dtype = int64})).shape(), Shape({0, 4}));
  const Tensor out = empty({2, 4});
  index_select_out(out, x, 0, tensor({1, 1}));
  EXPECT_TRUE(equal(out, stack({x[1], x[1]})));
  const Tensor big = arange(300000).view({1000, 300});
  const Tensor turned = index_select(big, 0, arange(999, -1, -1));
  EXPECT_TRUE(equal(turned.select(1, 0), arange(999, -1, -1) * 300));
  EXPECT_TRUE(equal(turned.select(0, 998), big.select(0, 1)));
}

TEST(Picking, TakeCountsFromBothEnds) {
  const Tensor x = arange(6).view({2, 3});
  EXPECT_TRUE(equal(take(x.t(), tensor({{1, -1}})), tensor({{3, 5}})));
  EXPECT_TRUE(equal(take_along_dim(x, tensor({{0}, {-1}}), 1), tensor({{0}, {5}})));
  EXPECT_TRUE(equal(take_along_dim(x, tensor({1, 4})), tensor({1, 4})));
  EXPECT_EQ(take_along_dim(zeros({0, 0}), tensor({{0}}), 1).shape(), Shape({0, 1}));
  expect_error<IndexError>([&] { take_along_dim(x, tensor({{0}, {-10}}), 1); }, "take_along_dim",
                           "index -10", "size 3");
}

TEST(Picking, ScatterWritesAddsAndMultiplies) {
  const Tensor index = tensor({{0, 0}, {0, 1}});
  EXPECT_TRUE(equal(zeros({2, 2}).scatter_(0, index, tensor({{1.0, 2.0}, {3.0, 4.0}})),
                    tensor({{3.0, 2.0}, {0.0, 4.0}})));  // the last counts
  EXPECT_TRUE(equal(scatter_add(ones({2, 2}), 0, index, tensor({{1.0, 2.0}, {3.0, 4.0}})),
                    tensor({{5.0, 3.0}, {1.0, 5.0}})));
  EXPECT_TRUE(equal(scatter(full({2, 2}, 2.0), 0, index, 3.0, {.reduce = "multiply"}),
                    tensor({{18.0, 6.0}, {2.0, 6.0}})));
  EXPECT_TRUE(equal(zeros({3}, {.dtype = uint8})
                        .scatter_add_(0, tensor({1, 1}), full({2}, 200, {.dtype = uint8})),
                    tensor({0, 144, 0}, {.dtype = uint8})));
  const Tensor x = arange(4.0);
  x.scatter_(0, tensor({0, 1, 2}), x.slice(0, 1));  // from itself
  EXPECT_TRUE(equal(x, tensor({1.0, 2.0, 3.0, 3.0})));
}

TEST(Picking, SlicesAreAddedCopiedAndFilled) {
  const Tensor x = zeros({3, 2}), rows = tensor({{1.0, 2.0}, {3.0, 4.0}});
  EXPECT_TRUE(equal(index_add(x, 0, tensor({1, 1}), rows, {.alpha = 2}),
                    tensor({{0.0, 0.0}, {8.0, 12.0}, {0.0, 0.0}})));
  EXPECT_TRUE(
      equal(index_copy(x, 0, tensor({2, 0}), rows), tensor({{3.0, 4.0}, {0.0, 0.0}, {1.0, 2.0}})));
  EXPECT_TRUE(
      equal(index_fill(x, 1, tensor({-1}), 7.0), tensor({{0.0, 7.0}, {0.0, 7.0}, {0.0, 7.0}})));
  EXPECT_TRUE(equal(x, zeros({3, 2})));
}

TEST(Picking, ValuesThatTheDtypeDoesNotHoldAreRefused) {
  const Tensor at = tensor({0});
  expect_error<ValueError>([&] { ones({2}, {.dtype = uint8}).index_fill_(0, at, 300); }, "300");
  expect_error<ValueError>([&] { ones({2}, {.dtype = float16}).index_fill_(0, at, 1e6); }, "65504");
  expect_error<ValueError>([&] { ones({2}, {.dtype = float16}).scatter_(0, at, 1e6); }, "65504");
  expect_error<ValueError>([&] { ones({2}).index_fill_(0, at, std::complex<double>(1, 1)); },
                           "float32");
  expect_error<DeviceError>([&] { ones({2}).index_fill_(0, at, empty({}, {.device = "meta"})); },
                            "meta");
  const Tensor out = empty({0});
  expect_error<IndexError>([&] { gather_out(out, ones({2}), 0, tensor({5})); }, "index 5");
  EXPECT_EQ(out.shape(), Shape({0}));
}

TEST(Picking, SlicesAreAddedWithOneRounding) {
  // Values of PyTorch 2.14: of slices fused, of single elements not.
  const float alpha = 0.37f, x = 1.1f, y = 0.7f;
  const Tensor fused =
      index_add(full({2, 3}, y), 0, tensor({0}), full({1, 3}, x), {.alpha = alpha});
  EXPECT_EQ(fused[0][0].item<float>(), std::fma(alpha, x, y));
  const Tensor single = index_add(full({2}, y), 0, tensor({0}), full({1}, x), {.alpha = alpha});
  EXPECT_EQ(single[0].item<float>(), y + alpha * x);
}

TEST(Picking, SumsByPlaceDoNotDependOnTheNumberOfThreads) {
  const Tensor index = arange(400000).remainder(7).view({100, 4000}), values = rand({100, 4000});
  const int before = get_num_threads();
  set_num_threads(1);
  const Tensor one = zeros({7, 4000}).scatter_add_(0, index, values);
  set_num_threads(4);
  const Tensor four = zeros({7, 4000}).scatter_add_(0, index, values);
  set_num_threads(before);
  EXPECT_TRUE(equal(one, four));
}

TEST(Picking, MasksAndNonzeroGiveAsManyAsThereAre) {
  const Tensor x = tensor({{1.0, 0.0}, {0.0, 2.0}});
  EXPECT_TRUE(equal(masked_select(x, x > 0), tensor({1.0, 2.0})));
  EXPECT_TRUE(equal(masked_select(x, tensor({true, false})), tensor({1.0, 0.0})));
  EXPECT_TRUE(equal(nonzero(x), tensor({{0, 0}, {1, 1}})));
  EXPECT_EQ(nonzero(tensor(3.0)).shape(), Shape({1, 0}));
  EXPECT_EQ(nonzero_as_tuple(x).size(), 2u);
  expect_error<DTypeError>([&] { masked_select(x, x); }, "masked_select", "torch.float32");
}

TEST(Picking, OnMetaThereAreShapesOnly) {
  const Tensor x = empty({3, 4}, {.device = "meta"});
  const Tensor index = empty({2}, {.dtype = int64, .device = "meta"});
  EXPECT_EQ(index_select(x, 1, index).shape(), Shape({3, 2}));
  EXPECT_EQ(take(x, index).shape(), Shape({2}));
  expect_error<DeviceError>([&] { take(x, tensor({0})); }, "meta", "cpu");
  expect_error<NotImplementedError>([&] { nonzero(x); }, "meta");
}

TEST(Picking, HistoryHasTheNamesOfPyTorch) {
  const Tensor x = ones({2, 2}, {.requires_grad = true}), index = tensor({{0, 0}});
  EXPECT_EQ(gather(x, 0, index).grad_fn()->name(), "GatherBackward0");
  EXPECT_EQ(index_select(x, 0, index[0]).grad_fn()->name(), "IndexSelectBackward0");
  EXPECT_EQ(scatter(x, 0, index, 1.0).grad_fn()->name(), "ScatterBackward1");
  EXPECT_EQ(scatter(x, 0, index, ones({1, 2})).grad_fn()->name(), "ScatterBackward0");
  EXPECT_EQ(scatter_add(x, 0, index, ones({1, 2})).grad_fn()->name(), "ScatterAddBackward0");
}

}  // namespace
}  // namespace tenon
