#include "tenon/nn/normalization.h"

#include "base/text.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/normalization.h"

namespace tenon::nn {

LayerNorm::LayerNorm(const Dims& shape, const Options& options)
    : normalized_shape(shape), eps(options.eps), elementwise_affine(options.elementwise_affine) {
  const EmptyOptions like{.dtype = options.dtype, .device = options.device};
  weight = elementwise_affine ? make_parameter(empty(shape, like)) : Tensor();
  bias = elementwise_affine && options.bias ? make_parameter(empty(shape, like)) : Tensor();
  reset_parameters();
}

void LayerNorm::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}

std::string LayerNorm::extra_repr() const {
  return concat(normalized_shape.repr(), ", eps=", eps, ", elementwise_affine=", elementwise_affine,
                ", bias=", bias.defined());
}

Tensor LayerNorm::forward(const Tensor& input) {
  return layer_norm(input, normalized_shape, {.weight = weight, .bias = bias, .eps = eps});
}

RMSNorm::RMSNorm(const Dims& shape, const Options& options)
    : normalized_shape(shape), eps(options.eps), elementwise_affine(options.elementwise_affine) {
  weight = elementwise_affine
               ? make_parameter(empty(shape, {.dtype = options.dtype, .device = options.device}))
               : Tensor();
  reset_parameters();
}

void RMSNorm::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  if (weight.defined()) init::ones_(weight);
}

std::string RMSNorm::extra_repr() const {
  std::string text = normalized_shape.repr() + ", eps=";
  if (eps)
    append(text, *eps);
  else
    text += "None";
  return concat(text, ", elementwise_affine=", elementwise_affine);
}

Tensor RMSNorm::forward(const Tensor& input) {
  return rms_norm(input, normalized_shape, {.weight = weight, .eps = eps});
}

}  // namespace tenon::nn
