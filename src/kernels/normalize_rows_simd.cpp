#include <cmath>
#include <vector>

#include "kernels/normalize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize_rows_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"
#include "kernels/bfloat16-inl.h"
#include "kernels/sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class D, class V>
HWY_INLINE void StoreResult(V value, D d, hn::TFromD<D>* to) {
  hn::StoreU(value, d, to);
}
template <class D, class V>
HWY_INLINE void StoreResult(V value, D d, std::uint16_t* to) {
  hn::StoreU(ToBFloat16(d, value), hn::Rebind<std::uint16_t, D>(), to);
}

template <class T, bool kWeight, bool kBias, class Out>
HWY_INLINE void WriteRow(const T* HWY_RESTRICT x, Out* HWY_RESTRICT out,
                         const T* HWY_RESTRICT weight, const T* HWY_RESTRICT bias, std::int64_t n,
                         T mean, T rstd) {
  ForEach<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
    auto y = hn::Mul(hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)), hn::Set(d, rstd));
    if constexpr (kWeight) y = hn::Mul(y, hn::LoadU(d, weight + i));
    if constexpr (kBias) y = hn::Add(y, hn::LoadU(d, bias + i));
    StoreResult(y, d, out + i);
  });
}
template <class T, class Out>
HWY_INLINE void WriteRow(const NormRows<T>& rows, const T* x, Out* out, T mean, T rstd) {
  if (rows.weight != nullptr && rows.bias != nullptr)
    WriteRow<T, true, true>(x, out, rows.weight, rows.bias, rows.n, mean, rstd);
  else if (rows.weight != nullptr)
    WriteRow<T, true, false>(x, out, rows.weight, nullptr, rows.n, mean, rstd);
  else if (rows.bias != nullptr)
    WriteRow<T, false, true>(x, out, nullptr, rows.bias, rows.n, mean, rstd);
  else
    WriteRow<T, false, false>(x, out, nullptr, nullptr, rows.n, mean, rstd);
}

template <class T>
HWY_INLINE T InverseDeviation(const T* HWY_RESTRICT x, std::int64_t n, T mean, double eps) {
  const double squares = SumOf<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    return hn::Mul(distance, distance);
  });
  return static_cast<T>(1 / std::sqrt(squares / static_cast<double>(n) + eps));
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
    const T rstd = InverseDeviation(x, n, mean, rows.eps);
    rows.rstd[row] = rstd;
    WriteRow(rows, x, out, mean, rstd);
  }
}

void NormalizeBFloats(const NormRows<float>& rows, const std::uint16_t* all, std::uint16_t* out,
                      float* wide) {
  const std::int64_t n = rows.n;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const std::uint16_t* HWY_RESTRICT from = all + row * n;
    const double sum = SumOf<float>(n, [=](auto d, std::int64_t i) HWY_ATTR {
      const auto x = FromBFloat16(d, hn::LoadU(hn::Rebind<std::uint16_t, decltype(d)>(), from + i));
      hn::StoreU(x, d, wide + i);
      return x;
    });
    const float mean = rows.centred ? static_cast<float>(sum / static_cast<double>(n)) : 0.0f;
    if (rows.centred) rows.mean[row] = mean;
    const float rstd = InverseDeviation(static_cast<const float*>(wide), n, mean, rows.eps);
    rows.rstd[row] = rstd;
    WriteRow(rows, static_cast<const float*>(wide), out + row * n, mean, rstd);
  }
}

