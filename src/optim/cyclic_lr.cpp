#include "tenon/optim/cyclic_lr.h"

#include <cmath>

#include "base/text.h"
#include "optim/cycled_momentum.h"
#include "optim/schedule_arithmetic.h"
#include "tenon/error.h"

namespace tenon::optim::lr_scheduler {

namespace {

bool is_mode(const std::string& mode) {
  return mode == "triangular" || mode == "triangular2" || mode == "exp_range";
}
std::string scale_mode_of(const std::string& mode) {
  return mode == "exp_range" ? "iterations" : "cycle";
}

}  // namespace

CyclicLR::CyclicLR(Optimizer& optimizer, const PerGroup& base_lr, const PerGroup& max_lr,
                   const CyclicLROptions& options)
    : LRScheduler("CyclicLR", optimizer, options.last_epoch),
      max_lrs_(for_groups("max_lr", max_lr, groups().size())),
      mode_(options.mode),
      gamma_(options.gamma),
      scale_fn_(options.scale_fn),
      scale_mode_(scale_fn_ ? options.scale_mode : scale_mode_of(mode_)),
      cycle_momentum_(options.cycle_momentum) {
  const std::vector<double> base_lrs = for_groups("base_lr", base_lr, groups().size());
  const std::int64_t down = options.step_size_down.value_or(options.step_size_up);
  check_count("step_size_up", options.step_size_up, 1);
  check_count("step_size_down", down, 0);
  total_size_ = real(options.step_size_up) + real(down);
  step_ratio_ = real(options.step_size_up) / total_size_;
  if (cycle_momentum_) {
    use_beta1_ = cycles_beta1(optimizer);
    base_momentums_ = for_groups("base_momentum", options.base_momentum, groups().size());
    max_momentums_ = for_groups("max_momentum", options.max_momentum, groups().size());
  }
  check();
  if (last_epoch_ == -1) prepare_groups(base_lrs);
  initial_step();
  // From here on: a first step is from what the groups have as "initial_lr".
  base_lrs_ = base_lrs;
}
CyclicLR::~CyclicLR() = default;

void CyclicLR::check() const {
  if (!scale_fn_ && !is_mode(mode_)) {
    throw ValueError(concat("mode is invalid and scale_fn is None: '", mode_,
                            "' is none of 'triangular', 'triangular2' and 'exp_range'"));
  }
  if (scale_mode_ != "cycle" && scale_mode_ != "iterations")
    throw ValueError(concat("scale_mode must be 'cycle' or 'iterations', but is ", scale_mode_));
  check_finite("gamma", gamma_);
  if (!(total_size_ >= 1) || !(step_ratio_ > 0 && step_ratio_ <= 1)) {
    throw ValueError(concat("a cycle of ", Value(total_size_).repr(), " steps cannot go up for ",
                            Value(step_ratio_).repr(), " of them"));
  }
  if (cycle_momentum_ &&
      (base_momentums_.size() != max_lrs_.size() || max_momentums_.size() != max_lrs_.size()))
    throw ValueError("there is a momentum to cycle, but no limits of it for every group");
}

void CyclicLR::prepare_groups(const std::vector<double>& base_lrs) {
  for (std::size_t i = 0; i < base_lrs.size(); ++i) {
    set_option(i, "lr", base_lrs[i]);
    if (!cycle_momentum_ || i >= groups().size()) continue;
    set_option(i, use_beta1_ ? "betas" : "momentum",
               cycled(groups()[i], use_beta1_, max_momentums_[i]));
    set_option(i, "max_momentum", max_momentums_[i]);
    set_option(i, "base_momentum", base_momentums_[i]);
  }
}

double CyclicLR::height() const {
  const double at = real(last_epoch_) / total_size_;
  const double cycle = std::floor(1 + at);
  const double x = 1.0 + at - cycle;
  return x <= step_ratio_ ? x / step_ratio_ : (x - 1) / (step_ratio_ - 1);
}

double CyclicLR::scale() const {
  // A file of one that had a function may say otherwise.
  const bool by_cycle = (scale_fn_ ? scale_mode_ : scale_mode_of(mode_)) == "cycle";
  const double x = by_cycle ? std::floor(1 + real(last_epoch_) / total_size_) : real(last_epoch_);
  if (scale_fn_) {
    constexpr const char* kDuring = "the scheduler took a step";
    const nn::detail::Guard guard(static_cast<const void*>(this), kDuring);
    const nn::detail::Guard on_optimizer(static_cast<const void*>(&optimizer()), kDuring);
    const auto function = scale_fn_;
    const double scaled = function(x);
    guard.check();
    on_optimizer.check();
    return scaled;
  }
  if (mode_ == "triangular2") return 1 / std::pow(2.0, x - 1);
  return mode_ == "exp_range" ? std::pow(gamma_, x) : 1.0;
}

std::vector<double> CyclicLR::current_lr() const {
  const double part = height(), scaled = scale();
  // User code that ran while it was made may have added groups.
  if (max_lrs_.size() != base_lrs_.size()) {
    throw ValueError(concat("the optimizer has ", base_lrs_.size(),
                            " parameter groups, but CyclicLR was made for ", max_lrs_.size()));
  }
  std::size_t i = 0;
  return based([&](double base_lr) { return base_lr + (max_lrs_[i++] - base_lr) * part * scaled; });
}

void CyclicLR::write(const std::vector<double>& lrs) {
  std::vector<Value> momenta;
  if (cycle_momentum_) {
    const double part = height(), scaled = scale();
    const std::size_t count = std::min(groups().size(), max_momentums_.size());
    for (std::size_t i = 0; i < count; ++i) {
      const double most = max_momentums_[i];
      const double momentum = most - (most - base_momentums_[i]) * part * scaled;
      momenta.push_back(cycled(groups()[i], use_beta1_, momentum));
    }
  }
  for (std::size_t i = 0; i < momenta.size(); ++i)
    set_option(i, use_beta1_ ? "betas" : "momentum", momenta[i]);
  LRScheduler::write(lrs);
}

void CyclicLR::own_state(SchedulerState& state) {
  const std::size_t count = max_lrs_.size();
  state.reals("max_lrs", max_lrs_, count);
  state.real("total_size", total_size_);
  state.real("step_ratio", step_ratio_);
  state.text("mode", mode_);
  state.real("gamma", gamma_);
  state.text("scale_mode", scale_mode_);
  state.boolean("cycle_momentum", cycle_momentum_);
  if (!cycle_momentum_ && !state.reads()) return;
  const auto need = SchedulerState::Need::if_there;
  state.boolean("use_beta1", use_beta1_, need);
  state.reals("base_momentums", base_momentums_, count, need);
  state.reals("max_momentums", max_momentums_, count, need);
}

void CyclicLR::state(SchedulerState& state) {
  LRScheduler::state(state);
  state.value(
      "_scale_fn_custom", saved_scale_fn_,
      [this](const Value& saved) -> std::function<void()> {
        return [this, saved] { saved_scale_fn_ = saved; };
      },
      SchedulerState::Need::if_there);
}

}  // namespace tenon::optim::lr_scheduler
