// CyclicLR: what it refuses, and what its state dict may be. Its values are in schedules_test.cpp.
#include <cmath>
#include <limits>

#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon::optim::lr_scheduler {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

class Cyclic : public testing::Test {
 protected:
  // The value of a key becomes another.
  static Value with(const Value& state, const std::string& name, const Value& value) {
    std::vector<Value::Entry> entries;
    for (const auto& [key, item] : state.entries())
      entries.emplace_back(key, key.as_string() == name ? value : item);
    return Value::dict(std::move(entries));
  }

  SGD optimizer{std::vector<SGDGroup>{{.params = {nn::make_parameter(ones({1}))}},
                                      {.params = {nn::make_parameter(ones({2}))}}},
                SGDOptions{.lr = 0.1, .momentum = 0.5}};
};

TEST_F(Cyclic, RefusesWhatItCannotCycle) {
  SGD& o = optimizer;
  expect_error<ValueError>([&] { CyclicLR(o, 0.1, 0.2, {.mode = "x"}); },
                           "mode is invalid and scale_fn is None", "'x'");
  expect_error<ValueError>([&] { CyclicLR(o, 0.1, 0.2, {.step_size_up = 0}); },
                           "positive integer step_size_up, but got 0");
  expect_error<ValueError>([&] { CyclicLR(o, 0.1, 0.2, {.step_size_down = -1}); },
                           "non-negative integer step_size_down, but got -1");
  expect_error<ValueError>([&] { CyclicLR(o, std::vector<double>{0.1}, 0.2); },
                           "base_lr must have the same length as optimizer.param_groups. base_lr "
                           "has 1 values, param_groups has 2.");
  expect_error<ValueError>([&] { CyclicLR(o, 0.1, {0.1, 0.2, 0.3}); }, "max_lr has 3 values");
  expect_error<ValueError>(
      [&] { CyclicLR(o, 0.1, 0.2, {.max_momentum = std::vector<double>{0.9}}); },
      "max_momentum has 1 values");
  for (const double value : {kInf, std::nan("")}) {
    expect_error<ValueError>([&] { CyclicLR(o, value, 0.2); }, "finite base_lr");
    expect_error<ValueError>([&] { CyclicLR(o, 0.1, value); }, "finite max_lr");
    expect_error<ValueError>([&] { CyclicLR(o, 0.1, 0.2, {.gamma = value}); }, "finite gamma");
  }
  const auto half = [](double) { return 0.5; };
  expect_error<ValueError>(
      [&] { CyclicLR(o, 0.1, 0.2, {.scale_fn = half, .scale_mode = "often"}); }, "scale_mode",
      "often");
  expect_error<ValueError>([&] { CyclicLR(o, 0.1, 0.2, {.last_epoch = 3}); },
                           "'initial_lr' is not specified");
  // None of them has left anything behind.
  for (const ParamGroup& group : o.param_groups()) {
    EXPECT_EQ(group.lr(), 0.1);
    EXPECT_EQ(group.real("momentum"), 0.5);
    EXPECT_FALSE(group.contains("max_momentum"));
  }
  Adagrad still({nn::make_parameter(ones({1}))});
  expect_error<ValueError>([&] { CyclicLR(still, 0.1, 0.2); },
                           "optimizer must support momentum or beta1", "Adagrad");
  const CyclicLR without(still, 0.1, 0.2, {.cycle_momentum = false});
  EXPECT_EQ(still.param_groups()[0].lr(), 0.1);
}

TEST_F(Cyclic, StateDictsThatDoNotFitAreRefused) {
  CyclicLR scheduler(optimizer, 0.1, 0.2, {.step_size_up = 4});
  const Value state = scheduler.state_dict();
  const auto refuse = [&](const std::string& name, const Value& value, const char* part) {
    expect_error<LoadError>([&] { scheduler.load_state_dict(with(state, name, value)); },
                            "Error(s) in loading state_dict for CyclicLR", part);
    EXPECT_EQ(scheduler.state_dict().repr(), state.repr());
  };
  refuse("mode", "x", "mode is invalid");
  refuse("step_ratio", 0.0, "cannot go up");
  refuse("total_size", 0.0, "a cycle of 0.0 steps");
  refuse("max_lrs", Value::list({1.0}), "'max_lrs' has 1 numbers");
  refuse("base_momentums", Value::list({1.0}), "'base_momentums' has 1 numbers");
  refuse("gamma", kInf, "finite");
  // One that had no momentum to cycle goes on without.
  SGD other({nn::make_parameter(ones({1}))}, {.lr = 0.1});
  SGD plain({nn::make_parameter(ones({1}))}, {.lr = 0.1});
  CyclicLR with_momentum(other, 0.1, 0.2), without(plain, 0.1, 0.2, {.cycle_momentum = false});
  expect_error<LoadError>(
      [&] { without.load_state_dict(with(without.state_dict(), "cycle_momentum", true)); },
      "no limits");
  with_momentum.load_state_dict(without.state_dict());
  without.load_state_dict(CyclicLR(other, 0.1, 0.2).state_dict());
}

// A function is the scheduler's own; what a file has of Python's is kept.
TEST_F(Cyclic, FunctionsAreNotSaved) {
  const auto half = [](double) { return 0.5; };
  CyclicLR scheduler(optimizer, 0.1, 0.3,
                     {.step_size_up = 1, .scale_fn = half, .scale_mode = "iterations"});
  EXPECT_TRUE(scheduler.state_dict().find("_scale_fn_custom")->is_none());
  const Value python = Value::dict({{"factor", 2}});
  scheduler.load_state_dict(with(scheduler.state_dict(), "_scale_fn_custom", python));
  EXPECT_EQ(scheduler.state_dict().find("_scale_fn_custom")->repr(), python.repr());
  optimizer.step();
  scheduler.step();
  EXPECT_EQ(scheduler.get_last_lr()[0], 0.1 + (0.3 - 0.1) * 1.0 * 0.5);
  const CyclicLROptions any{.step_size_up = 1, .mode = "mine", .scale_fn = half};
  EXPECT_NO_THROW(CyclicLR(optimizer, 0.1, 0.3, any));
}

}  // namespace
}  // namespace tenon::optim::lr_scheduler
