// Reading and writing one element for a calculation.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tenon {

// Elements may lie at any byte.
template <class T>
inline T load_element(const std::byte* from) noexcept {
  if constexpr (std::same_as<T, bool>) {
    return static_cast<std::uint8_t>(*from) != 0;  // another byte is no bool for the compiler
  } else {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
}

template <class T>
inline void store_element(std::byte* to, T value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

// Whole numbers are added and multiplied as if they had no sign, which wraps.
template <class T>
using Wrapping = std::make_unsigned_t<
    std::conditional_t<(sizeof(T) < sizeof(int)), int,
                       std::conditional_t<std::integral<T> && !std::same_as<T, bool>, T, int>>>;

}  // namespace tenon
