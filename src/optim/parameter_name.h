// What a state dict may call a parameter.
#pragma once

#include "tenon/value.h"

namespace tenon::optim {

// Whether it is what Python can hash, a tuple only if it is short. PyTorch uses numbers, or names.
bool is_parameter_name(const Value& value);

}  // namespace tenon::optim
