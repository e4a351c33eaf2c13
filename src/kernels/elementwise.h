// Functions of one and of two elements.
//
// They are calculated in the type the elements have, the 16-bit floating types in float and
// complex32 in complex64, rounded once at the end. Whole numbers wrap. The result has the dtype of
// the operands, or is bool where the function is a question, or real where it is the size of a
// complex number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/loop.h"
#include "tenon/detail/api.h"
#include "tenon/detail/function_names.h"
#include "tenon/dtype.h"

namespace tenon {

// Rows of operands of one dtype. Used by the functions below.
struct BinaryOperands {
  std::byte* out;
  const std::byte *a, *b;
  std::int64_t out_stride, a_stride, b_stride;  // in bytes
};
using BinaryRow = void (*)(const BinaryOperands& row, std::int64_t n);
struct UnaryOperands {
  std::byte* out;
  const std::byte* a;
  std::int64_t out_stride, a_stride;
};
using UnaryRow = void (*)(const UnaryOperands& row, std::int64_t n);

// What elements of the dtype are calculated in.
TENON_API DType compute_dtype(DType dtype);
// Whether the function is one of numbers of that dtype.
TENON_API bool has_binary(BinaryFunction function, DType dtype);
TENON_API bool has_unary(UnaryFunction function, DType dtype);
// The dtype of its result.
TENON_API DType result_of(BinaryFunction function, DType dtype);
TENON_API DType result_of(UnaryFunction function, DType dtype);

struct TypedOperand {
  Operand place;
  DType dtype;
};
// out = function(a, b) over the shape, calculated in `dtype`'s compute dtype; operands of another
// one are converted on the way, out included. Operands may be the same elements as out, and overlap
// it in no other way. Whole numbers are not to be divided by zero.
TENON_API void apply(BinaryFunction function, DType dtype, std::span<const std::int64_t> shape,
                     const TypedOperand& out, const TypedOperand& a, const TypedOperand& b);
TENON_API void apply(UnaryFunction function, DType dtype, std::span<const std::int64_t> shape,
                     const TypedOperand& out, const TypedOperand& a);

// The same for n elements that are packed, all of them of the dtype the function is calculated in.
TENON_API void apply_packed(BinaryFunction function, DType dtype, std::int64_t n, void* out,
                            const void* a, const void* b);

}  // namespace tenon
