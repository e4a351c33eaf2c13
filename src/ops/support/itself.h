// The tensor that one of its bases without anything in them is.
#pragma once

#include "tenon/tensor.h"

namespace tenon {

template <class Base>
const Tensor& itself(const Base& self) {
  return static_cast<const Tensor&>(self);
}

}  // namespace tenon
