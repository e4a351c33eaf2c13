// Where the rows of functions are. For elementwise.cpp.
#pragma once

#include "kernels/elementwise.h"

namespace tenon {

// Null for a function or dtype that the part does not have.
BinaryRow simple_binary_row(BinaryFunction function, DType dtype);  // binary_simd.cpp
// For packed floats that are aligned to themselves; written past the caches.
BinaryRow streamed_binary_row(BinaryFunction function);
BinaryRow math_binary_row(BinaryFunction function, DType dtype);  // binary_math.cpp
UnaryRow simple_unary_row(UnaryFunction function, DType dtype);   // unary_simd.cpp
UnaryRow math_unary_row(UnaryFunction function, DType dtype);     // unary_math.cpp

}  // namespace tenon
