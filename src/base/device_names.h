// The names of device types: PyTorch's, and those that backends outside the library brought.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tenon/device.h"

namespace tenon {

// How many device types there can be, PyTorch's included.
inline constexpr int kMaxDeviceTypes = 32;

std::string_view device_type_name(DeviceType type) noexcept;
std::optional<DeviceType> device_type_from_name(std::string_view name) noexcept;
// Takes the next free number. ValueError if the name is taken or is not one (letters, digits,
// underscore), Error when all numbers are.
DeviceType register_device_type(std::string name);
// "cpu, cuda, ..."
std::string device_type_names();

}  // namespace tenon
