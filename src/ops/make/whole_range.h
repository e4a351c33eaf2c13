// Which whole numbers random_ and randint draw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/dtype.h"

namespace tenon {

// The numbers a random_ with bounds draws: base, ..., base + range - 1, where a range of 0 is 2^64.
struct WholeRange {
  std::int64_t base;
  std::uint64_t range;
  // What is to be warned of: bounds between which a floating dtype has not every number.
  std::vector<std::string> warnings = {};
};

// [from, to), as far as the dtype goes; up to its largest if there is no `to`. ValueError if that
// is nothing, or not numbers of the dtype.
WholeRange whole_range(DType dtype, std::int64_t from, std::optional<std::int64_t> to);

struct WholeBounds {
  std::int64_t least, most;
};
// What a real dtype holds, as far as int64 goes.
WholeBounds bounds_of(DType dtype);

// The floating dtypes that are calculated with.
bool is_usual_float(DType dtype);

}  // namespace tenon
