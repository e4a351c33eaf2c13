// Device: where a tensor's bytes are; and the device that factories use when none is named.
//
//   auto w = with_device("meta", [] { return empty({4096, 4096}); });   // a shape, no memory
//
// The default device belongs to the thread, as in PyTorch: DeviceScope and set_default_device do
// not reach others.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tenon/detail/api.h"

namespace tenon {

// PyTorch's device types, in its order. Naming one does not mean that it can be used here: that
// takes a backend (tenon/extend/device_backend.h), and until there is one, an allocation on it says
// so. Out-of-tree devices get the numbers from `registered` on.
enum class DeviceType : std::uint8_t {
  cpu,
  cuda,
  ipu,
  xpu,
  mkldnn,
  opengl,
  opencl,
  ideep,
  hip,
  ve,
  fpga,
  maia,
  xla,
  lazy,
  vulkan,
  mps,
  meta,
  hpu,
  mtia,
  privateuseone,
  registered,
};

class TENON_API Device {
 public:
  // The CPU.
  constexpr Device() noexcept = default;
  // No index means the current device of that type. It is part of the value: "cuda" is not equal to
  // "cuda:0". DeviceError for an index below 0 or above 32767.
  constexpr Device(DeviceType type,
                   std::optional<int> index = std::nullopt)  // Device d = DeviceType::cuda
      : type_(type), index_(index ? checked_index(type, *index) : std::int16_t{-1}) {}
  // "cpu", "cuda:1": a type, and an index in decimal without sign or leading zeros. Anything else
  // is a DeviceError.
  Device(std::string_view text);  // torch.device("meta")
  Device(const char* text) : Device(std::string_view(text)) {}

  static constexpr Device cpu() noexcept { return {}; }
  static constexpr Device meta() { return {DeviceType::meta}; }
  static constexpr Device cuda(std::optional<int> index = std::nullopt) {
    return {DeviceType::cuda, index};
  }

  constexpr DeviceType type() const noexcept { return type_; }
  constexpr bool has_index() const noexcept { return index_ >= 0; }
  constexpr std::optional<int> index() const noexcept {
    return has_index() ? std::optional<int>(index_) : std::nullopt;
  }
  constexpr bool is_cpu() const noexcept { return type_ == DeviceType::cpu; }
  constexpr bool is_meta() const noexcept { return type_ == DeviceType::meta; }
  constexpr bool is_cuda() const noexcept { return type_ == DeviceType::cuda; }
  // Neither the CPU nor meta: a DeviceBackend serves it (tenon/extend/device_backend.h).
  constexpr bool has_backend() const noexcept { return !is_cpu() && !is_meta(); }

  friend constexpr bool operator==(Device a, Device b) noexcept {
    return a.type_ == b.type_ && a.index_ == b.index_;
  }

  // "cuda:1"
  std::string str() const;
  // "device(type='cuda', index=1)"
  std::string repr() const;

 private:
  static constexpr std::int16_t checked_index(DeviceType type, int index) {
    if (index < 0 || index > 32767) bad_index(type, index);
    return static_cast<std::int16_t>(index);
  }
  [[noreturn]] static void bad_index(DeviceType type, int index);

  DeviceType type_ = DeviceType::cpu;
  std::int16_t index_ = -1;
};

// Writes str(), as Python's print does.
TENON_API std::ostream& operator<<(std::ostream& out, Device device);

// Where factories of this thread put new tensors now: the innermost scope, else what
// set_default_device chose, else the CPU.
TENON_API Device get_default_device() noexcept;
// Until it is called again on this thread; nullopt goes back to the CPU. Scopes inside win over it.
TENON_API void set_default_device(std::optional<Device> device);

// Makes a device the default for as long as it lives, on this thread.
class TENON_API DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;
  Device device() const noexcept { return device_; }

 private:
  Device device_;
  std::optional<Device> saved_;
};

// f(), with the device as the default: for what is built inside the scope and has to outlive it.
template <class F>
decltype(auto) with_device(Device device, F&& f) {
  const DeviceScope scope(device);
  return std::invoke(std::forward<F>(f));
}

}  // namespace tenon
