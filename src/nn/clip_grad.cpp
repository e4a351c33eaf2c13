#include "tenon/nn/clip_grad.h"

#include <cmath>

#include "base/text.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/where.h"

namespace tenon::nn::utils {

namespace {

std::vector<Tensor> grads_of(const TensorList& parameters) {
  std::vector<Tensor> grads;
  for (const Tensor& parameter : parameters) {
    if (const Tensor grad = parameter.grad(); grad.defined()) grads.push_back(grad);
  }
  return grads;
}

}  // namespace

Tensor get_total_norm(TensorList tensors, const TotalNormOptions& given) {
  const TotalNormOptions options = given;  // see Note [Arguments of one's own]
  const NoGradScope no_grad;
  if (tensors.empty()) return zeros({}, {.device = Device::cpu()});
  // In the widest dtype there is, on the device of the first.
  std::vector<Tensor> norms;
  for (const Tensor& tensor : tensors)
    norms.push_back(norm(tensor, options.norm_type).to(tensors[0].device()));
  DType dtype = norms[0].dtype();
  for (const Tensor& one : norms) dtype = promote_types(dtype, one.dtype());
  for (Tensor& one : norms) one = one.to(dtype);
  const Tensor total = norm(stack(norms), options.norm_type);
  if (options.error_if_nonfinite && !std::isfinite(total.item<double>())) {
    throw ValueError(concat("The total norm of order ", Scalar(options.norm_type),
                            " for gradients from `parameters` is non-finite, so it cannot be "
                            "clipped. To disable this error and scale the gradients by the "
                            "non-finite norm anyway, set {.error_if_nonfinite = false}"));
  }
  return total;
}

void clip_grads_with_norm_(TensorList parameters, double max_norm, const Tensor& total_norm,
                           const ClipGradOptions& /*options*/) {
  const NoGradScope no_grad;
  // A little more, so that nothing is divided by zero; and as PyTorch divides a number by a tensor.
  const Tensor factor = ((total_norm + 1e-6).reciprocal() * max_norm).clamp_max(1.0);
  for (const Tensor& grad : grads_of(parameters)) grad.mul_(factor.to(grad.device()));
}

Tensor clip_grad_norm_(TensorList parameters, double max_norm, const ClipGradNormOptions& options) {
  const Tensor total = get_total_norm(grads_of(parameters), options);
  clip_grads_with_norm_(parameters, max_norm, total);
  return total;
}

void clip_grad_value_(TensorList parameters, double clip_value,
                      const ClipGradOptions& /*options*/) {
  const NoGradScope no_grad;
  for (const Tensor& grad : grads_of(parameters))
    grad.clamp_({.min = -clip_value, .max = clip_value});
}

}  // namespace tenon::nn::utils
