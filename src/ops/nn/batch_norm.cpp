// batch_norm, instance_norm and local_response_norm: what they check and keep.
#include "ops/nn/batch_norm.h"

#include "base/text.h"
#include "ops/nn/normalization.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/normalization.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/padding.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::batch_norm::info{"batch_norm", kind};
constinit OpInfo op::instance_norm::info{"instance_norm", kind};
constinit OpInfo op::local_response_norm::info{"local_response_norm", kind};

namespace {

// Elements of a channel in one item.
std::int64_t plane_of(const Tensor& input) {
  std::int64_t n = 1;
  for (std::int64_t d = 2; d < input.dim(); ++d) n *= input.size(d);
  return n;
}

void check_count(const char* op, const char* name, const Tensor& input, std::int64_t channels,
                 const std::optional<Tensor>& tensor) {
  if (!tensor || (tensor->numel() == channels && tensor->dim() == 1)) return;
  throw ShapeError(concat(name, " should contain ", channels, " elements not ", tensor->numel(),
                          ": ", op, " got ", name, " of shape ", bracketed(tensor->shape()),
                          " and input of shape ", bracketed(input.shape())));
}

void check_not_tracked(const char* name, const std::optional<Tensor>& running) {
  if (!running || !running->requires_grad() || !is_grad_enabled()) return;
  throw AutogradError(concat("batch_norm is not differentiable with respect to ", name,
                             ": it cannot have requires_grad"));
}

// Towards what was seen, calculated in double and rounded once.
void move_towards(const Tensor& running, const Tensor& seen, double momentum) {
  running.copy_(running.to(float64) * (1 - momentum) + seen.to(float64) * momentum);
}

}  // namespace

template <>
struct Rule<op::batch_norm> {
  static Tensor compose(const Tensor& input, const std::optional<Tensor>& running_mean,
                        const std::optional<Tensor>& running_var,
                        const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                        bool training, double momentum, double eps) {
    check(input, running_mean, running_var, weight, bias, training);
    const BatchNormParts parts =
        native_batch_norm(input, weight, bias, running_mean, running_var, training, eps);
    if (training && input.numel() != 0) {
      const NoGradScope unrecorded;
      const auto count = static_cast<double>(input.size(0) * plane_of(input));
      if (running_mean) move_towards(*running_mean, parts.mean, momentum);
      if (running_var) {
        const Tensor unbiased = parts.var.to(float64) * (count / (count - 1));
        move_towards(*running_var, unbiased, momentum);
      }
    }
    return parts.output;
  }

 private:
  static void check(const Tensor& input, const std::optional<Tensor>& running_mean,
                    const std::optional<Tensor>& running_var, const std::optional<Tensor>& weight,
                    const std::optional<Tensor>& bias, bool training) {
    if (input.dim() < 2) {
      throw ShapeError(concat("batch_norm: expected an input of (N, C, *), but got one of shape ",
                              bracketed(input.shape())));
    }
    if (training && input.size(0) * plane_of(input) == 1) {
      throw ValueError(
          concat("Expected more than 1 value per channel when training, got input "
                 "size ",
                 input.shape().repr()));
    }
    const auto check_there = [&](const char* name, const std::optional<Tensor>& running) {
      if (training || running) return;
      throw ValueError(concat(name, " must be defined in evaluation mode"));
    };
    check_there("running_mean", running_mean);
    check_there("running_var", running_var);
    check_count("batch_norm", "running_mean", input, input.size(1), running_mean);
    check_count("batch_norm", "running_var", input, input.size(1), running_var);
    check_count("batch_norm", "weight", input, input.size(1), weight);
    check_count("batch_norm", "bias", input, input.size(1), bias);
    check_not_tracked("running_mean", running_mean);
    check_not_tracked("running_var", running_var);
    check_norm_parameters("batch_norm", "batch_norm", input,
                          {&weight, &bias, &running_mean, &running_var});
  }
};

