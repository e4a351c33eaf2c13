// Taking the gradient of one parameter away.
#pragma once

#include "tenon/tensor.h"

namespace tenon::nn {

// Removes it, or makes it zeros that no history leads to. None is left alone.
void zero_grad(const Tensor& parameter, bool set_to_none);

}  // namespace tenon::nn
