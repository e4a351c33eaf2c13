#include "kernels/normalize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/normalize_columns_simd.cpp"
#include "hwy/foreach_target.h"  // goes before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace tenon {
namespace HWY_NAMESPACE {

// Plain loops, which the compiler makes vectors of. Sums are carried in double.

template <class T>
void ColumnSums(const T* HWY_RESTRICT x, std::int64_t rows, std::int64_t columns,
                double* HWY_RESTRICT sums) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns) {
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += static_cast<double>(x[c]);
  }
}

template <class T>
void ColumnSquares(const T* HWY_RESTRICT x, std::int64_t rows, std::int64_t columns,
                   const T* HWY_RESTRICT mean, double* HWY_RESTRICT sums) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto distance = static_cast<double>(x[c] - mean[c]);
      sums[c] += distance * distance;
    }
  }
}

template <class T>
void ColumnScale(const T* HWY_RESTRICT x, T* HWY_RESTRICT out, std::int64_t rows,
                 std::int64_t columns, const T* HWY_RESTRICT mean, const T* HWY_RESTRICT scale,
                 const T* HWY_RESTRICT shift) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, out += columns) {
    for (std::int64_t c = 0; c < columns; ++c) out[c] = (x[c] - mean[c]) * scale[c] + shift[c];
  }
}

template <class T>
void ColumnGradientSums(const T* HWY_RESTRICT x, const T* HWY_RESTRICT grad, std::int64_t rows,
                        std::int64_t columns, const T* HWY_RESTRICT mean,
                        double* HWY_RESTRICT grads, double* HWY_RESTRICT distances) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, grad += columns) {
    for (std::int64_t c = 0; c < columns; ++c) {
      grads[c] += static_cast<double>(grad[c]);
      distances[c] += static_cast<double>(grad[c]) * static_cast<double>(x[c] - mean[c]);
    }
  }
}

template <class T>
void ColumnGradient(const T* HWY_RESTRICT x, const T* HWY_RESTRICT grad, T* HWY_RESTRICT out,
                    std::int64_t rows, std::int64_t columns,
                    const NormGradient<T>* HWY_RESTRICT by) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, grad += columns, out += columns) {
    for (std::int64_t c = 0; c < columns; ++c)
      out[c] = grad[c] * by[c].scale + ((x[c] - by[c].mean) * by[c].slope + by[c].shift);
  }
}

