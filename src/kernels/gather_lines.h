// Blocks whose elements are found by a list of positions for each of up to three dimensions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

// For each dimension, where in the smaller block an element of the larger one comes from.
struct LineMap {
  std::int64_t inner = 1;  // numbers of an element
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> from;  // from[d][i] is below sizes[d]

  std::int64_t from_size() const;
  std::int64_t to_size() const;
};

// `blocks` packed blocks of each. Elements are only moved; `inner` is 1.
TENON_API void gather_lines(const LineMap& map, std::int64_t blocks, const void* from, void* to,
                            std::int64_t itemsize);
// The other way: every element of `to` is added to where it came from in `from`, which is zeros at
// first. float32 and float64.
TENON_API void add_lines(const LineMap& map, std::int64_t blocks, const void* to, void* from,
                         DType dtype);

}  // namespace tenon
