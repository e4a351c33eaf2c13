// Functions of vectors of float and double. Floats are calculated in vectors; doubles one by one,
// by the standard library.
#if defined(TENON_KERNELS_VECTOR_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_VECTOR_MATH_INL_H_
#undef TENON_KERNELS_VECTOR_MATH_INL_H_
#else
#define TENON_KERNELS_VECTOR_MATH_INL_H_
#endif

#include <cmath>
#include <concepts>
#include <numbers>

#include "hwy/highway.h"
#include "kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D>
inline constexpr bool kOfFloats = std::same_as<hn::TFromD<D>, float>;

template <class D>
HWY_INLINE hn::Vec<D> Number(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

// f of every element.
template <class D, class V, class F>
HWY_INLINE V Each(D d, V x, F&& f) {
  HWY_ALIGN hn::TFromD<D> lanes[HWY_MAX_BYTES / sizeof(hn::TFromD<D>)];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = f(lanes[i]);
  return hn::Load(d, lanes);
}

template <class D, class V>
HWY_INLINE V ExpOf(D d, V x) {
  if constexpr (kOfFloats<D>)
    return Exp(d, x);
  else
    return Each(d, x, [](double lane) { return std::exp(lane); });
}

// Of what is not above zero. Near it the difference from one is a series, of which seven terms are
// exact enough.
template <class D, class V>
HWY_INLINE V Expm1OfNegative(D d, V x) {
  if constexpr (kOfFloats<D>) {
    V p = hn::Set(d, 1.0f / 5040);
    for (const float c : {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f})
      p = hn::MulAdd(p, x, hn::Set(d, c));
    const V far = hn::Sub(Exp(d, x), hn::Set(d, 1.0f));
    return hn::IfThenElse(hn::Gt(x, hn::Set(d, -0.35f)), hn::Mul(p, x), far);
  } else {
    return Each(d, x, [](double lane) { return std::expm1(lane); });
  }
}

template <class D, class V>
HWY_INLINE V Log1pOf(D d, V x) {
  return Each(d, x, [](auto lane) { return std::log1p(lane); });
}

template <class D, class V>
HWY_INLINE V SigmoidOf(D d, V x) {
  const V one = Number(d, 1);
  return hn::Div(one, hn::Add(one, ExpOf(d, hn::Neg(x))));
}

// The normal distribution: how much of it lies below x, and its density there.
template <class V>
struct Normal {
  V below, density;
};
template <class D, class V = hn::Vec<D>>
HWY_INLINE Normal<V> NormalOf(D d, V x) {
  const V one = Number(d, 1), half = Number(d, 0.5);
  constexpr double kDensity = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  if constexpr (kOfFloats<D>) {
    // The smaller tail is e^(-x^2 / 2) times a polynomial of 1 / (1 + 0.35 |x| / sqrt(2)), fitted
    // to within 1e-8. Beyond 14 all of it is below what a float can hold.
    const V z = hn::Min(hn::Abs(x), hn::Set(d, 14.0f));
    const V square = hn::Mul(z, z);
    const V rest = Fused(d, z, z, hn::Neg(square));  // what rounding took from the square
    const V e = Exp(d, hn::Neg(hn::Mul(square, half)));
    const V bell = hn::Mul(e, hn::Sub(one, hn::Mul(rest, half)));
    const V t = hn::Div(one, hn::MulAdd(z, hn::Set(d, 0.24748737341f), one));
    V p = hn::Set(d, 0.01858208328485489f);
    for (const float c : {-0.07620973885059357f, 0.08334606140851974f, -0.004394921008497477f,
                          0.03599564731121063f, 0.07684971392154694f, 0.07434539496898651f,
                          0.09420128911733627f, 0.0985412672162056f, 0.09874320775270462f})
      p = hn::MulAdd(p, t, hn::Set(d, c));
    const V tail = hn::Mul(bell, hn::Mul(p, t));
    const V below = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(one, tail));
    return {below, hn::Mul(bell, Number(d, kDensity))};
  } else {
    const V below = hn::Mul(
        half, Each(d, x, [](double lane) { return std::erfc(-lane / std::numbers::sqrt2); }));
    const V bell = ExpOf(d, hn::Neg(hn::Mul(hn::Mul(x, x), half)));
    return {below, hn::Mul(bell, Number(d, kDensity))};
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#endif
