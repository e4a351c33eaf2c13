#include <algorithm>
#include <cmath>
#include <limits>

#include "base/thread_pool.h"
#include "kernels/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/row-inl.h"
#include "kernels/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

// Columns that lie side by side are worked on together, so many at a time.
inline constexpr std::int64_t kColumns = 64;

// The sum of f(tag, i) over a row. Two sums, because additions wait for each other.
template <class T, class F>
HWY_INLINE T SumOfRow(std::int64_t n, F&& f) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d), b = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::Add(a, f(d, i));
    b = hn::Add(b, f(d, i + lanes));
  }
  if (i + lanes <= n) {
    a = hn::Add(a, f(d, i));
    i += lanes;
  }
  T sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  for (; i < n; ++i) sum += hn::GetLane(f(one, i));
  return sum;
}

// A NaN need not be found here: what is subtracted from it is NaN all the same.
template <class T>
HWY_INLINE T MaxOfRow(std::int64_t n, const T* x) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  T most = -std::numeric_limits<T>::infinity();
  std::int64_t i = 0;
  if (n >= lanes) {
    auto largest = hn::LoadU(d, x);
    for (i = lanes; i + lanes <= n; i += lanes) largest = hn::Max(largest, hn::LoadU(d, x + i));
    most = hn::GetLane(hn::MaxOfLanes(d, largest));
  }
  for (; i < n; ++i) most = std::max(most, x[i]);
  return most;
}

template <class T>
void ForwardRow(std::int64_t n, bool log, T* HWY_RESTRICT out, const T* HWY_RESTRICT in) {
  const T most = MaxOfRow(n, in);
  const auto power = [&](auto d, std::int64_t i) HWY_ATTR {
    return ExpOf(d, hn::Sub(hn::LoadU(d, in + i), hn::Set(d, most)));
  };
  if (log) {
    const T by = std::log(SumOfRow<T>(n, power));
    ForRow<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
      const auto x = hn::Sub(hn::LoadU(d, in + i), hn::Set(d, most));
      hn::StoreU(hn::Sub(x, hn::Set(d, by)), d, out + i);
    });
    return;
  }
  const T sum = SumOfRow<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto e = power(d, i);
    hn::StoreU(e, d, out + i);
    return e;
  });
  const T by = T(1) / sum;
  ForRow<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    hn::StoreU(hn::Mul(hn::LoadU(d, out + i), hn::Set(d, by)), d, out + i);
  });
}

template <class T>
void BackwardRow(std::int64_t n, bool log, T* HWY_RESTRICT out, const T* HWY_RESTRICT grad,
                 const T* HWY_RESTRICT y) {
  const T sum = SumOfRow<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, grad + i);
    return log ? g : hn::Mul(g, hn::LoadU(d, y + i));
  });
  ForRow<T>(n, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, grad + i), r = hn::LoadU(d, y + i), s = hn::Set(d, sum);
    hn::StoreU(log ? hn::Sub(g, hn::Mul(ExpOf(d, r), s)) : hn::Mul(hn::Sub(g, s), r), d, out + i);
  });
}

// Sums of columns are made of sums of so many rows, which keeps them exact when there are many.
inline constexpr std::int64_t kRows = 64;
template <class T>
HWY_INLINE void AddPart(std::int64_t width, T* HWY_RESTRICT sum, T* HWY_RESTRICT part) {
  for (std::int64_t c = 0; c < width; ++c) {
    sum[c] += part[c];
    part[c] = T(0);
  }
}

// `width` columns, `inner` apart from one row to the next.
template <class T>
void ForwardColumns(std::int64_t n, std::int64_t inner, std::int64_t width, bool log, T* out,
                    const T* in) {
  HWY_ALIGN T most[kColumns], sum[kColumns], part[kColumns];
  std::fill_n(most, width, -std::numeric_limits<T>::infinity());
  std::fill_n(sum, width, T(0));
  std::fill_n(part, width, T(0));
  for (std::int64_t k = 0; k < n; ++k) {
    const T* x = in + k * inner;
    for (std::int64_t c = 0; c < width; ++c) most[c] = x[c] > most[c] ? x[c] : most[c];
  }
  for (std::int64_t k = 0; k < n; ++k) {
    const T* x = in + k * inner;
    T* y = out + k * inner;
    ForRow<T>(width, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto e = ExpOf(d, hn::Sub(hn::LoadU(d, x + c), hn::LoadU(d, most + c)));
      hn::StoreU(hn::Add(hn::LoadU(d, part + c), e), d, part + c);
      if (!log) hn::StoreU(e, d, y + c);
    });
    if ((k + 1) % kRows == 0 || k + 1 == n) AddPart(width, sum, part);
  }
  for (std::int64_t c = 0; c < width; ++c) sum[c] = log ? std::log(sum[c]) : T(1) / sum[c];
  for (std::int64_t k = 0; k < n; ++k) {
    const T* x = in + k * inner;
    T* y = out + k * inner;
    for (std::int64_t c = 0; c < width; ++c) y[c] = log ? x[c] - most[c] - sum[c] : y[c] * sum[c];
  }
}

