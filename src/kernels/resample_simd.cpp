#include "kernels/resample.h"

#include "base/thread_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/resample_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

// Plain loops, which the compiler makes vectors of.

template <class T>
HWY_INLINE void Line(const T* HWY_RESTRICT block, T* HWY_RESTRICT out, std::int64_t inner,
                     const std::int64_t* from, const T* weights, std::int64_t taps) {
  const T* HWY_RESTRICT first = block + from[0] * inner;
  if (taps == 1) {
    for (std::int64_t j = 0; j < inner; ++j) out[j] = first[j] * weights[0];
    return;
  }
  const T* HWY_RESTRICT second = block + from[1] * inner;
  for (std::int64_t j = 0; j < inner; ++j) out[j] = first[j] * weights[0] + second[j] * weights[1];
  for (std::int64_t k = 2; k < taps; ++k) {
    const T* HWY_RESTRICT more = block + from[k] * inner;
    for (std::int64_t j = 0; j < inner; ++j) out[j] += more[j] * weights[k];
  }
}

template <class T>
void Forward(const ResampleSizes& sizes, const Taps<T>& taps, const T* from, T* to,
             std::int64_t first, std::int64_t last) {
  const std::int64_t n = taps.taps;
  if (sizes.inner == 1) {
    for (std::int64_t block = first; block < last; ++block) {
      const T* HWY_RESTRICT in = from + block * sizes.from_size;
      T* HWY_RESTRICT out = to + block * sizes.to_size;
      for (std::int64_t i = 0; i < sizes.to_size; ++i) {
        const std::int64_t* at = taps.from.data() + i * n;
        const T* weights = taps.weights.data() + i * n;
        T sum = in[at[0]] * weights[0];
        for (std::int64_t k = 1; k < n; ++k) sum += in[at[k]] * weights[k];
        out[i] = sum;
      }
    }
    return;
  }
  for (std::int64_t line = first; line < last; ++line) {
    const std::int64_t block = line / sizes.to_size, i = line % sizes.to_size;
    Line(from + block * sizes.from_size * sizes.inner, to + line * sizes.inner, sizes.inner,
         taps.from.data() + i * n, taps.weights.data() + i * n, n);
  }
}

template <class T>
void Back(const ResampleSizes& sizes, const Taps<T>& taps, const T* to, T* from, std::int64_t first,
          std::int64_t last) {
  const std::int64_t n = taps.taps, inner = sizes.inner;
  for (std::int64_t block = first; block < last; ++block) {
    T* into = from + block * sizes.from_size * inner;
    for (std::int64_t i = 0; i < sizes.to_size; ++i) {
      const T* HWY_RESTRICT line = to + (block * sizes.to_size + i) * inner;
      for (std::int64_t k = 0; k < n; ++k) {
        const T weight = taps.weights[static_cast<std::size_t>(i * n + k)];
        T* HWY_RESTRICT out = into + taps.from[static_cast<std::size_t>(i * n + k)] * inner;
        for (std::int64_t j = 0; j < inner; ++j) out[j] += line[j] * weight;
      }
    }
  }
}

void ForwardFloats(const ResampleSizes& sizes, const Taps<float>& taps, const float* from,
                   float* to, std::int64_t first, std::int64_t last) {
  Forward(sizes, taps, from, to, first, last);
}
void ForwardDoubles(const ResampleSizes& sizes, const Taps<double>& taps, const double* from,
                    double* to, std::int64_t first, std::int64_t last) {
  Forward(sizes, taps, from, to, first, last);
}
void BackFloats(const ResampleSizes& sizes, const Taps<float>& taps, const float* to, float* from,
                std::int64_t first, std::int64_t last) {
  Back(sizes, taps, to, from, first, last);
}
void BackDoubles(const ResampleSizes& sizes, const Taps<double>& taps, const double* to,
                 double* from, std::int64_t first, std::int64_t last) {
  Back(sizes, taps, to, from, first, last);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(ForwardFloats);
HWY_EXPORT(ForwardDoubles);
HWY_EXPORT(BackFloats);
HWY_EXPORT(BackDoubles);

namespace {

// Whole blocks of single elements, lines of more. A piece has enough to be worth a thread.
std::int64_t pieces(const ResampleSizes& sizes) {
  return sizes.inner == 1 ? sizes.outer : sizes.outer * sizes.to_size;
}
std::int64_t grain(std::int64_t elements) {
  return HWY_MAX(std::int64_t{1}, 16384 / HWY_MAX(std::int64_t{1}, elements));
}
std::int64_t forward_grain(const ResampleSizes& sizes, std::int64_t taps) {
  return grain(taps * (sizes.inner == 1 ? sizes.to_size : sizes.inner));
}
std::int64_t back_grain(const ResampleSizes& sizes, std::int64_t taps) {
  return grain(taps * sizes.to_size * sizes.inner);
}

}  // namespace

void resample(const ResampleSizes& sizes, const Taps<float>& taps, const float* from, float* to) {
  parallel_for(0, pieces(sizes), forward_grain(sizes, taps.taps),
               [&](std::int64_t first, std::int64_t last) {
                 HWY_DYNAMIC_DISPATCH(ForwardFloats)(sizes, taps, from, to, first, last);
               });
}
void resample(const ResampleSizes& sizes, const Taps<double>& taps, const double* from,
              double* to) {
  parallel_for(0, pieces(sizes), forward_grain(sizes, taps.taps),
               [&](std::int64_t first, std::int64_t last) {
                 HWY_DYNAMIC_DISPATCH(ForwardDoubles)(sizes, taps, from, to, first, last);
               });
}
void resample_back(const ResampleSizes& sizes, const Taps<float>& taps, const float* to,
                   float* from) {
  parallel_for(0, sizes.outer, back_grain(sizes, taps.taps),
               [&](std::int64_t first, std::int64_t last) {
                 HWY_DYNAMIC_DISPATCH(BackFloats)(sizes, taps, to, from, first, last);
               });
}
void resample_back(const ResampleSizes& sizes, const Taps<double>& taps, const double* to,
                   double* from) {
  parallel_for(0, sizes.outer, back_grain(sizes, taps.taps),
               [&](std::int64_t first, std::int64_t last) {
                 HWY_DYNAMIC_DISPATCH(BackDoubles)(sizes, taps, to, from, first, last);
               });
}

}  // namespace tenon
#endif
