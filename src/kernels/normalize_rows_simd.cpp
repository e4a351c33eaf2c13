#include <cmath>
#include <vector>

#include "kernels/normalize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize_rows_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T, bool kWeight, bool kBias>
HWY_INLINE void WriteRow(const T* HWY_RESTRICT x, T* HWY_RESTRICT out, const T* HWY_RESTRICT weight,
                         const T* HWY_RESTRICT bias, std::int64_t n, T mean, T rstd) {
  ForEach<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
    auto y = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, rstd));
    if constexpr (kWeight) y = hn::Mul(y, hn::LoadU(d, weight + i));
    if constexpr (kBias) y = hn::Add(y, hn::LoadU(d, bias + i));
    hn::StoreU(y, d, out + i);
  });
}

template <class T>
void Normalize(const NormRows<T>& rows) {
  const std::int64_t n = rows.n;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const T* HWY_RESTRICT x = rows.x + row * n;
    T* out = rows.out + row * n;
    T mean = 0;
    if (rows.centred) {
      const double sum =
          SumOf<T>(n, [=](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, x + i); });
      mean = static_cast<T>(sum / static_cast<double>(n));
      rows.mean[row] = mean;
    }
    const double squares = SumOf<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
      return hn::Mul(distance, distance);
    });
    const T rstd = static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + rows.eps));
    rows.rstd[row] = rstd;
    if (rows.weight != nullptr && rows.bias != nullptr)
      WriteRow<T, true, true>(x, out, rows.weight, rows.bias, n, mean, rstd);
    else if (rows.weight != nullptr)
      WriteRow<T, true, false>(x, out, rows.weight, nullptr, n, mean, rstd);
    else if (rows.bias != nullptr)
      WriteRow<T, false, true>(x, out, nullptr, rows.bias, n, mean, rstd);
    else
      WriteRow<T, false, false>(x, out, nullptr, nullptr, n, mean, rstd);
  }
}

template <class T, bool kWeight>
void InputGradientRow(const NormRowsGradient<T>& rows, std::int64_t row) {
  const std::int64_t n = rows.n;
  const T* HWY_RESTRICT x = rows.x + row * n;
  const T* HWY_RESTRICT grad = rows.grad + row * n;
  const T* HWY_RESTRICT weight = rows.weight;
  T* HWY_RESTRICT of_x = rows.of_x + row * n;
  const T mean = rows.centred ? rows.mean[row] : T(0), rstd = rows.rstd[row];
  const auto weighted = [=](auto d, std::int64_t i) HWY_ATTR {
    if constexpr (kWeight)
      return hn::Mul(hn::LoadU(d, grad + i), hn::LoadU(d, weight + i));
    else
      return hn::LoadU(d, grad + i);
  };
  const TwoSums sums = SumsOf<T>(n, [=](auto d, std::int64_t i, auto& a, auto& b) HWY_ATTR {
    a = weighted(d, i);
    b = hn::Mul(a, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)));
  });
  const double r = static_cast<double>(rstd), count = static_cast<double>(n);
  const T slope = static_cast<T>(-sums.b * r * r * r / count);
  const T shift = rows.centred ? static_cast<T>(-sums.a * r / count) : T(0);
  ForEach<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    const auto g = hn::Mul(weighted(d, i), hn::Set(d, rstd));
    hn::StoreU(hn::Add(g, hn::Add(hn::Mul(distance, hn::Set(d, slope)), hn::Set(d, shift))), d,
               of_x + i);
  });
}

// Of a few rows, so that sums may be carried in T.
template <class T>
void AddParameterGradients(const NormRowsGradient<T>& rows, std::int64_t first, std::int64_t last,
                           T* HWY_RESTRICT of_weight, T* HWY_RESTRICT of_bias) {
  const std::int64_t n = rows.n;
  for (std::int64_t row = first; row < last; ++row) {
    const T* HWY_RESTRICT x = rows.x + row * n;
    const T* HWY_RESTRICT grad = rows.grad + row * n;
    const T mean = rows.centred ? rows.mean[row] : T(0), rstd = rows.rstd[row];
    if (rows.of_weight != nullptr) {
      ForEach<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
        const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
        const auto more = hn::Mul(hn::LoadU(d, grad + i), hn::Mul(distance, hn::Set(d, rstd)));
        hn::StoreU(hn::Add(hn::LoadU(d, of_weight + i), more), d, of_weight + i);
      });
    }
    if (rows.of_bias != nullptr) {
      ForEach<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
        hn::StoreU(hn::Add(hn::LoadU(d, of_bias + i), hn::LoadU(d, grad + i)), d, of_bias + i);
      });
    }
  }
}

template <class T>
void Gradient(const NormRowsGradient<T>& rows) {
  constexpr std::int64_t kTogether = 32;
  const auto n = static_cast<std::size_t>(rows.n);
  std::vector<T> weight(rows.of_weight != nullptr ? n : 0), bias(rows.of_bias != nullptr ? n : 0);
  for (std::int64_t row = 0; row < rows.rows; row += kTogether) {
    const std::int64_t end = HWY_MIN(rows.rows, row + kTogether);
    // Row by row, so that the second use finds it in the cache.
    for (std::int64_t one = row; one < end; ++one) {
      AddParameterGradients<T>(rows, one, one + 1, weight.data(), bias.data());
      if (rows.of_x == nullptr) continue;
      if (rows.weight != nullptr)
        InputGradientRow<T, true>(rows, one);
      else
        InputGradientRow<T, false>(rows, one);
    }
    for (std::size_t i = 0; i < weight.size(); ++i) {
      rows.of_weight[i] += static_cast<double>(weight[i]);
      weight[i] = 0;
    }
    for (std::size_t i = 0; i < bias.size(); ++i) {
      rows.of_bias[i] += static_cast<double>(bias[i]);
      bias[i] = 0;
    }
  }
}

void NormalizeFloats(const NormRows<float>& rows) { Normalize(rows); }
void NormalizeDoubles(const NormRows<double>& rows) { Normalize(rows); }
void GradientFloats(const NormRowsGradient<float>& rows) { Gradient(rows); }
void GradientDoubles(const NormRowsGradient<double>& rows) { Gradient(rows); }

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(NormalizeFloats);
HWY_EXPORT(NormalizeDoubles);
HWY_EXPORT(GradientFloats);
HWY_EXPORT(GradientDoubles);

void normalize_rows(const NormRows<float>& rows) { HWY_DYNAMIC_DISPATCH(NormalizeFloats)(rows); }
void normalize_rows(const NormRows<double>& rows) { HWY_DYNAMIC_DISPATCH(NormalizeDoubles)(rows); }
void normalize_rows_gradient(const NormRowsGradient<float>& rows) {
  HWY_DYNAMIC_DISPATCH(GradientFloats)(rows);
}
void normalize_rows_gradient(const NormRowsGradient<double>& rows) {
  HWY_DYNAMIC_DISPATCH(GradientDoubles)(rows);
}

}  // namespace tenon
#endif
