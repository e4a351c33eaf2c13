#include "base/element_cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Convert, FloatsOutOfRangeBecomeWhatX86Makes) {
  EXPECT_EQ(convert<std::int64_t>(1e300), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(convert<std::int32_t>(kInfinity), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(convert<std::int32_t>(std::nan("")), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(convert<std::int8_t>(300.0), 44);
  EXPECT_EQ(convert<std::int16_t>(4294967295.0), 0);
  EXPECT_EQ(convert<std::uint8_t>(-1.0f), 255);
  EXPECT_EQ(convert<std::uint8_t>(9007199254740994.0), 2);
  EXPECT_EQ(convert<std::uint64_t>(-1.0), ~std::uint64_t{0});
  EXPECT_EQ(convert<std::uint64_t>(1e19), 10000000000000000000u);
  EXPECT_EQ(convert<std::uint64_t>(kInfinity), 0u);
}

TEST(Convert, BoolIsWhetherItIsNotZero) {
  EXPECT_TRUE(convert<bool>(0.1f));
  EXPECT_TRUE(convert<bool>(std::nanf("")));
  EXPECT_FALSE(convert<bool>(-0.0));
  EXPECT_TRUE(convert<bool>(std::complex<float>(0, 2)));
  EXPECT_TRUE(convert<bool>(256));
}

TEST(Convert, DoublesReachTheSmallTypesThroughFloat) {
  // Just above the middle between two halves, but not as a float: rounded twice, as in PyTorch.
  const double tricky = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(convert<Half>(tricky).bits, 0x3c00);
}

TEST(Convert, ComplexKeepsItsRealPart) {
  EXPECT_EQ(convert<float>(std::complex<double>(1.5, 9)), 1.5f);
  EXPECT_EQ(convert<std::complex<double>>(Half(2.5f)), std::complex<double>(2.5, 0));
  EXPECT_EQ(float(convert<ComplexHalf>(std::complex<float>(1, 2)).imag), 2.0f);
}

}  // namespace
}  // namespace tenon