void ColumnSumsFloats(const float* x, std::int64_t rows, std::int64_t columns, double* sums) {
  return ColumnSums<float>(x, rows, columns, sums);
}
void ColumnSumsDoubles(const double* x, std::int64_t rows, std::int64_t columns, double* sums) {
  return ColumnSums<double>(x, rows, columns, sums);
}
void ColumnSquaresFloats(const float* x, std::int64_t rows, std::int64_t columns, const float* mean,
                         double* sums) {
  return ColumnSquares<float>(x, rows, columns, mean, sums);
}
void ColumnSquaresDoubles(const double* x, std::int64_t rows, std::int64_t columns,
                          const double* mean, double* sums) {
  return ColumnSquares<double>(x, rows, columns, mean, sums);
}
void ColumnScaleFloats(const float* x, float* out, std::int64_t rows, std::int64_t columns,
                       const float* mean, const float* scale, const float* shift) {
  return ColumnScale<float>(x, out, rows, columns, mean, scale, shift);
}
void ColumnScaleDoubles(const double* x, double* out, std::int64_t rows, std::int64_t columns,
                        const double* mean, const double* scale, const double* shift) {
  return ColumnScale<double>(x, out, rows, columns, mean, scale, shift);
}
void ColumnGradientSumsFloats(const float* x, const float* grad, std::int64_t rows,
                              std::int64_t columns, const float* mean, double* grads,
                              double* distances) {
  return ColumnGradientSums<float>(x, grad, rows, columns, mean, grads, distances);
}
void ColumnGradientSumsDoubles(const double* x, const double* grad, std::int64_t rows,
                               std::int64_t columns, const double* mean, double* grads,
                               double* distances) {
  return ColumnGradientSums<double>(x, grad, rows, columns, mean, grads, distances);
}
void ColumnGradientFloats(const float* x, const float* grad, float* out, std::int64_t rows,
                          std::int64_t columns, const NormGradient<float>* by) {
  return ColumnGradient<float>(x, grad, out, rows, columns, by);
}
void ColumnGradientDoubles(const double* x, const double* grad, double* out, std::int64_t rows,
                           std::int64_t columns, const NormGradient<double>* by) {
  return ColumnGradient<double>(x, grad, out, rows, columns, by);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenon {

HWY_EXPORT(ColumnSumsFloats);
HWY_EXPORT(ColumnSumsDoubles);
HWY_EXPORT(ColumnSquaresFloats);
HWY_EXPORT(ColumnSquaresDoubles);
HWY_EXPORT(ColumnScaleFloats);
HWY_EXPORT(ColumnScaleDoubles);
HWY_EXPORT(ColumnGradientSumsFloats);
HWY_EXPORT(ColumnGradientSumsDoubles);
HWY_EXPORT(ColumnGradientFloats);
HWY_EXPORT(ColumnGradientDoubles);

void column_sums(const float* x, std::int64_t rows, std::int64_t columns, double* sums) {
  return HWY_DYNAMIC_DISPATCH(ColumnSumsFloats)(x, rows, columns, sums);
}
void column_sums(const double* x, std::int64_t rows, std::int64_t columns, double* sums) {
  return HWY_DYNAMIC_DISPATCH(ColumnSumsDoubles)(x, rows, columns, sums);
}
void column_squares(const float* x, std::int64_t rows, std::int64_t columns, const float* mean,
                    double* sums) {
  return HWY_DYNAMIC_DISPATCH(ColumnSquaresFloats)(x, rows, columns, mean, sums);
}
void column_squares(const double* x, std::int64_t rows, std::int64_t columns, const double* mean,
                    double* sums) {
  return HWY_DYNAMIC_DISPATCH(ColumnSquaresDoubles)(x, rows, columns, mean, sums);
}
void column_scale(const float* x, float* out, std::int64_t rows, std::int64_t columns,
                  const float* mean, const float* scale, const float* shift) {
  return HWY_DYNAMIC_DISPATCH(ColumnScaleFloats)(x, out, rows, columns, mean, scale, shift);
}
void column_scale(const double* x, double* out, std::int64_t rows, std::int64_t columns,
                  const double* mean, const double* scale, const double* shift) {
  return HWY_DYNAMIC_DISPATCH(ColumnScaleDoubles)(x, out, rows, columns, mean, scale, shift);
}
void column_gradient_sums(const float* x, const float* grad, std::int64_t rows,
                          std::int64_t columns, const float* mean, double* grads,
                          double* distances) {
  return HWY_DYNAMIC_DISPATCH(ColumnGradientSumsFloats)(x, grad, rows, columns, mean, grads,
                                                        distances);
}
void column_gradient_sums(const double* x, const double* grad, std::int64_t rows,
                          std::int64_t columns, const double* mean, double* grads,
                          double* distances) {
  return HWY_DYNAMIC_DISPATCH(ColumnGradientSumsDoubles)(x, grad, rows, columns, mean, grads,
                                                         distances);
}
void column_gradient(const float* x, const float* grad, float* out, std::int64_t rows,
                     std::int64_t columns, const NormGradient<float>* by) {
  return HWY_DYNAMIC_DISPATCH(ColumnGradientFloats)(x, grad, out, rows, columns, by);
}
void column_gradient(const double* x, const double* grad, double* out, std::int64_t rows,
                     std::int64_t columns, const NormGradient<double>* by) {
  return HWY_DYNAMIC_DISPATCH(ColumnGradientDoubles)(x, grad, out, rows, columns, by);
}

}  // namespace tenon
#endif
