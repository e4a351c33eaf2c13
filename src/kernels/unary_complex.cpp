// The functions of one complex element.
#include <cmath>
#include <complex>
#include <numbers>

#include "kernels/elementwise_tables.h"
#include "kernels/unary_row-inl.h"

namespace tenon {
namespace HWY_NAMESPACE {
namespace {

template <auto kFunction>
struct Standard {
  template <class T>
  static constexpr bool takes = is_std_complex<T>;
  template <class C>
  static auto Of(C x) {
    return kFunction(x);
  }
};
#define TENON_STANDARD(name) Standard<[](auto x) { return std::name(x); }>
#define TENON_FORMULA(formula)        \
  Standard<[](auto x) {               \
    using C = decltype(x);            \
    using P = typename C::value_type; \
    static_cast<void>(sizeof(P));     \
    return formula;                   \
  }>

template <class C>
C one_over(C x) {
  using P = typename C::value_type;
  return C(P(1)) / x;
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

}  // namespace

UnaryRow FindComplex(UnaryFunction function, DType dtype) {
  switch (function) {
    case UnaryFunction::abs: return RowFor<TENON_STANDARD(abs)>(dtype);
    case UnaryFunction::angle: return RowFor<TENON_STANDARD(arg)>(dtype);
    case UnaryFunction::reciprocal: return RowFor<TENON_FORMULA(one_over(x))>(dtype);
    case UnaryFunction::sqrt: return RowFor<TENON_STANDARD(sqrt)>(dtype);
    case UnaryFunction::rsqrt: return RowFor<TENON_FORMULA(one_over(std::sqrt(x)))>(dtype);
    case UnaryFunction::exp: return RowFor<TENON_STANDARD(exp)>(dtype);
    case UnaryFunction::exp2:
      return RowFor<TENON_FORMULA(std::exp(x * std::numbers::ln2_v<P>))>(dtype);
    case UnaryFunction::expm1:
      return RowFor<TENON_FORMULA(C(std::expm1(x.real()) * std::cos(x.imag()) -
                                        P(2) * std::sin(x.imag() / 2) * std::sin(x.imag() / 2),
                                    std::exp(x.real()) * std::sin(x.imag())))>(dtype);
    case UnaryFunction::log: return RowFor<TENON_STANDARD(log)>(dtype);
    case UnaryFunction::log2:
      return RowFor<TENON_FORMULA(std::log(x) / std::numbers::ln2_v<P>)>(dtype);
    case UnaryFunction::log10: return RowFor<TENON_STANDARD(log10)>(dtype);
    case UnaryFunction::log1p:
      return RowFor<TENON_FORMULA(C(log_of_one_and(std::complex<double>(x))))>(dtype);
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
    case UnaryFunction::sigmoid:
      return RowFor<TENON_FORMULA(one_over(C(P(1)) + std::exp(-x)))>(dtype);
    case UnaryFunction::sgn: return RowFor<TENON_FORMULA(sign_of(x))>(dtype);
    default: return nullptr;
  }
}

}  // namespace HWY_NAMESPACE

UnaryRow complex_unary_row(UnaryFunction function, DType dtype) {
  return HWY_STATIC_DISPATCH(FindComplex)(function, dtype);
}

}  // namespace tenon
