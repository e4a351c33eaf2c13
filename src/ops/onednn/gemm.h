// Products of matrices by oneDNN, on the thread that calls.
//
// Note [Threads of oneDNN]
// oneDNN would start a team of OpenMP threads beside ours. It is given one thread, the caller's,
// and the product is cut into blocks that our own pool shares out: there are never more threads
// than get_num_threads(), those that have nothing to do sleep, a fork leaves nobody waiting for
// threads that are not there, and as the blocks depend on the sizes alone, so does the result.
#pragma once

#include <cstdint>

#include "tenon/dtype.h"

namespace tenon {

// A matrix whose rows, or columns if it is transposed, are packed and `leading` elements apart.
struct PackedMatrix {
  const void* data;
  std::int64_t leading;
  bool transposed;
};

// out = a * b + beta * out, m by k times k by n; rows of out are `out_leading` elements apart. All
// of float32. With a beta of 0 out is not read.
void onednn_multiply(std::int64_t m, std::int64_t n, std::int64_t k, const PackedMatrix& a,
                     const PackedMatrix& b, float* out, std::int64_t out_leading, float beta = 0);
// The same of bfloat16, added up in float; the result is bfloat16 or float32. False: oneDNN has
// none for this machine, or none that is faster than float32.
bool onednn_multiply_bfloat16(std::int64_t m, std::int64_t n, std::int64_t k, const PackedMatrix& a,
                              const PackedMatrix& b, void* out, std::int64_t out_leading,
                              DType out_dtype);

}  // namespace tenon
