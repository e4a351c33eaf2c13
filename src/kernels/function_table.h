// The columns `result` and `kernel` of the tables of functions (tenon/detail/function_names.h), for
// use at compile time and at run time.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenon/detail/function_names.h"

namespace tenon {

enum class FunctionResult : std::uint8_t { same, number, real, floating, real_floating, boolean };
enum class FunctionKernel : std::uint8_t { simd, math, both, swapped };
struct FunctionTraits {
  FunctionResult result;
  FunctionKernel kernel;
};

#define TENON_ROW(name, node, result, kernel, ...) {FunctionResult::result, FunctionKernel::kernel},
inline constexpr FunctionTraits kUnaryTraits[] = {TENON_UNARY_FUNCTIONS(TENON_ROW)};
inline constexpr FunctionTraits kBinaryTraits[] = {TENON_BINARY_FUNCTIONS(TENON_ROW)};
#undef TENON_ROW

constexpr FunctionTraits traits_of(UnaryFunction function) {
  return kUnaryTraits[static_cast<std::size_t>(function)];
}
constexpr FunctionTraits traits_of(BinaryFunction function) {
  return kBinaryTraits[static_cast<std::size_t>(function)];
}

// Whether the result is bool for all operands.
template <class Function>
constexpr bool answers(Function function) {
  return traits_of(function).result == FunctionResult::boolean;
}
// Whether bools and whole numbers have a floating result.
template <class Function>
constexpr bool makes_floating(Function function) {
  const FunctionResult result = traits_of(function).result;
  return result == FunctionResult::floating || result == FunctionResult::real_floating;
}
// Whether complex numbers have a real result.
template <class Function>
constexpr bool makes_real(Function function) {
  const FunctionResult result = traits_of(function).result;
  return result == FunctionResult::real || result == FunctionResult::real_floating;
}

// Whether unary_simd.cpp or binary_simd.cpp has a formula of the function, and whether
// unary_math.cpp or binary_math.cpp has one.
template <class Function>
constexpr bool is_in_simd(Function function) {
  const FunctionKernel kernel = traits_of(function).kernel;
  return kernel == FunctionKernel::simd || kernel == FunctionKernel::both;
}
template <class Function>
constexpr bool is_in_math(Function function) {
  const FunctionKernel kernel = traits_of(function).kernel;
  return kernel == FunctionKernel::math || kernel == FunctionKernel::both;
}

// The type of the result for elements of T, as the row of the function states it.
template <class T>
struct RealPart {
  using Type = T;
};
template <class P>
struct RealPart<std::complex<P>> {
  using Type = P;
};
template <auto kFunction, class T>
using ResultElement =
    std::conditional_t<answers(kFunction), bool,
                       std::conditional_t<makes_real(kFunction), typename RealPart<T>::Type, T>>;

// Whether a template is specialized for a function.
template <class Formula>
concept IsDefined = requires { sizeof(Formula); };

}  // namespace tenon
