#include "optim/fused_update.h"

#include "base/text.h"
#include "ops/elementwise/operands.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"

namespace tenon::optim {

void KeptBeside::check_steps(const Tensor& steps) const {
  if (steps.body().is_wrapper()) return;
  const Layout& layout = steps.layout();
  if (layout.numel() == 1 && (is_floating_point(layout.dtype) || is_integral(layout.dtype))) return;
  throw ValueError(concat("the 'step' that is kept for a parameter of shape ",
                          bracketed(parameter_.shape()), " should be one number, but is of shape ",
                          bracketed(layout.shape), " and ", repr(layout.dtype)));
}

void KeptBeside::check_slowly(const char* name, const Tensor& kept, bool is_average) const {
  for (const Tensor* tensor : {&kept, &parameter_, &grad_}) {
    if (tensor->body().is_wrapper()) return;
  }
  const Layout &held = kept.layout(), &own = parameter_.layout(), &slope = grad_.layout();
  const auto advice = [&] {
    return concat(
        ". Was the parameter converted after its first step? Make the optimizer anew, or ",
        "give it what it keeps: optimizer.state(parameter)[\"", name, "\"] = ...");
  };
  if (held.shape != own.shape || !broadcasts_to(slope.shape, own.shape)) {
    throw ShapeError(concat("'", name, "' of shape ", bracketed(held.shape),
                            " is kept for a parameter of shape ", bracketed(own.shape),
                            " with a gradient of shape ", bracketed(slope.shape), advice()));
  }
  const bool fits = is_average ? held.dtype == slope.dtype : can_cast(slope.dtype, held.dtype);
  if (!fits || !can_cast(held.dtype, own.dtype) || !can_cast(slope.dtype, own.dtype)) {
    throw DTypeError(concat("'", name, "' of ", repr(held.dtype), " is kept for a parameter of ",
                            repr(own.dtype), " with a gradient of ", repr(slope.dtype), advice()));
  }
  if (held.device != own.device || slope.device != own.device) {
    throw DeviceError(concat("'", name, "' on ", held.device.str(), " is kept for a parameter on ",
                             own.device.str(), " with a gradient on ", slope.device.str(),
                             advice()));
  }
}

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
