// Gradients that were scaled, divided again, and looked at on the way.
#pragma once

#include <vector>

#include "tenon/tensor.h"

namespace tenon::optim {

// Multiplies all elements, each tensor once however often it is there, and gives whether one of
// them was infinite or NaN before. NotImplementedError, before anything is written, for complex
// ones.
bool unscale(const std::vector<Tensor>& grads, float inverse);

}  // namespace tenon::optim
