#include "optim/fused_update.h"

namespace tenon::optim {

bool are_packed_floats(std::span<const Tensor> tensors) {
  const Tensor& parameter = tensors[0];
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    if (!tensor.defined()) continue;
    const Layout& layout = tensor.layout();
    if (tensor.body().is_wrapper() || tensor.is_inference() || layout.dtype != float32 ||
        layout.device != Device::cpu() || layout.conj || layout.neg)
      return false;
    if (layout.shape != parameter.shape() || layout.strides != parameter.stride() ||
        !layout.is_non_overlapping_and_dense())
      return false;
    for (const Tensor& other : tensors.first(i)) {
      if (other.defined() && other.storage().is(tensor.storage())) return false;
    }
  }
  return true;
}

}  // namespace tenon::optim