// Gradients of one row; what it adds to those of the parameters goes to rows of T.
template <class T, bool kWeight, bool kOfX, bool kOfWeight, bool kOfBias>
void GradientRow(const NormRowsGradient<T>& rows, std::int64_t row, T* HWY_RESTRICT of_weight,
                 T* HWY_RESTRICT of_bias) {
  const std::int64_t n = rows.n;
  const T* HWY_RESTRICT x = rows.x + row * n;
  const T* HWY_RESTRICT grad = rows.grad + row * n;
  const T* HWY_RESTRICT weight = rows.weight;
  T* HWY_RESTRICT of_x = kOfX ? rows.of_x + row * n : nullptr;
  const T mean = rows.centred ? rows.mean[row] : T(0), rstd = rows.rstd[row];
  const auto weighted = [=](auto d, auto g, std::int64_t i) HWY_ATTR {
    static_cast<void>(i);
    static_cast<void>(d);
    if constexpr (kWeight)
      return hn::Mul(g, hn::LoadU(d, weight + i));
    else
      return g;
  };
  T slope = 0, shift = 0;
  if constexpr (kOfX) {
    const TwoSums sums = SumsOf<T>(n, [=](auto d, std::int64_t i, auto& a, auto& b) HWY_ATTR {
      a = weighted(d, hn::LoadU(d, grad + i), i);
      b = hn::Mul(a, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean)));
    });
    const double r = static_cast<double>(rstd), count = static_cast<double>(n);
    slope = static_cast<T>(-sums.b * r * r * r / count);
    shift = rows.centred ? static_cast<T>(-sums.a * r / count) : T(0);
  }
  ForEach<T>(n, [=](auto d, std::int64_t i) HWY_ATTR {
    const auto g = hn::LoadU(d, grad + i);
    const auto distance = hn::Sub(hn::LoadU(d, x + i), hn::Set(d, mean));
    if constexpr (kOfX) {
      const auto rest = hn::Add(hn::Mul(distance, hn::Set(d, slope)), hn::Set(d, shift));
      hn::StoreU(hn::Add(hn::Mul(weighted(d, g, i), hn::Set(d, rstd)), rest), d, of_x + i);
    }
    if constexpr (kOfWeight) {
      const auto more = hn::Mul(g, hn::Mul(distance, hn::Set(d, rstd)));
      hn::StoreU(hn::Add(hn::LoadU(d, of_weight + i), more), d, of_weight + i);
    }
    if constexpr (kOfBias) hn::StoreU(hn::Add(hn::LoadU(d, of_bias + i), g), d, of_bias + i);
  });
}

template <class T, bool kWeight, bool kOfX, bool kOfWeight, bool kOfBias>
void GradientRows(const NormRowsGradient<T>& rows) {
  constexpr std::int64_t kTogether = 32;  // so few that their sums may be carried in T
  const auto n = static_cast<std::size_t>(rows.n);
  std::vector<T> weight(kOfWeight ? n : 0), bias(kOfBias ? n : 0);
  for (std::int64_t first = 0; first < rows.rows; first += kTogether) {
    const std::int64_t last = HWY_MIN(rows.rows, first + kTogether);
    for (std::int64_t row = first; row < last; ++row)
      GradientRow<T, kWeight, kOfX, kOfWeight, kOfBias>(rows, row, weight.data(), bias.data());
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

// One of GradientRows for what is there and what is wanted.
template <class T, bool... kGiven>
void Gradient(const NormRowsGradient<T>& rows) {
  if constexpr (sizeof...(kGiven) == 4) {
    GradientRows<T, kGiven...>(rows);
  } else {
    const bool next[] = {rows.weight != nullptr, rows.of_x != nullptr, rows.of_weight != nullptr,
                         rows.of_bias != nullptr};
    if (next[sizeof...(kGiven)])
      Gradient<T, kGiven..., true>(rows);
    else
      Gradient<T, kGiven..., false>(rows);
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
HWY_EXPORT(NormalizeBFloats);
HWY_EXPORT(GradientFloats);
HWY_EXPORT(GradientDoubles);

void normalize_rows(const NormRows<float>& rows) { HWY_DYNAMIC_DISPATCH(NormalizeFloats)(rows); }
void normalize_rows(const NormRows<double>& rows) { HWY_DYNAMIC_DISPATCH(NormalizeDoubles)(rows); }
void normalize_rows(const NormRows<float>& rows, const std::uint16_t* x, std::uint16_t* out,
                    float* row) {
  HWY_DYNAMIC_DISPATCH(NormalizeBFloats)(rows, x, out, row);
}
void normalize_rows_gradient(const NormRowsGradient<float>& rows) {
  HWY_DYNAMIC_DISPATCH(GradientFloats)(rows);
}
void normalize_rows_gradient(const NormRowsGradient<double>& rows) {
  HWY_DYNAMIC_DISPATCH(GradientDoubles)(rows);
}

}  // namespace tenon
#endif
