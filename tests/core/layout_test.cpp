#include "tenon/layout.h"

#include <limits>

#include "support/matchers.h"

namespace tenon {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

Layout strided(Shape shape, Dims strides) {
  Layout layout = Layout::packed({}, float32, Device::cpu());
  layout.shape = std::move(shape);
  layout.strides = std::move(strides);
  return layout;
}

TEST(Layout, PackedStridesMultiplyUp) {
  EXPECT_EQ(Layout::packed({2, 3, 4}, float32, {}).strides, Dims({12, 4, 1}));
  EXPECT_EQ(Layout::packed({}, float32, {}).strides, Dims());
  EXPECT_EQ(Layout::packed({3, 0, 2}, float32, {}).strides, Dims({2, 2, 1}));
  EXPECT_EQ(Layout::packed({2, 3, 4, 5}, float32, {}, MemoryFormat::channels_last).strides,
            Dims({60, 1, 15, 3}));
  EXPECT_EQ(Layout::packed({2, 0, 4, 5}, float32, {}, MemoryFormat::channels_last).strides,
            Dims({0, 1, 0, 0}));
  EXPECT_EQ(Layout::packed({2, 3, 4, 5, 6}, float32, {}, MemoryFormat::channels_last_3d).strides,
            Dims({360, 1, 90, 18, 3}));
}

TEST(Layout, SizesThatCannotBeAreRefused) {
  expect_error<ShapeError>([] { Layout::packed({2, -1}, float32, {}); }, "negative dimension -1",
                           "[2, -1]");
  expect_error<ShapeError>([] { Layout::packed({kHuge}, float32, {}); }, "overflow",
                           "[9223372036854775807]");
  expect_error<ShapeError>([] { Layout::packed({std::int64_t{1} << 62, 4}, uint8, {}); },
                           "overflow");
  expect_error<ShapeError>([] { Layout::packed({0, kHuge, kHuge}, uint8, {}); }, "overflow");
  expect_error<ShapeError>([] { Layout::packed({2, 3}, float32, {}, MemoryFormat::channels_last); },
                           "rank 4", "[2, 3]");
}

TEST(Layout, KnowsWhetherItIsPacked) {
  EXPECT_TRUE(strided({2, 1, 3}, {3, 100, 1}).is_contiguous());
  EXPECT_FALSE(strided({2, 3}, {1, 2}).is_contiguous());
  EXPECT_TRUE(strided({0, 3}, {7, 7}).is_contiguous());
  EXPECT_TRUE(strided({2, 3}, {1, 2}).is_non_overlapping_and_dense());
  EXPECT_FALSE(strided({2, 3}, {0, 1}).is_non_overlapping_and_dense());
  EXPECT_FALSE(strided({2, 3}, {4, 1}).is_non_overlapping_and_dense());
}

// The answers are PyTorch's: torch.empty_like(torch.empty_strided(size, stride)).stride().
TEST(Layout, LikeAnotherKeepsTheOrderOfDimensions) {
  const auto like = [](Shape shape, Dims strides) {
    return Layout::packed_like(strided(shape, strides)).strides;
  };
  EXPECT_EQ(like({3, 1, 4}, {1, 0, 3}), Dims({1, 0, 3}));
  EXPECT_EQ(like({2, 3, 4}, {0, 1, 3}), Dims({12, 1, 3}));
  EXPECT_EQ(like({2, 3, 4}, {0, 0, 1}), Dims({12, 4, 1}));
  EXPECT_EQ(like({4, 3, 2}, {1, 1, 1}), Dims({6, 2, 1}));
  EXPECT_EQ(like({2, 3, 4}, {3, 3, 1}), Dims({4, 8, 1}));
  EXPECT_EQ(like({1, 1, 1}, {5, 2, 3}), Dims({5, 2, 3}));
  EXPECT_EQ(like({2, 1, 3}, {1, 7, 4}), Dims({1, 6, 2}));
  EXPECT_EQ(like({2, 2, 2}, {2, 1, 2}), Dims({4, 1, 2}));
  EXPECT_EQ(like({5, 4}, {2, 10}), Dims({1, 5}));
}

TEST(RequiredBytes, ReachesTheLastElement) {
  EXPECT_EQ(required_bytes(strided({2, 3}, {10, 2})), (10 + 4 + 1) * 4);
  EXPECT_EQ(required_bytes(strided({}, {})), 4);
  EXPECT_EQ(required_bytes(strided({0, 3}, {kHuge, kHuge})), 0);
  expect_error<ShapeError>([] { required_bytes(strided({3}, {kHuge})); }, "overflow",
                           "9223372036854775807");
}

TEST(WrapDim, CountsFromTheEndAndRefusesTheRest) {
  EXPECT_EQ(wrap_dim(-1, 3), 2);
  EXPECT_EQ(wrap_dim(0, 0), 0);
  EXPECT_EQ(wrap_dim(-1, 0), 0);
  expect_error<IndexError>([] { wrap_dim(3, 3); }, "expected to be in range of [-3, 2], but got 3");
  expect_error<IndexError>([] { wrap_dim(std::numeric_limits<std::int64_t>::min(), 2); },
                           "[-2, 1]");
  const std::int64_t twice[] = {0, -2};
  expect_error<ShapeError>([&] { wrap_dims(twice, 2); }, "dim 0 appears multiple times");
}

TEST(BroadcastShapes, ShowsBothWhenTheyDoNotFit) {
  EXPECT_EQ(broadcast_shapes({3, 1}, {2, 1, 4}), Shape({2, 3, 4}));
  EXPECT_EQ(broadcast_shapes({}, {0, 2}), Shape({0, 2}));
  expect_error<ShapeError>([] { broadcast_shapes({2, 3}, {2, 4}); }, "(3) must match", "(4)",
                           "dimension 1", "[2, 3]", "[2, 4]");
}

}  // namespace
}  // namespace tenon
