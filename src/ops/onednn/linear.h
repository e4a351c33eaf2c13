// Products with a weight that is used again and again, by oneDNN.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// out = a * b, plus the bias for each row if it is defined, where b is the transpose of a weight
// whose rows are packed. Matrices of float32 on the CPU, out and the bias packed. The weight is
// rearranged on the way; that of a parameter, when it is used a second time without having been
// written to, once and for all (tenon/packed_weights.h), which is faster and the same to the last
// bit. False, with nothing done, for another b, and if there are too few rows for it to pay.
bool multiply_by_weight(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias);

}  // namespace tenon
