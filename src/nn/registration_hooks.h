// The hooks of the process for what is given a name in a module.
#pragma once

#include <memory>
#include <string>

#include "tenon/nn/slots.h"
#include "tenon/tensor.h"

namespace tenon::nn::detail {

// What the hooks make of a value that is about to be registered.
Tensor registered(Module& owner, const std::string& name, Tensor value, TensorSlot::Kind kind);
std::shared_ptr<Module> registered(Module& owner, const std::string& name,
                                   std::shared_ptr<Module> module);
bool has_registration_hooks(TensorSlot::Kind kind) noexcept;

}  // namespace tenon::nn::detail
