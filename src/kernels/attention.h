// Rows of scores and what softmax makes of them, a block of keys at a time.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// One row of scores: each becomes exp(score * scale + mask - maximum), with the largest seen so
// far, in this block or before, as the maximum, and their sum is added to `sum`. Returns what has
// become of e^0 with the maximum there was: a factor of whatever was added up with it. Without a
// mask it is null. A row of nothing but -inf is zeros.
TENON_API float softmax_block(float* scores, std::int64_t n, float scale, const float* mask,
                              float& maximum, float& sum);
TENON_API double softmax_block(double* scores, std::int64_t n, double scale, const double* mask,
                               double& maximum, double& sum);

// The same with all that is needed known: exp(score * scale + mask - shift).
TENON_API void softmax_again(float* scores, std::int64_t n, float scale, const float* mask,
                             float shift);
TENON_API void softmax_again(double* scores, std::int64_t n, double scale, const double* mask,
                             double shift);

}  // namespace tenon
