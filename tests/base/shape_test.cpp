#include "tenon/shape.h"

#include "support/matchers.h"

namespace tenon {
namespace {

Dims counting(std::size_t n) {
  Dims dims;
  for (std::size_t i = 0; i < n; ++i) dims.push_back(static_cast<std::int64_t>(i));
  return dims;
}

TEST(Dims, AreTheSameInsideAndOutsideTheObject) {
  for (std::size_t n = 0; n < 12; ++n) {
    const Dims dims = counting(n);
    EXPECT_EQ(dims.size(), n);
    Dims copied = dims;
    EXPECT_EQ(copied, dims);
    const Dims moved = std::move(copied);
    EXPECT_EQ(moved, dims);
    for (std::size_t m = 0; m < 12; ++m) {
      Dims assigned = counting(m);
      assigned = dims;
      EXPECT_EQ(assigned, dims);
      Dims taken = counting(m);
      taken = Dims(dims);
      EXPECT_EQ(taken, dims);
    }
  }
}

TEST(Dims, InsertAndEraseWorkAcrossTheBoundary) {
  for (std::size_t n = 0; n < 9; ++n) {
    for (std::size_t at = 0; at <= n; ++at) {
      Dims dims = counting(n);
      dims.insert(at, 77);
      EXPECT_EQ(dims.size(), n + 1);
      EXPECT_EQ(dims[at], 77);
      dims.erase(at);
      EXPECT_EQ(dims, counting(n));
    }
  }
}

TEST(Dims, AssigningToItselfKeepsThem) {
  for (const std::size_t n : {3U, 8U}) {
    Dims dims = counting(n);
    const Dims& same = dims;
    dims = same;
    EXPECT_EQ(dims, counting(n));
  }
}

TEST(Dims, ANumberStandsForAListOfOne) {
  const Dims one = 7;
  EXPECT_EQ(one, Dims({7}));
  EXPECT_EQ(Dims::filled(3, 2), Dims({2, 2, 2}));
}

TEST(Dims, ResizingKeepsWhatFitsAndAddsZeros) {
  for (const std::size_t from : {0U, 2U, 5U, 6U, 9U}) {
    for (const std::size_t to : {0U, 1U, 4U, 5U, 6U, 12U}) {
      Dims dims = counting(from);
      dims.resize(to);
      ASSERT_EQ(dims.size(), to);
      for (std::size_t i = 0; i < to; ++i)
        EXPECT_EQ(dims[i], i < from ? counting(from)[i] : 0) << from << " to " << to;
    }
  }
}

TEST(Dims, TakeNumbersOfAnyIntegerTypeAndEnums) {
  enum Unscoped { kRows = 2, kColumns = 3 };
  const std::size_t size = 4;
  EXPECT_EQ(Dims({kRows, kColumns}), Dims({2, 3}));
  EXPECT_EQ(Dims({static_cast<short>(1), 2U, 3L, size}), Dims({1, 2, 3, 4}));
  EXPECT_EQ(Dims({1, 2, 3, 4, 5, 6, 7}).size(), 7U);
  EXPECT_FALSE((std::is_constructible_v<Dims, bool>));
  EXPECT_FALSE((std::is_constructible_v<Dims, double>));
}

TEST(Dims, RefuseNumbersThatWouldBecomeNegative) {
  const std::uint64_t large = std::uint64_t{1} << 63;
  EXPECT_EQ(Dims({large - 1})[0], std::numeric_limits<std::int64_t>::max());
  expect_error<ValueError>([&] { Dims({1, large}); }, "9223372036854775808", "2^63 - 1");
}

TEST(Dims, PrintAsATuple) {
  EXPECT_EQ(Dims().repr(), "()");
  EXPECT_EQ(Dims({3}).repr(), "(3,)");
  EXPECT_EQ(Dims({3, 1}).repr(), "(3, 1)");
}

TEST(Shape, PrintsAsATorchSize) {
  std::ostringstream out;
  out << Shape({2, 3}) << Shape();
  EXPECT_EQ(out.str(), "torch.Size([2, 3])torch.Size([])");
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape().numel(), 1);
  EXPECT_EQ(Shape({2, 0, 3}).numel(), 0);
  EXPECT_EQ(Shape({2, 3, 4, 5, 6, 7}).numel(), 5040);
}

}  // namespace
}  // namespace tenon
