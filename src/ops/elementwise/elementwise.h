// What functions of one and of two tensors have in common: the dtype they are calculated in, the
// shape and order in memory of the result, and the way to the kernel.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

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

// The dtype a function of all of them is calculated in, and the device: numbers, and tensors
// without dimensions on the CPU, take part on any.
DType promoted_dtype(std::initializer_list<const Tensor*> tensors);
Device promoted_device(std::string_view op, std::initializer_list<const Tensor*> tensors);
// That a result of that dtype and device can be written into out, and, separately, of that shape.
void check_destination(std::string_view op, const Tensor& out, DType result, Device device);
void check_result_shape(const Tensor& out, const Shape& shape);
// A copy of the argument where reading it and writing out would get in each other's way.
Tensor apart(const Tensor& out, const Tensor& argument);

// Fits out, for the form of a function that writes into it, or says why it cannot be written.
void prepare_unary_out(UnaryFunction function, const Tensor& out, const Tensor& self);
void prepare_binary_out(BinaryFunction function, const Tensor& out, const Tensor& self,
                        const Tensor& other);
// ValueError if the value is not one of the dtype's: 300 among bytes, -1e9 among 16-bit floats. The
// same of a tensor, if it is a number that takes part.
void check_value_fits(const Scalar& value, DType dtype);
// As fill_ checks it: what is too large for a floating point dtype becomes infinite there.
void check_becomes(const Scalar& value, DType dtype);
// DTypeError if the dtype of one of the two is opaque, whatever the value: item() of it, or a
// number in a tensor of the other, does not exist. The rule of writes of a tensor of no dimensions.
void check_value_dtypes(const Tensor& value, DType dtype);
void check_number_fits(const Tensor& number, DType dtype);

// AutogradError if anything would have to be recorded: the out forms are not.
void check_no_history(const Tensor& out, const Tensor& argument);

Shape binary_shape(const Tensor& self, const Tensor& other);
// An out without elements takes the layout of the result. Called when nothing else can go wrong.
void fit_out(const Tensor& out, const Layout& result);

}  // namespace tenon
