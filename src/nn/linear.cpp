#include "tenon/nn/linear.h"

#include <cmath>

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/functional.h"
#include "tenon/uninitialized.h"

namespace tenon::nn {

// A parameter without values. On meta there is nothing to draw them for, and layers say so by not
// drawing: building a large network there costs its shapes alone.
Linear::Linear(std::int64_t in, std::int64_t out, const Options& options)
    : in_features(in), out_features(out) {
  const EmptyOptions like{.dtype = options.dtype, .device = options.device};
  weight = make_parameter(empty({out, in}, like));
  bias = options.bias ? make_parameter(empty({out}, like)) : Tensor();
  if (!weight->is_meta()) reset_parameters();
}

void Linear::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  if (is_lazy(weight) || is_lazy(bias)) return;
  // With this slope the bound is 1 / sqrt(in_features), but for the last bits, which are PyTorch's.
  init::kaiming_uniform_(weight, {.a = std::sqrt(5.0)});
  if (!bias.defined()) return;
  const double bound = in_features > 0 ? 1 / std::sqrt(static_cast<double>(in_features)) : 0;
  init::uniform_(bias, {.a = -bound, .b = bound});
}

std::string Linear::extra_repr() const {
  return concat("in_features=", in_features, ", out_features=", out_features,
                ", bias=", bias.defined());
}

Tensor Linear::forward(const Tensor& input) { return linear(input, weight, bias); }

Bilinear::Bilinear(std::int64_t in1, std::int64_t in2, std::int64_t out, const Options& options)
    : in1_features(in1), in2_features(in2), out_features(out) {
  if (in1 <= 0)
    throw ValueError(concat("in1_features must be > 0, but got (in1_features=", in1, ")"));
  const EmptyOptions like{.dtype = options.dtype, .device = options.device};
  weight = make_parameter(empty({out, in1, in2}, like));
  bias = options.bias ? make_parameter(empty({out}, like)) : Tensor();
  if (!weight->is_meta()) reset_parameters();
}

void Bilinear::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  const double bound = 1 / std::sqrt(static_cast<double>(weight->size(1)));
  init::uniform_(weight, {.a = -bound, .b = bound});
  if (bias.defined()) init::uniform_(bias, {.a = -bound, .b = bound});
}

std::string Bilinear::extra_repr() const {
  return concat("in1_features=", in1_features, ", in2_features=", in2_features,
                ", out_features=", out_features, ", bias=", bias.defined());
}

Tensor Bilinear::forward(const Tensor& input1, const Tensor& input2) {
  return bilinear(input1, input2, weight, bias);
}

}  // namespace tenon::nn
