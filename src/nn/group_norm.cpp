// GroupNorm and LocalResponseNorm: layers that look at several channels together.
#include "base/text.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/nn/normalization.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/normalization.h"

namespace tenon::nn {

GroupNorm::GroupNorm(std::int64_t groups, std::int64_t channels, const Options& options)
    : num_groups(groups), num_channels(channels), eps(options.eps), affine(options.affine) {
  if (groups <= 0)
    throw ValueError(concat("num_groups must be > 0, but got (num_groups=", groups, ")"));
  if (channels % groups != 0) {
    throw ValueError(
        concat("num_channels (", channels, ") must be divisible by num_groups (", groups, ")"));
  }
  const EmptyOptions like{.dtype = options.dtype, .device = options.device};
  weight = affine ? make_parameter(empty({channels}, like)) : Tensor();
  bias = affine && options.bias ? make_parameter(empty({channels}, like)) : Tensor();
  reset_parameters();
}

void GroupNorm::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}

std::string GroupNorm::extra_repr() const {
  return concat(num_groups, ", ", num_channels, ", eps=", eps, ", affine=", affine,
                ", bias=", bias.defined());
}

Tensor GroupNorm::forward(const Tensor& input) {
  return group_norm(input, num_groups, {.weight = weight, .bias = bias, .eps = eps});
}

LocalResponseNorm::LocalResponseNorm(std::int64_t channels, const Options& options)
    : size(channels), alpha(options.alpha), beta(options.beta), k(options.k) {}

std::string LocalResponseNorm::extra_repr() const {
  return concat(size, ", alpha=", alpha, ", beta=", beta, ", k=", k);
}

Tensor LocalResponseNorm::forward(const Tensor& input) {
  return local_response_norm(input, size, {.alpha = alpha, .beta = beta, .k = k});
}

}  // namespace tenon::nn
