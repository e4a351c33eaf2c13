// One tensor of a module on its way to being another (src/nn/module_to.cpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tenon/extend/body.h"
#include "tenon/nn/module.h"
#include "tenon/tensor.h"

namespace tenon::nn {

// What a tensor was when it was converted. User code that changes it afterwards (writes to it,
// swaps it, gives it other data or another grad) would lose its change when the fresh one takes its
// place.
struct Seen {
  const Body* body = nullptr;
  const void* memory = nullptr;
  std::int64_t version = 0;
  bool requires_grad = false;

  static Seen of(const Tensor& tensor) {
    return {&tensor.body(), tensor.body().storage().identity(), tensor.version(),
            tensor.requires_grad()};
  }
  bool still(const Tensor& tensor) const {
    return body == &tensor.body() && memory == tensor.body().storage().identity() &&
           version == tensor.version() && requires_grad == tensor.requires_grad();
  }
};

// One tensor on its way to being another, or its grad.
struct Replacement {
  enum class How : std::uint8_t {
    nothing,
    set_data,  // the tensor takes over the data
    rebind,    // another tensor takes its place
    swap,      // the tensor becomes the other
    renew,     // the same, of one that nothing but its handles holds: cheaper
  };
  TensorSlot* slot = nullptr;  // the first place it is in
  std::size_t seen = 0;        // what the tree's guard had counted then
  Tensor old;
  Tensor fresh;
  How how = How::nothing;
  Seen was = {};  // the old one when it was converted
  bool is_parameter = false;
};

}  // namespace tenon::nn
