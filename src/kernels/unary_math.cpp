// The functions of one real element that take more than a few instructions.
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/elementwise_tables.h"
#include "kernels/unary_row-inl.h"

namespace tenon {
namespace HWY_NAMESPACE {
namespace {

// A function of the standard library, for the floating types.
template <auto kFunction>
struct Standard {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
  template <class C>
  static C Of(C x) {
    return kFunction(x);
  }
};
#define TENON_STANDARD(name) Standard<[](auto x) { return std::name(x); }>

struct Sigmoid {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
  template <class C>
  static C Of(C x) {
    return C(1) / (C(1) + std::exp(-x));
  }
};

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
struct Erfinv {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
  template <class C>
  static C Of(C y) {
    return static_cast<C>(inverse_erf(y));
  }
};

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
struct Digamma {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
  template <class C>
  static C Of(C x) {
    return static_cast<C>(digamma(x));
  }
};
struct Angle {
  template <class T>
  static constexpr bool takes = std::floating_point<T>;
  template <class C>
  static C Of(C x) {
    if (x != x) return x;
    return x < 0 ? std::numbers::pi_v<C> : C(0);
  }
};

}  // namespace

UnaryRow FindMath(UnaryFunction function, DType dtype) {
  switch (function) {
    case UnaryFunction::exp: return RowFor<TENON_STANDARD(exp)>(dtype);
    case UnaryFunction::exp2: return RowFor<TENON_STANDARD(exp2)>(dtype);
    case UnaryFunction::expm1: return RowFor<TENON_STANDARD(expm1)>(dtype);
    case UnaryFunction::log: return RowFor<TENON_STANDARD(log)>(dtype);
    case UnaryFunction::log2: return RowFor<TENON_STANDARD(log2)>(dtype);
    case UnaryFunction::log10: return RowFor<TENON_STANDARD(log10)>(dtype);
    case UnaryFunction::log1p: return RowFor<TENON_STANDARD(log1p)>(dtype);
    case UnaryFunction::sin: return RowFor<TENON_STANDARD(sin)>(dtype);
    case UnaryFunction::cos: return RowFor<TENON_STANDARD(cos)>(dtype);
    case UnaryFunction::tan: return RowFor<TENON_STANDARD(tan)>(dtype);
    case UnaryFunction::asin: return RowFor<TENON_STANDARD(asin)>(dtype);
    case UnaryFunction::acos: return RowFor<TENON_STANDARD(acos)>(dtype);
    case UnaryFunction::atan: return RowFor<TENON_STANDARD(atan)>(dtype);
    case UnaryFunction::sinh: return RowFor<TENON_STANDARD(sinh)>(dtype);
    case UnaryFunction::cosh: return RowFor<TENON_STANDARD(cosh)>(dtype);
    case UnaryFunction::tanh: return RowFor<TENON_STANDARD(tanh)>(dtype);
    case UnaryFunction::asinh: return RowFor<TENON_STANDARD(asinh)>(dtype);
    case UnaryFunction::acosh: return RowFor<TENON_STANDARD(acosh)>(dtype);
    case UnaryFunction::atanh: return RowFor<TENON_STANDARD(atanh)>(dtype);
    case UnaryFunction::sigmoid: return RowFor<Sigmoid>(dtype);
    case UnaryFunction::erf: return RowFor<TENON_STANDARD(erf)>(dtype);
    case UnaryFunction::erfc: return RowFor<TENON_STANDARD(erfc)>(dtype);
    case UnaryFunction::erfinv: return RowFor<Erfinv>(dtype);
    case UnaryFunction::lgamma: return RowFor<TENON_STANDARD(lgamma)>(dtype);
    case UnaryFunction::digamma: return RowFor<Digamma>(dtype);
    case UnaryFunction::angle: return RowFor<Angle>(dtype);
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE

UnaryRow math_unary_row(UnaryFunction function, DType dtype) {
  return HWY_STATIC_DISPATCH(FindMath)(function, dtype);
}

}  // namespace tenon
