// Putting elements in order, and finding equals.
//
// NaN is above everything; 0 and -0 are equal; equals keep their order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/loop.h"
#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

// Whether elements of the dtype have an order: complex ones have not.
TENON_API bool can_sort(DType dtype);

// The first k elements of every row along `dim`, as they would be sorted, and where they were
// (int64). The results have k elements along that dimension, which has at least so many.
TENON_API void sort_elements(std::span<const std::int64_t> shape, std::size_t dim, std::int64_t k,
                             bool descending, const Operand& in, DType dtype, const Operand& values,
                             const Operand& indices);

// Rows that are equal, element by element. A row with a NaN equals no other.
struct Groups {
  std::vector<std::int64_t> first;    // of each group, the row that stands for it
  std::vector<std::int64_t> counts;   // of each group
  std::vector<std::int64_t> inverse;  // of each row, its group
};
// Of all rows, the groups in ascending order; or only of rows that follow each other.
TENON_API Groups group_rows(const void* packed, DType dtype, std::int64_t rows, std::int64_t width,
                            bool consecutive);

}  // namespace tenon
