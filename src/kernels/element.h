// Reading and writing one element for a calculation.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/element_cast.h"
#include "tenon/dtype.h"

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

// Sixteen bytes, for complex128.
struct WideElement {
  std::uint64_t parts[2];
};

// Calls f with an unsigned type of that many bytes, for what only moves elements.
template <class F>
void with_element_of(std::int64_t itemsize, F&& f) {
  switch (itemsize) {
    case 1: return f.template operator()<std::uint8_t>();
    case 2: return f.template operator()<std::uint16_t>();
    case 4: return f.template operator()<std::uint32_t>();
    case 8: return f.template operator()<std::uint64_t>();
    default: return f.template operator()<WideElement>();
  }
}

// Kinds of elements that functions take.
template <class T>
inline constexpr bool kWhole = std::integral<T> && !std::same_as<T, bool>;
template <class T>
inline constexpr bool kReal = kWhole<T> || std::floating_point<T>;
template <class T>
inline constexpr bool kNumber = kReal<T> || is_std_complex<T>;

// The row that make.operator()<T>() returns for the type T of the dtype's elements; null if F does
// not take T (F::template takes<T>).
template <class Row, class F, class Make>
Row row_for(DType dtype, Make&& make) {
  return visit(dtype, [&]<class T>() -> Row {
    if constexpr (F::template takes<T>)
      return make.template operator()<T>();
    else
      return nullptr;
  });
}

// Whole numbers are added and multiplied as if they had no sign, which wraps.
template <class T>
using Wrapping = std::make_unsigned_t<
    std::conditional_t<(sizeof(T) < sizeof(int)), int,
                       std::conditional_t<std::integral<T> && !std::same_as<T, bool>, T, int>>>;

}  // namespace tenon
