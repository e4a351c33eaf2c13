// Who is asked first when several user-defined tensors take part in a call.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tenon/extend/wrapper.h"

namespace tenon {

// Held, because a handler may swap its own tensor and would be gone while it runs.
class HeldWrapper {
 public:
  explicit HeldWrapper(Ref<Body> body) noexcept : body_(std::move(body)) {}
  const WrapperBody& operator*() const noexcept { return static_cast<const WrapperBody&>(*body_); }
  const WrapperBody* operator->() const noexcept { return &**this; }

 private:
  Ref<Body> body_;
};

// One tensor of each class among them, in the order of the arguments, except that a class comes
// before those it is derived from.
std::vector<HeldWrapper> wrappers_in_order(std::span<const Tensor> tensors);

// The classes of all of them, each once, plain tensors included.
std::vector<std::string> type_names(std::span<const Tensor> tensors);
std::string joined_type_names(std::span<const Tensor> tensors);

}  // namespace tenon
