// Parameters: tensors that a module trains. A parameter is a tensor with a flag; everything a
// tensor can do, it can.
#pragma once

#include "tenon/detail/api.h"
#include "tenon/tensor.h"

namespace tenon::nn {

// A leaf over the same data, marked as a parameter. It shares memory and version counter with
// `data` and nothing else: not its history, and not whether it requires grad. A user-defined tensor
// keeps its class, for which its detach() must return that class (TypeError otherwise). DTypeError
// if it is to require grad and its dtype cannot.
TENON_API Tensor make_parameter(const Tensor& data, bool requires_grad = true);

}  // namespace tenon::nn
