// Multiply and add with one rounding, on every machine.
#if defined(TENON_KERNELS_FUSED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_FUSED_INL_H_
#undef TENON_KERNELS_FUSED_INL_H_
#else
#define TENON_KERNELS_FUSED_INL_H_
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
#if !HWY_NATIVE_FMA
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

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#endif
