#include "tenon/optim/one_cycle.h"

#include <cmath>
#include <numbers>

#include "base/text.h"
#include "optim/cycled_momentum.h"
#include "optim/schedule_arithmetic.h"
#include "tenon/error.h"

namespace tenon::optim::lr_scheduler {

namespace {

std::int64_t total_of(const OneCycleLROptions& options) {
  if (options.total_steps) {
    check_count("total_steps", *options.total_steps, 1);
    return *options.total_steps;
  }
  if (!options.epochs || !options.steps_per_epoch)
    throw ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)");
  check_count("epochs", *options.epochs, 1);
  check_count("steps_per_epoch", *options.steps_per_epoch, 1);
  if (*options.epochs > kMaxCount / *options.steps_per_epoch) {
    throw ValueError(concat(*options.epochs, " epochs of ", *options.steps_per_epoch,
                            " steps are too many to count in doubles"));
  }
  return *options.epochs * *options.steps_per_epoch;
}

}  // namespace

OneCycleLR::OneCycleLR(Optimizer& optimizer, const PerGroup& max_lr,
                       const OneCycleLROptions& options)
    : LRScheduler("OneCycleLR", optimizer, options.last_epoch),
      total_steps_(total_of(options)),
      anneal_strategy_(options.anneal_strategy),
      cycle_momentum_(options.cycle_momentum) {
  const double part = options.pct_start, total = real(total_steps_);
  if (!(part >= 0 && part <= 1)) {
    throw ValueError(
        concat("Expected float between 0 and 1 pct_start, but got ", Value(part).repr()));
  }
  phases_.push_back({part * total - 1, "initial_lr", "max_lr", "max_momentum", "base_momentum"});
  if (options.three_phase) {
    phases_.push_back(
        {2 * part * total - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"});
    phases_.push_back({total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"});
  } else {
    phases_.push_back({total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"});
  }
  check();
  place(last_epoch_ + 1);
  prepare_groups(max_lr, options);
  initial_step();
}
OneCycleLR::~OneCycleLR() = default;

void OneCycleLR::check() const {
  check_count("total_steps", total_steps_, 1);
  if (anneal_strategy_ != "cos" && anneal_strategy_ != "linear") {
    throw ValueError(
        concat("anneal_strategy must be one of 'cos' or 'linear', instead got ", anneal_strategy_));
  }
  if (phases_.empty()) throw ValueError("OneCycleLR needs at least one phase, but has none");
}

void OneCycleLR::prepare_groups(const PerGroup& max_lr, const OneCycleLROptions& options) {
  const auto max_lrs = for_groups("max_lr", max_lr, groups().size());
  std::vector<double> initial_lrs, min_lrs;
  check_finite("div_factor", options.div_factor);
  check_finite("final_div_factor", options.final_div_factor);
  for (const double lr : max_lrs) {
    initial_lrs.push_back(divided(lr, options.div_factor, "div_factor is 0"));
    min_lrs.push_back(
        divided(initial_lrs.back(), options.final_div_factor, "final_div_factor is 0"));
  }
  std::vector<double> max_momentum, base_momentum;
  if (cycle_momentum_) {
    use_beta1_ = cycles_beta1(optimizer());
    max_momentum = for_groups("max_momentum", options.max_momentum, groups().size());
    base_momentum = for_groups("base_momentum", options.base_momentum, groups().size());
  }
  if (last_epoch_ != -1) return;
  for (std::size_t i = 0; i < max_lrs.size(); ++i) {
    set_option(i, "initial_lr", initial_lrs[i]);
    set_option(i, "max_lr", max_lrs[i]);
    set_option(i, "min_lr", min_lrs[i]);
    if (!cycle_momentum_) continue;
    set_option(i, "max_momentum", max_momentum[i]);
    set_option(i, "base_momentum", base_momentum[i]);
  }
}

std::pair<OneCycleLR::Phase, double> OneCycleLR::place(std::int64_t step) const {
  if (step > total_steps_) {
    throw ValueError(concat("Tried to step ", step,
                            " times. The specified number of total steps is ", total_steps_));
  }
  double start = 0;
  for (const Phase& phase : phases_) {
    if (real(step) <= phase.end_step || &phase == &phases_.back()) {
      return {phase, divided(real(step) - start, phase.end_step - start,
                             concat("the phase that ends with step ", Value(start).repr(),
                                    " has no length: choose another pct_start or total_steps"))};
    }
    start = phase.end_step;
  }
  throw InternalError("OneCycleLR has no phases");
}

std::vector<double> OneCycleLR::annealed(const std::string& start, const std::string& end,
                                         double part) const {
  std::vector<double> all = numbers(start);
  const std::vector<double> ends = numbers(end);
  if (all.size() != ends.size()) throw ValueError("parameter groups came or went in a step");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double from = all[i], to = ends[i];
    all[i] = anneal_strategy_ == "linear"
                 ? (to - from) * part + from
                 : to + (from - to) / 2.0 * (std::cos(std::numbers::pi * part) + 1);
  }
  return all;
}

std::vector<double> OneCycleLR::current_lr() const {
  const auto [phase, part] = place(last_epoch_);
  return annealed(phase.start_lr, phase.end_lr, part);
}

void OneCycleLR::write(const std::vector<double>& lrs) {
  std::vector<Value> momenta;
  if (cycle_momentum_) {
    const auto [phase, part] = place(last_epoch_);
    const std::vector<double> all = annealed(phase.start_momentum, phase.end_momentum, part);
    for (std::size_t i = 0; i < groups().size(); ++i)
      momenta.push_back(cycled(groups()[i], use_beta1_, all[i]));
  }
  for (std::size_t i = 0; i < momenta.size(); ++i)
    set_option(i, use_beta1_ ? "betas" : "momentum", momenta[i]);
  LRScheduler::write(lrs);
}

Value OneCycleLR::phases() const {
  std::vector<Value> all;
  for (const Phase& phase : phases_) {
    // A whole number for the last, as in PyTorch.
    const Value end = &phase == &phases_.back() && std::floor(phase.end_step) == phase.end_step
                          ? Value(static_cast<std::int64_t>(phase.end_step))
                          : Value(phase.end_step);
    all.push_back(Value::dict({{"end_step", end},
                               {"start_lr", phase.start_lr},
                               {"end_lr", phase.end_lr},
                               {"start_momentum", phase.start_momentum},
                               {"end_momentum", phase.end_momentum}}));
  }
  return Value::list(std::move(all));
}

std::vector<OneCycleLR::Phase> OneCycleLR::phases_of(const Value& saved) {
  // A list may have one of them any number of times, with names of any length.
  constexpr std::size_t kMost = 3;
  if (saved.items().size() > kMost) {
    throw ValueError(
        concat("has ", saved.items().size(), " phases, but a schedule has at most ", kMost));
  }
  std::vector<Phase> all;
  for (const Value& one : saved.items()) {
    const auto at = [&](const char* name) -> const Value& {
      const Value* found = one.find(name);
      if (found == nullptr) throw ValueError(concat("has a phase without '", name, "'"));
      return *found;
    };
    Phase phase{at("end_step").as_real(), at("start_lr").as_string(), at("end_lr").as_string(),
                at("start_momentum").as_string(), at("end_momentum").as_string()};
    if (!std::isfinite(phase.end_step) || std::abs(phase.end_step) > real(kMaxCount))
      throw ValueError(concat("has a phase that ends with step ", at("end_step").repr()));
    all.push_back(std::move(phase));
  }
  if (all.empty()) throw ValueError("has no phases");
  return all;
}

void OneCycleLR::own_state(SchedulerState& state) {
  state.integer("total_steps", total_steps_);
  state.value("_schedule_phases", phases(), [this](const Value& saved) -> std::function<void()> {
    return [this, read = phases_of(saved)] { phases_ = read; };
  });
  state.text("_anneal_func_type", anneal_strategy_);
  state.boolean("cycle_momentum", cycle_momentum_);
  if (cycle_momentum_ || state.reads())
    state.boolean("use_beta1", use_beta1_, SchedulerState::Need::if_there);
}

}  // namespace tenon::optim::lr_scheduler
