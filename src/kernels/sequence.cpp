#include "kernels/sequence.h"

#include <cmath>
#include <concepts>
#include <type_traits>

#include "base/element_cast.h"

namespace tenon {

namespace {

// Note [Sequences round as PyTorch's vectors do]
// PyTorch works on 32 bytes at a time and, of those, on pairs. In the part of a sequence that fills
// whole pairs, the first element of each vector is calculated and rounded, and the others from it;
// the rest are calculated one by one. The small floating types do this in float, float itself in
// double. Multiply and add are fused, except inside a vector of bfloat16.
template <class T>
using StepType = std::conditional_t<is_small_float<T>, float, double>;

template <class T>
T alone(StepType<T> start, StepType<T> step, std::int64_t i) {
  return convert<T>(std::fma(step, static_cast<StepType<T>>(i), start));
}

template <class T>
T in_vector(StepType<T> base, StepType<T> step, std::int64_t i) {
  if constexpr (std::same_as<T, BFloat16>) return convert<T>(base + step * static_cast<float>(i));
  return alone<T>(base, step, i);
}

// One operation at a time, each rounded to T, for types that have no fused multiply and add.
template <class T>
T small_linspace(T origin, T step, std::int64_t i, bool forward) {
  const T way = T(float(step) * float(T(static_cast<float>(i))));
  return T(forward ? float(origin) + float(way) : float(origin) - float(way));
}

}  // namespace

template <class T>
void fill_arange(T* out, std::int64_t n, double start, double step) {
  if constexpr (std::integral<T>) {
    const T first = convert<T>(start), by = convert<T>(step);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto offset =
          static_cast<std::uint64_t>(by) * static_cast<std::uint64_t>(i);  // wraps, like the type
      out[i] = static_cast<T>(static_cast<std::uint64_t>(first) + offset);
    }
  } else {
    constexpr std::int64_t kVector = 32 / sizeof(T);
    const auto first = static_cast<StepType<T>>(start), by = static_cast<StepType<T>>(step);
    const std::int64_t in_vectors = n - n % (2 * kVector);
    for (std::int64_t i = 0; i < in_vectors; i += kVector) {
      const auto base = static_cast<StepType<T>>(alone<T>(first, by, i));
      for (std::int64_t k = 0; k < kVector; ++k) out[i + k] = in_vector<T>(base, by, k);
    }
    for (std::int64_t i = in_vectors; i < n; ++i) out[i] = alone<T>(first, by, i);
  }
}

void fill_arange(std::int64_t* out, std::int64_t n, std::int64_t start, std::int64_t step) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(start) +
                                  static_cast<std::uint64_t>(step) * static_cast<std::uint64_t>(i));
  }
}

template <class T>
void fill_linspace(T* out, std::int64_t n, std::complex<double> start, std::complex<double> end) {
  // From both ends to the middle, so that both are exact.
  const std::int64_t half = n / 2, steps = n - 1;
  const auto fill = [&](auto&& forward, auto&& backward) {
    for (std::int64_t i = 0; i < half; ++i) out[i] = forward(i);
    for (std::int64_t i = half; i < n; ++i) out[i] = backward(n - 1 - i);
  };
  if (n == 1) {
    out[0] = convert<T>(start);
  } else if constexpr (std::integral<T>) {
    const T a = convert<T>(start.real()), b = convert<T>(end.real());
    const auto from = static_cast<double>(a), to = static_cast<double>(b);
    const double step = (to - from) / static_cast<double>(steps);
    fill([&](std::int64_t i) { return convert<T>(std::fma(step, static_cast<double>(i), from)); },
         [&](std::int64_t i) { return convert<T>(std::fma(-step, static_cast<double>(i), to)); });
  } else if constexpr (std::floating_point<T>) {
    const T a = convert<T>(start.real()), b = convert<T>(end.real());
    const T step = (b - a) / static_cast<T>(steps);
    fill([&](std::int64_t i) { return std::fma(step, static_cast<T>(i), a); },
         [&](std::int64_t i) { return std::fma(-step, static_cast<T>(i), b); });
  } else if constexpr (is_std_complex<T>) {
    using Part = typename T::value_type;
    const T a = convert<T>(start), b = convert<T>(end);
    const T step = (b - a) / static_cast<Part>(steps);
    const auto along = [](T from, T by, Part i) {
      return T(std::fma(by.real(), i, from.real()), std::fma(by.imag(), i, from.imag()));
    };
    fill([&](std::int64_t i) { return along(a, step, static_cast<Part>(i)); },
         [&](std::int64_t i) { return along(b, -step, static_cast<Part>(i)); });
  } else {
    const T a = convert<T>(start.real()), b = convert<T>(end.real());
    const T step = T(float(T(float(b) - float(a))) / static_cast<float>(steps));
    fill([&](std::int64_t i) { return small_linspace(a, step, i, true); },
         [&](std::int64_t i) { return small_linspace(b, step, i, false); });
  }
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type
#define TENON_SEQUENCES(type)                                                  \
  template void fill_arange<type>(type*, std::int64_t, double, double);        \
  template void fill_linspace<type>(type*, std::int64_t, std::complex<double>, \
                                    std::complex<double>);
TENON_SEQUENCES(double)
TENON_SEQUENCES(float)
TENON_SEQUENCES(Half)
TENON_SEQUENCES(BFloat16)
TENON_SEQUENCES(std::int64_t)
TENON_SEQUENCES(std::int32_t)
TENON_SEQUENCES(std::int16_t)
TENON_SEQUENCES(std::int8_t)
TENON_SEQUENCES(std::uint64_t)
TENON_SEQUENCES(std::uint32_t)
TENON_SEQUENCES(std::uint16_t)
TENON_SEQUENCES(std::uint8_t)
#undef TENON_SEQUENCES
// NOLINTEND(bugprone-macro-parentheses)
template void fill_linspace<std::complex<float>>(std::complex<float>*, std::int64_t,
                                                 std::complex<double>, std::complex<double>);
template void fill_linspace<std::complex<double>>(std::complex<double>*, std::int64_t,
                                                  std::complex<double>, std::complex<double>);

}  // namespace tenon
