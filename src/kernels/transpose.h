// Rows that become columns.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// dst[j][i] = src[i][j] for a matrix of that many rows and columns. Rows of src and of dst are so
// many elements apart. On the thread that calls.
TENON_API void transpose_floats(const float* src, std::int64_t src_row, std::int64_t rows,
                                std::int64_t columns, float* dst, std::int64_t dst_row);

}  // namespace tenon
