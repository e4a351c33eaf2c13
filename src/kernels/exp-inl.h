// The exponential of floats, within one unit in the last place, the same on every machine.
#if defined(TENON_KERNELS_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_EXP_INL_H_
#undef TENON_KERNELS_EXP_INL_H_
#else
#define TENON_KERNELS_EXP_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

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
