// Rows of elements, a vector at a time.
#if defined(TENON_KERNELS_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENON_KERNELS_ROW_INL_H_
#undef TENON_KERNELS_ROW_INL_H_
#else
#define TENON_KERNELS_ROW_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// f(tag, i) for all elements of a row: whole vectors, then one by one.
template <class T, class F>
HWY_INLINE void ForRow(std::int64_t n, F&& f) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  for (; i < n; ++i) f(one, i);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#endif
