// What schedulers refuse and warn of, and what is ours: parts, functions, state dicts that do not
// fit. Their learning rates: schedules_test.cpp.
#include <cmath>
#include <limits>
#include <memory>

#include "support/matchers.h"
#include "support/temp_dir.h"
#include "support/warnings.h"
#include "tenon/tenon.h"

namespace tenon::optim::lr_scheduler {
namespace {

const double kInf = std::numeric_limits<double>::infinity(), kNan = std::nan("");

// Two groups.
std::unique_ptr<SGD> sgd(double lr = 0.1) {
  return std::make_unique<SGD>(
      std::vector<SGDGroup>{{.params = {nn::make_parameter(ones({1}))}, .lr = lr},
                            {.params = {nn::make_parameter(ones({1}))}, .lr = 2 * lr}});
}
void add_group(Optimizer& optimizer) {
  optimizer.add_param_group({{nn::make_parameter(ones({1}))}, NamedValues({{"lr", 0.7}})});
}

TEST(Schedulers, AreMadeAsInPyTorch) {
  const auto o = sgd();
  StepLR scheduler(*o, 30, {.gamma = 0.1});
  EXPECT_EQ(scheduler.type_name(), "StepLR");
  EXPECT_EQ(&scheduler.optimizer(), o.get());
  EXPECT_EQ(scheduler.last_epoch(), 0);
  EXPECT_THAT(scheduler.get_last_lr(), testing::ElementsAre(0.1, 0.2));
  EXPECT_THAT(scheduler.base_lrs(), testing::ElementsAre(0.1, 0.2));
  EXPECT_EQ(o->param_groups()[1].real("initial_lr"), 0.2);
  // The next one begins where the first began.
  o->param_groups()[0]["lr"] = 0.7;
  const ExponentialLR other(*o, 0.5);
  EXPECT_EQ(other.base_lrs()[0], 0.1);
  EXPECT_EQ(other.get_last_lr()[0], 0.7);
}

TEST(Schedulers, WarnWhenTheyAreSteppedBeforeTheOptimizer) {
  const Warnings warnings;
  const auto o = sgd();
  o->step();  // before there was a scheduler: PyTorch does not count it
  StepLR scheduler(*o, 3);
  EXPECT_TRUE(warnings.said.empty());
  scheduler.step();
  ASSERT_EQ(warnings.said.size(), 1);
  EXPECT_THAT(warnings.said[0], testing::HasSubstr("Detected call of `lr_scheduler.step()` before "
                                                   "`optimizer.step()`"));
  scheduler.step();
  EXPECT_EQ(warnings.said.size(), 1);
  o->step();
  ExponentialLR second(*o, 0.5);
  second.step();
  EXPECT_EQ(warnings.said.size(), 1);
  const auto fresh = sgd();
  StepLR in_order(*fresh, 3);
  fresh->step([] { return Tensor(); });
  in_order.step();
  EXPECT_EQ(warnings.said.size(), 1);
}

TEST(Schedulers, WarnOfEpochsAndOfGetLr) {
  const Warnings warnings;
  const auto o = sgd();
  StepLR scheduler(*o, 3);
  o->step();
  scheduler.step(3);
  ASSERT_EQ(warnings.said.size(), 1);
  EXPECT_THAT(warnings.said[0], testing::HasSubstr("The epoch parameter in `scheduler.step()`"));
  EXPECT_EQ(scheduler.last_epoch(), 3);
  (void)scheduler.get_lr();
  ASSERT_EQ(warnings.said.size(), 2);
  EXPECT_THAT(warnings.said[1], testing::HasSubstr("please use `get_last_lr()`"));
  ReduceLROnPlateau plateau(*o);
  plateau.step(1.0, 7);
  EXPECT_EQ(plateau.last_epoch(), 7);
  EXPECT_EQ(warnings.said.size(), 3);
  // Epochs are what it is stepped by.
  CosineAnnealingWarmRestarts restarts(*o, 4);
  restarts.step(2.5);
  EXPECT_EQ(restarts.last_epoch(), 2);
  EXPECT_EQ(warnings.said.size(), 3);
}

// As PyTorch gives them for T_0 = 3, T_mult = 2, eta_min = 0.01, lr = 0.4.
TEST(Schedulers, WarmRestartsTakeEpochsInBetween) {
  SGD o({nn::make_parameter(ones({1}))}, {.lr = 0.4});
  CosineAnnealingWarmRestarts scheduler(o, 3, {.T_mult = 2, .eta_min = 0.01});
  scheduler.step(0.5);
  EXPECT_EQ(scheduler.get_last_lr()[0], 0.3738749537379656);
  scheduler.step(2.25);
  EXPECT_EQ(scheduler.get_last_lr()[0], 0.06711417766862325);
  scheduler.step(20);
  EXPECT_EQ(scheduler.get_last_lr()[0], 0.0166444638736317);
  expect_error<ValueError>([&] { scheduler.step(-1); }, "Expected non-negative epoch, but got -1");
  expect_error<ValueError>([&] { scheduler.step(kNan); }, "non-negative epoch", "nan");
  EXPECT_EQ(scheduler.last_epoch(), 20);
}

TEST(Schedulers, NeedTheFirstLearningRatesToResume) {
  const auto o = sgd();
  expect_error<ValueError>([&] { StepLR(*o, 3, {.last_epoch = 2}); },
                           "param 'initial_lr' is not specified in param_groups[0] when resuming "
                           "scheduler with last_epoch >= 0",
                           "Load the optimizer's state dict");
  o->param_groups()[0]["initial_lr"] = 1.0;
  expect_error<ValueError>([&] { ExponentialLR(*o, 0.5, {.last_epoch = 2}); }, "param_groups[1]");
  o->param_groups()[1]["initial_lr"] = 1.0;
  EXPECT_EQ(StepLR(*o, 3, {.last_epoch = 3}).last_epoch(), 4);
}

TEST(Schedulers, RefuseArgumentsOutOfRange) {
  const auto held = sgd();
  SGD& o = *held;
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-2}}) {
    expect_error<ValueError>([&] { StepLR(o, count); }, "positive integer step_size", "but got");
    expect_error<ValueError>([&] { CosineAnnealingLR(o, count); }, "positive integer T_max");
    expect_error<ValueError>([&] { CosineAnnealingWarmRestarts(o, count); },
                             "Expected positive integer T_0, but got");
    expect_error<ValueError>([&] { CosineAnnealingWarmRestarts(o, 3, {.T_mult = count}); },
                             "Expected integer T_mult >= 1, but got");
    expect_error<ValueError>([&] { OneCycleLR(o, 0.1, {.total_steps = count}); },
                             "Expected positive integer total_steps, but got");
    expect_error<ValueError>([&] { OneCycleLR(o, 0.1, {.epochs = count, .steps_per_epoch = 1}); },
                             "Expected positive integer epochs, but got");
    expect_error<ValueError>([&] { OneCycleLR(o, 0.1, {.epochs = 1, .steps_per_epoch = count}); },
                             "Expected positive integer steps_per_epoch, but got");
  }
  for (const double value : {kInf, kNan, -kInf}) {
    expect_error<ValueError>([&] { StepLR(o, 3, {.gamma = value}); }, "finite gamma");
    expect_error<ValueError>([&] { MultiStepLR(o, {3}, {.gamma = value}); }, "finite gamma");
    expect_error<ValueError>([&] { ExponentialLR(o, value); }, "finite gamma");
    expect_error<ValueError>([&] { PolynomialLR(o, {.power = value}); }, "finite power");
    expect_error<ValueError>([&] { CosineAnnealingLR(o, 3, {.eta_min = value}); }, "eta_min");
    expect_error<ValueError>([&] { CosineAnnealingWarmRestarts(o, 3, {.eta_min = value}); },
                             "eta_min");
    expect_error<ValueError>([&] { OneCycleLR(o, value, {.total_steps = 9}); }, "finite max_lr");
    expect_error<ValueError>([&] { ReduceLROnPlateau(o, {.threshold = value}); }, "threshold");
    expect_error<ValueError>([&] { ReduceLROnPlateau(o, {.min_lr = value}); }, "min_lr");
    expect_error<ValueError>([&] { ReduceLROnPlateau(o, {.eps = value}); }, "eps");
  }
  for (const double factor : {-0.1, 1.1, kNan, kInf}) {
    expect_error<ValueError>([&] { ConstantLR(o, {.factor = factor}); },
                             "Constant multiplicative factor expected to be between 0 and 1");
    expect_error<ValueError>([&] { LinearLR(o, {.start_factor = factor}); },
                             "Starting multiplicative factor expected to be greater than 0 and "
                             "less or equal to 1");
    expect_error<ValueError>([&] { LinearLR(o, {.end_factor = factor}); },
                             "Ending multiplicative factor expected to be between 0 and 1");
    expect_error<ValueError>([&] { OneCycleLR(o, 0.1, {.total_steps = 9, .pct_start = factor}); },
                             "Expected float between 0 and 1 pct_start, but got");
  }
  const std::int64_t far = std::numeric_limits<std::int64_t>::max();
  const auto other = sgd();
  StepLR stepped(*other, 3);
  expect_error<ValueError>([&] { stepped.step(far); }, "too large to count");
  expect_error<ValueError>([&] { StepLR(o, 3, {.last_epoch = far}); }, "too large to count");
  expect_error<ValueError>([&] { StepLR(o, far); }, "too large to count");
  expect_error<ValueError>(
      [&] { OneCycleLR(o, 0.1, {.epochs = 1 << 30, .steps_per_epoch = 1 << 30}); },
      "too many to count");
  expect_error<ValueError>([&] { LinearLR(o, {.total_iters = -1}); }, "total_iters", "-1");
  expect_error<ValueError>([&] { PolynomialLR(o, {.total_iters = -1}); }, "total_iters");
  expect_error<ValueError>([&] { ReduceLROnPlateau(o, {.mode = "x"}); }, "mode x is unknown!");
  expect_error<ValueError>([&] { ReduceLROnPlateau(o, {.threshold_mode = "y"}); },
                           "threshold mode y is unknown!");
  for (const double factor : {1.0, 1.5, kNan}) {
    expect_error<ValueError>([&] { ReduceLROnPlateau(o, {.factor = factor}); },
                             "Factor should be < 1.0");
  }
  expect_error<ValueError>([&] { ReduceLROnPlateau(o, {.min_lr = std::vector<double>{0.1}}); },
                           "expected 2 min_lrs, got 1");
  expect_error<ValueError>([&] { LambdaLR(o, {{[](std::int64_t) { return 1.0; }}}); },
                           "Expected 2 lr_lambdas, but got 1");
  expect_error<ValueError>([&] { LambdaLR(o, LRLambda()); }, "lr_lambdas[0] is an empty function");
  // None of them has left anything behind.
  EXPECT_FALSE(o.param_groups()[0].contains("initial_lr"));
  EXPECT_FALSE(o.param_groups()[0].contains("max_lr"));
  EXPECT_EQ(o.param_groups()[0].real("lr"), 0.1);
}

