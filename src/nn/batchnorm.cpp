#include "tenon/nn/batchnorm.h"

#include <vector>

#include "base/text.h"
#include "base/warn.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/normalization.h"
#include "tenon/uninitialized.h"

namespace tenon::nn {

NormBase::NormBase(std::int64_t channels, const BatchNormOptions& options)
    : num_features(channels),
      eps(options.eps),
      momentum(options.momentum),
      affine(options.affine),
      track_running_stats(options.track_running_stats) {
  const EmptyOptions like{.dtype = options.dtype, .device = options.device};
  weight = affine ? make_parameter(empty({channels}, like)) : Tensor();
  bias = affine && options.bias ? make_parameter(empty({channels}, like)) : Tensor();
  running_mean = track_running_stats ? empty({channels}, like) : Tensor();
  running_var = track_running_stats ? empty({channels}, like) : Tensor();
  num_batches_tracked =
      track_running_stats ? empty({}, {.dtype = int64, .device = options.device}) : Tensor();
  reset_parameters();
}

void NormBase::make_lazy(const BatchNormOptions& options) {
  affine = options.affine;
  track_running_stats = options.track_running_stats;
  const UninitializedParameterOptions like{.device = options.device, .dtype = options.dtype};
  if (affine) weight = uninitialized_parameter(like);
  if (affine && options.bias) bias = uninitialized_parameter(like);
  if (!track_running_stats) return;
  running_mean = uninitialized_buffer({.device = options.device, .dtype = options.dtype});
  running_var = uninitialized_buffer({.device = options.device, .dtype = options.dtype});
  num_batches_tracked = zeros({}, {.dtype = int64, .device = options.device});
}

void NormBase::reset_running_stats() {
  const detail::Guard guard(*this, "reset_running_stats() was running");
  if (!track_running_stats || is_lazy(running_mean) || is_lazy(running_var)) return;
  running_mean->zero_();
  running_var->fill_(1);
  num_batches_tracked->zero_();
}

void NormBase::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  if (is_lazy(weight) || is_lazy(bias) || is_lazy(running_mean) || is_lazy(running_var)) return;
  reset_running_stats();
  if (weight.defined()) init::ones_(weight);
  if (bias.defined()) init::zeros_(bias);
}

std::string NormBase::extra_repr() const {
  std::string text = concat(num_features, ", eps=", eps, ", momentum=");
  if (momentum)
    append(text, *momentum);
  else
    text += "None";
  return concat(text, ", affine=", affine, ", bias=", bias.defined(),
                ", track_running_stats=", track_running_stats);
}

void NormBase::load_from_state_dict(LoadContext& context) {
  const std::string key = context.prefix() + "num_batches_tracked";
  if (context.version().value_or(0) < 2 && track_running_stats && context.find(key) == nullptr) {
    const bool own = num_batches_tracked.defined() && !num_batches_tracked->is_meta();
    context.set(key, Value(own ? num_batches_tracked.get()
                               : zeros({}, {.dtype = int64, .device = Device::cpu()})));
  }
  context.load_own();
}

BatchNormBase::BatchNormBase(std::int64_t channels, const Options& options, std::int64_t dims,
                             std::int64_t or_dims)
    : NormBase(channels, options), dims_(dims), or_dims_(or_dims) {}

std::int64_t BatchNormBase::channels_of(const Tensor& input) const {
  if (input.dim() != dims_ && input.dim() != or_dims_) {
    const std::string dims =
        dims_ == or_dims_ ? concat(dims_, "D") : concat(dims_, "D or ", or_dims_, "D");
    throw ShapeError(concat("expected ", dims, " input (got ", input.dim(),
                            "D input): its shape is ", bracketed(input.shape())));
  }
  return input.size(1);
}

Tensor BatchNormBase::forward(const Tensor& input) {
  channels_of(input);
  const Tensor own_input = input;  // counting may be somebody's code, which destroys the caller's
  double factor = momentum.value_or(0);
  const bool tracks = training() && track_running_stats;
  if (tracks && num_batches_tracked.defined()) {
    const detail::Guard guard(*this, "forward() was running");
    const NoGradScope unrecorded;
    num_batches_tracked->add_(1);
    guard.check();
    if (!momentum && !num_batches_tracked->is_meta())
      factor = 1 / num_batches_tracked->item<double>();
    guard.check();
  }
  // Without running statistics those of the input are used outside of training, too.
  const bool own = training() || (!running_mean.defined() && !running_var.defined());
  const bool passed = !training() || track_running_stats;
  return batch_norm(
      own_input, passed ? running_mean.get() : Tensor(), passed ? running_var.get() : Tensor(),
      {.weight = weight, .bias = bias, .training = own, .momentum = factor, .eps = eps});
}

InstanceNormBase::InstanceNormBase(std::int64_t channels, const Options& options,
                                   std::int64_t unbatched)
    : NormBase(channels, {.eps = options.eps,
                          .momentum = options.momentum,
                          .affine = options.affine,
                          .track_running_stats = options.track_running_stats,
                          .device = options.device,
                          .dtype = options.dtype,
                          .bias = options.bias}),
      unbatched_(unbatched) {}

std::int64_t InstanceNormBase::channels_of(const Tensor& input) const {
  if (input.dim() != unbatched_ && input.dim() != unbatched_ + 1) {
    throw ShapeError(concat("expected ", unbatched_, "D or ", unbatched_ + 1, "D input (got ",
                            input.dim(), "D input): its shape is ", bracketed(input.shape())));
  }
  return input.size(input.dim() - unbatched_);
}

Tensor InstanceNormBase::forward(const Tensor& given) {
  const std::int64_t channels = channels_of(given);
  const Tensor input = given;  // the handler of the warning may destroy the caller's
  const std::int64_t dim = input.dim() - unbatched_;
  if (channels != num_features) {
    if (affine) {
      throw ShapeError(concat("expected input's size at dim=", dim, " to match num_features (",
                              num_features, "), but got: ", channels, ": the input is of shape ",
                              bracketed(input.shape())));
    }
    warn(concat("input's size at dim=", dim, " does not match num_features. You can silence this ",
                "warning by not passing in num_features, which is not used because affine=False"));
  }
  const Tensor batch = dim == 0 ? input.unsqueeze(0) : input;
  const Tensor result = instance_norm(batch, {.running_mean = running_mean,
                                              .running_var = running_var,
                                              .weight = weight,
                                              .bias = bias,
                                              .use_input_stats = training() || !track_running_stats,
                                              .momentum = momentum.value_or(0),
                                              .eps = eps});
  return dim == 0 ? result.squeeze(0) : result;
}

void InstanceNormBase::load_from_state_dict(LoadContext& context) {
  if (!context.version() && !track_running_stats) {
    std::string keys;
    for (const char* name : {"running_mean", "running_var"}) {
      const std::string key = context.prefix() + name;
      if (context.find(key) == nullptr) continue;
      keys += concat(keys.empty() ? "" : " and ", "\"", key, "\"");
      context.erase(key);
    }
    if (!keys.empty()) {
      const std::string name = type_name();
      context.error(concat(
          "Unexpected running stats buffer(s) ", keys, " for ", name,
          " with track_running_stats=False. If state_dict is a checkpoint saved before 0.4.0, this "
          "may be expected because ",
          name,
          " does not track running stats by default since 0.4.0. Please remove these keys from "
          "state_dict. If the running stats are actually needed, instead set "
          "{.track_running_stats = true} in ",
          name, " to enable them. See the documentation of ", name, " for details."));
    }
  }
  NormBase::load_from_state_dict(context);
}

}  // namespace tenon::nn
