// Schedules by functions.
#include "base/text.h"
#include "core/value_text.h"
#include "tenon/error.h"
#include "tenon/optim/lr_scheduler.h"

namespace tenon::optim::lr_scheduler {

namespace {

std::vector<LRLambda> for_all(LRLambda lambda, const Optimizer& optimizer) {
  return std::vector<LRLambda>(optimizer.param_groups().size(), std::move(lambda));
}

// User code that ran while a scheduler was made, or that reads a learning rate, may add groups.
void check_groups(const char* type, std::size_t groups, std::size_t lambdas) {
  if (groups == lambdas) return;
  throw ValueError(concat("the optimizer has ", groups, " parameter groups, but ", type, " ",
                          lambdas, " functions: make it anew after adding a group"));
}

Value checked(const std::vector<LRLambda>& lambdas, const Optimizer& optimizer) {
  if (lambdas.size() != optimizer.param_groups().size()) {
    throw ValueError(concat("Expected ", optimizer.param_groups().size(), " lr_lambdas, but got ",
                            lambdas.size()));
  }
  for (std::size_t i = 0; i < lambdas.size(); ++i) {
    if (!lambdas[i]) throw ValueError(concat("lr_lambdas[", i, "] is an empty function"));
  }
  return Value::list(std::vector<Value>(lambdas.size()));
}

// Nothing is known of our functions. What a file has of Python's is kept for the next one.
void lambdas_state(SchedulerState& state, Value& saved_lambdas) {
  state.value("lr_lambdas", saved_lambdas,
              [&saved_lambdas](const Value& saved) -> std::function<void()> {
                if (saved.kind() != Value::Kind::list ||
                    saved.items().size() != saved_lambdas.items().size()) {
                  throw ValueError(concat("must be a list with an entry for each of the ",
                                          saved_lambdas.items().size(), " functions, but is ",
                                          short_repr(saved)));
                }
                return [&saved_lambdas, saved] { saved_lambdas = saved; };
              });
}

}  // namespace

LambdaLR::LambdaLR(Optimizer& optimizer, LRLambda lr_lambda, const LambdaLROptions& options)
    : LambdaLR(Listed{}, optimizer, for_all(std::move(lr_lambda), optimizer), options) {}
LambdaLR::LambdaLR(Listed /*tag*/, Optimizer& optimizer, std::vector<LRLambda> lr_lambdas,
                   const LambdaLROptions& options)
    : LRScheduler("LambdaLR", optimizer, options.last_epoch),
      lambdas_(std::move(lr_lambdas)),
      saved_lambdas_(checked(lambdas_, optimizer)) {
  initial_step();
}
LambdaLR::~LambdaLR() = default;

std::vector<double> LambdaLR::current_lr() const {
  check_groups("LambdaLR", base_lrs_.size(), lambdas_.size());
  std::size_t i = 0;
  // A copy of the function, which may load or destroy the scheduler.
  return based([&](double base_lr) { return base_lr * LRLambda(lambdas_[i++])(last_epoch_); });
}
void LambdaLR::state(SchedulerState& state) {
  LRScheduler::state(state);
  lambdas_state(state, saved_lambdas_);
}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, LRLambda lr_lambda,
                                   const MultiplicativeLROptions& options)
    : MultiplicativeLR(Listed{}, optimizer, for_all(std::move(lr_lambda), optimizer), options) {}
MultiplicativeLR::MultiplicativeLR(Listed /*tag*/, Optimizer& optimizer,
                                   std::vector<LRLambda> lr_lambdas,
                                   const MultiplicativeLROptions& options)
    : LRScheduler("MultiplicativeLR", optimizer, options.last_epoch),
      lambdas_(std::move(lr_lambdas)),
      saved_lambdas_(checked(lambdas_, optimizer)) {
  initial_step();
}
MultiplicativeLR::~MultiplicativeLR() = default;

std::vector<double> MultiplicativeLR::current_lr() const {
  std::vector<double> lrs = numbers("lr");
  if (is_initial_) return lrs;
  check_groups("MultiplicativeLR", lrs.size(), lambdas_.size());
  const nn::detail::Guard guard(static_cast<const void*>(this), "the scheduler took a step");
  for (std::size_t i = 0; i < lrs.size(); ++i) {
    lrs[i] *= LRLambda(lambdas_[i])(last_epoch_);
    guard.check();
  }
  return lrs;
}
void MultiplicativeLR::state(SchedulerState& state) {
  LRScheduler::state(state);
  lambdas_state(state, saved_lambdas_);
}

}  // namespace tenon::optim::lr_scheduler