TEST(Schedulers, OneCycleRefusesWhatItCannotCycle) {
  const auto held = sgd();
  SGD& o = *held;
  expect_error<ValueError>([&] { OneCycleLR(o, 0.1); },
                           "You must define either total_steps OR (epochs AND steps_per_epoch)");
  expect_error<ValueError>([&] { OneCycleLR(o, 0.1, {.total_steps = 9, .anneal_strategy = "x"}); },
                           "anneal_strategy must be one of 'cos' or 'linear', instead got x");
  expect_error<ValueError>([&] { OneCycleLR(o, {0.1, 0.2, 0.3}, {.total_steps = 9}); },
                           "max_lr must have the same length as optimizer.param_groups. max_lr has "
                           "3 values, param_groups has 2.");
  expect_error<ValueError>(
      [&] { OneCycleLR(o, 0.1, {.total_steps = 9, .max_momentum = std::vector<double>{0.9}}); },
      "max_momentum has 1 values");
  // PyTorch has a ZeroDivisionError there.
  expect_error<ValueError>([&] { OneCycleLR(o, 0.1, {.total_steps = 10, .pct_start = 0.1}); },
                           "float division by zero", "choose another pct_start");
  expect_error<ValueError>([&] { OneCycleLR(o, 0.1, {.total_steps = 9, .div_factor = 0}); },
                           "div_factor is 0");
  Adagrad still({nn::make_parameter(ones({1}))});
  expect_error<ValueError>([&] { OneCycleLR(still, 0.1, {.total_steps = 9}); },
                           "optimizer must support momentum or beta1 with `cycle_momentum` option "
                           "enabled",
                           "Adagrad");
  EXPECT_FALSE(still.param_groups()[0].contains("max_lr"));
  OneCycleLR without(still, 0.1, {.total_steps = 9, .cycle_momentum = false});
  OneCycleLR scheduler(o, 0.3, {.total_steps = 5});
  o.step();
  for (int i = 0; i < 5; ++i) scheduler.step();
  const auto lrs = scheduler.get_last_lr();
  expect_error<ValueError>([&] { scheduler.step(); },
                           "Tried to step 6 times. The specified number of total steps is 5");
  EXPECT_EQ(scheduler.last_epoch(), 5);
  EXPECT_EQ(scheduler.get_last_lr(), lrs);
}

