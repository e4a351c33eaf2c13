// Products of matrices of doubles and of whole numbers, which oneDNN does not have.
//
// The order of additions depends on the sizes alone, not on how many threads there are.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// Element (i, j) lies at data[i * row + j * column].
template <class T>
struct MatrixView {
  T* data;
  std::int64_t row, column;
};

// out += a * b, where a has m rows and k columns, and b has k rows and n columns. Rows of out are
// packed. Whole numbers wrap.
TENON_API void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k,
                            MatrixView<const double> a, MatrixView<const double> b, double* out);
TENON_API void multiply_add(std::int64_t m, std::int64_t n, std::int64_t k,
                            MatrixView<const std::int64_t> a, MatrixView<const std::int64_t> b,
                            std::int64_t* out);

}  // namespace tenon
