// What reductions of all kinds have in common.
#pragma once

#include <optional>

#include "kernels/reduce.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

// NotImplementedError if there is no such reduction of the dtype.
void check_has(const OpInfo& info, ReduceFunction function, DType dtype);
DType sum_dtype(DType own, std::optional<DType> asked);
// Into memory that is there, sums are calculated in its dtype, if none is named.
std::optional<DType> asked_or_own(std::optional<DType> asked, const Tensor& out);

}  // namespace tenon
