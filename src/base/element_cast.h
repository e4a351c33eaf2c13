// One element converted to another dtype, as PyTorch converts it. Every cast in the library comes
// down to these.
//
// Note [Float to integer]
// C++ leaves a conversion undefined when the value does not fit; PyTorch shows what x86 does, and
// models depend on it. The value is truncated into int32 (int8, int16, uint16, int32) or int64 (the
// others), a value outside becoming the most negative one, and what is left keeps the low bits.
// uint64 takes values from 2^63 on through a subtraction.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenon/dtype.h"

namespace tenon {

template <class T>
inline constexpr bool is_small_float = std::is_class_v<T> && std::convertible_to<T, float>;
template <class T>
inline constexpr bool is_std_complex = false;
template <class T>
inline constexpr bool is_std_complex<std::complex<T>> = true;
template <class T>
inline constexpr bool is_complex_type = is_std_complex<T> || std::same_as<T, ComplexHalf>;
template <class T>
inline constexpr bool is_opaque_type = is_opaque(dtype_of<T>);

// NaN of the float8 types that have a single code for it becomes the integer 0; all others follow
// the note above.
template <class T>
inline constexpr bool nan_becomes_zero =
    std::same_as<T, Float8_e4m3fnuz> || std::same_as<T, Float8_e5m2fnuz> ||
    std::same_as<T, Float8_e8m0fnu>;

namespace detail {

template <std::signed_integral I, std::floating_point F>
constexpr I truncate(F value) noexcept {
  constexpr F limit = -static_cast<F>(std::numeric_limits<I>::min());  // exactly 2^31 or 2^63
  return value >= -limit && value < limit ? static_cast<I>(value) : std::numeric_limits<I>::min();
}

template <std::integral I, std::floating_point F>
constexpr I float_to_integer(F value) noexcept {
  if constexpr (std::same_as<I, std::uint64_t>) {
    constexpr F half = static_cast<F>(std::uint64_t{1} << 63);
    return value >= half ? static_cast<std::uint64_t>(truncate<std::int64_t>(value - half)) ^
                               (std::uint64_t{1} << 63)
                         : static_cast<std::uint64_t>(truncate<std::int64_t>(value));
  } else if constexpr (std::same_as<I, std::int64_t> || std::same_as<I, std::uint32_t> ||
                       std::same_as<I, std::uint8_t>) {
    return static_cast<I>(truncate<std::int64_t>(value));
  } else {
    return static_cast<I>(truncate<std::int32_t>(value));
  }
}

}  // namespace detail

// To, from From. Neither is quantised.
template <class To, class From>
constexpr To convert(From value) noexcept {
  if constexpr (std::same_as<To, From>) {
    return value;
  } else if constexpr (std::same_as<From, ComplexHalf>) {
    return convert<To>(std::complex<float>(value.real, value.imag));
  } else if constexpr (is_std_complex<From>) {
    using Part = typename From::value_type;
    if constexpr (std::same_as<To, ComplexHalf>) {
      return {convert<Half>(value.real()), convert<Half>(value.imag())};
    } else if constexpr (is_std_complex<To>) {
      return {convert<typename To::value_type>(value.real()),
              convert<typename To::value_type>(value.imag())};
    } else if constexpr (std::same_as<To, bool>) {
      return value.real() != Part(0) || value.imag() != Part(0);
    } else {
      return convert<To>(
          value.real());  // the imaginary part is dropped; whoever asks is warned elsewhere
    }
  } else if constexpr (std::same_as<To, ComplexHalf>) {
    return {convert<Half>(value), Half()};
  } else if constexpr (is_std_complex<To>) {
    return {convert<typename To::value_type>(value), 0};
  } else if constexpr (is_small_float<From>) {
    const auto wide = static_cast<float>(value);
    if constexpr (nan_becomes_zero<From> && std::integral<To> && !std::same_as<To, bool>) {
      if (wide != wide) return 0;
    }
    return convert<To>(wide);
  } else if constexpr (is_small_float<To>) {
    return To(convert<float>(value));  // a double is rounded twice, as in PyTorch
  } else if constexpr (std::same_as<To, bool>) {
    return value != From(0);
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    return detail::float_to_integer<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace tenon
