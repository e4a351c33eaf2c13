// Asking for memory before it is needed. Loads and commits of many thousand tensors wait for memory
// more than they calculate, and know what comes next.
#pragma once

#include <cstddef>

namespace tenon {

inline void fetch_ahead(const void* begin, std::size_t bytes) noexcept {
  constexpr std::size_t kLine = 64;
  const auto* at = static_cast<const char*>(begin);
  for (std::size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(at + i);
}

}  // namespace tenon
