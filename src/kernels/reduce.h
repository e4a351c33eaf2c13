// Many elements into one.
//
// Sums are carried in double (whole numbers in 64 bits, which wrap), so that they are close to
// exact whatever the order. The order depends on the shape and the strides alone: the result is the
// same on any number of threads.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/loop.h"
#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

enum class ReduceFunction : std::uint8_t {
  sum,
  mean,
  prod,
  amax,
  amin,
  any,
  all,
  argmax,  // where the largest is, the first of several; int64
  argmin,
  var,         // with the correction of ReduceParameters
  norm,        // the p-th root of the sum of p-th powers
  count_true,  // elements that are not zero; int64
};

struct ReduceParameters {
  double correction = 1;  // var
  double p = 2;           // norm; 0 counts, infinities are the largest and smallest size
};

// Whether the function is one of numbers of that dtype.
TENON_API bool has_reduction(ReduceFunction function, DType dtype);

// out[...] = function over the dimensions in which `reduced` is true. out has a stride for each
// dimension of the shape, which is 0 in those. Its dtype: int64 where that is said above, bool for
// any and all, real for var and norm of complex numbers, int64 for sums and products of whole
// numbers, and otherwise that of the elements; for any other it is converted. argmax and argmin
// take one dimension.
TENON_API void reduce(ReduceFunction function, std::span<const std::int64_t> shape,
                      std::span<const bool> reduced, const Operand& in, DType in_dtype,
                      const Operand& out, DType out_dtype, const ReduceParameters& parameters);

// out[i] = function of in[0] to in[i] along a dimension, for sum and prod. Shapes are equal.
TENON_API void accumulate(ReduceFunction function, std::span<const std::int64_t> shape,
                          std::size_t dim, const Operand& in, const Operand& out, DType dtype);

}  // namespace tenon
