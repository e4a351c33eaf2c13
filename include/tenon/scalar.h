// Scalar: one number of any kind, as PyTorch functions take it. Remembers whether it was a bool, a
// whole number, a real or a complex one, because that decides the dtype of full(), tensor() and
// arithmetic.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

class TENON_API Scalar {
 public:
  enum class Kind : std::uint8_t { boolean, integer, unsigned_integer, real, complex };

  constexpr Scalar() noexcept : Scalar(std::int64_t{0}) {}
  // A template, so that nothing else (a pointer, say) becomes a bool on the way.
  template <std::integral I>
  constexpr Scalar(I value) noexcept  // numbers are passed as they are
      : kind_(std::same_as<I, bool> ? Kind::boolean
              : std::is_unsigned_v<I> && static_cast<std::uint64_t>(value) > kMaxInt64
                  ? Kind::unsigned_integer
                  : Kind::integer),
        integer_(static_cast<std::int64_t>(value)) {}
  constexpr Scalar(double value) noexcept : kind_(Kind::real), real_(value) {}
  constexpr Scalar(float value) noexcept : Scalar(static_cast<double>(value)) {}
  // Any of the small floating types.
  template <class T>
    requires(std::is_class_v<T> && !std::same_as<T, Scalar> && std::convertible_to<T, float>)
  constexpr Scalar(T value) noexcept : Scalar(static_cast<double>(static_cast<float>(value))) {}
  constexpr Scalar(std::complex<double> value) noexcept
      : kind_(Kind::complex), real_(value.real()), imag_(value.imag()) {}
  constexpr Scalar(std::complex<float> value) noexcept
      : Scalar(std::complex<double>(value.real(), value.imag())) {}

  constexpr Kind kind() const noexcept { return kind_; }
  constexpr bool is_integral() const noexcept {
    return kind_ == Kind::integer || kind_ == Kind::unsigned_integer;
  }

  // The number as T. ValueError if its value is not one of T's: too large, or complex where T is
  // real. Fractions are cut off towards zero, as PyTorch does.
  template <class T>
  T to() const;

  // What tensor(value) is: bool, int64 (uint64 beyond it), the default dtype, or its complex
  // counterpart.
  DType dtype() const;

  // As Python writes it: True, 3, 0.5, (1+2j)
  std::string repr() const;

 private:
  static constexpr std::uint64_t kMaxInt64 = 0x7fffffffffffffffu;

  Kind kind_;
  union {
    std::int64_t integer_;  // boolean, integer; the bits of an unsigned_integer
    double real_;
  };
  double imag_ = 0;
};

// The 64-bit integers that are not the element type of a dtype.
template <>
inline long long Scalar::to<long long>() const {
  return to<std::int64_t>();
}
template <>
inline unsigned long long Scalar::to<unsigned long long>() const {
  return to<std::uint64_t>();
}

#define TENON_ROW(name, type, ...) extern template TENON_API type Scalar::to<type>() const;
TENON_FORALL_DTYPES(TENON_ROW)
#undef TENON_ROW

}  // namespace tenon
