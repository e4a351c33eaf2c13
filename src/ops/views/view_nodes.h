// The steps of a graph that are parts of memory by sizes and strides.
#pragma once

#include "tenon/autograd.h"
#include "tenon/layout.h"

namespace tenon {

// A view with that layout, of a tensor with that one.
Ref<Node> as_strided_node(const Layout& self, const Layout& view);

}  // namespace tenon
