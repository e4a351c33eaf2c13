// MT19937 as PyTorch's CPU generators have it: the same words from the same seed, and the same
// count of what is left of them, because a saved state shows both.
#pragma once

#include <array>
#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

class TENON_API Mt19937 {
 public:
  static constexpr std::int64_t kWords = 624;

  // Only the low 32 bits of the seed matter.
  explicit Mt19937(std::uint64_t seed) noexcept;

  std::uint32_t next32() noexcept {
    if (state_.left == 1) [[unlikely]]
      regenerate();
    --state_.left;
    return tempered(state_.words[static_cast<std::size_t>(state_.next++)]);
  }
  std::uint64_t next64() noexcept {
    const std::uint64_t high = next32();
    return high << 32 | next32();
  }
  // The output that a word becomes.
  static constexpr std::uint32_t tempered(std::uint32_t y) noexcept {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
  // The next n outputs.
  void fill(std::uint32_t* out, std::int64_t n) noexcept;

  // What a saved state holds. `left` is one more than the words not used yet, as PyTorch counts.
  struct State {
    std::uint64_t seed;
    std::int64_t left;
    std::int64_t next;  // the word that comes next
    std::array<std::uint32_t, kWords> words;
  };
  const State& state() const noexcept { return state_; }
  // False, and nothing changed, if the counts do not belong together.
  bool set_state(const State& state) noexcept;

 private:
  void regenerate() noexcept;

  State state_;
};

}  // namespace tenon
