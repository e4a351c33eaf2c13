// When results are written past the caches.
#pragma once

#include <cstdint>

namespace tenon {

// From so many bytes on, a result does not fit the caches: written there, it would only push out
// what others need, after the old bytes were read in for nothing.
inline constexpr std::int64_t kStreamedBytes = std::int64_t{32} << 20;

}  // namespace tenon
