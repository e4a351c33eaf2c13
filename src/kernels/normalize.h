// Stretches of elements given mean 0 and variance 1, and the gradients of that. Elements are float
// or double and packed; nothing here starts threads. The same bits on every machine.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// Rows of n elements, each with a mean and a deviation of its own; weight and bias are rows too, or
// null. Where `centred` does not hold, the mean counts as 0 and is not written.
template <class T>
struct NormRows {
  const T* x;
  T* out;
  const T* weight;
  const T* bias;
  T* mean;
  T* rstd;  // 1 / sqrt(variance + eps)
  std::int64_t rows, n;
  double eps;
  bool centred;
};
TENON_API void normalize_rows(const NormRows<float>& rows);
TENON_API void normalize_rows(const NormRows<double>& rows);
// The same of the bits of bfloat16, instead of rows.x and rows.out. `row` has room for one of them.
TENON_API void normalize_rows(const NormRows<float>& rows, const std::uint16_t* x,
                              std::uint16_t* out, float* row);

template <class T>
struct NormRowsGradient {
  const T* grad;
  const T* x;
  const T* weight;  // or null
  const T* mean;
  const T* rstd;
  T* of_x;            // or null
  double* of_weight;  // a row that is added to, or null
  double* of_bias;    // the same
  std::int64_t rows, n;
  bool centred;
};
TENON_API void normalize_rows_gradient(const NormRowsGradient<float>& rows);
TENON_API void normalize_rows_gradient(const NormRowsGradient<double>& rows);

// A stretch of n elements of one channel, whose mean and scale are numbers.

struct GradientSums {
  double grad;      // of the gradient
  double distance;  // of the gradient times x - mean
};
TENON_API double plane_sum(const float* x, std::int64_t n);
TENON_API double plane_sum(const double* x, std::int64_t n);
// Of squared distances from the mean.
TENON_API double plane_squares(const float* x, std::int64_t n, float mean);
TENON_API double plane_squares(const double* x, std::int64_t n, double mean);
// out = (x - mean) * scale + shift
TENON_API void plane_scale(const float* x, float* out, std::int64_t n, float mean, float scale,
                           float shift);
TENON_API void plane_scale(const double* x, double* out, std::int64_t n, double mean, double scale,
                           double shift);
TENON_API GradientSums plane_gradient_sums(const float* x, const float* grad, std::int64_t n,
                                           float mean);
TENON_API GradientSums plane_gradient_sums(const double* x, const double* grad, std::int64_t n,
                                           double mean);

// out = grad * scale + (x - mean) * slope + shift
template <class T>
struct NormGradient {
  T mean, scale, slope, shift;
};
TENON_API void plane_gradient(const float* x, const float* grad, float* out, std::int64_t n,
                              const NormGradient<float>& by);
TENON_API void plane_gradient(const double* x, const double* grad, double* out, std::int64_t n,
                              const NormGradient<double>& by);

// Rows of a matrix whose columns are the channels: means, scales and sums are rows too. Sums are
// added to.

TENON_API void column_sums(const float* x, std::int64_t rows, std::int64_t columns, double* sums);
TENON_API void column_sums(const double* x, std::int64_t rows, std::int64_t columns, double* sums);
TENON_API void column_squares(const float* x, std::int64_t rows, std::int64_t columns,
                              const float* mean, double* sums);
TENON_API void column_squares(const double* x, std::int64_t rows, std::int64_t columns,
                              const double* mean, double* sums);
TENON_API void column_scale(const float* x, float* out, std::int64_t rows, std::int64_t columns,
                            const float* mean, const float* scale, const float* shift);
TENON_API void column_scale(const double* x, double* out, std::int64_t rows, std::int64_t columns,
                            const double* mean, const double* scale, const double* shift);
TENON_API void column_gradient_sums(const float* x, const float* grad, std::int64_t rows,
                                    std::int64_t columns, const float* mean, double* grads,
                                    double* distances);
TENON_API void column_gradient_sums(const double* x, const double* grad, std::int64_t rows,
                                    std::int64_t columns, const double* mean, double* grads,
                                    double* distances);
TENON_API void column_gradient(const float* x, const float* grad, float* out, std::int64_t rows,
                               std::int64_t columns, const NormGradient<float>* by);
TENON_API void column_gradient(const double* x, const double* grad, double* out, std::int64_t rows,
                               std::int64_t columns, const NormGradient<double>* by);

}  // namespace tenon
