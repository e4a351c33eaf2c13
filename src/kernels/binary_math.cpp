// The functions of two elements that take more than a few instructions, or can fail.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/binary_row-inl.h"
#include "kernels/elementwise_tables.h"

namespace tenon {
namespace HWY_NAMESPACE {
namespace {

// The formula of each function whose row says `math` or `both`.
template <BinaryFunction N>
struct BinaryMath;

template <class C>
bool negative(C value) {
  return value < C(0);
}

// Python's division of complex numbers scales first, so that large ones do not overflow.
template <class P>
std::complex<P> divided(std::complex<P> x, std::complex<P> y) {
  const P a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  if (std::fabs(c) >= std::fabs(d)) {
    if (c == 0 && d == 0) return {a / std::fabs(c), b / std::fabs(d)};
    const P ratio = d / c, scale = P(1) / (c + d * ratio);
    return {(a + b * ratio) * scale, (b - a * ratio) * scale};
  }
  const P ratio = c / d, scale = P(1) / (d + c * ratio);
  return {(a * ratio + b) * scale, (b * ratio - a) * scale};
}

template <>
struct BinaryMath<BinaryFunction::div> {
  template <class T>
  static constexpr bool takes = is_std_complex<T>;
  template <class C>
  static C Of(C a, C b) {
    if constexpr (is_std_complex<C>)
      return divided(a, b);
    else
      return a;
  }
};

// The quotient of whole numbers, cut off. The most negative divided by -1 wraps. Zeros have been
// looked for: what is said of them here only keeps the machine from stopping.
template <class C>
C cut_quotient(C a, C b) {
  if (b == 0) return 0;
  if constexpr (std::signed_integral<C>) {
    if (b == C(-1)) return static_cast<C>(Wrapping<C>(0) - Wrapping<C>(a));
  }
  return static_cast<C>(a / b);
}
template <class C>
C cut_rest(C a, C b) {
  if (b == 0) return 0;
  if constexpr (std::signed_integral<C>) {
    if (b == C(-1)) return 0;
  }
  return static_cast<C>(a % b);
}

template <>
struct BinaryMath<BinaryFunction::floor_divide> {
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class C>
  static C Of(C a, C b) {
    if constexpr (std::integral<C>) {
      const C quotient = cut_quotient(a, b);
      const bool down = cut_rest(a, b) != 0 && negative(a) != negative(b);
      return static_cast<C>(quotient - (down ? 1 : 0));
    } else {
      // Python's: exact where a / b would round across a whole number.
      if (b == 0) return a / b;
      const C rest = std::fmod(a, b);
      C quotient = (a - rest) / b;
      if (rest != 0 && negative(b) != negative(rest)) quotient -= C(1);
      if (quotient == 0) return std::copysign(C(0), a / b);
      const C whole = std::floor(quotient);
      return quotient - whole > C(0.5) ? whole + C(1) : whole;
    }
  }
};
template <>
struct BinaryMath<BinaryFunction::trunc_divide> {
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class C>
  static C Of(C a, C b) {
    if constexpr (std::integral<C>)
      return cut_quotient(a, b);
    else
      return std::trunc(a / b);
  }
};
// Has the sign of the divisor.
template <>
struct BinaryMath<BinaryFunction::remainder> {
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class C>
  static C Of(C a, C b) {
    if constexpr (std::integral<C>) {
      const C rest = cut_rest(a, b);
      return static_cast<C>(rest != 0 && negative(rest) != negative(b) ? rest + b : rest);
    } else {
      const C rest = std::fmod(a, b);
      return rest != 0 && negative(rest) != negative(b) ? rest + b : rest;
    }
  }
};
// Has the sign of the dividend.
template <>
struct BinaryMath<BinaryFunction::fmod> {
  template <class T>
  static constexpr bool takes = kReal<T>;
  template <class C>
  static C Of(C a, C b) {
    if constexpr (std::integral<C>)
      return cut_rest(a, b);
    else
      return std::fmod(a, b);
  }
};

template <class C>
C whole_power(C base, C exponent) {
  if constexpr (std::signed_integral<C>) {
    if (exponent < 0) {  // a fraction, cut off
      if (base == 1) return 1;
      if (base == C(-1)) return exponent % 2 == 0 ? C(1) : C(-1);
      return 0;
    }
  }
  Wrapping<C> power = 1, factor = static_cast<Wrapping<C>>(base);
  for (auto left = static_cast<std::make_unsigned_t<C>>(exponent); left != 0; left >>= 1) {
    if ((left & 1) != 0) power *= factor;
    factor *= factor;
  }
  return static_cast<C>(power);
}
template <>
struct BinaryMath<BinaryFunction::pow> {
  template <class T>
  static constexpr bool takes = kNumber<T>;
  template <class C>
  static C Of(C a, C b) {
    if constexpr (std::integral<C>)
      return whole_power(a, b);
    else
      return std::pow(a, b);
  }
};

// A number wins over NaN.
template <>
struct BinaryMath<BinaryFunction::fmax> {
  template <class T>
  static constexpr bool takes = kReal<T> || std::same_as<T, bool>;
  template <class C>
  static C Of(C a, C b) {
    if constexpr (std::floating_point<C>)
      return std::fmax(a, b);
    else
      return std::max(a, b);
  }
};
template <>
struct BinaryMath<BinaryFunction::fmin> {
  template <class T>
  static constexpr bool takes = kReal<T> || std::same_as<T, bool>;
  template <class C>
  static C Of(C a, C b) {
    if constexpr (std::floating_point<C>)
      return std::fmin(a, b);
    else
      return std::min(a, b);
  }
};

struct Floating {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
};
template <>
struct BinaryMath<BinaryFunction::atan2> : Floating {
  template <class C>
  static C Of(C a, C b) {
    return std::atan2(a, b);
  }
};
template <>
struct BinaryMath<BinaryFunction::hypot> : Floating {
  template <class C>
  static C Of(C a, C b) {
    return std::hypot(a, b);
  }
};
template <>
struct BinaryMath<BinaryFunction::copysign> : Floating {
  template <class C>
  static C Of(C a, C b) {
    return std::copysign(a, b);
  }
};
// The neighbours of a 16-bit float are those of its bits, as a whole number.
template <class C>
C next_of(C a, C b) {
  const float from = convert<float>(a), towards = convert<float>(b);
  if (from != from) return a;
  if (towards != towards || from == towards) return b;
  auto bits = std::bit_cast<std::uint16_t>(a);
  if (from == 0)
    bits = towards > 0 ? 0x0001 : 0x8001;
  else
    bits = static_cast<std::uint16_t>((from < towards) == (from > 0) ? bits + 1 : bits - 1);
  return std::bit_cast<C>(bits);
}
template <>
struct BinaryMath<BinaryFunction::nextafter> {
  template <class T>
  static constexpr bool takes =
      std::floating_point<T> || std::same_as<T, Half> || std::same_as<T, BFloat16>;
  template <class C>
  static C Of(C a, C b) {
    if constexpr (std::floating_point<C>)
      return std::nextafter(a, b);
    else
      return next_of(a, b);
  }
};
template <>
struct BinaryMath<BinaryFunction::logaddexp> {
  template <class T>
  static constexpr bool takes = std::floating_point<T> || is_std_complex<T>;
  template <class C>
  static C Of(C a, C b) {
    if constexpr (is_std_complex<C>) {
      const bool swapped = a.real() < b.real();
      const C large = swapped ? b : a, small = swapped ? a : b;
      return large + std::log(C(1) + std::exp(small - large));
    } else {
      return of_reals(a, b);
    }
  }
  template <class C>
  static C of_reals(C a, C b) {
    if (std::isinf(a) && a == b) return a;
    return std::max(a, b) + std::log1p(std::exp(-std::fabs(a - b)));
  }
};
template <>
struct BinaryMath<BinaryFunction::logaddexp2> : Floating {
  template <class C>
  static C Of(C a, C b) {
    if (std::isinf(a) && a == b) return a;
    return std::max(a, b) + std::log1p(std::exp2(-std::fabs(a - b))) / static_cast<C>(M_LN2);
  }
};
// a times the logarithm of b; 0 where a is 0, unless b is NaN.
template <>
struct BinaryMath<BinaryFunction::xlogy> : Floating {
  template <class C>
  static C Of(C a, C b) {
    if (std::isnan(b)) return b;
    return a == 0 ? C(0) : a * std::log(b);
  }
};

template <class C>
bool truth(C value) {
  return value != C(0);
}
template <>
struct BinaryMath<BinaryFunction::logical_and> {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
  template <class C>
  static bool Of(C a, C b) {
    return truth(a) && truth(b);
  }
};
template <>
struct BinaryMath<BinaryFunction::logical_or> {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
  template <class C>
  static bool Of(C a, C b) {
    return truth(a) || truth(b);
  }
};
template <>
struct BinaryMath<BinaryFunction::logical_xor> {
  template <class T>
  static constexpr bool takes = kNumber<T> || std::same_as<T, bool>;
  template <class C>
  static bool Of(C a, C b) {
    return truth(a) != truth(b);
  }
};

// Shifted out altogether: nothing is left but the sign, to the right.
template <class C>
bool too_far(C by) {
  return negative(by) || static_cast<std::uint64_t>(by) >= sizeof(C) * 8;
}
template <>
struct BinaryMath<BinaryFunction::bitwise_left_shift> {
  template <class T>
  static constexpr bool takes = kWhole<T>;
  template <class C>
  static C Of(C a, C b) {
    return too_far(b) ? C(0) : static_cast<C>(static_cast<Wrapping<C>>(a) << b);
  }
};
template <>
struct BinaryMath<BinaryFunction::bitwise_right_shift> {
  template <class T>
  static constexpr bool takes = kWhole<T>;
  template <class C>
  static C Of(C a, C b) {
    if (too_far(b)) return negative(a) ? static_cast<C>(-1) : C(0);
    return static_cast<C>(a >> b);
  }
};

template <BinaryFunction N>
BinaryRow MathRow(DType dtype) {
  static_assert(IsDefined<BinaryMath<N>> == is_in_math(N),
                "the row of the function in TENON_BINARY_FUNCTIONS has another kernel");
  if constexpr (is_in_math(N))
    return RowFor<N, BinaryMath<N>>(dtype);
  else
    return nullptr;
}

}  // namespace

BinaryRow FindMath(BinaryFunction function, DType dtype) {
  switch (function) {
#define TENON_ROW(name, ...) \
  case BinaryFunction::name: return MathRow<BinaryFunction::name>(dtype);
    TENON_BINARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE

BinaryRow math_binary_row(BinaryFunction function, DType dtype) {
  return HWY_STATIC_DISPATCH(FindMath)(function, dtype);
}

}  // namespace tenon
