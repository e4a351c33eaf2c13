#include "kernels/normalize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize_planes_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
double PlaneSum(const T* HWY_RESTRICT x, std::int64_t n) {
  return SumOf<T>(n, [=](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); });
}

template <class T>
double PlaneSquares(const T* HWY_RESTRICT x, std::int64_t n, T mean) {
  return SumOf<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    return hn::Mul(distance, distance);
  });
}

template <class T>
void PlaneScale(const T* HWY_RESTRICT x, T* HWY_RESTRICT out, std::int64_t n, T mean, T scale,
                T shift) {
  ForEach<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    hn::StoreU(hn::Add(hn::Mul(distance, hn::Set(d, scale)), hn::Set(d, shift)), d, out + i);
  });
}

template <class T>
GradientSums PlaneGradientSums(const T* HWY_RESTRICT x, const T* HWY_RESTRICT grad, std::int64_t n,
                               T mean) {
  const TwoSums sums = SumsOf<T>(n, [=](auto d, std::int64_t i, auto& a, auto& b) HWY_ATTR {
    a = hn::LoadU(d, grad + i);
    b = hn::Mul(a, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)));
  });
  return {sums.a, sums.b};
}

template <class T>
void PlaneGradient(const T* HWY_RESTRICT x, const T* HWY_RESTRICT grad, T* HWY_RESTRICT out,
                   std::int64_t n, const NormGradient<T>& by) {
  const NormGradient<T> own = by;
  ForEach<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, own.mean));
    const auto rest = hn::Add(hn::Mul(distance, hn::Set(d, own.slope)), hn::Set(d, own.shift));
    hn::StoreU(hn::Add(hn::Mul(hn::LoadU(d, grad + i), hn::Set(d, own.scale)), rest), d, out + i);
  });
}

double PlaneSumFloats(const float* x, std::int64_t n) { return PlaneSum<float>(x, n); }
double PlaneSumDoubles(const double* x, std::int64_t n) { return PlaneSum<double>(x, n); }
double PlaneSquaresFloats(const float* x, std::int64_t n, float mean) {
  return PlaneSquares<float>(x, n, mean);
}
double PlaneSquaresDoubles(const double* x, std::int64_t n, double mean) {
  return PlaneSquares<double>(x, n, mean);
}
void PlaneScaleFloats(const float* x, float* out, std::int64_t n, float mean, float scale,
                      float shift) {
  return PlaneScale<float>(x, out, n, mean, scale, shift);
}
void PlaneScaleDoubles(const double* x, double* out, std::int64_t n, double mean, double scale,
                       double shift) {
  return PlaneScale<double>(x, out, n, mean, scale, shift);
}
GradientSums PlaneGradientSumsFloats(const float* x, const float* grad, std::int64_t n,
                                     float mean) {
  return PlaneGradientSums<float>(x, grad, n, mean);
}
GradientSums PlaneGradientSumsDoubles(const double* x, const double* grad, std::int64_t n,
                                      double mean) {
  return PlaneGradientSums<double>(x, grad, n, mean);
}
void PlaneGradientFloats(const float* x, const float* grad, float* out, std::int64_t n,
                         const NormGradient<float>& by) {
  return PlaneGradient<float>(x, grad, out, n, by);
}
void PlaneGradientDoubles(const double* x, const double* grad, double* out, std::int64_t n,
                          const NormGradient<double>& by) {
  return PlaneGradient<double>(x, grad, out, n, by);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(PlaneSumFloats);
HWY_EXPORT(PlaneSumDoubles);
HWY_EXPORT(PlaneSquaresFloats);
HWY_EXPORT(PlaneSquaresDoubles);
HWY_EXPORT(PlaneScaleFloats);
HWY_EXPORT(PlaneScaleDoubles);
HWY_EXPORT(PlaneGradientSumsFloats);
HWY_EXPORT(PlaneGradientSumsDoubles);
HWY_EXPORT(PlaneGradientFloats);
HWY_EXPORT(PlaneGradientDoubles);

double plane_sum(const float* x, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(PlaneSumFloats)(x, n);
}
double plane_sum(const double* x, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(PlaneSumDoubles)(x, n);
}
double plane_squares(const float* x, std::int64_t n, float mean) {
  return HWY_DYNAMIC_DISPATCH(PlaneSquaresFloats)(x, n, mean);
}
double plane_squares(const double* x, std::int64_t n, double mean) {
  return HWY_DYNAMIC_DISPATCH(PlaneSquaresDoubles)(x, n, mean);
}
void plane_scale(const float* x, float* out, std::int64_t n, float mean, float scale, float shift) {
  return HWY_DYNAMIC_DISPATCH(PlaneScaleFloats)(x, out, n, mean, scale, shift);
}
void plane_scale(const double* x, double* out, std::int64_t n, double mean, double scale,
                 double shift) {
  return HWY_DYNAMIC_DISPATCH(PlaneScaleDoubles)(x, out, n, mean, scale, shift);
}
GradientSums plane_gradient_sums(const float* x, const float* grad, std::int64_t n, float mean) {
  return HWY_DYNAMIC_DISPATCH(PlaneGradientSumsFloats)(x, grad, n, mean);
}
GradientSums plane_gradient_sums(const double* x, const double* grad, std::int64_t n, double mean) {
  return HWY_DYNAMIC_DISPATCH(PlaneGradientSumsDoubles)(x, grad, n, mean);
}
void plane_gradient(const float* x, const float* grad, float* out, std::int64_t n,
                    const NormGradient<float>& by) {
  return HWY_DYNAMIC_DISPATCH(PlaneGradientFloats)(x, grad, out, n, by);
}
void plane_gradient(const double* x, const double* grad, double* out, std::int64_t n,
                    const NormGradient<double>& by) {
  return HWY_DYNAMIC_DISPATCH(PlaneGradientDoubles)(x, grad, out, n, by);
}

}  // namespace tenon
#endif
