// What functions of one and of two tensors have in common: the dtype they are calculated in, the
// shape and order in memory of the result, and the way to the kernel.
#pragma once

#include <span>

#include "kernels/elementwise.h"
#include "tenon/layout.h"
#include "tenon/tensor.h"

namespace tenon {

Layout infer_unary(UnaryFunction function, const Tensor& self);
Layout infer_binary(BinaryFunction function, const Tensor& self, const Tensor& other);

// That the result can be written into out.
void check_unary(UnaryFunction function, const Tensor& out, const Tensor& self);
void check_binary(BinaryFunction function, const Tensor& out, const Tensor& self,
                  const Tensor& other);

// out is what was inferred, or has been checked.
void run_unary(UnaryFunction function, const Tensor& out, const Tensor& self);
void run_binary(BinaryFunction function, const Tensor& out, const Tensor& self,
                const Tensor& other);

// Strides of an operand over the shape it is broadcast to: 0 where it repeats.
Dims broadcast_strides(const Layout& layout, const Shape& shape);
// How a result of operands that broadcast to the shape lies in memory.
Layout result_layout(const Shape& shape, DType dtype, Device device,
                     std::span<const Layout* const> operands);

// AutogradError if anything would have to be recorded: the out forms are not.
void check_no_history(const Tensor& out, const Tensor& argument);

Shape binary_shape(const Tensor& self, const Tensor& other);
// An out without elements takes the shape of the result.
void fit_out(const Tensor& out, const Shape& shape);

}  // namespace tenon
