#include "kernels/random_simd.h"

#include <cmath>

#include "kernels/mt19937.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/random_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// ---------------------------------------------------------------- the engine

inline std::uint32_t Twisted(std::uint32_t far, std::uint32_t here, std::uint32_t after) {
  const std::uint32_t y = (here & 0x80000000u) | (after & 0x7fffffffu);
  return far ^ (y >> 1) ^ ((0u - (y & 1u)) & 0x9908b0dfu);
}

// Three stretches, in each of which a word depends on none that is written close before it.
void Twist(std::uint32_t* HWY_RESTRICT words) {
  constexpr int kWords = 624, kFar = 397;
  int i = 0;
  for (; i < kWords - kFar; ++i) words[i] = Twisted(words[i + kFar], words[i], words[i + 1]);
  const hn::ScalableTag<std::uint32_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto top = hn::Set(d, 0x80000000u), low = hn::Set(d, 0x7fffffffu);
  const auto one = hn::Set(d, 1u), zero = hn::Zero(d), matrix = hn::Set(d, 0x9908b0dfu);
  for (; i + lanes < kWords; i += lanes) {
    const auto here = hn::LoadU(d, words + i), after = hn::LoadU(d, words + i + 1);
    const auto y = hn::Or(hn::And(here, top), hn::And(after, low));
    const auto odd = hn::And(hn::Sub(zero, hn::And(y, one)), matrix);
    const auto far = hn::LoadU(d, words + i + kFar - kWords);
    hn::StoreU(hn::Xor(hn::Xor(far, hn::ShiftRight<1>(y)), odd), d, words + i);
  }
  for (; i < kWords - 1; ++i) words[i] = Twisted(words[i + kFar - kWords], words[i], words[i + 1]);
  words[i] = Twisted(words[kFar - 1], words[i], words[0]);
}

void Temper(const std::uint32_t* HWY_RESTRICT words, std::uint32_t* HWY_RESTRICT out,
            std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = Mt19937::tempered(words[i]);
  }
}

// ---------------------------------------------------------------- uniform

void UniformFloats(const std::uint32_t* HWY_RESTRICT outputs, float* HWY_RESTRICT out,
                   std::int64_t n, float from, float to) {
  const float range = to - from;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto x = static_cast<float>(static_cast<std::int32_t>(outputs[i] & 0xffffffu)) * 0x1p-24f;
    const float r = std::fma(x, range, from);
    out[i] = r == to ? from : r;
  }
}

void UniformDoubles(const std::uint32_t* HWY_RESTRICT outputs, double* HWY_RESTRICT out,
                    std::int64_t n, double from, double to) {
  const double range = to - from;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = std::uint64_t{outputs[2 * i]} << 32 | outputs[2 * i + 1];
    const auto x =
        static_cast<double>(static_cast<std::int64_t>(bits & 0x1fffffffffffffu)) * 0x1p-53;
    const double r = std::fma(x, range, from);
    out[i] = r == to ? from : r;
  }
}

// ---------------------------------------------------------------- normal

// Note [Normal numbers round as PyTorch's AVX2 kernel]
// PyTorch draws contiguous float normals with polynomials of the Cephes library in single
// precision, eight at a time, each multiply and add fused where it is fused here. Any other order
// gives other last bits, and so other weights from the same seed.

using DF = hn::CappedTag<float, 8>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;

HWY_INLINE VF Fused(VF a, VF b, VF c) { return Fused(DF(), a, b, c); }
HWY_INLINE VF Constant(float value) { return hn::Set(DF(), value); }

// The natural logarithm for x in (0, 1].
HWY_INLINE VF Log(VF x) {
  const DF d;
  const DI di;
  const VI bits = hn::BitCast(di, hn::Max(x, Constant(0x1p-126f)));
  VF e = hn::ConvertTo(d, hn::Sub(hn::ShiftRight<23>(bits), hn::Set(di, 126)));
  const VF m =
      hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(di, 0x007fffff)), hn::Set(di, 0x3f000000)));
  const auto low = hn::Lt(m, Constant(0.707106781186547524f));
  e = hn::Sub(e, hn::IfThenElseZero(low, Constant(1.0f)));
  const VF t = hn::Add(hn::Sub(m, Constant(1.0f)), hn::IfThenElseZero(low, m));
  const VF z = hn::Mul(t, t);
  VF y = Constant(7.0376836292e-2f);
  for (const float c : {-1.1514610310e-1f, 1.1676998740e-1f, -1.2420140846e-1f, 1.4249322787e-1f,
                        -1.6668057665e-1f, 2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f}) {
    y = Fused(y, t, Constant(c));
  }
  y = hn::Mul(y, t);
  y = Fused(y, z, hn::Mul(e, Constant(-2.12194440e-4f)));
  y = Fused(hn::Neg(z), Constant(0.5f), y);
  return Fused(e, Constant(0.693359375f), hn::Add(t, y));
}

