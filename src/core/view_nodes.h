// The steps of a graph that views need when they, or what they are views of, are written to. They
// are calculated with operators, which this layer knows nothing of: src/ops makes them.
#pragma once

#include "tenon/autograd.h"
#include "tenon/detail/api.h"
#include "tenon/extend/ref.h"
#include "tenon/layout.h"

namespace tenon {

struct ViewNodes {
  // A view with that layout, of a tensor with that one.
  Ref<Node> (*as_strided)(const Layout& base, const Layout& view);
  // A tensor with that layout, a view of which was written to by an operator with the step `write`.
  Ref<Node> (*copy_slices)(const Layout& base, const Layout& view, Ref<Node> write);
};

// Set once, before main(). There are no views without the operators that make them.
TENON_API void set_view_nodes(const ViewNodes& nodes) noexcept;

}  // namespace tenon
