// What schedulers calculate with: Python's division, and whether arguments are in range.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/value.h"

namespace tenon::optim::lr_scheduler {

// Beyond this a double does not count in ones.
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 53;

// Rounded towards minus infinity.
inline std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
inline std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a - floor_div(a, b) * b; }

// ValueError where Python has its ZeroDivisionError.
inline double divided(double a, double b, std::string_view what) {
  if (b == 0) throw ValueError(concat("float division by zero: ", what));
  return a / b;
}

inline double real(std::int64_t value) { return static_cast<double>(value); }

inline void check_finite(std::string_view name, double value) {
  if (!std::isfinite(value))
    throw ValueError(concat("Expected a finite ", name, ", but got ", Value(value).repr()));
}
// "Expected positive integer step_size, but got 0", and the like.
inline void check_count(std::string_view name, std::int64_t value, std::int64_t smallest) {
  if (value < smallest || value > kMaxCount) {
    throw ValueError(concat("Expected ", smallest == 1 ? "positive" : "non-negative", " integer ",
                            name, ", but got ", value,
                            value > kMaxCount ? ", which is too large to count in doubles" : ""));
  }
}
inline void check_epoch(std::int64_t epoch) {
  if (epoch < -kMaxCount || epoch > kMaxCount)
    throw ValueError(concat("epoch ", epoch, " is too large to count in doubles"));
}

}  // namespace tenon::optim::lr_scheduler
