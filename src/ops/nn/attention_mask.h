// Masks of attention.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// Numbers to add to the scores: those of bools are -inf where they hold. Undefined if there is
// none; DTypeError, with its name, for a mask of another kind.
Tensor additive_mask(const Tensor& mask, const char* name, DType dtype);

}  // namespace tenon
