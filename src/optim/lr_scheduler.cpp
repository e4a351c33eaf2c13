#include "tenon/optim/lr_scheduler.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <unordered_set>

#include "base/text.h"
#include "base/warn.h"
#include "nn/tree_guard.h"
#include "optim/load_problems.h"
#include "optim/schedule_arithmetic.h"
#include "tenon/error.h"

namespace tenon::optim::lr_scheduler {

using nn::detail::Guard;

namespace {
constexpr const char* kDuring = "the scheduler took a step";
constexpr const char* kSaving = "state_dict() was running";
constexpr const char* kLoading = "load_state_dict() was running";

// One for each of several objects, as on the stack: the last one goes first. A scheduler may have
// more parts than the stack has room for.
class Guards {
 public:
  Guards() = default;
  Guards(const Guards&) = delete;
  Guards& operator=(const Guards&) = delete;
  ~Guards() {
    while (!all_.empty()) all_.pop_back();
  }
  const Guard& add(const void* subject, const char* during) {
    return all_.emplace_back(subject, during);
  }

 private:
  std::deque<Guard> all_;  // which moves none
};

}  // namespace

LRScheduler::LRScheduler(std::string type_name, Optimizer& optimizer)
    : type_name_(std::move(type_name)), optimizer_(&optimizer) {}

LRScheduler::LRScheduler(std::string type_name, Optimizer& optimizer, std::int64_t last_epoch)
    : LRScheduler(std::move(type_name), optimizer) {
  check_epoch(last_epoch);
  last_epoch_ = last_epoch;
}

LRScheduler::~LRScheduler() { nn::detail::GuardList::destroyed(this); }

std::vector<LRScheduler*> LRScheduler::parts() const { return {}; }

void LRScheduler::with_guards(const char* during,
                              const std::function<void(const Guard&)>& f) const {
  std::vector<const LRScheduler*> all{this};
  std::unordered_set<const LRScheduler*> known{this};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const LRScheduler* inner : all[i]->parts()) {
      if (inner != nullptr && known.insert(inner).second) all.push_back(inner);
    }
  }
  Guards guards;
  guards.add(optimizer_, during);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) guards.add(all[i], during);
  f(guards.add(all.back(), during));
}

void LRScheduler::initial_step() {
  const Guard guard(static_cast<const void*>(this), kDuring);
  const Guard on_optimizer(static_cast<const void*>(optimizer_), kDuring);
  check();
  guard.check();
  on_optimizer.check();
  for (std::size_t i = 0; i < groups().size(); ++i) {
    if (last_epoch_ == -1 || groups()[i].contains("initial_lr")) continue;
    throw ValueError(
        concat("param 'initial_lr' is not specified in param_groups[", i,
               "] when resuming scheduler with last_epoch >= 0. Load the optimizer's state dict "
               "first, which has it, or begin anew with a last_epoch of -1 (it is ",
               last_epoch_, ")"));
  }
  const std::vector<double> lrs = numbers("lr");
  for (std::size_t i = 0; i < groups().size(); ++i) groups()[i].set_default("initial_lr", lrs[i]);
  base_lrs_ = numbers("initial_lr");
  optimizer_->has_scheduler_ = true;
  begin();
}

void LRScheduler::begin() {
  // However the step ends.
  struct Initial {
    Initial(bool& flag, const Guard& on_it) : initial(flag), guard(on_it) { initial = true; }
    ~Initial() {
      if (!guard.is_gone()) initial = false;
    }
    Initial(const Initial&) = delete;
    Initial& operator=(const Initial&) = delete;
    bool& initial;
    const Guard& guard;
  };
  const Guard guard(static_cast<const void*>(this), kDuring);
  step_count_ = 0;
  const Initial initial(is_initial_, guard);
  advance({});
}

void LRScheduler::undo() { --last_epoch_; }

