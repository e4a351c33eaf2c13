#include "tenon/detail/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tenon {
namespace {

TEST(Half, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half = Half::from_bits(static_cast<std::uint16_t>(bits));
    if (std::isnan(float(half))) {
      EXPECT_TRUE(std::isnan(float(Half(float(half)))));
    } else {
      EXPECT_EQ(Half(float(half)).bits, bits);
    }
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits + 1 < 0x7c00; ++bits) {  // neighbours below infinity
    const auto low = float(Half::from_bits(static_cast<std::uint16_t>(bits)));
    const auto high = float(Half::from_bits(static_cast<std::uint16_t>(bits + 1)));
    const float middle = low + (high - low) / 2;
    const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(Half(middle).bits, even) << bits;
    ASSERT_EQ(Half(std::nextafter(middle, 0.0f)).bits, bits) << bits;
    ASSERT_EQ(Half(std::nextafter(middle, 1e6f)).bits, bits + 1) << bits;
    ASSERT_EQ(Half(-middle).bits, even | 0x8000u) << bits;
  }
}

TEST(Half, WhatIsTooLargeIsInfinite) {
  EXPECT_EQ(Half(65504.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65519.996f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(-1e30f).bits, 0xfc00);
  EXPECT_EQ(Half(std::numeric_limits<float>::infinity()).bits, 0x7c00);
}

TEST(BFloat16, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 value = BFloat16::from_bits(static_cast<std::uint16_t>(bits));
    if (std::isnan(float(value))) {
      EXPECT_EQ(BFloat16(float(value)).bits, 0x7fc0);
    } else {
      EXPECT_EQ(BFloat16(float(value)).bits, bits);
    }
  }
}

TEST(BFloat16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3f808000u)).bits, 0x3f80);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3f808001u)).bits, 0x3f81);
  EXPECT_EQ(BFloat16(std::bit_cast<float>(0x3f818000u)).bits, 0x3f82);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
}

}  // namespace
}  // namespace tenon
