#include "tenon/nn/activation.h"

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"

namespace tenon::nn {

namespace {

// PyTorch leaves it out of the text where it is not so.
std::string with_inplace(std::string text, bool inplace) {
  if (inplace) text += text.empty() ? "inplace=True" : ", inplace=True";
  return text;
}
std::string dim_text(const std::optional<std::int64_t>& dim) {
  return dim ? concat("dim=", *dim) : "dim=None";
}

}  // namespace

std::string ReLU::extra_repr() const { return with_inplace({}, inplace); }
Tensor ReLU::forward(const Tensor& input) { return relu(input, InplaceOptions{inplace}); }

std::string ReLU6::extra_repr() const { return with_inplace({}, inplace); }
Tensor ReLU6::forward(const Tensor& input) { return relu6(input, InplaceOptions{inplace}); }

std::string SiLU::extra_repr() const { return with_inplace({}, inplace); }
Tensor SiLU::forward(const Tensor& input) { return silu(input, InplaceOptions{inplace}); }

std::string Mish::extra_repr() const { return with_inplace({}, inplace); }
Tensor Mish::forward(const Tensor& input) { return mish(input, InplaceOptions{inplace}); }

std::string SELU::extra_repr() const { return with_inplace({}, inplace); }
Tensor SELU::forward(const Tensor& input) { return selu(input, InplaceOptions{inplace}); }

Tensor Hardswish::forward(const Tensor& input) { return hardswish(input, InplaceOptions{inplace}); }

Tensor Hardsigmoid::forward(const Tensor& input) {
  return hardsigmoid(input, InplaceOptions{inplace});
}

Tensor Sigmoid::forward(const Tensor& input) { return sigmoid(input); }
Tensor Tanh::forward(const Tensor& input) { return tanh(input); }
Tensor LogSigmoid::forward(const Tensor& input) { return logsigmoid(input); }
Tensor Softsign::forward(const Tensor& input) { return softsign(input); }
Tensor Tanhshrink::forward(const Tensor& input) { return tanhshrink(input); }

std::string ELU::extra_repr() const { return with_inplace(concat("alpha=", alpha), inplace); }
Tensor ELU::forward(const Tensor& input) { return elu(input, AlphaInplaceOptions{alpha, inplace}); }

std::string CELU::extra_repr() const { return with_inplace(concat("alpha=", alpha), inplace); }
Tensor CELU::forward(const Tensor& input) {
  return celu(input, AlphaInplaceOptions{alpha, inplace});
}

std::string LeakyReLU::extra_repr() const {
  return with_inplace(concat("negative_slope=", negative_slope), inplace);
}
Tensor LeakyReLU::forward(const Tensor& input) {
  return leaky_relu(input, LeakyReluOptions{negative_slope, inplace});
}

std::string Hardtanh::extra_repr() const {
  return with_inplace(concat("min_val=", min_val, ", max_val=", max_val), inplace);
}
Tensor Hardtanh::forward(const Tensor& input) {
  return hardtanh(input, {.min_val = min_val, .max_val = max_val, .inplace = inplace});
}

Hardtanh::Hardtanh(const Options& options)
    : min_val(options.min_val), max_val(options.max_val), inplace(options.inplace) {
  if (!(max_val > min_val)) {
    throw ValueError(
        concat("Hardtanh: max_val (", max_val, ") has to be above min_val (", min_val, ")"));
  }
}

std::string Threshold::extra_repr() const {
  return with_inplace(concat("threshold=", threshold, ", value=", value), inplace);
}
Tensor Threshold::forward(const Tensor& input) {
  return tenon::threshold(input, threshold, value, {.inplace = inplace});
}

std::string RReLU::extra_repr() const {
  return with_inplace(concat("lower=", lower, ", upper=", upper), inplace);
}
Tensor RReLU::forward(const Tensor& input) {
  return rrelu(input, {.lower = lower, .upper = upper, .training = training(), .inplace = inplace});
}

std::string PReLU::extra_repr() const { return concat("num_parameters=", num_parameters); }
Tensor PReLU::forward(const Tensor& input) { return prelu(input, weight); }

PReLU::PReLU(const Options& options) : num_parameters(options.num_parameters), init(options.init) {
  weight =
      make_parameter(empty({num_parameters}, {.dtype = options.dtype, .device = options.device}));
  if (!weight->is_meta()) reset_parameters();
}
void PReLU::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  nn::init::constant_(weight, init);
}

std::string GELU::extra_repr() const { return concat("approximate='", approximate, "'"); }
Tensor GELU::forward(const Tensor& input) { return gelu(input, {.approximate = approximate}); }

std::string Hardshrink::extra_repr() const { return concat(lambd); }
Tensor Hardshrink::forward(const Tensor& input) { return hardshrink(input, LambdOptions{lambd}); }

std::string Softshrink::extra_repr() const { return concat(lambd); }
Tensor Softshrink::forward(const Tensor& input) { return softshrink(input, LambdOptions{lambd}); }

std::string Softplus::extra_repr() const {
  return concat("beta=", beta, ", threshold=", threshold);
}
Tensor Softplus::forward(const Tensor& input) {
  return softplus(input, {.beta = beta, .threshold = threshold});
}

std::string GLU::extra_repr() const { return concat("dim=", dim); }
Tensor GLU::forward(const Tensor& input) { return glu(input, GluOptions{dim}); }

std::string Softmin::extra_repr() const { return dim_text(dim); }
Tensor Softmin::forward(const Tensor& input) {
  return softmin(input, tenon::SoftmaxOptions{.dim = dim});
}

std::string Softmax::extra_repr() const { return dim_text(dim); }
Tensor Softmax::forward(const Tensor& input) {
  return softmax(input, tenon::SoftmaxOptions{.dim = dim});
}

std::string LogSoftmax::extra_repr() const { return dim_text(dim); }
Tensor LogSoftmax::forward(const Tensor& input) {
  return log_softmax(input, tenon::SoftmaxOptions{.dim = dim});
}

Tensor Softmax2d::forward(const Tensor& input) {
  if (input.dim() != 3 && input.dim() != 4) {
    throw ShapeError(concat("Softmax2d: expected input to be 3D or 4D, got ", input.dim(),
                            "D instead, of shape ", bracketed(input.shape())));
  }
  return softmax(input, -3);
}

}  // namespace tenon::nn
