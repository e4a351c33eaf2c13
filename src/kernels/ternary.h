// Functions of three elements. A product that is added to something is not rounded in between, as
// in PyTorch.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/elementwise.h"
#include "tenon/detail/api.h"
#include "tenon/dtype.h"
#include "tenon/scalar.h"

namespace tenon {

enum class TernaryFunction : std::uint8_t {
  add_scaled,  // a + value * b; c is not used
  lerp,        // a + c * (b - a), from the end that is nearer; the value is not used
  addcmul,     // a + value * b * c
  addcdiv,     // a + value * b / c
  clamp,       // a between b and c, and c if b is above it; NaN wins. The value is not used
  clamp_min,   // the same without c,
  clamp_max,   // and without b
};

// Rows of operands of one dtype.
struct TernaryOperands {
  std::byte* out;
  const std::byte *a, *b, *c;
  std::int64_t out_stride, a_stride, b_stride, c_stride;  // in bytes
  const void* value;                                      // one element
};
using TernaryRow = void (*)(const TernaryOperands& row, std::int64_t n);

// Whether the function is one of numbers of that dtype: of real ones, and where it says nothing
// against it, whole ones.
TENON_API bool has_ternary(TernaryFunction function, DType dtype);

// out = function(a, b, c) over the shape, calculated in `dtype`'s compute dtype; operands of
// another one are converted on the way. Operands may be the same elements as out, and overlap it in
// no other way.
TENON_API void apply(TernaryFunction function, DType dtype, std::span<const std::int64_t> shape,
                     const TypedOperand& out, const TypedOperand& a, const TypedOperand& b,
                     const TypedOperand& c, const Scalar& value);

}  // namespace tenon
