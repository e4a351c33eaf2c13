// Numbers that are the same but for rounding.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tenon/tenon.h"

namespace tenon {

// Nothing is further off than `tolerance` times the largest number that is expected, or `least`.
inline void expect_near(const Tensor& actual, const Tensor& expected, const std::string& what,
                        double tolerance = 1e-5, double least = 0) {
  ASSERT_TRUE(actual.defined()) << what;
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  if (expected.numel() == 0) return;
  const Tensor wide = expected.to(float64);
  const double largest = std::max(least, wide.abs().max().item<double>());
  EXPECT_LE((actual.detach().to(float64) - wide).abs().max().item<double>(), tolerance * largest)
      << what;
}

}  // namespace tenon