void LRScheduler::step() {
  const Guard guard(static_cast<const void*>(this), kDuring);
  const Guard on_optimizer(static_cast<const void*>(optimizer_), kDuring);
  advance({});
  guard.check();
  on_optimizer.check();
}
void LRScheduler::step(std::int64_t epoch) {
  check_epoch(epoch);
  const Guard guard(static_cast<const void*>(this), kDuring);
  const Guard on_optimizer(static_cast<const void*>(optimizer_), kDuring);
  advance(real(epoch));
  guard.check();
  on_optimizer.check();
}

void LRScheduler::warn_of_order() const {
  if (step_count_ != 1 || optimizer_->step_called_) return;
  warn(
      "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite "
      "order: `optimizer.step()` before `lr_scheduler.step()`. Otherwise the first value of the "
      "learning rate schedule is skipped");
}

// Handlers of warnings, functions of the user's and classes derived from it may do what they like,
// but for destroying the scheduler or its optimizer.
void LRScheduler::advance(std::optional<double> epoch) {
  const Guard guard(static_cast<const void*>(this), kDuring);
  const Guard on_optimizer(static_cast<const void*>(optimizer_), kDuring);
  const auto check = [&] {
    guard.check();
    on_optimizer.check();
  };
  warn_of_order();
  check();
  std::optional<std::int64_t> whole;
  if (epoch) {
    warn(
        "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
        "possible. Please use `scheduler.step()` to step the scheduler. With it the closed form is "
        "used instead of the chainable form, where available");
    whole = static_cast<std::int64_t>(*epoch);
    check();
  }
  ++step_count_;
  try {
    update(whole);
  } catch (...) {
    if (!guard.is_gone()) --step_count_;
    throw;
  }
}

void LRScheduler::update(std::optional<std::int64_t> epoch) {
  const Guard guard(static_cast<const void*>(this), kDuring);
  const Guard on_optimizer(static_cast<const void*>(optimizer_), kDuring);
  const std::int64_t before = last_epoch_;
  last_epoch_ = epoch ? *epoch : last_epoch_ + 1;
  try {
    std::optional<std::vector<double>> lrs;
    if (epoch) lrs = closed_form_lr();
    guard.check();
    if (!lrs) lrs = current_lr();
    guard.check();
    on_optimizer.check();
    if (lrs->size() != groups().size()) {
      throw ValueError(concat(type_name_, " gives ", lrs->size(), " learning rates, but there are ",
                              groups().size(), " parameter groups"));
    }
    write(*lrs);
    guard.check();
    on_optimizer.check();
  } catch (...) {
    if (!guard.is_gone()) last_epoch_ = before;
    throw;
  }
  keep_last_lr();
}

void LRScheduler::write(const std::vector<double>& lrs) {
  for (std::size_t i = 0; i < lrs.size(); ++i) set_option(i, "lr", lrs[i]);
}

std::vector<double> LRScheduler::numbers(std::string_view name) const {
  const Guard guard(static_cast<const void*>(this), kDuring);
  const Guard on_optimizer(static_cast<const void*>(optimizer_), kDuring);
  std::vector<double> all;
  for (std::size_t i = 0; i < groups().size(); ++i) {
    all.push_back(groups()[i].real(name));
    guard.check();
    on_optimizer.check();
  }
  return all;
}

void LRScheduler::set_option(std::size_t group, std::string_view name, Value value) const {
  if (group >= groups().size()) return;
  const Guard guard(static_cast<const void*>(this), kDuring);
  const Guard on_optimizer(static_cast<const void*>(optimizer_), kDuring);
  std::swap(groups()[group][name], value);
  value = Value();
  guard.check();
  on_optimizer.check();
}

void LRScheduler::keep_last_lr() {
  last_lr_ = changed([](double lr) { return lr; });
}

