// Whether a tensor can take over another's data, or its elements.
#pragma once

#include "tenon/detail/api.h"
#include "tenon/extend/body.h"
#include "tenon/tensor.h"

namespace tenon {

// Both dense with memory, both dense on meta, or user-defined of one class.
TENON_API bool can_set_data(const Body& a, const Body& b);

// Whether self.copy_(src) of dense tensors may run user code: the handler of a warning (the source
// is complex), or a device other than the CPU.
TENON_API bool copy_runs_user_code(const Tensor& self, const Tensor& src);

// What self.copy_(src) of dense tensors would throw before it writes.
TENON_API void check_copy(const Tensor& self, const Tensor& src);

}  // namespace tenon
