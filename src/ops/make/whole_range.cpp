#include "ops/make/whole_range.h"

#include <concepts>
#include <limits>
#include <utility>

#include "base/element_cast.h"
#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

bool is_usual_float(DType dtype) {
  return dtype == float64 || dtype == float32 || dtype == float16 || dtype == bfloat16;
}

namespace {

// Binary digits of a floating dtype: up to 2 to their power every whole number is one of it.
int digits_of(DType dtype) {
  return dtype == float64 ? 53 : dtype == float32 ? 24 : dtype == float16 ? 11 : 8;
}

}  // namespace

WholeBounds bounds_of(DType dtype) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  if (dtype == float16) return {-65504, 65504};
  if (is_usual_float(dtype)) return {kLeast, kMost};
  return visit(dtype, [&]<class T>() -> WholeBounds {
    if constexpr (std::integral<T>) {
      if constexpr (std::same_as<T, std::uint64_t>) return {0, kMost};
      return {static_cast<std::int64_t>(std::numeric_limits<T>::min()),
              static_cast<std::int64_t>(std::numeric_limits<T>::max())};
    } else {
      return {0, 0};
    }
  });
}

namespace {

std::int64_t rounded(std::int64_t value, DType dtype) {
  return visit(dtype, [&]<class T>() -> std::int64_t {
    if constexpr (is_opaque_type<T> || is_complex_type<T>)
      return value;
    else
      return convert<std::int64_t>(convert<T>(value));
  });
}

int power_below(std::uint64_t value) {
  int n = 0;
  while ((value >>= 1) != 0) ++n;
  return n;
}

// Bounds that rounding to a floating dtype would carry outside are moved to the next number inside,
// as PyTorch does.
std::int64_t moved_up(std::int64_t from, DType dtype) {
  if (from == std::numeric_limits<std::int64_t>::max()) return from;
  const std::int64_t next = rounded(from + 1, dtype);
  if (next >= from) return from;
  const auto size = static_cast<std::uint64_t>(from + 1 < 0 ? -(from + 1) : from + 1);
  return next + (std::int64_t{1} << (power_below(size) - digits_of(dtype) + 1));
}
std::int64_t moved_down(std::int64_t to, DType dtype) {
  const std::int64_t before = rounded(to - 1, dtype);
  if (before < to) return to;
  const auto size = static_cast<std::uint64_t>(to - 1 < 0 ? -(to - 1) : to - 1);
  return before - (std::int64_t{1} << (power_below(size) - digits_of(dtype) + 1));
}

void check_bound(const char* name, std::int64_t value, DType dtype,
                 std::vector<std::string>& warnings) {
  const WholeBounds bounds = bounds_of(dtype);
  if (value < bounds.least || value > bounds.most) {
    throw ValueError(concat("random_: ", name, " = ", value, " is out of bounds for ", repr(dtype),
                            ", which holds ", bounds.least, " to ", bounds.most));
  }
  if (!is_usual_float(dtype)) return;
  const std::int64_t exact = std::int64_t{1} << digits_of(dtype);
  if (value < -exact || value > exact) {
    warnings.push_back(concat("random_: ", name, " = ", value, " is outside of -2^",
                              digits_of(dtype), " to 2^", digits_of(dtype), ", where ", repr(dtype),
                              " has every whole number: some will not be drawn"));
  }
}

}  // namespace

WholeRange whole_range(DType dtype, std::int64_t from, std::optional<std::int64_t> to) {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  const auto count = [](std::int64_t first, std::int64_t last) {
    return static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  };
  std::vector<std::string> warnings;
  if (to) {
    if (from >= *to) {
      throw ValueError(concat("random_ expects 'from' to be less than 'to', but got from=", from,
                              " >= to=", *to));
    }
    std::int64_t first = from, last = *to;
    if (is_usual_float(dtype)) {
      first = moved_up(first, dtype);
      last = moved_down(last, dtype);
      if (first >= last) {
        throw ValueError(
            concat("random_ expects 'from' casted to dtype to be less than 'to' "
                   "casted to dtype, but got from=",
                   first, " >= to=", last));
      }
    }
    check_bound("from", first, dtype, warnings);
    check_bound("to - 1", last - 1, dtype, warnings);
    return {first, count(first, last), std::move(warnings)};
  }
  if (dtype == uint64) {
    throw NotImplementedError(
        "random_: without `to`, numbers from `from` up to the largest torch.uint64 are more than a "
        "draw can tell apart: name a `to`");
  }
  if (from == kLeast) {
    if (!is_usual_float(dtype)) check_bound("from", from, dtype, warnings);
    if (dtype == float16)
      throw NotImplementedError("random_: torch.float16 holds few of the numbers from -2^63 on");
    return {0, 0};
  }
  const std::int64_t first = is_usual_float(dtype) ? moved_up(from, dtype) : from;
  const std::int64_t most = is_usual_float(dtype) ? (dtype == float64   ? std::int64_t{1} << 53
                                                     : dtype == float32 ? std::int64_t{1} << 24
                                                     : dtype == float16 ? std::int64_t{1} << 11
                                                                        : std::int64_t{1} << 8)
                                                  : bounds_of(dtype).most;
  check_bound("from", first, dtype, warnings);
  if (first > most) throw ValueError(concat("random_: from = ", from, " is above ", most));
  return {first, count(first, most) + 1, std::move(warnings)};
}

}  // namespace tenon
