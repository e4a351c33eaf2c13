// Arithmetic on sizes that notices when it overflows.
#pragma once

#include <concepts>
#include <optional>

namespace tenon {

template <std::integral I>
[[nodiscard]] constexpr std::optional<I> checked_mul(I a, I b) noexcept {
  I out;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

template <std::integral I>
[[nodiscard]] constexpr std::optional<I> checked_add(I a, I b) noexcept {
  I out;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

}  // namespace tenon
