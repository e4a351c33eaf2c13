// A batch of products of matrices: which kernel, and who calculates which part.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

bool can_multiply(DType dtype);

// out[i] = a[i] * b[i], all of three dimensions and one dtype, on the CPU. out is packed, and
// shares no memory with the others. Of 16-bit factors it may be of float32: then nothing is rounded
// that was added up.
void multiply_batch(const Tensor& out, const Tensor& a, const Tensor& b);

}  // namespace tenon
