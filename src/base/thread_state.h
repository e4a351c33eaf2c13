// Everything that is per thread, in one struct behind one function, so that a pool thread can take
// over the state of the thread it works for. Scopes change it; nothing else does.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"

namespace tenon {

class AutocastCache;  // dispatch/autocast_cache.h

// What AutocastScope sets. Places are device types.
struct AutocastState {
  static constexpr std::size_t kDeviceTypes = 32;

  static constexpr std::array<DType, kDeviceTypes> default_dtypes() {
    std::array<DType, kDeviceTypes> dtypes{};
    dtypes.fill(float16);
    for (const DeviceType type :
         {DeviceType::cpu, DeviceType::hpu, DeviceType::xla, DeviceType::maia})
      dtypes[static_cast<std::size_t>(type)] = bfloat16;
    return dtypes;
  }

  std::uint32_t enabled = 0;  // a bit for each type
  bool cache_enabled = true;
  AutocastCache* cache = nullptr;  // the outermost scope's, or a replica's; null outside
  std::array<DType, kDeviceTypes> dtypes = default_dtypes();
};

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
  AutocastState autocast;

  bool records() const noexcept { return grad_enabled && !inference; }
};

TENON_API ThreadState& thread_state() noexcept;

}  // namespace tenon
