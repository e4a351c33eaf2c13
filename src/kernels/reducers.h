// What is kept while elements are reduced, and how it changes. A reducer has
//   Acc               what is kept
//   start()           before the first element
//   step(acc, x, i)   one more element, which is the i-th
//   merge(acc, more)  what two stretches make, the first before the second
//   result(acc)       at the end
#pragma once

#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/element_cast.h"
#include "kernels/reduce.h"

namespace tenon::reducers {

// What sums and products of elements of T are carried in.
template <class T>
using Wide =
    std::conditional_t<std::integral<T>, std::uint64_t,
                       std::conditional_t<is_complex_type<T>, std::complex<double>, double>>;
// What elements of T are compared in.
template <class T>
using Plain = std::conditional_t<is_small_float<T>, float, T>;

template <class T>
struct Sum {
  using Acc = Wide<T>;
  explicit Sum(const ReduceParameters& /*parameters*/) {}
  Acc start() const { return Acc(0); }
  void step(Acc& acc, T x, std::int64_t /*i*/) const { acc += convert<Acc>(x); }
  void merge(Acc& acc, Acc more) const { acc += more; }
  auto result(Acc acc) const {
    if constexpr (std::integral<T>)
      return static_cast<std::int64_t>(acc);
    else
      return acc;
  }
};

template <class T>
struct Mean {
  struct Acc {
    Wide<T> sum;
    std::int64_t count;
  };
  explicit Mean(const ReduceParameters& /*parameters*/) {}
  Acc start() const { return {Wide<T>(0), 0}; }
  void step(Acc& acc, T x, std::int64_t /*i*/) const {
    acc.sum += convert<Wide<T>>(x);
    ++acc.count;
  }
  void merge(Acc& acc, Acc more) const {
    acc.sum += more.sum;
    acc.count += more.count;
  }
  auto result(Acc acc) const { return acc.sum / static_cast<double>(acc.count); }
};

template <class T>
struct Prod {
  using Acc = Wide<T>;
  explicit Prod(const ReduceParameters& /*parameters*/) {}
  Acc start() const { return Acc(1); }
  void step(Acc& acc, T x, std::int64_t /*i*/) const { merge(acc, convert<Acc>(x)); }
  void merge(Acc& acc, Acc more) const {
    if constexpr (is_std_complex<Acc>) {
      acc = {acc.real() * more.real() - acc.imag() * more.imag(),
             acc.real() * more.imag() + acc.imag() * more.real()};
    } else {
      acc *= more;
    }
  }
  auto result(Acc acc) const {
    if constexpr (std::integral<T>)
      return static_cast<std::int64_t>(acc);
    else
      return acc;
  }
};

// Whether a takes the place of b, which came before. NaN is larger and smaller than every number.
template <bool kLargest, class P>
bool beats(P a, P b) {
  if constexpr (std::floating_point<P>) {
    if (a != a) return b == b;
    if (b != b) return false;
  }
  return kLargest ? a > b : a < b;
}

template <class T, bool kLargest>
struct Extreme {
  struct Acc {
    Plain<T> value;
    bool any;
  };
  explicit Extreme(const ReduceParameters& /*parameters*/) {}
  Acc start() const { return {Plain<T>(), false}; }
  void step(Acc& acc, T x, std::int64_t /*i*/) const {
    merge(acc, {static_cast<Plain<T>>(x), true});
  }
  void merge(Acc& acc, Acc more) const {
    if (!acc.any || (more.any && beats<kLargest>(more.value, acc.value))) acc = more;
  }
  auto result(Acc acc) const { return acc.value; }
};

template <class T, bool kLargest>
struct Where {
  struct Acc {
    Plain<T> value;
    std::int64_t index;  // below 0: nothing yet
  };
  explicit Where(const ReduceParameters& /*parameters*/) {}
  Acc start() const { return {Plain<T>(), -1}; }
  void step(Acc& acc, T x, std::int64_t i) const { merge(acc, {static_cast<Plain<T>>(x), i}); }
  void merge(Acc& acc, Acc more) const {
    if (acc.index < 0 || (more.index >= 0 && beats<kLargest>(more.value, acc.value))) acc = more;
  }
  std::int64_t result(Acc acc) const { return acc.index; }
};

template <class T>
bool truth(T x) {
  if constexpr (std::same_as<T, ComplexHalf>)
    return float(x.real) != 0 || float(x.imag) != 0;
  else if constexpr (is_small_float<T>)
    return float(x) != 0;
  else
    return x != T(0);
}

template <class T, bool kAll>
struct Truth {
  using Acc = bool;
  explicit Truth(const ReduceParameters& /*parameters*/) {}
  Acc start() const { return kAll; }
  void step(Acc& acc, T x, std::int64_t /*i*/) const { merge(acc, truth(x)); }
  void merge(Acc& acc, Acc more) const { acc = kAll ? acc && more : acc || more; }
  bool result(Acc acc) const { return acc; }
};

template <class T>
struct CountTrue {
  using Acc = std::int64_t;
  explicit CountTrue(const ReduceParameters& /*parameters*/) {}
  Acc start() const { return 0; }
  void step(Acc& acc, T x, std::int64_t /*i*/) const { acc += truth(x) ? 1 : 0; }
  void merge(Acc& acc, Acc more) const { acc += more; }
  std::int64_t result(Acc acc) const { return acc; }
};

// Welford's: the mean so far, and the sum of squared distances from it.
template <class T>
struct Var {
  struct Acc {
    Wide<T> mean;
    double squares, count;
  };
  double correction;
  explicit Var(const ReduceParameters& parameters) : correction(parameters.correction) {}
  Acc start() const { return {Wide<T>(0), 0, 0}; }
  static double product(Wide<T> a, Wide<T> b) {
    if constexpr (is_complex_type<T>)
      return a.real() * b.real() + a.imag() * b.imag();
    else
      return a * b;
  }
  void step(Acc& acc, T x, std::int64_t /*i*/) const {
    const auto value = convert<Wide<T>>(x);
    const auto before = value - acc.mean;
    acc.count += 1;
    acc.mean += before / acc.count;
    acc.squares += product(before, value - acc.mean);
  }
  void merge(Acc& acc, const Acc& more) const {
    if (more.count == 0) return;
    if (acc.count == 0) {
      acc = more;
      return;
    }
    const auto apart = more.mean - acc.mean;
    const double count = acc.count + more.count;
    acc.mean += apart * (more.count / count);
    acc.squares += more.squares + product(apart, apart) * (acc.count * more.count / count);
    acc.count = count;
  }
  double result(const Acc& acc) const {
    const double divisor = std::fmax(acc.count - correction, 0.0);
    return acc.squares / divisor;
  }
};

template <class T>
struct Norm {
  using Acc = double;
  double p;
  explicit Norm(const ReduceParameters& parameters) : p(parameters.p) {}
  static double size(T x) {
    if constexpr (is_complex_type<T>)
      return std::abs(convert<std::complex<double>>(x));
    else
      return std::fabs(convert<double>(x));
  }
  Acc start() const { return p == -std::numeric_limits<double>::infinity() ? HUGE_VAL : 0.0; }
  void step(Acc& acc, T x, std::int64_t /*i*/) const {
    const double s = size(x);
    if (p == 2)
      acc += s * s;
    else if (p == 1)
      acc += s;
    else if (p == 0)
      acc += s != 0 ? 1 : 0;
    else if (std::isinf(p))
      pick(acc, s);
    else
      acc += std::pow(s, p);
  }
  void merge(Acc& acc, Acc more) const {
    if (std::isinf(p))
      pick(acc, more);
    else
      acc += more;
  }
  void pick(Acc& acc, double s) const {
    if (s != s || (p > 0 ? s > acc : s < acc)) acc = acc != acc ? acc : s;
  }
  double result(Acc acc) const {
    if (p == 2) return std::sqrt(acc);
    if (p == 1 || p == 0 || std::isinf(p)) return acc;
    return std::pow(acc, 1 / p);
  }
};

}  // namespace tenon::reducers
