// The five 8-bit floating types of PyTorch. In a name eXmY, X bits are exponent and Y mantissa; fn
// means finite (no infinity), uz means there is one zero and the code of negative zero is NaN, u
// means unsigned.
//
// Conversion from float rounds to the nearest value, ties to even. What is too large, infinity
// included, becomes the largest value (e4m3fn), infinity (e5m2) or NaN (the others): PyTorch's
// rules since 2.14.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

namespace detail {

struct TENON_API Float8Format {
  int mantissa;      // bits of mantissa
  int bias;          // of the exponent
  std::uint8_t max;  // code of the largest finite value
  std::uint8_t
      beyond;  // code that larger values become (the sign is added unless negative zero is NaN)
  std::uint8_t nan;    // code that NaN becomes
  bool negative_zero;  // whether 0x80 is a number
};

inline constexpr Float8Format kE4M3FN{3, 7, 0x7e, 0x7e, 0x7f, true};
inline constexpr Float8Format kE5M2{2, 15, 0x7b, 0x7c, 0x7f, true};
inline constexpr Float8Format kE4M3FNUZ{3, 8, 0x7f, 0x80, 0x80, false};
inline constexpr Float8Format kE5M2FNUZ{2, 16, 0x7f, 0x80, 0x80, false};

constexpr std::uint8_t float8_bits(float value, const Float8Format& format) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint8_t>((bits >> 24) & 0x80u);
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<std::uint8_t>(format.negative_zero ? sign | format.nan : format.nan);

  // The value is significand * 2^(exponent - 23); a code is worth 2^(1 - bias - mantissa) in the
  // subnormal range.
  const int float_exponent = static_cast<int>(magnitude >> 23);
  const std::uint32_t significand =
      (magnitude & 0x7fffffu) | (float_exponent != 0 ? 0x800000u : 0u);
  const int exponent = (float_exponent != 0 ? float_exponent : 1) - 127;
  const int lowest = 1 - format.bias;
  const int shift = 23 - format.mantissa + (exponent < lowest ? lowest - exponent : 0);
  std::uint32_t code = 0;
  if (shift < 32) {
    const std::uint32_t half = 1u << (shift - 1);
    const std::uint32_t rest = significand & ((1u << shift) - 1u);
    code = significand >> shift;
    if (rest > half || (rest == half && (code & 1u) != 0)) ++code;
    // The hidden bit of a normal value adds one to the exponent field, which is why it counts from
    // zero here.
    if (exponent > lowest) code += static_cast<std::uint32_t>(exponent - lowest) << format.mantissa;
  }
  if (code > format.max) {
    return static_cast<std::uint8_t>(format.negative_zero ? sign | format.beyond : format.beyond);
  }
  if (code == 0 && !format.negative_zero) return 0;
  return static_cast<std::uint8_t>(sign | code);
}

constexpr float float8_value(std::uint8_t bits, const Float8Format& format) noexcept {
  constexpr auto kNaN = std::bit_cast<float>(0x7fc00000u);
  const auto code = static_cast<std::uint8_t>(bits & 0x7fu);
  const bool negative = (bits & 0x80u) != 0;
  if (!format.negative_zero && bits == 0x80u) return kNaN;
  if (code > format.max) {
    const float special = code == format.beyond && format.beyond != format.nan
                              ? std::bit_cast<float>(0x7f800000u)
                              : kNaN;
    return negative ? -special : special;
  }
  const int field = code >> format.mantissa;
  const int significand =
      (code & ((1 << format.mantissa) - 1)) | (field != 0 ? 1 << format.mantissa : 0);
  const int exponent = (field != 0 ? field : 1) - format.bias - format.mantissa;
  const auto scale = std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
  const float magnitude = static_cast<float>(significand) * scale;
  return negative ? -magnitude : magnitude;
}

constexpr std::array<float, 256> float8_table(const Float8Format& format) noexcept {
  std::array<float, 256> table{};
  for (unsigned code = 0; code < 256; ++code)
    table[code] = float8_value(static_cast<std::uint8_t>(code), format);
  return table;
}

template <const Float8Format& F>
inline constexpr std::array<float, 256> kFloat8Values = float8_table(F);

template <const Float8Format& F>
struct TENON_API Float8 {
  std::uint8_t bits = 0;

  constexpr Float8() noexcept = default;
  constexpr explicit Float8(float value) noexcept : bits(float8_bits(value, F)) {}
  constexpr operator float() const noexcept { return kFloat8Values<F>[bits]; }  // exact
  static constexpr Float8 from_bits(std::uint8_t bits) noexcept {
    Float8 value;
    value.bits = bits;
    return value;
  }
};

// e8m0: the exponent of a float and nothing else; code 255 is NaN, and there is no zero.
constexpr std::uint8_t float8_e8m0_bits(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t exponent = (bits >> 23) & 0xffu;
  if (exponent == 0xffu) return 0xffu;
  // To nearest in the mantissa; halfway goes up, except from the code 0, as PyTorch has it.
  const std::uint32_t mantissa = bits & 0x7fffffu;
  const bool up = mantissa > 0x400000u || (mantissa == 0x400000u && exponent > 0);
  return static_cast<std::uint8_t>(exponent + (up ? 1u : 0u));
}

constexpr float float8_e8m0_value(std::uint8_t bits) noexcept {
  if (bits == 0xffu) return std::bit_cast<float>(0x7fc00000u);
  if (bits == 0) return std::bit_cast<float>(0x00400000u);  // 2^-127
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 23);
}

}  // namespace detail

using Float8_e4m3fn = detail::Float8<detail::kE4M3FN>;
using Float8_e5m2 = detail::Float8<detail::kE5M2>;
using Float8_e4m3fnuz = detail::Float8<detail::kE4M3FNUZ>;
using Float8_e5m2fnuz = detail::Float8<detail::kE5M2FNUZ>;

struct TENON_API Float8_e8m0fnu {
  std::uint8_t bits = 0;

  constexpr Float8_e8m0fnu() noexcept = default;
  constexpr explicit Float8_e8m0fnu(float value) noexcept : bits(detail::float8_e8m0_bits(value)) {}
  constexpr operator float() const noexcept { return detail::float8_e8m0_value(bits); }  // exact
  static constexpr Float8_e8m0fnu from_bits(std::uint8_t bits) noexcept {
    Float8_e8m0fnu value;
    value.bits = bits;
    return value;
  }
};

}  // namespace tenon
