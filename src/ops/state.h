// Whether a tensor can take over another's data, or its elements.
#pragma once

#include "tenon/api.h"
#include "tenon/body.h"
#include "tenon/tensor.h"

namespace tenon {

// Both dense with memory, both dense on meta, or user-defined of one class.
TENON_API bool can_set_data(const Body& a, const Body& b);

// What self.copy_(src) of dense tensors would throw before it writes.
TENON_API void check_copy(const Tensor& self, const Tensor& src);

}  // namespace tenon
