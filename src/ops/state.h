// Whether a tensor can take over another's data.
#pragma once

#include "tenon/api.h"
#include "tenon/body.h"

namespace tenon {

// Both dense with memory, both dense on meta, or user-defined of one class.
TENON_API bool can_set_data(const Body& a, const Body& b);

}  // namespace tenon
