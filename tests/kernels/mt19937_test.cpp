#include "kernels/mt19937.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tenon {
namespace {

TEST(Mt19937, DrawsTheStandardStream) {
  Mt19937 ours(5489);
  std::mt19937 standard;  // 5489 is its default
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(ours.next32(), standard()) << i;
}

TEST(Mt19937, OnlyTheLowHalfOfTheSeedMatters) {
  Mt19937 a(7), b((std::uint64_t{3} << 32) + 7);
  EXPECT_EQ(a.next64(), b.next64());
  EXPECT_NE(a.state().seed, b.state().seed);
}

TEST(Mt19937, ManyAtOnceAreTheSameAsOneByOne) {
  for (const std::int64_t n : {1, 7, 623, 624, 625, 1248, 1300}) {
    Mt19937 one(3), many(3);
    one.next32();
    many.next32();
    std::vector<std::uint32_t> out(static_cast<std::size_t>(n));
    many.fill(out.data(), n);
    for (const std::uint32_t word : out) ASSERT_EQ(word, one.next32()) << n;
    EXPECT_EQ(many.state().left, one.state().left);
    EXPECT_EQ(many.state().next, one.state().next);
  }
}

TEST(Mt19937, AStateWhoseCountsDoNotBelongTogetherIsRefused) {
  Mt19937 engine(1);
  engine.next32();
  const Mt19937::State good = engine.state();
  const auto with = [&](std::int64_t left, std::int64_t next) {
    Mt19937::State state = good;
    state.left = left;
    state.next = next;
    return Mt19937(9).set_state(state);
  };
  EXPECT_TRUE(with(624, 1));
  EXPECT_TRUE(with(1, 624));
  EXPECT_TRUE(with(1, 0));
  for (const auto& [left, next] :
       {std::pair(0, 3), {625, 0}, {624, 600}, {2, 624}, {1, 625}, {-1, 2}, {300, 324}})
    EXPECT_FALSE(with(left, next)) << left << " " << next;
}

}  // namespace
}  // namespace tenon
