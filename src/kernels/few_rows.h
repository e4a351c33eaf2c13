// Products of a few rows with many, where reading the many takes the time.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

inline constexpr std::int64_t kMostFewRows = 3;

// Many rows of k elements of float32, bfloat16 or float16, and how many elements they are apart.
struct ManyRows {
  const void* data;
  std::int64_t count, row;
  DType dtype;
};
// Element (i, j) lies at data[i * few + j * many].
struct FewByMany {
  float* data;
  std::int64_t few, many;
};

// out(i, j) is the sum of the products of row i of a, of packed floats, and row j of b. There are
// up to kMostFewRows rows of a. Sums are of sixteen that are added at the end, whatever the vectors
// of the machine.
TENON_API void multiply_few_rows(std::int64_t rows, std::int64_t k, const float* a,
                                 const ManyRows& b, const FewByMany& out);

}  // namespace tenon
