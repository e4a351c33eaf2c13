// The functions of one real element that take more than a few instructions, and the functions of
// one complex element.
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "kernels/elementwise_tables.h"
#include "kernels/unary_row-inl.h"

namespace tenon {
namespace HWY_NAMESPACE {
namespace {

// The inverse of erf: an approximation of Giles where it is good to a few digits, the leading term
// of the series further out, and then Halley's method, which trebles the digits with each step.
double inverse_erf(double y) {
  const double size = std::fabs(y);
  if (!(size < 1)) {
    if (size == 1) return std::copysign(std::numeric_limits<double>::infinity(), y);
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double rest = 1 - size;  // exact where it matters
  double w = -std::log(rest * (1 + size)), x;
  if (w < 5) {
    w -= 2.5;
    x = 2.81022636e-08;
    for (const double c : {3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                           -0.00125372503, -0.00417768164, 0.246640727, 1.50140941})
      x = c + x * w;
    x *= size;
  } else {
    x = std::sqrt(-std::log(rest * std::sqrt(std::numbers::pi * -std::log(rest))));
  }
  for (int step = 0; step < 3; ++step) {
    // Where erf(x) is close to 1, its complement keeps the digits.
    const double error = size < 0.5 ? std::erf(x) - size : rest - std::erfc(x);
    const double newton = error / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
    x -= newton / (1 + x * newton);
  }
  return std::copysign(x, y);
}

// The derivative of lgamma: the recurrence up to 10, then the asymptotic series.
double digamma(double x) {
  if (x == 0) return std::copysign(std::numeric_limits<double>::infinity(), -x);
  double sum = 0;
  if (x < 0) {
    double whole;
    const double part = std::modf(x, &whole);
    if (part == 0) return std::numeric_limits<double>::quiet_NaN();
    sum = -std::numbers::pi / std::tan(std::numbers::pi * part);
    x = 1 - x;
  }
  for (; x < 10; x += 1) sum -= 1 / x;
  const double z = 1 / (x * x);
  double series = 0;
  if (x < 1e17) {
    for (const double c :
         {8.33333333333333333333e-2, -2.10927960927960927961e-2, 7.57575757575757575758e-3,
          -4.16666666666666666667e-3, 3.96825396825396825397e-3, -8.33333333333333333333e-3,
          8.33333333333333333333e-2})
      series = series * z + c;
    series *= z;
  }
  return sum + std::log(x) - 0.5 / x - series;
}

// Close to 0 the size of 1 + x has few digits, close to -1 its square.
std::complex<double> log_of_one_and(std::complex<double> x) {
  const double size = std::abs(x) < 0.5
                          ? std::log1p(x.real() * (x.real() + 2) + x.imag() * x.imag()) / 2
                          : std::log(std::hypot(x.real() + 1, x.imag()));
  return {size, std::atan2(x.imag(), x.real() + 1)};
}
template <class C>
C sign_of(C x) {
  const auto size = std::abs(x);
  return size == 0 ? C(0) : x / size;
}

// The formula of each function whose row says `math` or `both`.
template <UnaryFunction N>
struct UnaryMath;

// The types that it takes.
struct Real {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
};
struct Complex {
  template <class T>
  static constexpr bool takes = is_std_complex<T>;
};
struct RealOrComplex {
  template <class T>
  static constexpr bool takes = std::floating_point<T> || is_std_complex<T>;
};

// One formula of x, an element of the type C, for all types.
#define TENON_FORMULA(name, types, formula)       \
  template <>                                     \
  struct UnaryMath<UnaryFunction::name> : types { \
    template <class C>                            \
    static auto Of(C x) {                         \
      return formula;                             \
    }                                             \
  };
// The function of that name in the standard library.
#define TENON_STANDARD(name, types) TENON_FORMULA(name, types, std::name(x))

TENON_STANDARD(exp, RealOrComplex)
TENON_STANDARD(log, RealOrComplex)
TENON_STANDARD(log10, RealOrComplex)
TENON_STANDARD(sin, RealOrComplex)
TENON_STANDARD(cos, RealOrComplex)
TENON_STANDARD(tan, RealOrComplex)
TENON_STANDARD(asin, RealOrComplex)
TENON_STANDARD(acos, RealOrComplex)
TENON_STANDARD(atan, RealOrComplex)
TENON_STANDARD(sinh, RealOrComplex)
TENON_STANDARD(cosh, RealOrComplex)
TENON_STANDARD(tanh, RealOrComplex)
TENON_STANDARD(asinh, RealOrComplex)
TENON_STANDARD(acosh, RealOrComplex)
TENON_STANDARD(atanh, RealOrComplex)
TENON_STANDARD(erf, Real)
TENON_STANDARD(erfc, Real)
TENON_STANDARD(lgamma, Real)
TENON_FORMULA(erfinv, Real, static_cast<C>(inverse_erf(x)))
TENON_FORMULA(digamma, Real, static_cast<C>(digamma(x)))
TENON_FORMULA(sigmoid, RealOrComplex, C(1) / (C(1) + std::exp(-x)))
// These are real in unary_simd.cpp.
TENON_STANDARD(abs, Complex)
TENON_STANDARD(sqrt, Complex)
TENON_FORMULA(reciprocal, Complex, C(1) / x)
TENON_FORMULA(rsqrt, Complex, C(1) / std::sqrt(x))
TENON_FORMULA(sgn, Complex, sign_of(x))

template <>
struct UnaryMath<UnaryFunction::exp2> : RealOrComplex {
  template <class C>
  static C Of(C x) {
    if constexpr (is_std_complex<C>)
      return std::exp(x * std::numbers::ln2_v<typename C::value_type>);
    else
      return std::exp2(x);
  }
};
template <>
struct UnaryMath<UnaryFunction::expm1> : RealOrComplex {
  template <class C>
  static C Of(C x) {
    if constexpr (is_std_complex<C>) {
      using P = typename C::value_type;
      return C(std::expm1(x.real()) * std::cos(x.imag()) -
                   P(2) * std::sin(x.imag() / 2) * std::sin(x.imag() / 2),
               std::exp(x.real()) * std::sin(x.imag()));
    } else {
      return std::expm1(x);
    }
  }
};
template <>
struct UnaryMath<UnaryFunction::log2> : RealOrComplex {
  template <class C>
  static C Of(C x) {
    if constexpr (is_std_complex<C>)
      return std::log(x) / std::numbers::ln2_v<typename C::value_type>;
    else
      return std::log2(x);
  }
};
template <>
struct UnaryMath<UnaryFunction::log1p> : RealOrComplex {
  template <class C>
  static C Of(C x) {
    if constexpr (is_std_complex<C>)
      return C(log_of_one_and(std::complex<double>(x)));
    else
      return std::log1p(x);
  }
};
template <>
struct UnaryMath<UnaryFunction::angle> : RealOrComplex {
  template <class C>
  static auto Of(C x) {
    if constexpr (is_std_complex<C>) {
      return std::arg(x);
    } else {
      if (x != x) return x;
      return x < 0 ? std::numbers::pi_v<C> : C(0);
    }
  }
};

template <UnaryFunction N>
UnaryRow MathRow(DType dtype) {
  static_assert(IsDefined<UnaryMath<N>> == is_in_math(N),
                "the row of the function in TENON_UNARY_FUNCTIONS has another kernel");
  if constexpr (is_in_math(N))
    return RowFor<N, UnaryMath<N>>(dtype);
  else
    return nullptr;
}

}  // namespace

UnaryRow FindMath(UnaryFunction function, DType dtype) {
  switch (function) {
#define TENON_ROW(name, ...) \
  case UnaryFunction::name: return MathRow<UnaryFunction::name>(dtype);
    TENON_UNARY_FUNCTIONS(TENON_ROW)
#undef TENON_ROW
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE

UnaryRow math_unary_row(UnaryFunction function, DType dtype) {
  return HWY_STATIC_DISPATCH(FindMath)(function, dtype);
}

}  // namespace tenon
