// Gradients of activations as one kernel each.
#pragma once

#include "kernels/activation.h"
#include "tenon/tensor.h"

namespace tenon {

// grad times the derivative at `of`: what went in, or for some what came out. Can itself be run
// backwards. Of real floating tensors.
Tensor activation_backward(Activation function, const Tensor& grad, const Tensor& of,
                           const ActivationNumbers& numbers = {});

}  // namespace tenon
