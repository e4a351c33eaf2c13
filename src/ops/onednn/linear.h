// Products with a weight that is used again and again, by oneDNN.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// out = a * b, plus the bias for each row if it is defined, where b is a parameter or a view of
// one, rearranged once and kept (tenon/packed_weights.h). Matrices of float32 on the CPU, out and
// the bias packed. False, with nothing done, if it does not pay: b is no parameter, is looked at
// for the first time since it was written to, or a has too few rows.
bool multiply_by_weight(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias);

}  // namespace tenon
