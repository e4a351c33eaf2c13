// Numbers that are the same wherever they are calculated, for tests against recorded sums.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "tenon/tenon.h"

namespace tenon {

// Sixteenths between -3 and 3.3125, with some equals among them.
inline Tensor known_numbers(const Shape& shape, int salt = 0) {
  const Tensor places = arange(shape.numel());
  return (((places * 7919 + 13 + salt) % 101).to(float64) / 16 - 3).view(shape);
}
inline Tensor known_gradient(const Shape& shape) {
  return ((arange(shape.numel()) % 5 + 1).to(float64) / 4).view(shape);
}
inline void expect_weighted_sum(const Tensor& actual, double expected) {
  const Tensor flat = actual.detach().to(float64).reshape({-1});
  const Tensor weights = (arange(flat.numel()) % 7 + 1).to(float64) / 8;
  const double sum = (flat * weights).sum().item<double>();
  EXPECT_NEAR(sum, expected, 1e-9 * std::max(1.0, std::abs(expected)));
}

}  // namespace tenon
