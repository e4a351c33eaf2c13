#include "tenon/detail/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon {
namespace {

template <class T>
class Float8Test : public testing::Test {};
using Types =
    testing::Types<Float8_e4m3fn, Float8_e5m2, Float8_e4m3fnuz, Float8_e5m2fnuz, Float8_e8m0fnu>;
TYPED_TEST_SUITE(Float8Test, Types);

TYPED_TEST(Float8Test, EveryValueSurvivesTheWayThroughFloat) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const auto value = TypeParam::from_bits(static_cast<std::uint8_t>(bits));
    const auto back = TypeParam(float(value));
    if (std::isnan(float(value))) {
      EXPECT_TRUE(std::isnan(float(back))) << bits;
    } else {
      EXPECT_EQ(back.bits, bits);
    }
  }
}

TYPED_TEST(Float8Test, NaNStaysNaN) {
  EXPECT_TRUE(std::isnan(float(TypeParam(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(Float8, WhatIsTooLargeFollowsTheType) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(float(Float8_e4m3fn(infinity)), 448.0f);
  EXPECT_EQ(float(Float8_e4m3fn(-1e9f)), -448.0f);
  EXPECT_EQ(float(Float8_e5m2(61440.0f)), infinity);
  EXPECT_EQ(float(Float8_e5m2(61439.0f)), 57344.0f);
  EXPECT_TRUE(std::isnan(float(Float8_e4m3fnuz(248.0f))));
  EXPECT_TRUE(std::isnan(float(Float8_e5m2fnuz(infinity))));
  EXPECT_TRUE(std::isnan(float(Float8_e8m0fnu(infinity))));
}

TEST(Float8, OneZeroTypesHaveNoNegativeZero) {
  EXPECT_EQ(Float8_e4m3fnuz(-0.0f).bits, 0);
  EXPECT_EQ(Float8_e5m2fnuz(-1e-30f).bits, 0);
  EXPECT_EQ(Float8_e4m3fn(-0.0f).bits, 0x80);
}

TEST(Float8, RoundsTiesToEven) {
  EXPECT_EQ(float(Float8_e4m3fn(1.0625f)), 1.0f);   // between 1 and 1.125
  EXPECT_EQ(float(Float8_e4m3fn(1.1875f)), 1.25f);  // between 1.125 and 1.25
  EXPECT_EQ(float(Float8_e5m2(1.125f)), 1.0f);
  EXPECT_EQ(float(Float8_e4m3fn(0x1p-10f)), 0.0f);  // half of the smallest
  EXPECT_EQ(float(Float8_e4m3fn(0x1.8p-9f)), 0x1p-8f);
}

}  // namespace
}  // namespace tenon
