// Copying between tensors: which device does it, and what the operands look like to a kernel.
#pragma once

#include "kernels/loop.h"
#include "tenon/detail/api.h"
#include "tenon/tensor.h"

namespace tenon {

// A dense tensor on the CPU as kernels see it.
TENON_API Operand operand(const Tensor& tensor);

// dst = src, converting dtype and resolving conjugation and negation. Same shape, both dense,
// neither on meta; they do not overlap unless they are the same elements. The device of either
// decides who copies. Versions and history are the caller's business.
TENON_API void copy_tensor(const Tensor& dst, const Tensor& src);

}  // namespace tenon
