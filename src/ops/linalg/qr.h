// Orthonormal columns.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// The Q of a = QR for which the diagonal of R is not negative: there is one, so the way it is
// calculated shows in rounding only. Of a matrix of float32 or float64 on the CPU with at least as
// many rows as columns; of the same shape and dtype, calculated in double. A column that is a
// combination of earlier ones comes out as zeros, or as what rounding makes of it.
Tensor orthonormal_columns(const Tensor& a);

}  // namespace tenon