TEST(Schedulers, OfGroupsThatWereAddedLater) {
  const auto o = sgd();
  StepLR chained(*o, 1);
  LambdaLR lambda(*o, [](std::int64_t) { return 1.0; });
  ReduceLROnPlateau all(*o, {.patience = 0}), each(*o, {.patience = 0, .min_lr = {0.01, 0.02}});
  add_group(*o);
  o->step();
  expect_error<ValueError>([&] { lambda.step(); }, "3 parameter groups", "LambdaLR was made for 2");
  EXPECT_EQ(lambda.last_epoch(), 0);
  chained.step();
  EXPECT_EQ(chained.get_last_lr(), (std::vector<double>{0.1 * 0.1, 0.2 * 0.1, 0.7 * 0.1}));
  for (int i = 0; i < 2; ++i) all.step(1.0);
  EXPECT_EQ(all.get_last_lr()[2], 0.7 * 0.1 * 0.1);
  EXPECT_EQ(all.min_lrs().size(), 3);
  each.step(1.0);
  expect_error<ValueError>([&] { each.step(1.0); },
                           "The number of param groups in the `optimizer` (3) differs from when "
                           "`ReduceLROnPlateau` was initialized (2)");
  EXPECT_EQ(each.num_bad_epochs(), 0);
  each.min_lrs().push_back(0.5);
  each.step(1.0);
  EXPECT_EQ(each.get_last_lr()[2], o->param_groups()[2].real("lr"));
}

