// New bodies and tensors over memory that is there already.
#pragma once

#include "tenon/detail/api.h"
#include "tenon/extend/body.h"
#include "tenon/layout.h"
#include "tenon/tensor.h"

namespace tenon {

// The same storage and version counter under another layout, without history. Of a user-defined
// tensor there is none.
TENON_API Ref<Body> alias_body(Body& body, Layout&& layout);

// A new tensor with memory for the layout (none on meta), uninitialised.
TENON_API Tensor allocate_tensor(Layout&& layout);

}  // namespace tenon
