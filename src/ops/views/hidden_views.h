// Views that other operators are made of and users do not call.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

// A view of a tensor nobody else has, which therefore is not treated as one.
Tensor unsafe_view(const Tensor& self, const Shape& size);
// The same elements, read with the other sign.
Tensor neg_view(const Tensor& self);
// The same layout again: what x[...] is.
Tensor alias(const Tensor& self);

}  // namespace tenon
