// Schedules of a factor. Each operation is in PyTorch's order, so that every bit is the same.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "core/value_text.h"
#include "optim/schedule_arithmetic.h"
#include "tenon/error.h"
#include "tenon/optim/lr_scheduler.h"

namespace tenon::optim::lr_scheduler {

namespace {

constexpr std::string_view kCounter = "collections.Counter";

std::vector<std::pair<std::int64_t, std::int64_t>> milestones_of(const Value& saved) {
  const bool counter = saved.kind() == Value::Kind::object && saved.object_name() == kCounter &&
                       saved.object_arguments().kind() == Value::Kind::tuple &&
                       saved.object_arguments().items().size() == 1;
  const Value& dict = counter ? saved.object_arguments().items()[0] : saved;
  if (dict.kind() != Value::Kind::dict) {
    throw TypeError(concat("must be a dict of milestones and how often they are there, but is ",
                           short_repr(saved), " (", saved.type_name(), ")"));
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> read;
  for (const auto& [milestone, times] : dict.entries()) {
    if (milestone.kind() != Value::Kind::integer || times.kind() != Value::Kind::integer ||
        times.as_int() < 0 || times.as_int() > kMaxCount) {
      throw TypeError(concat("must be a dict of whole numbers, but has ", short_repr(milestone),
                             ": ", short_repr(times)));
    }
    read.emplace_back(milestone.as_int(), times.as_int());
  }
  return read;
}

}  // namespace

StepLR::StepLR(Optimizer& optimizer, std::int64_t step_size, const StepLROptions& options)
    : LRScheduler("StepLR", optimizer, options.last_epoch),
      step_size_(step_size),
      gamma_(options.gamma) {
  initial_step();
}
StepLR::~StepLR() = default;

void StepLR::check() const {
  check_count("step_size", step_size_, 1);
  check_finite("gamma", gamma_);
}
std::vector<double> StepLR::current_lr() const {
  const bool now = last_epoch_ != 0 && floor_mod(last_epoch_, step_size_) == 0;
  return changed([&](double lr) { return now ? lr * gamma_ : lr; });
}
std::optional<std::vector<double>> StepLR::closed_form_lr() const {
  const double factor = std::pow(gamma_, real(floor_div(last_epoch_, step_size_)));
  return based([&](double base_lr) { return base_lr * factor; });
}
void StepLR::own_state(SchedulerState& state) {
  state.integer("step_size", step_size_);
  state.real("gamma", gamma_);
}

MultiStepLR::MultiStepLR(Optimizer& optimizer, const Dims& milestones,
                         const MultiStepLROptions& options)
    : LRScheduler("MultiStepLR", optimizer, options.last_epoch), gamma_(options.gamma) {
  for (const std::int64_t milestone : milestones) {
    const auto place =
        std::ranges::find(milestones_, milestone, &decltype(milestones_)::value_type::first);
    if (place == milestones_.end()) {
      milestones_.emplace_back(milestone, 1);
    } else {
      ++place->second;
    }
  }
  initial_step();
}
MultiStepLR::~MultiStepLR() = default;

void MultiStepLR::check() const { check_finite("gamma", gamma_); }
std::vector<double> MultiStepLR::current_lr() const {
  for (const auto& [milestone, times] : milestones_) {
    if (milestone != last_epoch_) continue;
    const double factor = std::pow(gamma_, real(times));
    return changed([&](double lr) { return lr * factor; });
  }
  return changed([](double lr) { return lr; });
}
std::optional<std::vector<double>> MultiStepLR::closed_form_lr() const {
  double passed = 0;
  for (const auto& [milestone, times] : milestones_) {
    if (milestone <= last_epoch_) passed += real(times);
  }
  const double factor = std::pow(gamma_, passed);
  return based([&](double base_lr) { return base_lr * factor; });
}
// Note [Milestones are a Counter]
// In Python they are a collections.Counter, and PyTorch relies on that where a SequentialLR comes
// to its milestone. Files are written so; what is read is a dict.
void MultiStepLR::own_state(SchedulerState& state) {
  std::vector<Value::Entry> counts;
  for (const auto& [milestone, times] : milestones_) counts.emplace_back(milestone, times);
  const Value now =
      Value::object(std::string(kCounter), Value::tuple({Value::dict(std::move(counts))}), Value());
  state.value("milestones", now, [this](const Value& saved) -> std::function<void()> {
    return [this, read = milestones_of(saved)] { milestones_ = read; };
  });
  state.real("gamma", gamma_);
}

ConstantLR::ConstantLR(Optimizer& optimizer, const ConstantLROptions& options)
    : LRScheduler("ConstantLR", optimizer, options.last_epoch),
      factor_(options.factor),
      total_iters_(options.total_iters) {
  initial_step();
}
ConstantLR::~ConstantLR() = default;

void ConstantLR::check() const {
  if (!(factor_ >= 0 && factor_ <= 1)) {
    throw ValueError(
        concat("Constant multiplicative factor expected to be between 0 and 1, but got ",
               Value(factor_).repr()));
  }
  check_count("total_iters", total_iters_, 0);
}
std::vector<double> ConstantLR::current_lr() const {
  if (last_epoch_ == 0) return changed([&](double lr) { return lr * factor_; });
  if (last_epoch_ != total_iters_) return changed([](double lr) { return lr; });
  const double back = divided(1.0, factor_, "a factor of 0 cannot be taken back");
  return changed([&](double lr) { return lr * back; });
}
std::optional<std::vector<double>> ConstantLR::closed_form_lr() const {
  const double factor = factor_ + (last_epoch_ >= total_iters_ ? 1 : 0) * (1 - factor_);
  return based([&](double base_lr) { return base_lr * factor; });
}
void ConstantLR::own_state(SchedulerState& state) {
  state.real("factor", factor_);
  state.integer("total_iters", total_iters_);
}

LinearLR::LinearLR(Optimizer& optimizer, const LinearLROptions& options)
    : LRScheduler("LinearLR", optimizer, options.last_epoch),
      start_factor_(options.start_factor),
      end_factor_(options.end_factor),
      total_iters_(options.total_iters) {
  initial_step();
}
LinearLR::~LinearLR() = default;

void LinearLR::check() const {
  if (!(start_factor_ > 0 && start_factor_ <= 1)) {
    throw ValueError(
        concat("Starting multiplicative factor expected to be greater than 0 and less or equal to "
               "1, but got ",
               Value(start_factor_).repr()));
  }
  if (!(end_factor_ >= 0 && end_factor_ <= 1)) {
    throw ValueError(concat("Ending multiplicative factor expected to be between 0 and 1, but got ",
                            Value(end_factor_).repr()));
  }
  check_count("total_iters", total_iters_, 0);
}
std::vector<double> LinearLR::current_lr() const {
  if (last_epoch_ == 0) return changed([&](double lr) { return lr * start_factor_; });
  if (is_initial_ || last_epoch_ > total_iters_) return changed([](double lr) { return lr; });
  const double rise = end_factor_ - start_factor_;
  const double before = real(total_iters_) * start_factor_ + real(last_epoch_ - 1) * rise;
  const double factor =
      1.0 + divided(rise, before, "there is no factor from 0 to the next learning rate");
  return changed([&](double lr) { return lr * factor; });
}
std::optional<std::vector<double>> LinearLR::closed_form_lr() const {
  const double factor = start_factor_ + divided((end_factor_ - start_factor_) *
                                                    real(std::min(total_iters_, last_epoch_)),
                                                real(total_iters_), "total_iters is 0");
  return based([&](double base_lr) { return base_lr * factor; });
}
void LinearLR::own_state(SchedulerState& state) {
  state.real("start_factor", start_factor_);
  state.real("end_factor", end_factor_);
  state.integer("total_iters", total_iters_);
}

ExponentialLR::ExponentialLR(Optimizer& optimizer, double gamma,
                             const ExponentialLROptions& options)
    : LRScheduler("ExponentialLR", optimizer, options.last_epoch), gamma_(gamma) {
  initial_step();
}
ExponentialLR::~ExponentialLR() = default;

void ExponentialLR::check() const { check_finite("gamma", gamma_); }
std::vector<double> ExponentialLR::current_lr() const {
  return changed([&](double lr) { return is_initial_ ? lr : lr * gamma_; });
}
std::optional<std::vector<double>> ExponentialLR::closed_form_lr() const {
  const double factor = std::pow(gamma_, real(last_epoch_));
  return based([&](double base_lr) { return base_lr * factor; });
}
void ExponentialLR::own_state(SchedulerState& state) { state.real("gamma", gamma_); }

PolynomialLR::PolynomialLR(Optimizer& optimizer, const PolynomialLROptions& options)
    : LRScheduler("PolynomialLR", optimizer, options.last_epoch),
      total_iters_(options.total_iters),
      power_(options.power) {
  initial_step();
}
PolynomialLR::~PolynomialLR() = default;

void PolynomialLR::check() const {
  check_count("total_iters", total_iters_, 0);
  check_finite("power", power_);
}
std::vector<double> PolynomialLR::current_lr() const {
  if (is_initial_ || last_epoch_ > total_iters_) return changed([](double lr) { return lr; });
  const double total = real(total_iters_);
  const double left = 1.0 - divided(real(last_epoch_), total, "total_iters is 0");
  const double before = 1.0 - real(last_epoch_ - 1) / total;
  const double factor =
      std::pow(divided(left, before, "nothing was left in the step before"), power_);
  return changed([&](double lr) { return lr * factor; });
}
std::optional<std::vector<double>> PolynomialLR::closed_form_lr() const {
  const double passed =
      divided(real(std::min(total_iters_, last_epoch_)), real(total_iters_), "total_iters is 0");
  const double factor = std::pow(1.0 - passed, power_);
  return based([&](double base_lr) { return base_lr * factor; });
}
void PolynomialLR::own_state(SchedulerState& state) {
  state.integer("total_iters", total_iters_);
  state.real("power", power_);
}

}  // namespace tenon::optim::lr_scheduler
