// OpInfo: what is known of an operator at run time. Its address is the operator's identity in every
// library.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tenon/detail/api.h"
#include "tenon/device.h"

namespace tenon {

enum class OpKind : std::uint8_t {
  pure,       // makes new tensors from its arguments
  view,       // gives its first argument another layout
  inplace,    // writes into its first argument and returns it
  factory,    // makes a tensor from nothing
  query,      // answers with something that is no tensor
  composite,  // is written with other operators
};

class TENON_API OpInfo {
 public:
  using Kernel = void (*)();  // the operator's own type, erased

  constexpr OpInfo(std::string_view name, OpKind kind) noexcept : name_(name), kind_(kind) {}
  OpInfo(const OpInfo&) = delete;
  OpInfo& operator=(const OpInfo&) = delete;

  std::string_view name() const noexcept { return name_; }
  OpKind kind() const noexcept { return kind_; }
  // The kernel of a device other than the CPU, or null. Set through set_kernel
  // (tenon/extend/custom_op.h).
  Kernel kernel(DeviceType type) const noexcept {
    return kernels_[static_cast<std::size_t>(type)].load(std::memory_order_acquire);
  }
  void set_kernel(DeviceType type, Kernel function) noexcept {
    kernels_[static_cast<std::size_t>(type)].store(function, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kDeviceTypes = 32;

  std::string_view name_;
  OpKind kind_;
  std::array<std::atomic<Kernel>, kDeviceTypes> kernels_{};
};

}  // namespace tenon
