// MemoryNeed: how much memory is held at once by work on several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace tenon {

class MemoryNeed {
 public:
  // Until everything is done.
  void keep(std::uint64_t bytes) noexcept { kept_ += bytes; }
  // While all that is loaded in one go is put in order.
  void together(std::uint64_t bytes) noexcept { together_ += bytes; }
  // While one tensor is worked on.
  void pass(std::uint64_t bytes) { passing_.push_back(bytes); }

  // With so many threads, each of which works on one tensor at a time: perhaps on the largest.
  std::uint64_t peak(std::size_t threads) {
    const auto most = static_cast<std::ptrdiff_t>(std::min(threads, passing_.size()));
    std::partial_sort(passing_.begin(), passing_.begin() + most, passing_.end(), std::greater<>());
    std::uint64_t passing = 0;
    for (std::ptrdiff_t i = 0; i < most; ++i) passing += passing_[static_cast<std::size_t>(i)];
    return kept_ + std::max(together_, passing);
  }

 private:
  std::uint64_t kept_ = 0, together_ = 0;
  std::vector<std::uint64_t> passing_;
};

}  // namespace tenon
