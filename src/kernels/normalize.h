// Stretches of elements given mean 0 and variance 1, and the gradients of that. Elements are float
// or double and packed; nothing here starts threads. The same bits on every machine.
#pragma once

#include <cstdint>

#include "tenon/api.h"

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
void normalize_rows(const NormRows<float>& rows);
void normalize_rows(const NormRows<double>& rows);

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
void normalize_rows_gradient(const NormRowsGradient<float>& rows);
void normalize_rows_gradient(const NormRowsGradient<double>& rows);

// One stretch of n elements of a channel, whose mean and scale are numbers.
template <class T>
struct NormPlane {
  const T* x;
  std::int64_t n;
};
struct GradientSums {
  double grad;      // of the gradient
  double distance;  // of the gradient times x - mean
};
double plane_sum(NormPlane<float> plane);
double plane_sum(NormPlane<double> plane);
// Of squared distances from the mean.
double plane_squares(NormPlane<float> plane, float mean);
double plane_squares(NormPlane<double> plane, double mean);
// (x - mean) * scale + shift
void plane_scale(NormPlane<float> plane, float* out, float mean, float scale, float shift);
void plane_scale(NormPlane<double> plane, double* out, double mean, double scale, double shift);
GradientSums plane_gradient_sums(NormPlane<float> plane, const float* grad, float mean);
GradientSums plane_gradient_sums(NormPlane<double> plane, const double* grad, double mean);
// grad * scale + (x - mean) * slope + shift
void plane_gradient(NormPlane<float> plane, const float* grad, float* out, float mean, float scale,
                    float slope, float shift);
void plane_gradient(NormPlane<double> plane, const double* grad, double* out, double mean,
                    double scale, double slope, double shift);

// Columns [first, last) of a matrix of that many rows and columns, where each column is a channel.
struct ColumnRange {
  std::int64_t rows, columns, first, last;
};
// Written to sums[first] on, one for each column.
template <class T>
void column_sums(const T* x, ColumnRange range, double* sums);
template <class T>
void column_squares(const T* x, ColumnRange range, const T* mean, double* sums);
template <class T>
void column_gradient_sums(const T* x, const T* grad, ColumnRange range, const T* mean,
                          double* grads, double* distances);
// One row of the matrix, with numbers for each column.
void row_scale(NormPlane<float> row, float* out, const float* mean, const float* scale,
               const float* shift);
void row_scale(NormPlane<double> row, double* out, const double* mean, const double* scale,
               const double* shift);
void row_gradient(NormPlane<float> row, const float* grad, float* out, const float* mean,
                  const float* scale, const float* slope, const float* shift);
void row_gradient(NormPlane<double> row, const double* grad, double* out, const double* mean,
                  const double* scale, const double* slope, const double* shift);

}  // namespace tenon
