// Products with a weight that is used again and again, by oneDNN.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// out = a * b, plus the bias for each row if it is defined. Matrices of float32, bfloat16 or
// float16 on the CPU, out and the bias packed; b is the transpose of a weight whose rows are
// packed, or, if not of float32, has packed rows itself. The weight is rearranged on the way; that
// of a parameter, when it is used a second time without having been written to, once and for all
// (tenon/packed_weights.h), which is faster and the same to the last bit. Narrow results are
// rounded once. False, with nothing done, for another b, and if there are too few rows to pay.
bool multiply_by_weight(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias);

}  // namespace tenon