TEST(Schedulers, AFunctionThatThrowsChangesNothing) {
  const auto o = sgd();
  bool fails = false;
  LambdaLR scheduler(*o, [&](std::int64_t epoch) {
    if (fails) throw ValueError("no more");
    return 1.0 / static_cast<double>(1 + epoch);
  });
  o->step();
  const std::string before = scheduler.state_dict().repr();
  fails = true;
  expect_error<ValueError>([&] { scheduler.step(); }, "no more");
  EXPECT_EQ(scheduler.state_dict().repr(), before);
  fails = false;
  scheduler.step();
  EXPECT_THAT(scheduler.get_last_lr(), testing::ElementsAre(0.05, 0.1));
}

// The step that would use it changes nothing.
TEST(Schedulers, ALearningRateThatIsNotFiniteEndsAtTheOptimizer) {
  const auto o = sgd();
  LambdaLR scheduler(*o, [](std::int64_t epoch) { return epoch < 1 ? 1 : kInf; });
  const Tensor p = o->param_groups()[0].params()[0];
  p.set_grad(ones({1}));
  o->step();
  const Tensor before = p.detach().clone();
  scheduler.step();
  expect_error<ValueError>([&] { o->step(); }, "Invalid learning rate: inf");
  EXPECT_TRUE(equal(p.detach(), before));
}

