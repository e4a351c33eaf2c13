#include "ops/operands.h"

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

Device same_device(std::string_view op, std::span<const Tensor> tensors) {
  const Device device = tensors.front().device();
  for (const Tensor& tensor : tensors) {
    if (tensor.device() == device) continue;
    throw DeviceError(concat(
        op, ": Expected all tensors to be on the same device, but found at least two devices, ",
        device.str(), " and ", tensor.device().str(), "! Move one with to(device)"));
  }
  return device;
}

DType common_dtype(std::span<const Tensor> tensors) {
  DType dtype = tensors.front().dtype();
  for (const Tensor& tensor : tensors.subspan(1)) dtype = promote_types(dtype, tensor.dtype());
  return dtype;
}

void check_written_once(const Layout& layout) {
  if (layout.numel() == 0) return;
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    if (layout.shape[d] > 1 && layout.strides[d] == 0) {
      throw Error(
          concat("unsupported operation: more than one element of the written-to tensor refers to "
                 "a single memory location (shape ",
                 bracketed(layout.shape), ", strides ", bracketed(layout.strides),
                 "). Please clone() the tensor before performing the operation."));
    }
  }
}

void check_copy_out_of_meta(std::string_view op, Device src, Device dst) {
  if (src.is_meta() && !dst.is_meta()) {
    throw NotImplementedError(concat(op,
                                     ": Cannot copy out of meta tensor; no data! Give it some "
                                     "first: load a state dict with assign, or "
                                     "make a new tensor with empty_like(t, {.device = ...})"));
  }
}

}  // namespace tenon
