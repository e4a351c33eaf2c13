#include "kernels/mt19937.h"

#include <algorithm>

#include "kernels/random_simd.h"

namespace tenon {

Mt19937::Mt19937(std::uint64_t seed) noexcept {
  state_.seed = seed;
  state_.left = 1;
  state_.next = 0;
  state_.words[0] = static_cast<std::uint32_t>(seed);
  for (std::size_t i = 1; i < state_.words.size(); ++i) {
    const std::uint32_t before = state_.words[i - 1];
    state_.words[i] = 1812433253u * (before ^ (before >> 30)) + static_cast<std::uint32_t>(i);
  }
}

void Mt19937::regenerate() noexcept {
  mt19937_twist(state_.words.data());
  state_.left = kWords + 1;
  state_.next = 0;
}

void Mt19937::fill(std::uint32_t* out, std::int64_t n) noexcept {
  while (n > 0) {
    if (state_.left == 1) regenerate();
    const std::int64_t taken = std::min(n, state_.left - 1);
    mt19937_temper(state_.words.data() + state_.next, out, taken);
    state_.next += taken;
    state_.left -= taken;
    out += taken;
    n -= taken;
  }
}

bool Mt19937::set_state(const State& state) noexcept {
  const bool used_up = state.left == 1 && state.next >= 0 && state.next <= kWords;
  const bool under_way = state.left > 1 && state.next > 0 && state.left + state.next == kWords + 1;
  if (!used_up && !under_way) return false;
  state_ = state;
  return true;
}

}  // namespace tenon
