#include "kernels/loop.h"

#include <gtest/gtest.h>

#include <set>

namespace tenon {
namespace {

std::byte* nowhere() { return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40); }

// Where operand 0 is visited, in bytes from its beginning, cut into pieces of the numbers [begin,
// end).
template <std::size_t N>
std::multiset<std::ptrdiff_t> visited(const Loop<N>& loop, std::int64_t pieces = 1) {
  std::multiset<std::ptrdiff_t> places;
  for (std::int64_t p = 0; p < pieces; ++p) {
    loop.run(loop.numel() * p / pieces, loop.numel() * (p + 1) / pieces,
             [&](const auto& at, const auto& strides, std::int64_t n) {
               for (std::int64_t i = 0; i < n; ++i)
                 places.insert(at[0] + i * strides[0] - nowhere());
             });
  }
  return places;
}

TEST(Loop, PackedOperandsBecomeOneRow) {
  const Dims shape{2, 3, 4}, strides{12, 4, 1};
  const Loop<2> loop(shape, {Operand{nowhere(), strides, 4}, Operand{nowhere(), strides, 2}});
  ASSERT_EQ(loop.ndim(), 1U);
  EXPECT_EQ(loop.dim(0).size, 24);
  EXPECT_EQ(loop.dim(0).strides[0], 4);
  EXPECT_EQ(loop.dim(0).strides[1], 2);
}

TEST(Loop, ThePermutationOfTheFirstOperandDoesNotMatter) {
  const Dims shape{4, 2, 3}, strides{1, 12, 4};
  EXPECT_EQ(Loop<1>(shape, {Operand{nowhere(), strides, 8}}).ndim(), 1U);
}

TEST(Loop, EveryElementIsVisitedOnceHoweverItIsCut) {
  const Dims shape{3, 1, 5, 2, 2, 2, 3}, strides{400, 7, 60, 25, 12, 5, 1};
  std::multiset<std::ptrdiff_t> expected;
  for (std::int64_t n = 0; n < 3 * 5 * 2 * 2 * 2 * 3; ++n) {
    std::int64_t rest = n, place = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      place += rest % shape[d] * strides[d];
      rest /= shape[d];
    }
    expected.insert(place * 4);
  }
  const Loop<1> loop(shape, {Operand{nowhere(), strides, 4}});
  for (const std::int64_t pieces : {1, 2, 7, 360}) EXPECT_EQ(visited(loop, pieces), expected);
}

TEST(Loop, NoDimensionsIsOneElementAndAnEmptyOneIsNone) {
  EXPECT_EQ(visited(Loop<1>({}, {Operand{nowhere(), {}, 4}})).size(), 1U);
  // The strides of an empty tensor may be anything, and are not multiplied.
  const Dims shape{2, 0}, strides{std::int64_t{1} << 62, std::int64_t{1} << 62};
  EXPECT_TRUE(visited(Loop<1>(shape, {Operand{nowhere(), strides, 16}})).empty());
}

TEST(Loop, ABroadcastOperandStandsStill) {
  const Dims shape{2, 3}, packed{3, 1}, still{0, 1};
  const Loop<2> loop(shape, {Operand{nowhere(), packed, 1}, Operand{nowhere(), still, 1}});
  std::multiset<std::ptrdiff_t> second;
  loop.run(0, 6, [&](const auto& at, const auto& strides, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) second.insert(at[1] + i * strides[1] - nowhere());
  });
  EXPECT_EQ(second, (std::multiset<std::ptrdiff_t>{0, 0, 1, 1, 2, 2}));
}

}  // namespace
}  // namespace tenon
