#include <cmath>
#include <limits>

#include "kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// e^x where nothing is lost if it is 0 for what is too small for a normal float: weights beside one
// that is 1. What would be subnormal is slow.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Weight(D d, V x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), Exp(d, x));
}

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// Calls f(scores, mask) for each vector of a row. The last, if there is not enough for one, is
// filled up, with a mask of -inf.
template <class D, class F>
HWY_INLINE void ForEach(D d, float* scores, std::int64_t n, const float* mask, float filler,
                        F&& f) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(scores + i, mask == nullptr ? nullptr : mask + i);
  if (i == n) return;
  HWY_ALIGN float rest[HWY_MAX_BYTES / sizeof(float)], masks[HWY_MAX_BYTES / sizeof(float)];
  for (std::int64_t j = 0; j < lanes; ++j) {
    rest[j] = i + j < n ? scores[i + j] : filler;
    masks[j] = i + j >= n ? kNothing : mask != nullptr ? mask[i + j] : 0;
  }
  f(rest, masks);
  for (std::int64_t j = 0; i + j < n; ++j) scores[i + j] = rest[j];
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V Score(D d, const float* score, V scale, const float* mask) {
  const V scaled = hn::Mul(hn::LoadU(d, score), scale);
  return mask == nullptr ? scaled : hn::Add(scaled, hn::LoadU(d, mask));
}

float SoftmaxBlock(float* HWY_RESTRICT scores, std::int64_t n, float scale, const float* mask,
                   float& maximum, float& sum) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V by = hn::Set(d, scale);
  V largest = hn::Set(d, maximum);
  ForEach(d, scores, n, mask, 0, [&](float* at, const float* masks) HWY_ATTR {
    const V score = Score(d, at, by, masks);
    hn::StoreU(score, d, at);
    largest = hn::Max(score, largest);
  });
  const float before = maximum;
  maximum = hn::GetLane(hn::MaxOfLanes(d, largest));
  // NaN is in the scores still, and comes out of the exponential.
  const float shift = std::isfinite(maximum) || maximum > 0 ? maximum : 0;
  const V less = hn::Set(d, shift);
  V total = hn::Zero(d);
  ForEach(d, scores, n, nullptr, kNothing, [&](float* at, const float*) HWY_ATTR {
    const V weight = Weight(d, hn::Sub(hn::LoadU(d, at), less));
    hn::StoreU(weight, d, at);
    total = hn::Add(total, weight);
  });
  const float factor = before == maximum ? 1.0f : std::exp(before - shift);
  sum = sum * factor + hn::GetLane(hn::SumOfLanes(d, total));
  return factor;
}

void SoftmaxAgain(float* HWY_RESTRICT scores, std::int64_t n, float scale, const float* mask,
                  float shift) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V by = hn::Set(d, scale), less = hn::Set(d, shift);
  ForEach(d, scores, n, mask, 0, [&](float* at, const float* masks) HWY_ATTR {
    hn::StoreU(Weight(d, hn::Sub(Score(d, at, by, masks), less)), d, at);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(SoftmaxBlock);
HWY_EXPORT(SoftmaxAgain);

float softmax_block(float* scores, std::int64_t n, float scale, const float* mask, float& maximum,
                    float& sum) {
  return HWY_DYNAMIC_DISPATCH(SoftmaxBlock)(scores, n, scale, mask, maximum, sum);
}

void softmax_again(float* scores, std::int64_t n, float scale, const float* mask, float shift) {
  HWY_DYNAMIC_DISPATCH(SoftmaxAgain)(scores, n, scale, mask, shift);
}

double softmax_block(double* scores, std::int64_t n, double scale, const double* mask,
                     double& maximum, double& sum) {
  const double before = maximum;
  for (std::int64_t i = 0; i < n; ++i) {
    scores[i] = scores[i] * scale + (mask == nullptr ? 0 : mask[i]);
    if (scores[i] > maximum) maximum = scores[i];
  }
  const double shift = std::isfinite(maximum) || maximum > 0 ? maximum : 0;
  double total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += scores[i] = std::exp(scores[i] - shift);
  const double factor = before == maximum ? 1.0 : std::exp(before - shift);
  sum = sum * factor + total;
  return factor;
}

void softmax_again(double* scores, std::int64_t n, double scale, const double* mask, double shift) {
  for (std::int64_t i = 0; i < n; ++i)
    scores[i] = std::exp(scores[i] * scale + (mask == nullptr ? 0 : mask[i]) - shift);
}

}  // namespace tenon
#endif