template <>
struct Rule<op::instance_norm> {
  // Channels of all items side by side are the channels of one, which batch_norm then takes.
  static Tensor compose(const Tensor& input, const std::optional<Tensor>& running_mean,
                        const std::optional<Tensor>& running_var,
                        const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                        bool use_input_stats, double momentum, double eps) {
    check(input, running_mean, running_var, weight, bias, use_input_stats);
    const std::int64_t items = input.size(0), channels = input.size(1);
    const auto repeated = [&](const std::optional<Tensor>& own) -> std::optional<Tensor> {
      if (!own) return own;
      return own->unsqueeze(0).expand({items, channels}).reshape({items * channels});
    };
    Shape flat = input.shape();
    flat[1] *= flat[0];
    flat[0] = 1;
    // Copies, also where nothing had to be repeated: they are written to.
    const auto copied = [&](const std::optional<Tensor>& own) -> std::optional<Tensor> {
      if (!own) return own;
      const NoGradScope unrecorded;
      return repeated(own->detach())->clone();
    };
    const std::optional<Tensor> mean = copied(running_mean), var = copied(running_var);
    const Tensor result = call<op::batch_norm>(input.reshape(flat), mean, var, repeated(weight),
                                               repeated(bias), use_input_stats, momentum, eps);
    if (use_input_stats && input.numel() != 0) {
      const NoGradScope unrecorded;
      const auto average = [&](const std::optional<Tensor>& own, const std::optional<Tensor>& all) {
        if (own) own->copy_(all->view({items, channels}).to(float64).mean(0));
      };
      average(running_mean, mean);
      average(running_var, var);
    }
    return result.view(input.shape());
  }

 private:
  static void check(const Tensor& input, const std::optional<Tensor>& running_mean,
                    const std::optional<Tensor>& running_var, const std::optional<Tensor>& weight,
                    const std::optional<Tensor>& bias, bool use_input_stats) {
    if (input.dim() < 2) {
      throw ShapeError(
          concat("instance_norm: expected an input of (N, C, *), but got one of shape ",
                 bracketed(input.shape())));
    }
    if (use_input_stats && plane_of(input) == 1) {
      throw ValueError(concat("Expected more than 1 spatial element when training, got input size ",
                              input.shape().repr()));
    }
    if (!use_input_stats && (!running_mean || !running_var)) {
      throw ValueError(
          "Expected running_mean and running_var to be defined when use_input_stats is false");
    }
    const std::int64_t channels = input.size(1);
    check_count("instance_norm", "running_mean", input, channels, running_mean);
    check_count("instance_norm", "running_var", input, channels, running_var);
    check_count("instance_norm", "weight", input, channels, weight);
    check_count("instance_norm", "bias", input, channels, bias);
  }
};

template <>
struct Rule<op::local_response_norm> {
  static Tensor compose(const Tensor& input, std::int64_t size, double alpha, double beta,
                        double k) {
    if (input.dim() < 3) {
      throw ShapeError(concat("Expected 3D or higher dimensionality input (got ", input.dim(),
                              " dimensions: ", bracketed(input.shape()), ")"));
    }
    if (size <= 0) {
      throw ValueError(
          concat("local_response_norm: size should be greater than zero, but got ", size));
    }
    if (input.numel() == 0) return input;
    Shape flat = {input.size(0), input.size(1), plane_of(input)};
    const Tensor squares = pad(input.square().reshape(flat), {0, 0, size / 2, (size - 1) / 2});
    const Tensor around = squares.unfold(1, size, 1).mean(-1).reshape(input.shape());
    return input / (around * alpha + k).pow(beta);
  }
};

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFunctionOptions& options) {
  // Here, because instance_norm takes any.
  if (options.training && options.eps <= 0) {
    throw ValueError(
        concat("batch_norm eps must be positive during training, but got ", options.eps));
  }
  if (options.eps < 0)
    throw ValueError(concat("batch_norm eps must be non-negative, but got ", options.eps));
  return call<op::batch_norm>(input, running_mean, running_var, options.weight, options.bias,
                              options.training, options.momentum, options.eps);
}
Tensor instance_norm(const Tensor& input, const InstanceNormFunctionOptions& options) {
  return call<op::instance_norm>(input, options.running_mean, options.running_var, options.weight,
                                 options.bias, options.use_input_stats, options.momentum,
                                 options.eps);
}
Tensor local_response_norm(const Tensor& input, std::int64_t size,
                           const LocalResponseNormFunctionOptions& options) {
  return call<op::local_response_norm>(input, size, options.alpha, options.beta, options.k);
}

}  // namespace tenon
