// The stack of the pickle machine.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "io/pickle/pickle.h"
#include "io/pickle/pickle_limits.h"

namespace tenon {

// The values that wait for an operation.
class ItemStack {
 public:
  explicit ItemStack(ReadMeter& meter)
      : meter_(meter), items_(kFirst), top_(items_.data()), end_(top_ + kFirst) {
    meter_.memory(kFirst * sizeof(PickleItem));
  }
  ~ItemStack() { meter_.release(items_.size() * sizeof(PickleItem)); }
  ItemStack(const ItemStack&) = delete;
  ItemStack& operator=(const ItemStack&) = delete;
  std::size_t size() const noexcept { return static_cast<std::size_t>(top_ - items_.data()); }
  PickleItem& back() noexcept { return top_[-1]; }
  const PickleItem& back() const noexcept { return top_[-1]; }
  // The n-th from the top, which is the first.
  const PickleItem& from_top(std::size_t n) const noexcept {
    return *(top_ - static_cast<std::ptrdiff_t>(n));
  }
  std::span<const PickleItem> last(std::size_t n) const noexcept { return {&from_top(n), n}; }
  // By value: it may be an item of this stack, which grows. False if it would be too many.
  [[gnu::always_inline]] bool push(PickleItem item) {
    if (top_ == end_) [[unlikely]] {
      if (!grow()) return false;
    }
    *top_++ = item;
    return true;
  }
  void drop(std::size_t n) noexcept { top_ -= n; }

 private:
  [[gnu::noinline]] bool grow() {
    const std::size_t size = items_.size();
    if (size >= kMostWaiting) return false;
    meter_.memory(size * 2 * sizeof(PickleItem));
    items_.resize(size * 2);
    meter_.release(size * sizeof(PickleItem));
    top_ = items_.data() + size;
    end_ = items_.data() + items_.size();
    return true;
  }

  static constexpr std::size_t kFirst = 64;
  ReadMeter& meter_;
  std::vector<PickleItem> items_;
  PickleItem* top_;
  PickleItem* end_;
};

}  // namespace tenon
