#include "core/element_copy.h"

#include "base/text.h"
#include "core/alias.h"
#include "kernels/copy.h"
#include "tenon/error.h"
#include "tenon/extend/device_backend.h"

namespace tenon {

Operand operand(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.data_ptr()), tensor.stride(), tensor.element_size()};
}

void copy_tensor(const Tensor& dst, const Tensor& src) {
  const Layout &to = dst.layout(), &from = src.layout();
  if (to.device.is_cpu() && from.device.is_cpu()) {
    copy_elements(to.shape, operand(dst), to.dtype, operand(src), from.dtype,
                  {.conj = to.conj != from.conj, .neg = to.neg != from.neg});
    return;
  }
  // Between two kinds of device other than the CPU there is no direct way that either knows:
  // through the CPU.
  if (!to.device.is_cpu() && !from.device.is_cpu() && to.device.type() != from.device.type()) {
    const Tensor staged = allocate_tensor(Layout::packed(from.shape, from.dtype, Device::cpu()));
    copy_tensor(staged, src);
    return copy_tensor(dst, staged);
  }
  DeviceBackend* const backend = find_backend((to.device.is_cpu() ? from : to).device.type());
  // A backend may be user code that changes the variables it is called with; and in an allocation
  // before this, the data of one of the two.
  const Tensor into = dst, out_of = src;
  if (to.shape != from.shape) {
    throw Error(concat("a copy between ", from.device.str(), " and ", to.device.str(),
                       " has sizes ", bracketed(from.shape), " and ", bracketed(to.shape),
                       ": one of the tensors was given other data while the call was running"));
  }
  backend->copy(into, out_of);
}

}  // namespace tenon