std::vector<double> LRScheduler::get_lr() const {
  const Guard guard(static_cast<const void*>(this), "get_lr() was running");
  const Guard on_optimizer(static_cast<const void*>(optimizer_), "get_lr() was running");
  warn(
      "To get the last learning rate computed by the scheduler, please use `get_last_lr()`: "
      "`get_lr()` may apply a factor once more");
  guard.check();
  on_optimizer.check();
  std::vector<double> lrs = current_lr();
  guard.check();
  on_optimizer.check();
  return lrs;
}

std::vector<double> LRScheduler::current_lr() const {
  throw NotImplementedError(concat(type_name_, " has no get_lr(): use get_last_lr()"));
}

std::optional<std::vector<double>> LRScheduler::closed_form_lr() const { return {}; }

std::vector<double> LRScheduler::changed(const std::function<double(double lr)>& change) const {
  // The function may be the user's, who may add groups.
  std::vector<double> lrs = numbers("lr");
  const Guard guard(static_cast<const void*>(this), kDuring);
  for (double& lr : lrs) {
    lr = change(lr);
    guard.check();
  }
  return lrs;
}

std::vector<double> LRScheduler::based(
    const std::function<double(double base_lr)>& function) const {
  if (base_lrs_.size() != groups().size()) {
    throw ValueError(concat("the optimizer has ", groups().size(), " parameter groups, but ",
                            type_name_, " was made for ", base_lrs_.size(),
                            ": make it anew after adding a group"));
  }
  std::vector<double> lrs = base_lrs_;
  const Guard guard(static_cast<const void*>(this), kDuring);
  for (double& lr : lrs) {
    lr = function(lr);
    guard.check();
  }
  return lrs;
}

void LRScheduler::check() const {}
void LRScheduler::own_state(SchedulerState& /*state*/) {}

void LRScheduler::state(SchedulerState& state) {
  using Need = SchedulerState::Need;
  const Guard guard(static_cast<const void*>(this), state.reads() ? kLoading : kSaving);
  own_state(state);
  guard.check_return();
  state.reals("base_lrs", base_lrs_, base_lrs_.size());
  state.integer("last_epoch", last_epoch_);
  state.integer("_step_count", step_count_, Need::if_there);
  state.boolean("_is_initial", is_initial_, Need::if_there);
  // True only while a step is taken.
  state.value(
      "_get_lr_called_within_step", false, [](const Value&) { return [] {}; }, Need::if_there);
  state.reals("_last_lr", last_lr_, {}, Need::if_there);
  state.others(others_);
}

Value LRScheduler::state_dict() {
  SchedulerState writer;
  with_guards(kSaving, [&](const Guard& guard) {
    state(writer);
    guard.check_return();
  });
  return Value::dict(std::move(writer.written_));
}

// Note [Loading a scheduler]
// PyTorch takes over whatever entries there are, and finds out in some later step. Here everything
// is looked at before anything is changed; only the ranges of arguments are checked afterwards,
// with the members in place, and what was there before is put back if they are wrong.
void LRScheduler::load_state_dict(const Value& state_dict) {
  const Value saved = state_dict;  // user code may destroy what was given
  with_guards(kLoading, [&](const Guard& guard) { load(saved, guard); });
}

void LRScheduler::load(const Value& state_dict, const Guard& guard) {
  const auto read = [&](SchedulerState& reader) {
    state(reader);
    guard.check_return();
    reader.finish();
  };
  const auto make = [&](const SchedulerState& reader) {
    for (const auto& change : reader.changes_) {
      change();
      guard.check_return();
    }
  };
  SchedulerState reader(state_dict);
  read(reader);
  if (!reader.problems_.empty()) refuse(type_name_, std::move(reader.problems_));
  const Value before = this->state_dict();
  make(reader);
  const auto put_back = [&] {
    guard.check_return();
    SchedulerState restored(before);
    read(restored);
    make(restored);
  };
  try {
    check();
    guard.check_return();
  } catch (const Error& error) {
    const std::string problem = error.what();
    put_back();
    refuse(type_name_, {problem});
  } catch (...) {  // of an overridden check()
    put_back();
    throw;
  }
}

}  // namespace tenon::optim::lr_scheduler
