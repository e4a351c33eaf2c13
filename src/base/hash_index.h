// Finds things by their hash: numbers of things that are kept elsewhere, in a table of their own.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon {

class HashIndex {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Room for so many numbers without growing.
  void reserve(std::size_t count) {
    const std::size_t wanted = std::bit_ceil(count * 2 + 8);
    if (wanted > slots_.size()) rebuild(wanted);
  }
  // The number put in under this hash for which `same` holds; kNone if there is none.
  template <class Same>
  std::uint32_t find(std::size_t hash, Same&& same) const {
    if (slots_.empty()) return kNone;
    for (std::size_t i = hash & (slots_.size() - 1); slots_[i].number != kNone;
         i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].hash == hash && same(slots_[i].number)) return slots_[i].number;
    }
    return kNone;
  }
  // Does not look whether it is there.
  void insert(std::size_t hash, std::uint32_t number) {
    if ((count_ + 1) * 2 > slots_.size()) rebuild(slots_.empty() ? 16 : slots_.size() * 2);
    place({hash, number});
    ++count_;
  }
  void clear() noexcept {
    slots_.clear();
    count_ = 0;
  }

 private:
  struct Slot {
    std::size_t hash = 0;
    std::uint32_t number = kNone;
  };
  void place(const Slot& slot) {
    std::size_t i = slot.hash & (slots_.size() - 1);
    while (slots_[i].number != kNone) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
  void rebuild(std::size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number != kNone) place(slot);
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace tenon
