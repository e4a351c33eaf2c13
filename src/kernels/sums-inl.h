// Sums over packed elements, for the instruction set that is being compiled for.
#if defined(TENON_KERNELS_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_SUMS_INL_H_
#undef TENON_KERNELS_SUMS_INL_H_
#else
#define TENON_KERNELS_SUMS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using RowTag = hn::CappedTag<T, 64 / sizeof(T)>;

// As many partial sums on every machine, so that all give the same result; and so few elements in
// each, before they go into a double, that a float loses nothing worth naming.
constexpr std::int64_t kPartialSums = 64, kStretch = 128 * kPartialSums;

template <class T>
struct PartialSums {
  using D = RowTag<T>;
  static constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(D()));
  static constexpr std::int64_t kVectors = kPartialSums / kLanes;
  hn::Vec<D> of[static_cast<std::size_t>(kVectors)];

  HWY_INLINE void Clear() {
    for (auto& sum : of) sum = hn::Zero(D());
  }
  HWY_INLINE T Total() {
    for (std::int64_t half = kVectors / 2; half > 0; half /= 2) {
      for (std::int64_t v = 0; v < half; ++v) of[v] = hn::Add(of[v], of[v + half]);
    }
    HWY_ALIGN T lanes[static_cast<std::size_t>(kLanes)];
    hn::Store(of[0], D(), lanes);
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    }
    return lanes[0];
  }
};

// The sum of n elements. each(d, i) gives as many of them as d has lanes, from i on.
template <class T, class F>
HWY_INLINE double SumOf(std::int64_t n, F&& each) {
  using Sums = PartialSums<T>;
  const RowTag<T> d;
  const hn::CappedTag<T, 1> one;
  double total = 0;
  std::int64_t i = 0;
  while (n - i >= kPartialSums) {
    const std::int64_t end = HWY_MIN(n / kPartialSums * kPartialSums, i + kStretch);
    Sums sums;
    sums.Clear();
    for (; i < end; i += kPartialSums) {
      for (std::int64_t v = 0; v < Sums::kVectors; ++v)
        sums.of[v] = hn::Add(sums.of[v], each(d, i + v * Sums::kLanes));
    }
    total += static_cast<double>(sums.Total());
  }
  for (; i < n; ++i) total += static_cast<double>(hn::GetLane(each(one, i)));
  return total;
}

// Two sums at once: each(d, i, a, b) sets one vector of each.
struct TwoSums {
  double a, b;
};
template <class T, class F>
HWY_INLINE TwoSums SumsOf(std::int64_t n, F&& each) {
  using Sums = PartialSums<T>;
  const RowTag<T> d;
  const hn::CappedTag<T, 1> one;
  TwoSums total{0, 0};
  std::int64_t i = 0;
  while (n - i >= kPartialSums) {
    const std::int64_t end = HWY_MIN(n / kPartialSums * kPartialSums, i + kStretch);
    Sums sums_a, sums_b;
    sums_a.Clear();
    sums_b.Clear();
    for (; i < end; i += kPartialSums) {
      for (std::int64_t v = 0; v < Sums::kVectors; ++v) {
        hn::Vec<RowTag<T>> a, b;
        each(d, i + v * Sums::kLanes, a, b);
        sums_a.of[v] = hn::Add(sums_a.of[v], a);
        sums_b.of[v] = hn::Add(sums_b.of[v], b);
      }
    }
    total.a += static_cast<double>(sums_a.Total());
    total.b += static_cast<double>(sums_b.Total());
  }
  for (; i < n; ++i) {
    hn::Vec<hn::CappedTag<T, 1>> a, b;
    each(one, i, a, b);
    total.a += static_cast<double>(hn::GetLane(a));
    total.b += static_cast<double>(hn::GetLane(b));
  }
  return total;
}

// Calls each(d, i) for vectors that together are n elements.
template <class T, class F>
HWY_INLINE void ForEach(std::int64_t n, F&& each) {
  const RowTag<T> d;
  const hn::CappedTag<T, 1> one;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(RowTag<T>()));
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) each(d, i);
  for (; i < n; ++i) each(one, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#endif
