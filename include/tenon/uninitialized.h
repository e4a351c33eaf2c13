// Uninitialised tensors: parameters and buffers of modules that do not know their sizes yet
// (tenon/nn/lazy.h).
//
//   Tensor weight = uninitialized_parameter({.dtype = bfloat16});
//   std::vector<Tensor> held = {weight};
//   materialize(weight, {4, 3});        // held[0] is a parameter of that shape now, too
//
// Such a tensor has a dtype, a device and requires_grad, and neither shape nor data. It can be
// converted with to(), swapped, put into state dicts and saved; whatever else is asked of it is an
// error that says what to do: Error for its shape, ValueError for operators.
#pragma once

#include <optional>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/shape.h"
#include "tenon/tensor.h"

namespace tenon {

struct UninitializedParameterOptions {
  bool requires_grad = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
struct UninitializedBufferOptions {
  bool requires_grad = false;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
struct MaterializeOptions {
  std::optional<Device> device = {};  // by default what the tensor has
  std::optional<DType> dtype = {};
};

// PyTorch's UninitializedParameter and UninitializedBuffer. Whether a buffer is persistent is its
// slot's to say.
TENON_API Tensor uninitialized_parameter(const UninitializedParameterOptions& options = {});
TENON_API Tensor uninitialized_buffer(const UninitializedBufferOptions& options = {});
// Whether the tensor has neither shape nor data yet. An undefined one is not lazy.
TENON_API bool is_lazy(const Tensor& tensor) noexcept;
// Gives it memory, whose contents are undefined, and makes it an ordinary tensor. It stays the
// tensor it is: every handle, a module's and an optimizer's included, sees it; requires_grad, hooks
// and attributes stay. TypeError if it is an ordinary tensor already.
TENON_API void materialize(const Tensor& tensor, const Shape& shape,
                           const MaterializeOptions& options = {});

}  // namespace tenon
