// The operators that case files name, applied to our tensors.
#pragma once

#include <vector>

#include "parity/cases.h"

namespace tenon::parity {

// The result of an "op" line on tensors. What writes in place returns its first tensor.
Tensor run_operator(const Line& op, const std::vector<Tensor>& tensors);

}  // namespace tenon::parity
