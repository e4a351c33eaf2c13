// The 16-bit floating types: Half (IEEE binary16) and BFloat16 (the upper half of a float).
//
// They store and convert; they do not calculate. Conversion from float rounds to the nearest value,
// ties to even.
#pragma once

#include <bit>
#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

namespace detail {

constexpr std::uint16_t half_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >
      0x7f800000u) {  // NaN: quiet, keeping what fits of its payload, as the hardware does
    return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  }
  if (magnitude >= 0x477ff000u)
    return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds to 65536 or beyond
  if (magnitude < 0x38800000u) {
    // Below the smallest normal, 2^-14: adding 1/2 leaves the rounded subnormal in the low mantissa
    // bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

constexpr float half_value(std::uint16_t half) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  }
  if (magnitude < 0x0400u) {  // subnormal: magnitude units of 2^-24, exact in float
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
}

constexpr std::uint16_t bfloat16_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

constexpr float bfloat16_value(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace detail

struct TENON_API Half {
  std::uint16_t bits = 0;

  constexpr Half() noexcept = default;
  constexpr explicit Half(float value) noexcept : bits(detail::half_bits(value)) {}
  constexpr operator float() const noexcept { return detail::half_value(bits); }  // exact
  static constexpr Half from_bits(std::uint16_t bits) noexcept {
    Half half;
    half.bits = bits;
    return half;
  }
};

struct TENON_API BFloat16 {
  std::uint16_t bits = 0;

  constexpr BFloat16() noexcept = default;
  constexpr explicit BFloat16(float value) noexcept : bits(detail::bfloat16_bits(value)) {}
  constexpr operator float() const noexcept { return detail::bfloat16_value(bits); }  // exact
  static constexpr BFloat16 from_bits(std::uint16_t bits) noexcept {
    BFloat16 value;
    value.bits = bits;
    return value;
  }
};

// complex32: std::complex is only defined for the standard floating types.
struct TENON_API ComplexHalf {
  Half real;
  Half imag;
};

}  // namespace tenon
