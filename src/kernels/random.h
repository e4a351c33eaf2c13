// Filling elements with random numbers, with PyTorch's bits.
//
// Elements are drawn one after another in the order they lie in memory, never on several threads: a
// stream has one order.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/loop.h"
#include "kernels/random_source.h"
#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

using ShapeView = std::span<const std::int64_t>;

// float64, float32, float16, bfloat16.
TENON_API void fill_uniform(ShapeView shape, const Operand& dst, DType dtype, double from,
                            double to, RandomSource& source);
// The same dtypes. Sixteen or more elements packed in the usual order are drawn in another way than
// others: `packed` says whether they are.
TENON_API void fill_normal(ShapeView shape, const Operand& dst, DType dtype, bool packed,
                           double mean, double std, RandomSource& source);
// The same dtypes.
TENON_API void fill_exponential(ShapeView shape, const Operand& dst, DType dtype, double lambda,
                                RandomSource& source);
TENON_API void fill_cauchy(ShapeView shape, const Operand& dst, DType dtype, double median,
                           double sigma, RandomSource& source);
TENON_API void fill_log_normal(ShapeView shape, const Operand& dst, DType dtype, double mean,
                               double std, RandomSource& source);

// Real dtypes but the float8 ones. Whole numbers.
TENON_API void fill_geometric(ShapeView shape, const Operand& dst, DType dtype, double p,
                              RandomSource& source);
TENON_API void fill_bernoulli(ShapeView shape, const Operand& dst, DType dtype, double p,
                              RandomSource& source);
// A probability for each element, in [0, 1].
TENON_API void fill_bernoulli(ShapeView shape, const Operand& dst, DType dtype, const Operand& p,
                              DType p_dtype, RandomSource& source);

// base, ..., base + range - 1. A range of 0 is 2^64.
TENON_API void fill_random(ShapeView shape, const Operand& dst, DType dtype, std::uint64_t range,
                           std::int64_t base, RandomSource& source);
// Every whole number from 0 on that the dtype has, or, for floating ones, has exactly.
TENON_API void fill_random(ShapeView shape, const Operand& dst, DType dtype, RandomSource& source);

// The numbers 0, ..., n - 1 in random order, packed.
TENON_API void fill_permutation(std::byte* dst, DType dtype, std::int64_t n, RandomSource& source);

}  // namespace tenon