TEST(Schedulers, PlateauTakesTensorsAndNeedsMetrics) {
  const auto o = sgd();
  ReduceLROnPlateau scheduler(*o, {.patience = 0, .cooldown = 1});
  scheduler.step(tensor(0.5));
  EXPECT_EQ(scheduler.best(), 0.5);
  scheduler.step(kNan);
  EXPECT_TRUE(scheduler.in_cooldown());
  EXPECT_THAT(scheduler.get_last_lr(), testing::ElementsAre(0.1 * 0.1, 0.2 * 0.1));
  EXPECT_FALSE(o->param_groups()[0].contains("initial_lr"));
  LRScheduler& any = scheduler;
  expect_error<TypeError>([&] { any.step(); }, "needs the metrics");
  expect_error<NotImplementedError>([&] { (void)any.get_lr(); }, "use get_last_lr()");
}

// Each part is guarded while user code may destroy it.
TEST(Schedulers, AChainHasMorePartsThanTheStackHasRoomFor) {
  const auto o = sgd();
  std::vector<SchedulerPart> parts;
  for (int i = 0; i < 60'000; ++i) parts.push_back(std::make_shared<StepLR>(*o, 1));
  ChainedScheduler chain(parts);
  const Value state = chain.state_dict();
  EXPECT_EQ(state.find("_schedulers")->items().size(), 60'000u);
  chain.load_state_dict(state);
}

TEST(Schedulers, SequencesAndChainsRefusePartsThatDoNotFit) {
  const auto held = sgd(), other = sgd();
  SGD& o = *held;
  ExponentialLR first(o, 0.5), second(o, 0.5), foreign(*other, 0.5);
  ReduceLROnPlateau plateau(o);
  using Parts = std::vector<SchedulerPart>;
  expect_error<ValueError>([&] { SequentialLR(o, Parts{}, {}); },
                           "SequentialLR expects at least one scheduler, but got no scheduler.");
  expect_error<ValueError>([&] { SequentialLR(o, {first, foreign}, {2}); },
                           "SequentialLR expects all schedulers to belong to the same optimizer",
                           "ExponentialLR at index 1");
  expect_error<ValueError>(
      [&] { SequentialLR(o, {first, second}, {2, 3}); },
      "one more than the number of milestone points, but got number of schedulers 2 and the number "
      "of milestones to be equal to 2");
  expect_error<ValueError>([&] { SequentialLR(o, {first, second, first}, {5, 3}); },
                           "milestones that increase, but got 3 after 5");
  expect_error<ValueError>([&] { SequentialLR(o, {first, plateau}, {2}); },
                           "SequentialLR does not support `ReduceLROnPlateau`", "at index 1");
  expect_error<ValueError>([&] { SequentialLR(o, {first, std::shared_ptr<StepLR>()}, {2}); },
                           "no scheduler at index 1");
  EXPECT_EQ(first.last_epoch(), 0);
  ChainedScheduler chain({first, second});
  // PyTorch has a NotImplementedError of no text at the milestone.
  expect_error<NotImplementedError>([&] { SequentialLR(o, {first, chain}, {2}); },
                                    "ChainedScheduler at index 1", "can only be the first");
  expect_error<ValueError>([&] { ChainedScheduler(Parts{}); },
                           "ChainedScheduler expects at least one scheduler to be chained");
  expect_error<ValueError>([&] { ChainedScheduler({first, foreign}); }, "the same optimizer");
  expect_error<ValueError>([&] { ChainedScheduler({first}, {.optimizer = other.get()}); },
                           "the same optimizer", "at index 0");
  expect_error<ValueError>([&] { ChainedScheduler({first, plateau}); },
                           "ChainedScheduler does not support `ReduceLROnPlateau`");
  LRScheduler& any = chain;
  expect_error<TypeError>([&] { any.step(3); }, "ChainedScheduler.step() takes no epoch");
}

Value without(const Value& dict, const std::string& key) {
  std::vector<Value::Entry> entries;
  for (const auto& entry : dict.entries()) {
    if (entry.first != Value(key)) entries.push_back(entry);
  }
  return Value::dict(std::move(entries));
}
Value with(const Value& dict, const std::string& key, const Value& value) {
  std::vector<Value::Entry> entries(dict.entries().begin(), dict.entries().end());
  entries.emplace_back(key, value);
  return Value::dict(std::move(entries));
}

TEST(SchedulerStateDict, EverythingThatDoesNotFitIsSaidAndNothingIsLoaded) {
  const auto o = sgd();
  StepLR scheduler(*o, 3);
  const Value state = scheduler.state_dict();
  const auto refused = [&](const Value& bad, auto... texts) {
    expect_error<LoadError>([&] { scheduler.load_state_dict(bad); },
                            "Error(s) in loading state_dict for StepLR", texts...);
    EXPECT_EQ(scheduler.state_dict().repr(), state.repr());
  };
  refused(
      with(with(with(without(state, "gamma"), "last_epoch", "two"), "base_lrs", Value::list({0.5})),
           "T_max", 7),
      "there is no 'gamma'", "'last_epoch' must be a whole number", "'two' (str)",
      "'base_lrs' has 1 numbers", "each of the 2 parameter groups",
      "there is 'T_max', which this scheduler does not have");
  // Looked at when everything is in place.
  refused(with(with(state, "last_epoch", 40), "step_size", 0),
          "Expected positive integer step_size, but got 0");
  refused(with(state, "gamma", kNan), "'gamma' must be a finite number, but is nan");
  refused(with(state, "last_epoch", std::numeric_limits<std::int64_t>::max()), "whole number");
  refused(with(state, "_last_lr", 3), "'_last_lr' must be a list, but is 3 (int)");
  refused(with(state, "_is_initial", "no"), "'_is_initial' must be a bool");
  expect_error<TypeError>([&] { scheduler.load_state_dict(Value(3)); }, "is a dict", "int");
  // An ExponentialLR has no use for it, and would go on with another schedule.
  ExponentialLR other(*o, 0.5);
  expect_error<LoadError>([&] { other.load_state_dict(state); }, "there is 'step_size'",
                          "of another class");
}

TEST(SchedulerStateDict, OfPlateauHasItsLowestLearningRates) {
  const auto o = sgd();
  ReduceLROnPlateau all(*o), each(*o, {.min_lr = {0.01, 0.02}});
  const Value state = each.state_dict();
  expect_error<LoadError>(
      [&] { each.load_state_dict(with(state, "min_lrs", Value::list({0.1, 0.1, 0.1}))); },
      "expected 2 min_lrs, got 3");
  expect_error<LoadError>([&] { each.load_state_dict(with(state, "mode", "mean")); },
                          "mode mean is unknown!");
  EXPECT_EQ(each.state_dict().repr(), state.repr());
  // 2.6 has no default_min_lr.
  each.load_state_dict(without(with(state, "best", 0.25), "default_min_lr"));
  EXPECT_EQ(each.best(), 0.25);
  all.load_state_dict(state);
  EXPECT_EQ(all.state_dict().repr(), state.repr());
}

TEST(SchedulerStateDict, OfOtherVersionsIsTaken) {
  const auto o = sgd();
  StepLR scheduler(*o, 3);
  const Value state = scheduler.state_dict();
  // 2.6 has no _is_initial, and had verbose.
  scheduler.load_state_dict(
      with(without(with(state, "last_epoch", 5), "_is_initial"), "verbose", false));
  EXPECT_EQ(scheduler.last_epoch(), 5);
  EXPECT_EQ(scheduler.state_dict().find("verbose")->as_bool(), false);
  EXPECT_EQ(scheduler.state_dict().find("_is_initial")->as_bool(), false);
  // A learning rate that was a tensor.
  scheduler.load_state_dict(with(state, "base_lrs", Value::list({tensor(0.5), 1})));
  EXPECT_THAT(scheduler.base_lrs(), testing::ElementsAre(0.5, 1.0));
}

TEST(SchedulerStateDict, KeepsAHundredThousandEntriesOfOtherVersionsInOrder) {
  const auto o = sgd();
  StepLR scheduler(*o, 3);
  const Value state = without(scheduler.state_dict(), "_is_initial");
  std::vector<Value::Entry> entries(state.entries().begin(), state.entries().end());
  for (int i = 0; i < 100'000; ++i) entries.emplace_back("_of_old_" + std::to_string(i), i);
  const Value large = Value::dict(std::move(entries));
  scheduler.load_state_dict(large);
  const Value given = scheduler.state_dict();
  EXPECT_EQ(given.find("_of_old_99999")->as_int(), 99'999);
  EXPECT_EQ(given.entries().back().first.as_string(), "_of_old_99999");
  // What is no text is none of them.
  const Value bad = Value::dict({{"step_size", 3}, {Value::tuple({"_of_old", 1}), 1}});
  expect_error<LoadError>([&] { scheduler.load_state_dict(bad); }, "there is '('_of_old', 1)'");
}

TEST(SchedulerStateDict, OfPartsIsLoadedWholeOrNotAtAll) {
  const auto o = sgd();
  LinearLR warmup(*o, {.total_iters = 5});
  CosineAnnealingLR decay(*o, 30);
  SequentialLR scheduler(*o, {warmup, decay}, {5});
  const Value state = scheduler.state_dict();
  const auto parts = state.find("_schedulers")->items();
  const auto refused = [&](const Value& bad, auto... texts) {
    expect_error<LoadError>([&] { scheduler.load_state_dict(bad); }, texts...);
    EXPECT_EQ(scheduler.state_dict().repr(), state.repr());
  };
  refused(with(state, "_schedulers", Value::list({parts[0]})), "'_schedulers' has 1 schedulers",
          "there are 2 here");
  refused(with(with(state, "last_epoch", 3), "_schedulers",
               Value::list({with(parts[0], "last_epoch", 3), without(parts[1], "T_max")})),
          "SequentialLR", "there is no '_schedulers[1].T_max'");
  refused(with(with(state, "last_epoch", 3), "_schedulers",
               Value::list({with(parts[0], "last_epoch", 3), with(parts[1], "T_max", 0)})),
          "positive integer T_max, but got 0");
  refused(with(state, "_milestones", Value::list({})), "number of milestones to be equal to 0");
  refused(without(state, "_schedulers"), "there is no '_schedulers'");
  refused(with(state, "_schedulers", Value::list({1, 2})), "'_schedulers'", "is a dict");
  scheduler.load_state_dict(with(with(state, "last_epoch", 3), "_schedulers",
                                 Value::list({with(parts[0], "last_epoch", 3), parts[1]})));
  EXPECT_EQ(scheduler.last_epoch(), 3);
  EXPECT_EQ(warmup.last_epoch(), 3);
}

TEST(SchedulerStateDict, KeepsWhatAFileHasOfPythonsFunctions) {
  const auto o = sgd();
  LambdaLR scheduler(*o, [](std::int64_t) { return 0.5; });
  const Value state = scheduler.state_dict();
  EXPECT_EQ(state.find("lr_lambdas")->repr(), "[None, None]");
  const Value functions = Value::list({Value::dict({{"slope", 2}}), Value()});
  scheduler.load_state_dict(with(state, "lr_lambdas", functions));
  EXPECT_EQ(*scheduler.state_dict().find("lr_lambdas"), functions);
  expect_error<LoadError>(
      [&] { scheduler.load_state_dict(with(state, "lr_lambdas", Value::list({}))); },
      "'lr_lambdas' must be a list with an entry for each of the 2 functions");
}

TEST(SchedulerStateDict, OfOneCycleHasItsPhases) {
  const auto o = sgd();
  OneCycleLR scheduler(*o, 0.3, {.total_steps = 30});
  const Value state = scheduler.state_dict();
  for (const Value& bad :
       {Value::list({}), Value::list({Value::dict({{"end_step", 3}})}), Value(3)}) {
    expect_error<LoadError>(
        [&] { scheduler.load_state_dict(with(state, "_schedule_phases", bad)); },
        "'_schedule_phases'");
  }
  // One of them, as often as a file says it.
  const std::vector<Value> many(4, state.find("_schedule_phases")->items()[0]);
  expect_error<LoadError>(
      [&] { scheduler.load_state_dict(with(state, "_schedule_phases", Value::list(many))); },
      "'_schedule_phases' has 4 phases, but a schedule has at most 3");
  EXPECT_EQ(scheduler.state_dict().repr(), state.repr());
  OneCycleLR three(*o, 0.3, {.total_steps = 30, .three_phase = true});
  scheduler.load_state_dict(three.state_dict());
  EXPECT_EQ(scheduler.state_dict().repr(), three.state_dict().repr());
}

// PyTorch asks them for elements(), which a dict has not.
TEST(SchedulerStateDict, HasMilestonesAsACounter) {
  const auto o = sgd();
  MultiStepLR scheduler(*o, {30, 80, 30});
  const TempDir folder;
  save(scheduler.state_dict(), folder.file("scheduler.pth"));
  EXPECT_THAT(TempDir::read(folder.file("scheduler.pth")),
              testing::HasSubstr("collections\nCounter\n"));
  const Value read = load(folder.file("scheduler.pth"));
  EXPECT_EQ(read.find("milestones")->repr(), "{30: 2, 80: 1}");
  MultiStepLR other(*o, {1});
  other.load_state_dict(read);
  EXPECT_EQ(other.state_dict().repr(), scheduler.state_dict().repr());
  for (const Value& bad : {Value::list({30}), Value::dict({{30, 0.5}}), Value::dict({{30, -1}})}) {
    expect_error<LoadError>([&] { other.load_state_dict(with(read, "milestones", bad)); },
                            "'milestones' must be a dict");
  }
}

// A schedule of somebody's own.
class Halving final : public LRScheduler {
 public:
  explicit Halving(Optimizer& optimizer, double floor)
      : LRScheduler("Halving", optimizer, -1), floor_(floor) {
    initial_step();
  }

 protected:
  std::vector<double> current_lr() const override {
    return changed([&](double lr) { return is_initial_ ? lr : std::max(lr / 2, floor_); });
  }
  void own_state(SchedulerState& state) override { state.real("floor", floor_); }

 private:
  double floor_;
};

TEST(Schedulers, MayBeWrittenByUsers) {
  const auto o = sgd();
  Halving scheduler(*o, 0.04);
  o->step();
  for (int i = 0; i < 2; ++i) scheduler.step();
  EXPECT_THAT(scheduler.get_last_lr(), testing::ElementsAre(0.04, 0.05));
  Halving other(*o, 1.0);
  other.load_state_dict(scheduler.state_dict());
  EXPECT_EQ(other.state_dict().repr(), scheduler.state_dict().repr());
}

}  // namespace
}  // namespace tenon::optim::lr_scheduler
