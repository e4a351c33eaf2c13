// The exponential of floats, within one unit in the last place, the same on every machine.
#if defined(TENON_KERNELS_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_EXP_INL_H_
#undef TENON_KERNELS_EXP_INL_H_
#else
#define TENON_KERNELS_EXP_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// a * b + c with one rounding, also where the machine cannot.
template <class D, class V>
HWY_INLINE V Fused(D d, V a, V b, V c) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
  HWY_ALIGN float x[HWY_MAX_BYTES / sizeof(float)], y[HWY_MAX_BYTES / sizeof(float)],
      z[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) x[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, x);
#else
  static_cast<void>(d);
  return hn::MulAdd(a, b, c);
#endif
}

// x = k ln 2 + r, e^x = 2^k e^r with |r| at most ln(2) / 2, where eight terms of the series are
// exact enough. 2^k is applied in two steps, so that neither leaves the range of a float when the
// result is subnormal.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V bounded = hn::Min(hn::Max(x, hn::Set(d, -104.0f)), hn::Set(d, 89.0f));
  const V k = hn::Round(hn::Mul(bounded, hn::Set(d, 1.44269504088896341f)));
  V r = Fused(d, k, hn::Set(d, -0x1.62e4p-1f), bounded);
  r = Fused(d, k, hn::Set(d, -0x1.7f7d1cp-20f), r);
  V p = hn::Set(d, 1.0f / 5040);
  p = Fused(d, p, r, hn::Set(d, 1.0f / 720));
  p = Fused(d, p, r, hn::Set(d, 1.0f / 120));
  p = Fused(d, p, r, hn::Set(d, 1.0f / 24));
  p = Fused(d, p, r, hn::Set(d, 1.0f / 6));
  p = Fused(d, p, r, hn::Set(d, 0.5f));
  p = Fused(d, p, r, hn::Set(d, 1.0f));
  p = Fused(d, p, r, hn::Set(d, 1.0f));
  const auto power = hn::ConvertTo(di, k);
  const auto half = hn::ShiftRight<1>(power);
  const auto scale = [&](auto exponent) HWY_ATTR {
    return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(di, 127))));
  };
  const V result = hn::Mul(hn::Mul(p, scale(half)), scale(hn::Sub(power, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#endif
