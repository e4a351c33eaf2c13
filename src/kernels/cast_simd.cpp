#include "kernels/cast_simd.h"

#include <bit>
#include <cstring>

#include "kernels/streaming.h"
#include "tenon/detail/half.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cast_simd.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/bfloat16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using DU16 = hn::Rebind<std::uint16_t, DF>;  // as many 16-bit lanes as there are floats
using DU16x2 = hn::Twice<DU16>;
using VF = hn::Vec<DF>;
using V16 = hn::Vec<DU16>;

HWY_INLINE V16 NarrowToBFloat16(VF value) { return ToBFloat16(DF(), value); }
HWY_INLINE VF WidenBFloat16(V16 value) { return FromBFloat16(DF(), value); }
HWY_INLINE V16 ToHalf(VF value) {
  return hn::BitCast(DU16(), hn::DemoteTo(hn::Rebind<hwy::float16_t, DF>(), value));
}
HWY_INLINE VF FromHalf(V16 value) {
  return hn::PromoteTo(DF(), hn::BitCast(hn::Rebind<hwy::float16_t, DF>(), value));
}

// Elements until dst is aligned as streaming stores want it.
template <class T>
std::int64_t Unaligned(const T* dst) {
  const auto past = reinterpret_cast<std::uintptr_t>(dst) % 64;
  return past == 0 ? 0 : static_cast<std::int64_t>((64 - past) / sizeof(T));
}

// Four places at once: more of memory's answers are under way than one row of addresses asks for.
template <V16 (*kConvert)(VF), bool kAhead>
void Quarters(const float* HWY_RESTRICT src, std::uint16_t* HWY_RESTRICT dst,
              std::int64_t quarter) {
  const DF d;
  const DU16x2 d16;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < quarter; i += 2 * lanes) {
    for (std::int64_t at = i; at < i + 4 * quarter; at += quarter) {
      prefetch<kAhead>(src + at);
      prefetch<kAhead>(src + at + lanes);
      const V16 low = kConvert(hn::LoadU(d, src + at));
      const V16 high = kConvert(hn::LoadU(d, src + at + lanes));
      hn::Stream(hn::Combine(d16, high, low), d16, dst + at);
    }
  }
}

template <class Narrow, V16 (*kConvert)(VF)>
void Narrowing(const void* from, void* to, std::int64_t n, bool stream) {
  const auto* HWY_RESTRICT src = static_cast<const float*>(from);
  auto* HWY_RESTRICT dst = static_cast<std::uint16_t*>(to);
  const DF d;
  const DU16x2 d16;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  if (stream) {
    for (const std::int64_t head = HWY_MIN(n, Unaligned(dst)); i < head; ++i)
      dst[i] = Narrow(src[i]).bits;
    const std::int64_t quarter = (n - i) / 4 / 64 * 64;
    if (prefetch_helps())
      Quarters<kConvert, true>(src + i, dst + i, quarter);
    else
      Quarters<kConvert, false>(src + i, dst + i, quarter);
    i += 4 * quarter;
    hwy::FlushStream();
  }
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const V16 low = kConvert(hn::LoadU(d, src + i)), high = kConvert(hn::LoadU(d, src + i + lanes));
    hn::StoreU(hn::Combine(d16, high, low), d16, dst + i);
  }
  for (; i < n; ++i) dst[i] = Narrow(src[i]).bits;
}

template <class Narrow, VF (*kConvert)(V16)>
void Widening(const void* from, void* to, std::int64_t n, bool stream) {
  const auto* HWY_RESTRICT src = static_cast<const std::uint16_t*>(from);
  auto* HWY_RESTRICT dst = static_cast<float*>(to);
  const DF d;
  const DU16 d16;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  if (stream) {
    for (const std::int64_t head = HWY_MIN(n, Unaligned(dst)); i < head; ++i)
      dst[i] = Narrow::from_bits(src[i]);
    for (; i + lanes <= n; i += lanes) hn::Stream(kConvert(hn::LoadU(d16, src + i)), d, dst + i);
    hwy::FlushStream();
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(kConvert(hn::LoadU(d16, src + i)), d, dst + i);
  for (; i < n; ++i) dst[i] = Narrow::from_bits(src[i]);
}

void FloatToBFloat16(const void* src, void* dst, std::int64_t n, bool stream) {
  Narrowing<BFloat16, NarrowToBFloat16>(src, dst, n, stream);
}
void FloatToHalf(const void* src, void* dst, std::int64_t n, bool stream) {
  Narrowing<Half, ToHalf>(src, dst, n, stream);
}
void BFloat16ToFloat(const void* src, void* dst, std::int64_t n, bool stream) {
  Widening<BFloat16, WidenBFloat16>(src, dst, n, stream);
}
void HalfToFloat(const void* src, void* dst, std::int64_t n, bool stream) {
  Widening<Half, FromHalf>(src, dst, n, stream);
}

#else

template <class Narrow>
void Narrowing(const void* from, void* to, std::int64_t n) {
  const auto* src = static_cast<const float*>(from);
  auto* dst = static_cast<Narrow*>(to);
  for (std::int64_t i = 0; i < n; ++i) dst[i] = Narrow(src[i]);
}
template <class Narrow>
void Widening(const void* from, void* to, std::int64_t n) {
  const auto* src = static_cast<const Narrow*>(from);
  auto* dst = static_cast<float*>(to);
  for (std::int64_t i = 0; i < n; ++i) dst[i] = src[i];
}
void FloatToBFloat16(const void* src, void* dst, std::int64_t n, bool /*stream*/) {
  Narrowing<BFloat16>(src, dst, n);
}
void FloatToHalf(const void* src, void* dst, std::int64_t n, bool /*stream*/) {
  Narrowing<Half>(src, dst, n);
}
void BFloat16ToFloat(const void* src, void* dst, std::int64_t n, bool /*stream*/) {
  Widening<BFloat16>(src, dst, n);
}
void HalfToFloat(const void* src, void* dst, std::int64_t n, bool /*stream*/) {
  Widening<Half>(src, dst, n);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(FloatToBFloat16);
HWY_EXPORT(FloatToHalf);
HWY_EXPORT(BFloat16ToFloat);
HWY_EXPORT(HalfToFloat);

PackedCast packed_cast(DType dst, DType src) {
  if (src == float32 && dst == bfloat16) return HWY_DYNAMIC_DISPATCH(FloatToBFloat16);
  if (src == float32 && dst == float16) return HWY_DYNAMIC_DISPATCH(FloatToHalf);
  if (src == bfloat16 && dst == float32) return HWY_DYNAMIC_DISPATCH(BFloat16ToFloat);
  if (src == float16 && dst == float32) return HWY_DYNAMIC_DISPATCH(HalfToFloat);
  return nullptr;
}

}  // namespace tenon
#endif
