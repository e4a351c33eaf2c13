// Which elements are picked is compared with PyTorch's in tests/parity; here are types and
// messages.
#include "tenon/ops/indexing.h"

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Index, ReadsLikePython) {
  const Tensor x = arange(24).view({2, 3, 4});
  EXPECT_EQ(x.index({1}).shape(), Shape({3, 4}));
  EXPECT_EQ(x.index({Ellipsis, 0}).shape(), Shape({2, 3}));
  EXPECT_EQ(x.index({None, Slice(1), Slice({}, {}, 2)}).shape(), Shape({1, 1, 2, 4}));
  EXPECT_EQ(x.index({0, None, Ellipsis, Slice(1, 3)}).shape(), Shape({1, 3, 2}));
  EXPECT_EQ(x.index({tensor({1, 0}), Slice(), tensor({0, 3})}).shape(), Shape({2, 3}));
  EXPECT_EQ(x.index({tensor({true, false})}).shape(), Shape({1, 3, 4}));
  EXPECT_EQ(x.index({true}).shape(), Shape({1, 2, 3, 4}));
  EXPECT_EQ(x.index({}).shape(), x.shape());
  EXPECT_EQ(x[1][2][3].item<int>(), 23);
}

TEST(Index, IsAViewUnlessATensorIsAmongThem) {
  const Tensor x = zeros({2, 3});
  x.index({1, Slice(1)}).fill_(5);
  EXPECT_EQ(x[1][2].item<float>(), 5.0f);
  EXPECT_TRUE(x.index({Ellipsis}).base().is(x));
  EXPECT_FALSE(x.index({tensor({0})}).is_view());
  EXPECT_TRUE(x.index({tensor(1)}).is_view());
}

TEST(Index, MessagesHaveValueAndPlace) {
  const Tensor x = zeros({2, 3, 4});
  expect_error<IndexError>([&] { x.index({2}); },
                           "index 2 is out of bounds for dimension 0 with size 2");
  expect_error<IndexError>([&] { x.index({0, 0, 0, 0}); },
                           "too many indices for tensor of dimension 3", "4");
  expect_error<IndexError>([&] { x.index({Slice(), tensor({0, 5})}); }, "index 5", "dimension 1",
                           "size 3", "1th");
  expect_error<IndexError>([&] { x.index({tensor({0.5})}); }, "long, int, byte or bool",
                           "torch.float32");
  expect_error<IndexError>([&] { x.index({tensor({true})}); }, "mask [1] at index 0", "[2, 3, 4]");
  expect_error<IndexError>([&] { x.index({Slice(), tensor({0, 1}), tensor({0, 1, 2})}); },
                           "[2], [3]");
  expect_error<ValueError>([&] { x.index({Slice({}, {}, 0)}); }, "step", "0");
  expect_error<ValueError>([&] { x.index({Slice({}, {}, -1)}); }, "-1");
  expect_error<IndexError>([] { tensor(5).index({0}); }, "0-dim tensor", "item<T>()");
}

TEST(Index, OnMetaPositionsAreEnoughAndMasksAreNot) {
  const Tensor x = empty({5, 3}, {.device = "meta"});
  EXPECT_EQ(x.index({tensor({0, 1, 1})}).shape(), Shape({3, 3}));
  EXPECT_TRUE(x.index({tensor({0})}).is_meta());
  expect_error<NotImplementedError>(
      [&] { x.index({ones({5}, {.dtype = bool_, .device = "meta"})}); }, "mask");
  expect_error<DeviceError>(
      [] { zeros({5}).index({zeros({2}, {.dtype = int64, .device = "meta"})}); }, "meta", "cpu");
}

TEST(Index, ResolvesConjugates) {
  const Tensor c = tensor({std::complex<double>(1, 2), std::complex<double>(3, 4)});
  EXPECT_TRUE(equal(c.conj().index({tensor({1})}), tensor({std::complex<double>(3, -4)})));
}

TEST(IndexPut, WritesWhereReadingWouldRead) {
  const Tensor x = zeros({2, 3});
  x.index_put_({0}, 1.5);
  x.index_put_({1, tensor({2, 0})}, tensor({7.0, 8.0}));
  x.index_put_({tensor({{true, false, false}, {false, true, false}})}, 9);
  EXPECT_TRUE(equal(x, tensor({{9.0, 1.5, 1.5}, {8.0, 9.0, 7.0}})));
  EXPECT_TRUE(x.index_put_({Ellipsis}, ones({1, 1, 3})).is(x));
}

TEST(IndexPut, AnErrorChangesNothing) {
  const Tensor x = zeros({2, 3});
  expect_error<IndexError>([&] { x.index_put_({tensor({0, 5})}, 1.0); }, "index 5");
  expect_error<DTypeError>([&] { x.index_put_({tensor({0})}, arange(3)); }, "Float", "Long");
  expect_error<ShapeError>([&] { x.index_put_({tensor({0})}, ones({4})); }, "[4]", "[1, 3]");
  EXPECT_TRUE(equal(x, zeros({2, 3})));
}

TEST(IndexPut, FromItsOwnElements) {
  const Tensor x = arange(4.0);
  x.index_put_({tensor({0, 1, 2})}, x.slice(0, 1));
  EXPECT_TRUE(equal(x, tensor({1.0, 2.0, 3.0, 3.0})));
}

TEST(Index, ASecondEllipsisStandsForTheSameDimensions) {
  const Tensor x = arange(6).view({2, 3});
  EXPECT_THROW(x.index({Ellipsis, Ellipsis, 0}), IndexError);
  EXPECT_EQ(x.index({Ellipsis, 0, Ellipsis, 1}).item<std::int64_t>(), 1);
}

TEST(Index, MorePositionsThanMemoryIsOutOfMemory) {
  const Tensor x = zeros({2});
  const Tensor many = zeros({1}, {.dtype = int64}).expand({std::int64_t{1} << 50});
  EXPECT_THROW(x.index_put_({many}, 1.0), OutOfMemoryError);
}

}  // namespace
}  // namespace tenon
