// The memo of the pickle machine: values under numbers, for use in other places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/huge_pages.h"
#include "io/pickle/pickle.h"
#include "io/support/read_meter.h"

namespace tenon {

class PickleMemo {
 public:
  // Room for so many, charged to the meter as all that comes later.
  PickleMemo(ReadMeter& meter, std::size_t expected) : meter_(meter) {
    reserve_in_huge_pages(near_, expected);
    meter_.memory(bytes_near());
  }
  ~PickleMemo() { meter_.release(bytes_near() + far_.size() * kFar); }
  PickleMemo(const PickleMemo&) = delete;
  PickleMemo& operator=(const PickleMemo&) = delete;

  // How many numbers are taken, which is the number that MEMOIZE takes next.
  std::uint32_t count() const noexcept { return count_; }
  // The number that picklers take next.
  std::size_t next() const noexcept { return near_.size(); }

  // Under that next number.
  [[gnu::always_inline]] void remember(const PickleItem& item) {
    charge_growth(meter_, near_);
    if (far_.empty() || forget_far(static_cast<std::uint32_t>(near_.size()))) [[likely]]
      ++count_;
    near_.push_back(item);
  }
  // Under any other.
  [[gnu::noinline]] void put(std::uint32_t index, const PickleItem& item) {
    if (index < near_.size()) {
      near_[index] = item;
    } else if (far_.insert_or_assign(index, item).second) {
      meter_.memory(kFar);
      ++count_;
    }
  }
  // Null if nothing is there.
  PickleItem* find(std::uint32_t index) {
    if (index < near_.size()) [[likely]]
      return &near_[index];
    const auto found = far_.find(index);
    return found == far_.end() ? nullptr : &found->second;
  }

 private:
  // False if the number was taken among those that leave some out, where it is no longer.
  [[gnu::noinline]] bool forget_far(std::uint32_t index) {
    if (far_.erase(index) == 0) return true;
    meter_.release(kFar);
    return false;
  }
  std::uint64_t bytes_near() const noexcept { return near_.capacity() * sizeof(PickleItem); }

  static constexpr std::uint64_t kFar = 96;  // bytes of a node of the map
  ReadMeter& meter_;
  std::vector<PickleItem> near_;             // numbers from 0 on, none left out
  std::map<std::uint32_t, PickleItem> far_;  // the others
  std::uint32_t count_ = 0;
};

}  // namespace tenon
