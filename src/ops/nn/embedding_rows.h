// What looking up rows of a table shares with looking up sums of them.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// IndexError naming the first of the positions, int64 on the CPU, that is no row of the weight.
void check_rows_exist(const Tensor& positions, const Tensor& weight);
// Rows longer than max_norm, of those that are named, are made that long.
void shorten_rows(const Tensor& weight, const Tensor& positions, double max_norm, double norm_type);

}  // namespace tenon
