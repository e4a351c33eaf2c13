// What numbers a dtype has: torch.finfo and torch.iinfo.
//
//   scores = scores.masked_fill(mask, finfo(scores.dtype()).min);
//   std::int64_t most = iinfo(int32).max;
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

// Of a floating dtype, or of the parts of a complex one. DTypeError for others.
struct TENON_API finfo {
  finfo();  // of the default dtype
  explicit finfo(DType dtype);

  DType dtype;
  int bits;
  double min;  // the lowest, which is -max for all but float8_e8m0fnu
  double max;
  double eps;              // from 1 to the next one
  double smallest_normal;  // the least above 0 that has all its digits
  double tiny;             // the same
  double resolution;       // of its digits in base ten

  // "finfo(resolution=1e-06, min=-3.40282e+38, ..., dtype=float32)"
  std::string repr() const;
};

// Of whole numbers. DTypeError for others, bool among them.
struct TENON_API iinfo {
  explicit iinfo(DType dtype);

  DType dtype;
  int bits;
  std::int64_t min;
  std::uint64_t max;

  std::string repr() const;
};

TENON_API std::ostream& operator<<(std::ostream& out, const finfo& info);
TENON_API std::ostream& operator<<(std::ostream& out, const iinfo& info);

}  // namespace tenon
