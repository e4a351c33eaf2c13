// Activations: functions of one element and up to three numbers, and their gradients.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/elementwise.h"
#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

enum class Activation : std::uint8_t {
  gelu,
  gelu_tanh,
  silu,
  mish,
  hardswish,
  hardsigmoid,
  hardtanh,    // between the first and the second number
  elu,         // factor of the negative part, of the positive one, and of what is in exp
  leaky_relu,  // slope of the negative part
  hardshrink,  // half the width of what becomes zero
  softshrink,  // the same
  threshold,   // up to the first number it is the second
  softplus,    // beta, and where it is a straight line
  log_sigmoid,
  // Only as gradients, and of the result.
  elu_of_result,
  sigmoid,
  tanh,
};

using ActivationNumbers = std::array<double, 3>;

// Whether the function is one of numbers of that dtype.
TENON_API bool has_activation(Activation function, DType dtype);

// out = function(a), and out = grad * derivative(of), over the shape; 16-bit floats are calculated
// in float. Operands may be the same elements as out, and overlap it in no other way.
TENON_API void activate(Activation function, DType dtype, std::span<const std::int64_t> shape,
                        const TypedOperand& out, const TypedOperand& a,
                        const ActivationNumbers& numbers);
TENON_API void activation_gradient(Activation function, DType dtype,
                                   std::span<const std::int64_t> shape, const TypedOperand& out,
                                   const TypedOperand& grad, const TypedOperand& of,
                                   const ActivationNumbers& numbers);

}  // namespace tenon