// Sine and cosine for theta >= 0.
HWY_INLINE void SinCos(VF theta, VF& sine, VF& cosine) {
  const DF d;
  const DI di;
  VI j = hn::ConvertTo(di, hn::Mul(theta, Constant(1.27323954473516f)));
  j = hn::And(hn::Add(j, hn::Set(di, 1)), hn::Set(di, ~1));
  const VF f = hn::ConvertTo(d, j);
  VF x = Fused(f, Constant(-0.78515625f), theta);
  x = Fused(f, Constant(-2.4187564849853515625e-4f), x);
  x = Fused(f, Constant(-3.77489497744594108e-8f), x);
  const VF z = hn::Mul(x, x);
  VF c = Fused(Constant(2.443315711809948e-5f), z, Constant(-1.388731625493765e-3f));
  c = Fused(c, z, Constant(4.166664568298827e-2f));
  c = hn::Mul(c, z);
  c = Fused(c, z, hn::Neg(hn::Mul(z, Constant(0.5f))));
  c = hn::Add(c, Constant(1.0f));
  VF s = Fused(Constant(-1.9515295891e-4f), z, Constant(8.3321608736e-3f));
  s = Fused(s, z, Constant(-1.6666654611e-1f));
  s = hn::Mul(s, z);
  s = Fused(s, x, x);
  const auto plain = hn::RebindMask(d, hn::Eq(hn::And(j, hn::Set(di, 2)), hn::Zero(di)));
  const VI four = hn::Set(di, 4);
  const VI sine_sign = hn::ShiftLeft<29>(hn::And(j, four));
  const VI cosine_sign = hn::ShiftLeft<29>(hn::AndNot(hn::Sub(j, hn::Set(di, 2)), four));
  sine = hn::Xor(hn::IfThenElse(plain, s, c), hn::BitCast(d, sine_sign));
  cosine = hn::Xor(hn::IfThenElse(plain, c, s), hn::BitCast(d, cosine_sign));
}

void NormalBlocks(float* data, std::int64_t blocks, float mean, float std) {
  const DF d;
  const VF mean_v = Constant(mean), std_v = Constant(std);
  for (std::int64_t block = 0; block < blocks; ++block, data += 16) {
    for (std::size_t j = 0; j < 8; j += hn::Lanes(d)) {
      const VF u1 = hn::Sub(Constant(1.0f), hn::LoadU(d, data + j));
      const VF u2 = hn::LoadU(d, data + j + 8);
      const VF radius = hn::Sqrt(hn::Mul(Constant(-2.0f), Log(u1)));
      VF sine, cosine;
      SinCos(hn::Mul(Constant(6.2831855f), u2), sine, cosine);
      hn::StoreU(Fused(hn::Mul(radius, cosine), std_v, mean_v), d, data + j);
      hn::StoreU(Fused(hn::Mul(radius, sine), std_v, mean_v), d, data + j + 8);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(Twist);
HWY_EXPORT(Temper);
HWY_EXPORT(UniformFloats);
HWY_EXPORT(UniformDoubles);
HWY_EXPORT(NormalBlocks);

void mt19937_twist(std::uint32_t* words) noexcept { HWY_DYNAMIC_DISPATCH(Twist)(words); }
void mt19937_temper(const std::uint32_t* words, std::uint32_t* out, std::int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(Temper)(words, out, n);
}
void uniform_floats(const std::uint32_t* outputs, float* out, std::int64_t n, float from,
                    float to) noexcept {
  HWY_DYNAMIC_DISPATCH(UniformFloats)(outputs, out, n, from, to);
}
void uniform_doubles(const std::uint32_t* outputs, double* out, std::int64_t n, double from,
                     double to) noexcept {
  HWY_DYNAMIC_DISPATCH(UniformDoubles)(outputs, out, n, from, to);
}
void normal_blocks(float* data, std::int64_t blocks, float mean, float std) noexcept {
  HWY_DYNAMIC_DISPATCH(NormalBlocks)(data, blocks, mean, std);
}

}  // namespace tenon
#endif
