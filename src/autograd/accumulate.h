// What happens to a gradient that has arrived at a leaf.
#pragma once

#include "core/autograd_meta.h"
#include "tenon/tensor.h"

namespace tenon {

// AutogradError if what a hook returned cannot take the gradient's place.
void check_hook(const Tensor& grad, const Tensor& replaced);
// Runs the leaf's hooks on the gradient, which may replace it.
Tensor with_leaf_hooks(const AccumulateGrad& node, Tensor grad);
// Adds the gradient to the leaf's grad. It is recorded if recording is on. Several threads may add
// to one leaf.
void accumulate(const AccumulateGrad& node, Tensor&& grad);
// The sum, in the first one's place if nobody else can see it.
Tensor sum_of(Tensor&& sum, const Tensor& grad);

}  // namespace tenon
