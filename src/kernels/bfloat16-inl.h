// Vectors of bfloat16, as their bits, from and to vectors of float.
#if defined(TENON_KERNELS_BFLOAT16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_BFLOAT16_INL_H_
#undef TENON_KERNELS_BFLOAT16_INL_H_
#else
#define TENON_KERNELS_BFLOAT16_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// D is the tag of the floats. To the nearest, of two the even one; every NaN is 0x7fc0.
template <class D>
HWY_INLINE hn::Vec<hn::Rebind<std::uint16_t, D>> ToBFloat16(D /*d*/, hn::Vec<D> value) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, value);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(di, 1));
  const auto rounded =
      hn::BitCast(hn::RebindToUnsigned<D>(), hn::Add(hn::Add(bits, hn::Set(di, 0x7fff)), odd));
  const auto upper = hn::BitCast(di, hn::ShiftRight<16>(rounded));
  const auto nan = hn::RebindMask(di, hn::IsNaN(value));
  return hn::DemoteTo(hn::Rebind<std::uint16_t, D>(),
                      hn::IfThenElse(nan, hn::Set(di, 0x7fc0), upper));
}
template <class D>
HWY_INLINE hn::Vec<D> FromBFloat16(D d, hn::Vec<hn::Rebind<std::uint16_t, D>> value) {
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), value)));
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#endif