template <class T>
void BackwardColumns(std::int64_t n, std::int64_t inner, std::int64_t width, bool log, T* out,
                     const T* grad, const T* result) {
  HWY_ALIGN T sum[kColumns], part[kColumns];
  std::fill_n(sum, width, T(0));
  std::fill_n(part, width, T(0));
  for (std::int64_t k = 0; k < n; ++k) {
    const T *g = grad + k * inner, *y = result + k * inner;
    for (std::int64_t c = 0; c < width; ++c) part[c] += log ? g[c] : g[c] * y[c];
    if ((k + 1) % kRows == 0 || k + 1 == n) AddPart(width, sum, part);
  }
  for (std::int64_t k = 0; k < n; ++k) {
    const T *g = grad + k * inner, *y = result + k * inner;
    T* to = out + k * inner;
    ForRow<T>(width, [&](auto d, std::int64_t c) HWY_ATTR {
      const auto gs = hn::LoadU(d, g + c), r = hn::LoadU(d, y + c), s = hn::LoadU(d, sum + c);
      hn::StoreU(log ? hn::Sub(gs, hn::Mul(ExpOf(d, r), s)) : hn::Mul(hn::Sub(gs, s), r), d,
                 to + c);
    });
  }
}

// Calls rows(row number) or columns(first element, width) for everything, on several threads. What
// is worked on together does not depend on how many there are.
template <class Rows, class Columns>
void ForAll(const SoftmaxShape& shape, const Rows& row, const Columns& columns) {
  constexpr std::int64_t kGrain = 16384;  // elements
  if (shape.inner == 1) {
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / shape.size);
    parallel_for(0, shape.outer, grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = first; r < last; ++r) row(r * shape.size);
    });
    return;
  }
  const std::int64_t blocks = (shape.inner + kColumns - 1) / kColumns;
  const std::int64_t width = std::min(shape.inner, kColumns);
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / (shape.size * width));
  parallel_for(0, shape.outer * blocks, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t b = first; b < last; ++b) {
      const std::int64_t column = b % blocks * kColumns;
      columns(b / blocks * shape.size * shape.inner + column,
              std::min(kColumns, shape.inner - column));
    }
  });
}

template <class T>
void RunForward(const SoftmaxShape& shape, T* out, const T* in) {
  ForAll(
      shape, [&](std::int64_t at) { ForwardRow(shape.size, shape.log, out + at, in + at); },
      [&](std::int64_t at, std::int64_t width) {
        ForwardColumns(shape.size, shape.inner, width, shape.log, out + at, in + at);
      });
}
template <class T>
void RunBackward(const SoftmaxShape& shape, T* out, const T* grad, const T* y) {
  ForAll(
      shape,
      [&](std::int64_t at) { BackwardRow(shape.size, shape.log, out + at, grad + at, y + at); },
      [&](std::int64_t at, std::int64_t width) {
        BackwardColumns(shape.size, shape.inner, width, shape.log, out + at, grad + at, y + at);
      });
}

void ForwardFloats(const SoftmaxShape& shape, float* out, const float* in) {
  RunForward(shape, out, in);
}
void ForwardDoubles(const SoftmaxShape& shape, double* out, const double* in) {
  RunForward(shape, out, in);
}
void BackwardFloats(const SoftmaxShape& shape, float* out, const float* grad, const float* y) {
  RunBackward(shape, out, grad, y);
}
void BackwardDoubles(const SoftmaxShape& shape, double* out, const double* grad, const double* y) {
  RunBackward(shape, out, grad, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(ForwardFloats);
HWY_EXPORT(ForwardDoubles);
HWY_EXPORT(BackwardFloats);
HWY_EXPORT(BackwardDoubles);

void softmax_forward(const SoftmaxShape& shape, float* out, const float* in) {
  HWY_DYNAMIC_DISPATCH(ForwardFloats)(shape, out, in);
}
void softmax_forward(const SoftmaxShape& shape, double* out, const double* in) {
  HWY_DYNAMIC_DISPATCH(ForwardDoubles)(shape, out, in);
}
void softmax_backward(const SoftmaxShape& shape, float* out, const float* grad,
                      const float* result) {
  HWY_DYNAMIC_DISPATCH(BackwardFloats)(shape, out, grad, result);
}
void softmax_backward(const SoftmaxShape& shape, double* out, const double* grad,
                      const double* result) {
  HWY_DYNAMIC_DISPATCH(BackwardDoubles)(shape, out, grad, result);
}

}  // namespace tenon
#endif
