// What the numbers of a tensor are like.
#pragma once

#include <tenon/dtype.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tenon::cli {

// Of the elements that are finite, except for the counts.
struct Statistics {
  std::uint64_t count = 0, nan = 0, infinite = 0, zero = 0;
  double minimum = 0, maximum = 0, mean = 0;
  double deviation = 0;  // of a sample, as torch.std computes it
};

// Takes the elements of a tensor piece by piece.
class StatisticsOf {
 public:
  explicit StatisticsOf(DType dtype) : dtype_(dtype) {}
  // Whether there are such numbers: complex ones have no order.
  static bool has_any(DType dtype) noexcept;

  void add(std::span<const std::byte> elements);
  // Of all that were added.
  Statistics get();

 private:
  void add(double x, std::uint64_t times);
  void add_bytes();

  DType dtype_;
  std::array<std::uint64_t, 256> times_ = {};  // how often each element of one byte was there
  Statistics seen_;
  std::uint64_t finite_ = 0;
  // Relative to the first, so that squares do not swallow what differs.
  double first_ = 0, sum_ = 0, squares_ = 0;
};

}  // namespace tenon::cli
