#include "tenon/optim/reduce_on_plateau.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/warn.h"
#include "optim/options.h"
#include "optim/schedule_arithmetic.h"
#include "tenon/error.h"
#include "tenon/ops/ops.h"

namespace tenon::optim::lr_scheduler {

using nn::detail::Guard;

namespace {
constexpr const char* kDuring = "the scheduler took a step";
}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const ReduceLROnPlateauOptions& options)
    : LRScheduler("ReduceLROnPlateau", optimizer),
      factor_(options.factor),
      min_lrs_(options.min_lr.values()),
      patience_(options.patience),
      cooldown_(options.cooldown),
      eps_(options.eps),
      mode_worse_((options.mode == "min" ? 1 : -1) * std::numeric_limits<double>::infinity()),
      threshold_(options.threshold),
      mode_(options.mode),
      threshold_mode_(options.threshold_mode),
      best_(mode_worse_) {
  if (!options.min_lr.is_list()) {
    default_min_lr_ = min_lrs_[0];
    min_lrs_.assign(groups().size(), *default_min_lr_);
  }
  check();
  last_epoch_ = 0;
  keep_last_lr();
}
ReduceLROnPlateau::~ReduceLROnPlateau() = default;

void ReduceLROnPlateau::check() const {
  if (!(factor_ < 1.0)) {
    throw ValueError(concat("Factor should be < 1.0, but it is ", Value(factor_).repr()));
  }
  if (mode_ != "min" && mode_ != "max") throw ValueError(concat("mode ", mode_, " is unknown!"));
  if (threshold_mode_ != "rel" && threshold_mode_ != "abs")
    throw ValueError(concat("threshold mode ", threshold_mode_, " is unknown!"));
  check_finite("factor", factor_);
  check_finite("threshold", threshold_);
  check_finite("eps", eps_);
  for (const double min_lr : min_lrs_) check_finite("min_lr", min_lr);
  if (!default_min_lr_ && min_lrs_.size() != groups().size())
    throw ValueError(concat("expected ", groups().size(), " min_lrs, got ", min_lrs_.size()));
}

bool ReduceLROnPlateau::is_better(double metric) const {
  if (mode_ == "min") {
    return metric < (threshold_mode_ == "rel" ? best_ * (1.0 - threshold_) : best_ - threshold_);
  }
  return metric > (threshold_mode_ == "rel" ? best_ * (threshold_ + 1.0) : best_ + threshold_);
}

std::vector<double> ReduceLROnPlateau::reduced() {
  // To read them may be user code, which may add groups, or load.
  std::vector<double> lrs = numbers("lr");
  const std::size_t count = lrs.size();
  if (min_lrs_.size() != count) {
    if (!default_min_lr_) {
      throw ValueError(concat("The number of param groups in the `optimizer` (", count,
                              ") differs from when `ReduceLROnPlateau` was initialized (",
                              min_lrs_.size(),
                              "), usually due to a new param group being added to the optimizer. "
                              "Please modify the `min_lrs` field to match the length of the "
                              "`optimizer` param groups."));
    }
    min_lrs_.assign(count, *default_min_lr_);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double smaller = std::max(lrs[i] * factor_, min_lrs_[i]);
    if (lrs[i] - smaller > eps_) lrs[i] = smaller;
  }
  return lrs;
}

void ReduceLROnPlateau::measured(double metric, std::int64_t epoch) {
  const bool better = is_better(metric);
  std::int64_t bad = better ? 0 : num_bad_epochs_ + 1, cooling = cooldown_counter_;
  if (cooling > 0) {
    --cooling;
    bad = 0;
  }
  if (bad > patience_) {
    write(reduced());
    cooling = cooldown_;
    bad = 0;
  }
  if (better) best_ = metric;
  num_bad_epochs_ = bad;
  cooldown_counter_ = cooling;
  last_epoch_ = epoch;
  keep_last_lr();
}

void ReduceLROnPlateau::step(double metrics) { measured(metrics, last_epoch_ + 1); }
void ReduceLROnPlateau::step(const Tensor& metrics) {
  const Guard guard(static_cast<const void*>(this), kDuring);
  const Guard on_optimizer(static_cast<const void*>(&optimizer()), kDuring);
  const double number = metrics.item<double>();
  guard.check();
  on_optimizer.check();
  step(number);
}
void ReduceLROnPlateau::step(double metrics, std::int64_t epoch) {
  const Guard guard(static_cast<const void*>(this), kDuring);
  const Guard on_optimizer(static_cast<const void*>(&optimizer()), kDuring);
  warn(
      "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
      "possible. Please use `scheduler.step(metrics)` to step the scheduler");
  guard.check();
  on_optimizer.check();
  check_epoch(epoch);
  measured(metrics, epoch);
}
void ReduceLROnPlateau::advance(std::optional<double> /*epoch*/) {
  throw TypeError("ReduceLROnPlateau.step() needs the metrics: call step(metrics) of it");
}

void ReduceLROnPlateau::state(SchedulerState& state) {
  using Need = SchedulerState::Need;
  state.real("factor", factor_);
  state.value(
      "default_min_lr", default_min_lr_ ? number(*default_min_lr_) : Value(),
      [this](const Value& saved) -> std::function<void()> {
        std::optional<double> read;
        if (!saved.is_none()) read = saved.as_real();
        if (read) check_finite("default_min_lr", *read);
        return [this, read] { default_min_lr_ = read; };
      },
      Need::if_there);
  std::vector<Value> min_lrs;
  for (const double min_lr : min_lrs_) min_lrs.push_back(number(min_lr));
  state.value("min_lrs", Value::list(std::move(min_lrs)),
              [this](const Value& saved) -> std::function<void()> {
                std::vector<double> read;
                for (const Value& one : saved.items()) read.push_back(one.as_real());
                return [this, read] { min_lrs_ = read; };
              });
  state.integer("patience", patience_);
  state.integer("cooldown", cooldown_);
  state.real("eps", eps_);
  state.integer("last_epoch", last_epoch_);
  state.reals("_last_lr", last_lr_, {}, Need::if_there);
  state.any_real("mode_worse", mode_worse_, Need::if_there);
  state.text("mode", mode_);
  state.real("threshold", threshold_);
  state.text("threshold_mode", threshold_mode_);
  state.any_real("best", best_);
  state.integer("cooldown_counter", cooldown_counter_);
  state.integer("num_bad_epochs", num_bad_epochs_);
  state.others(others_);
}

}  // namespace tenon::optim::lr_scheduler
