// Weighted sums of elements along one dimension.
#pragma once

#include <cstdint>
#include <vector>

#include "tenon/detail/api.h"

namespace tenon {

// For each element of the result, the `taps` elements it is made of, and how much of each.
template <class T>
struct Taps {
  std::int64_t taps;
  std::vector<std::int64_t> from;  // taps for each
  std::vector<T> weights;
};

// `outer` blocks of from_size lines of `inner` elements become blocks of to_size lines.
struct ResampleSizes {
  std::int64_t outer, from_size, to_size, inner;
};
TENON_API void resample(const ResampleSizes& sizes, const Taps<float>& taps, const float* from,
                        float* to);
TENON_API void resample(const ResampleSizes& sizes, const Taps<double>& taps, const double* from,
                        double* to);
// The other way: everything is added to what it was made of. `from` is zeros at first.
TENON_API void resample_back(const ResampleSizes& sizes, const Taps<float>& taps, const float* to,
                             float* from);
TENON_API void resample_back(const ResampleSizes& sizes, const Taps<double>& taps, const double* to,
                             double* from);

}  // namespace tenon
