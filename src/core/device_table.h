// The devices that can be used: the CPU, meta, and those with a backend.
#pragma once

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/extend/device_backend.h"

namespace tenon {

// The device as tensors carry it: the CPU and meta without an index, others with one. DeviceError
// if there is no backend for it, or no device of that number.
TENON_API Device usable_device(Device device);

}  // namespace tenon
