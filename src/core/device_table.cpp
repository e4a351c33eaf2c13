#include "core/device_table.h"

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "base/device_names.h"
#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// Entries are set once and never removed, so a reader needs no lock.
using Backends = std::array<std::atomic<DeviceBackend*>, kMaxDeviceTypes>;
constinit Backends backends{};

std::mutex& registration() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

DeviceBackend::~DeviceBackend() = default;

DeviceType register_device(const std::string& name, std::unique_ptr<DeviceBackend> backend) {
  const std::lock_guard lock(registration());
  const std::optional<DeviceType> known = device_type_from_name(name);
  if (known && (*known == DeviceType::cpu || *known == DeviceType::meta ||
                find_backend(*known) != nullptr)) {
    throw ValueError(concat("the device type '", name, "' has a backend already"));
  }
  const DeviceType type = known ? *known : register_device_type(name);
  backends[static_cast<std::size_t>(type)].store(backend.release(), std::memory_order_release);
  return type;
}

DeviceBackend* find_backend(DeviceType type) noexcept {
  return backends[static_cast<std::size_t>(type)].load(std::memory_order_acquire);
}

Device usable_device(Device device) {
  if (device.is_cpu() || device.is_meta()) return Device(device.type());
  const DeviceBackend* backend = find_backend(device.type());
  if (backend == nullptr) {
    throw DeviceError(
        concat("there is no backend for device ", device.str(),
               " in this program: use cpu or meta, or register one with register_device"));
  }
  const int index = device.index().value_or(0), count = backend->device_count();
  if (index >= count)
    throw DeviceError(
        concat("there is no device ", device.str(), ": only ", count, " of its type"));
  return Device(device.type(), index);
}

}  // namespace tenon
