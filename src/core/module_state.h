// The state of a pickled module of PyTorch.
#pragma once

#include "tenon/value.h"

namespace tenon {

// The parts of it that hold tensors and modules, in the order a state dict has them.
inline constexpr const char* kModuleParts[] = {"_parameters", "_buffers", "_modules"};

inline bool is_module_state(const Value& state) {
  if (state.kind() != Value::Kind::dict) return false;
  for (const char* part : kModuleParts) {
    const Value* found = state.find(part);
    if (found == nullptr || found->kind() != Value::Kind::dict) return false;
  }
  return true;
}

}  // namespace tenon
