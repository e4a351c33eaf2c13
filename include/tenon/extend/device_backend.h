// DeviceBackend: what a device has to do to hold tensors. The CPU and meta are built in; everything
// else, CUDA included, comes through here, and may live outside the library.
//
// A backend gives memory and copies; views and shape rules then work without another line.
// Its functions are user code as hooks are: they may destroy the caller's variables, and change
// modules that are being converted or loaded, with the outcome that tenon/nn/module.h promises.
// Operators that calculate need their kernels filled in (tenon/extend/custom_op.h, set_kernel).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/device.h"

namespace tenon {

class Tensor;

class TENON_API DeviceBackend {
 public:
  virtual ~DeviceBackend();

  // How many devices of the type there are. A Device without an index is number 0.
  virtual int device_count() const = 0;
  // nbytes (never 0) of memory, aligned for any element; OutOfMemoryError if there is none left.
  virtual void* allocate(std::size_t nbytes, Device device) = 0;
  virtual void deallocate(void* data, std::size_t nbytes, Device device) noexcept = 0;
  // Writes src into dst. At least one of the two is of this device type and the other of the same
  // or on the CPU. They have the same shape and may differ in dtype, strides, and whether elements
  // stand for their conjugate or negative.
  virtual void copy(const Tensor& dst, const Tensor& src) = 0;
  // Returns when everything started on the device is done.
  virtual void synchronize(Device device) = 0;
};

// Adds a device type under a name that Device("name:0") then understands, and returns its number. A
// name of PyTorch's list ("cuda", "mps") gets its own number. ValueError if that type has a backend
// already. The backend is kept until the process ends.
TENON_API DeviceType register_device(const std::string& name,
                                     std::unique_ptr<DeviceBackend> backend);
// The backend of a type, or null: the CPU and meta have none.
TENON_API DeviceBackend* find_backend(DeviceType type) noexcept;

}  // namespace tenon
