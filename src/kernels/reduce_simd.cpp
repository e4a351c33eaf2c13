#include "kernels/reduce_simd.h"

#include <cstring>

#include "kernels/streaming.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

// As many partial sums on every machine, so that all give the same result.
constexpr std::int64_t kLanes = 32;

template <class T, bool kAhead>
double SumPieces(const std::byte* HWY_RESTRICT data, std::int64_t n) {
  double lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    T piece[kLanes];
    const std::byte* from = data + i * static_cast<std::int64_t>(sizeof(T));
    for (std::size_t line = 0; line < sizeof piece; line += 64) prefetch<kAhead>(from + line);
    std::memcpy(piece, from, sizeof piece);
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] += static_cast<double>(piece[lane]);
  }
  for (std::int64_t lane = 0; i < n; ++i, ++lane) {
    T element;
    std::memcpy(&element, data + i * static_cast<std::int64_t>(sizeof(T)), sizeof element);
    lanes[lane] += static_cast<double>(element);
  }
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  }
  return lanes[0];
}

template <class T>
double SumOf(const std::byte* data, std::int64_t n) {
  return prefetch_helps() ? SumPieces<T, true>(data, n) : SumPieces<T, false>(data, n);
}

double SumFloats(const std::byte* data, std::int64_t n) { return SumOf<float>(data, n); }
double SumDoubles(const std::byte* data, std::int64_t n) { return SumOf<double>(data, n); }

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(SumFloats);
HWY_EXPORT(SumDoubles);

double sum_floats(const std::byte* data, std::int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(SumFloats)(data, n);
}
double sum_doubles(const std::byte* data, std::int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(SumDoubles)(data, n);
}

}  // namespace tenon
#endif
