// The gradient of a recurrent layer in operators: slower than its kernel, and can be run backwards
// again.
#pragma once

#include "ops/nn/recurrent_kernels.h"

namespace tenon {

// What run_recurrent_backward calculates. Gradients that are undefined are zero.
RecurrentGradients recurrent_gradients(const RecurrentPlan& plan, const RecurrentState& grads,
                                       const RecurrentState& from, const Tensor& state,
                                       const Tensor& cell, const RecurrentWeights& weights);

}  // namespace tenon
