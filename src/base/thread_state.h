// Everything that is per thread, in one struct behind one function, so that a pool thread can take
// over the state of the thread it works for. Scopes change it; nothing else does.
#pragma once

#include <cstdint>
#include <optional>

#include "tenon/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"

namespace tenon {

struct ThreadState {
  std::optional<Device> default_device;  // set_default_device
  std::optional<Device> scope_device;    // the innermost DeviceScope
  std::optional<DType> scope_dtype;      // the innermost DTypeScope
  bool grad_enabled = true;              // off inside NoGradScope
  bool inference = false;                // on inside InferenceModeScope
  bool overrides_enabled = true;         // off inside DisableOverridesScope
  // The innermost ConversionScope's choice of how modules replace tensors.
  std::optional<std::uint8_t> conversion_policy;
  std::uint64_t nodes = 0;  // how many steps of graphs this thread has recorded

  bool records() const noexcept { return grad_enabled && !inference; }
};

TENON_API ThreadState& thread_state() noexcept;

}  // namespace tenon
