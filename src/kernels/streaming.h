// When results are written past the caches, and operands asked for ahead of time.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// From so many bytes on, a result does not fit the caches: written there, it would only push out
// what others need, after the old bytes were read in for nothing.
inline constexpr std::int64_t kStreamedBytes = std::int64_t{32} << 20;

// Whether to ask for the cache lines that a long row of addresses will come to: on Intel's
// processors sums are half as fast again, while AMD's fetch ahead far enough by themselves and lose
// a little. An address behind the end is no mistake.
TENON_API bool prefetch_helps() noexcept;
template <bool kAhead>
inline void prefetch(const void* place) noexcept {
  if constexpr (kAhead) {
    const std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(place) + 8192;
    __builtin_prefetch(reinterpret_cast<const void*>(ahead), 0, 2);
  }
}

}  // namespace tenon
