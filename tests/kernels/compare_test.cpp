#include "kernels/compare.h"

#include <cmath>

#include "support/matchers.h"

namespace tenon {
namespace {

template <class T>
bool equal_lists(std::vector<T> a, std::vector<T> b) {
  const Dims shape{static_cast<std::int64_t>(a.size())}, one{1};
  const auto operand = [&](std::vector<T>& v) {
    return Operand{reinterpret_cast<std::byte*>(v.data()), one, sizeof(T)};
  };
  return all_equal(shape, operand(a), operand(b), dtype_of<T>);
}

TEST(AllEqual, ComparesNumbersNotBits) {
  EXPECT_TRUE(equal_lists<float>({0.0f, 1.0f}, {-0.0f, 1.0f}));
  EXPECT_FALSE(equal_lists<float>({std::nanf("")}, {std::nanf("")}));
  EXPECT_TRUE(equal_lists<Half>({Half(0.0f)}, {Half(-0.0f)}));
  EXPECT_FALSE(
      equal_lists<Float8_e5m2>({Float8_e5m2::from_bits(0x7f)}, {Float8_e5m2::from_bits(0x7f)}));
  EXPECT_TRUE(equal_lists<std::complex<double>>({{1, -0.0}}, {{1, 0.0}}));
  EXPECT_TRUE(equal_lists<ComplexHalf>({{Half(1.0f), Half(2.0f)}}, {{Half(1.0f), Half(2.0f)}}));
  EXPECT_FALSE(equal_lists<std::int64_t>({1, 2, 3}, {1, 2, 4}));
  EXPECT_FALSE(equal_lists<QInt8>({{1}}, {{2}}));
}

TEST(AllEqual, FindsOneDifferenceInALongRow) {
  std::vector<std::int32_t> a(200'000, 5), b = a;
  EXPECT_TRUE(equal_lists(a, b));
  b.back() = 6;
  EXPECT_FALSE(equal_lists(a, b));
}

}  // namespace
}  // namespace tenon
