#include "tenon/optim/grad_scaler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/text.h"
#include "base/warn.h"
#include "nn/tree_guard.h"
#include "optim/load_problems.h"
#include "optim/unscale.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/device_backend.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"

namespace tenon::amp {

namespace {

bool is_available(Device device) {
  return !device.is_cuda() || find_backend(DeviceType::cuda) != nullptr;
}

void check_growth(double factor) {
  if (!(factor > 1)) throw ValueError(concat("The growth factor must be > 1.0. It is ", factor));
}
void check_backoff(double factor) {
  if (!(factor < 1)) throw ValueError(concat("The backoff factor must be < 1.0. It is ", factor));
  if (!(factor > 0)) throw ValueError(concat("The backoff factor must be > 0. It is ", factor));
}
// PyTorch takes any, and divides by 0 or by infinity then.
void check_scale(double scale) {
  const auto rounded = static_cast<float>(scale);
  if (!std::isfinite(rounded) || rounded < std::numeric_limits<float>::min())
    throw ValueError(concat("The scale must be a positive float, but is ", scale));
}

}  // namespace

GradScaler::GradScaler(const GradScalerOptions& options)
    : device_(options.device),
      enabled_(options.enabled),
      init_scale_(options.init_scale),
      growth_factor_(options.growth_factor),
      backoff_factor_(options.backoff_factor),
      growth_interval_(options.growth_interval) {
  if (enabled_ && !is_available(device_)) {
    warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.");
    enabled_ = false;
  }
  if (!enabled_) return;
  check_growth(growth_factor_);
  check_backoff(backoff_factor_);
  check_scale(init_scale_);
}

GradScaler::~GradScaler() { nn::detail::GuardList::destroyed(this); }

void GradScaler::set_growth_factor(double new_factor) {
  check_growth(new_factor);
  growth_factor_ = new_factor;
}
void GradScaler::set_backoff_factor(double new_factor) {
  check_backoff(new_factor);
  backoff_factor_ = new_factor;
}

// A tensor without dimensions, as in PyTorch: a loss of bfloat16 becomes one of float32.
Tensor GradScaler::scale(const Tensor& outputs) {
  if (!enabled_) return outputs;
  if (!scaled_) {
    scale_ = static_cast<float>(init_scale_);
    scaled_ = true;
  }
  const Tensor own = outputs;  // a device may be somebody's, and so its memory
  return own * full({}, static_cast<double>(scale_), {.dtype = float32, .device = own.device()});
}
std::vector<Tensor> GradScaler::scale_all(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> all = outputs;  // whatever user code makes of the caller's
  const nn::detail::Guard guard(static_cast<const void*>(this), "outputs were scaled");
  for (Tensor& one : all) {
    one = scale(one);
    guard.check();
  }
  return all;
}

void GradScaler::check_scaled(const char* function) const {
  if (scaled_) return;
  throw Error(concat("Attempted ", function,
                     " but _scale is None.  This may indicate your script did not use "
                     "scaler.scale(loss or outputs) earlier in the iteration."));
}

void GradScaler::unscale_(optim::Optimizer& optimizer) {
  if (!enabled_) return;
  check_scaled("unscale_");
  const nn::detail::Guard guard(static_cast<const void*>(this), "gradients were unscaled");
  const nn::detail::Guard on_optimizer(static_cast<const void*>(&optimizer),
                                       "gradients were unscaled");
  const Progress progress = progress_[&optimizer];
  if (progress.stage == Stage::unscaled) {
    throw Error("unscale_() has already been called on this optimizer since the last update().");
  }
  if (progress.stage == Stage::stepped) throw Error("unscale_() is being called after step().");
  std::vector<Tensor> grads;
  for (const optim::ParamGroup& group : optimizer.param_groups()) {
    for (const Tensor& parameter : group.params()) {
      Tensor grad = parameter.grad();
      if (!grad.defined()) continue;
      if (grad.dtype() == float16) throw ValueError("Attempting to unscale FP16 gradients.");
      grads.push_back(std::move(grad));
    }
  }
  const NoGradScope no_grad;
  const bool found_inf =
      optim::unscale(grads, static_cast<float>(1.0 / static_cast<double>(scale_)));
  // Gradients of a class of the user's have code of their own.
  guard.check();
  if (on_optimizer.is_gone()) progress_.erase(&optimizer);
  on_optimizer.check();
  progress_[&optimizer] = {Stage::unscaled, !grads.empty(), found_inf};
}

bool GradScaler::step(optim::Optimizer& optimizer) {
  if (!enabled_) {
    optimizer.step();
    return true;
  }
  check_scaled("step");
  const nn::detail::Guard guard(static_cast<const void*>(this), "the scaler took a step");
  const nn::detail::Guard on_optimizer(static_cast<const void*>(&optimizer),
                                       "the scaler took a step");
  const Stage stage = progress_[&optimizer].stage;
  if (stage == Stage::stepped)
    throw Error("step() has already been called since the last update().");
  if (stage == Stage::ready) unscale_(optimizer);
  const Progress progress = progress_[&optimizer];
  if (!progress.checked) throw Error("No inf checks were recorded for this optimizer.");
  try {
    if (!progress.found_inf) optimizer.step();
    guard.check();
    on_optimizer.check();
  } catch (...) {
    // Another optimizer may come to lie where it was.
    if (!guard.is_gone() && on_optimizer.is_gone()) progress_.erase(&optimizer);
    throw;
  }
  // Its hooks may have called update(), which begins anew.
  if (const auto found = progress_.find(&optimizer); found != progress_.end())
    found->second.stage = Stage::stepped;
  return !progress.found_inf;
}

Tensor GradScaler::step(optim::Optimizer& optimizer, const std::function<Tensor()>& closure) {
  if (enabled_ && closure)
    throw Error("Closure use is not currently supported if GradScaler is enabled.");
  if (!enabled_) return optimizer.step(closure);
  step(optimizer);
  return {};
}

// Numbers as PyTorch rounds them: float times double, to float. The scale stays one that can be
// divided by, however many steps fail.
void GradScaler::update() {
  if (!enabled_) return;
  check_scaled("update");
  const auto any = [&](auto of) {
    return std::ranges::any_of(progress_, [&](const auto& entry) { return of(entry.second); });
  };
  if (!any([](const Progress& p) { return p.checked; }))
    throw Error("No inf checks were recorded prior to update.");
  if (any([](const Progress& p) { return p.found_inf; })) {
    scale_ = std::max(static_cast<float>(static_cast<double>(scale_) * backoff_factor_),
                      std::numeric_limits<float>::min());
    growth_tracker_ = 0;
  } else if (++growth_tracker_ == growth_interval_) {
    const auto grown = static_cast<float>(static_cast<double>(scale_) * growth_factor_);
    if (std::isfinite(grown)) scale_ = grown;
    growth_tracker_ = 0;
  }
  progress_.clear();
}

void GradScaler::set_scale(double scale) {
  check_scaled("update");
  check_scale(scale);
  scale_ = static_cast<float>(scale);
  progress_.clear();
}
void GradScaler::update(double new_scale) {
  if (enabled_) set_scale(new_scale);
}
void GradScaler::update(const Tensor& new_scale) {
  if (!enabled_) return;
  check_scaled("update");
  if (!new_scale.defined() || new_scale.device().type() != device_.type() ||
      new_scale.numel() != 1 || new_scale.requires_grad()) {
    throw ValueError(
        "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor "
        "with requires_grad=False.");
  }
  const nn::detail::Guard guard(static_cast<const void*>(this), "the scaler was updated");
  const double scale = new_scale.item().to<double>();
  guard.check();
  set_scale(scale);
}

double GradScaler::get_scale() const noexcept {
  if (!enabled_) return 1;
  return scaled_ ? static_cast<double>(scale_) : init_scale_;
}

Value GradScaler::state_dict() const {
  if (!enabled_) return Value::dict({});
  return Value::dict({{"scale", get_scale()},
                      {"growth_factor", growth_factor_},
                      {"backoff_factor", backoff_factor_},
                      {"growth_interval", growth_interval_},
                      {"_growth_tracker", growth_tracker_}});
}

// PyTorch takes what it is given, up to the first entry that is missing.
void GradScaler::load_state_dict(const Value& state_dict) {
  if (!enabled_) return;
  if (state_dict.kind() != Value::Kind::dict) {
    throw TypeError(concat("a GradScaler's state dict is a dict, but this is of type ",
                           state_dict.type_name()));
  }
  std::vector<std::string> problems;
  if (state_dict.entries().empty()) {
    problems.emplace_back(
        "The source state dict is empty, possibly because it was saved from a disabled instance of "
        "GradScaler.");
    optim::refuse("GradScaler", std::move(problems));
  }
  const auto read = [&](const char* name, auto& into, auto reader, auto check) {
    const Value* entry = state_dict.find(name);
    if (entry == nullptr) {
      problems.push_back(concat("there is no '", name, "'"));
      return;
    }
    try {
      into = reader(*entry);
      check(into);
    } catch (const Error& error) {
      problems.push_back(concat("'", name, "': ", error.what()));
    }
  };
  const auto real = [](const Value& value) { return value.as_real(); };
  const auto integer = [](const Value& value) { return value.as_int(); };
  double scale = 0, growth_factor = 0, backoff_factor = 0;
  std::int64_t growth_interval = 0, growth_tracker = 0;
  read("scale", scale, real, check_scale);
  read("growth_factor", growth_factor, real, check_growth);
  read("backoff_factor", backoff_factor, real, check_backoff);
  read("growth_interval", growth_interval, integer, [](std::int64_t) {});
  read("_growth_tracker", growth_tracker, integer, [](std::int64_t) {});
  if (!problems.empty()) optim::refuse("GradScaler", std::move(problems));
  init_scale_ = scale;
  scale_ = static_cast<float>(scale);
  growth_factor_ = growth_factor;
  backoff_factor_ = backoff_factor;
  growth_interval_ = growth_interval;
  growth_tracker_ = growth_tracker;
}

}  // namespace tenon::amp
