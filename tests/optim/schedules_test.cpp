// Schedules beside those of PyTorch (cases/schedules.cases), bit by bit.
#include <cmath>
#include <functional>
#include <map>
#include <memory>

#include "support/matchers.h"
#include "support/recorded.h"
#include "support/temp_dir.h"
#include "support/warnings.h"
#include "tenon/tenon.h"

namespace tenon::optim::lr_scheduler {
namespace {

using Scheduler = std::shared_ptr<LRScheduler>;
using Make = std::function<Scheduler(Optimizer&)>;

template <class S, class... Arguments>
Scheduler make(Arguments&&... arguments) {
  return std::make_shared<S>(std::forward<Arguments>(arguments)...);
}
Scheduler sequence(Optimizer& o, std::vector<Scheduler> parts, std::vector<std::int64_t> milestones,
                   std::int64_t last_epoch = -1) {
  return make<SequentialLR>(o, std::vector<SchedulerPart>(parts.begin(), parts.end()),
                            std::move(milestones), SequentialLROptions{last_epoch});
}
Scheduler chain(std::vector<Scheduler> parts, ChainedSchedulerOptions options = {}) {
  return make<ChainedScheduler>(std::vector<SchedulerPart>(parts.begin(), parts.end()), options);
}

// Aggregates cannot be forwarded from braces.
using Step = StepLROptions;
using Multi = MultiStepLROptions;
using Constant = ConstantLROptions;
using Linear = LinearLROptions;
using Exponential = ExponentialLROptions;
using Poly = PolynomialLROptions;
using Cosine = CosineAnnealingLROptions;
using Restarts = CosineAnnealingWarmRestartsOptions;
using Cycle = OneCycleLROptions;
using Cyclic = CyclicLROptions;
using Plateau = ReduceLROnPlateauOptions;
using Epochs = std::vector<std::int64_t>;
using Warm = CosineAnnealingWarmRestarts;

double real(std::int64_t epoch) { return static_cast<double>(epoch); }

// Under the names of tests/record/schedules.py.
const std::map<std::string, Make>& makers() {
  static const std::map<std::string, Make> all{
      {"StepLR", [](auto& o) { return make<StepLR>(o, 3); }},
      {"StepLR gamma", [](auto& o) { return make<StepLR>(o, 7, Step{.gamma = 0.77}); }},
      {"StepLR resumed",
       [](auto& o) { return make<StepLR>(o, 3, Step{.gamma = 0.7, .last_epoch = 5}); }},
      {"MultiStepLR", [](auto& o) { return make<MultiStepLR>(o, Epochs{30, 80}); }},
      {"MultiStepLR twice",
       [](auto& o) { return make<MultiStepLR>(o, Epochs{50, 3, 3, 20, 3}, Multi{.gamma = 0.3}); }},
      {"ConstantLR", [](auto& o) { return make<ConstantLR>(o); }},
      {"ConstantLR factor",
       [](auto& o) { return make<ConstantLR>(o, Constant{.factor = 0.7, .total_iters = 33}); }},
      {"LinearLR", [](auto& o) { return make<LinearLR>(o); }},
      {"LinearLR down",
       [](auto& o) {
         return make<LinearLR>(o,
                               Linear{.start_factor = 0.9, .end_factor = 0.123, .total_iters = 71});
       }},
      {"LinearLR resumed",
       [](auto& o) {
         return make<LinearLR>(o, Linear{.start_factor = 0.1, .total_iters = 40, .last_epoch = 20});
       }},
      {"ExponentialLR", [](auto& o) { return make<ExponentialLR>(o, 0.93); }},
      {"ExponentialLR resumed",
       [](auto& o) { return make<ExponentialLR>(o, 0.93, Exponential{.last_epoch = 10}); }},
      {"PolynomialLR", [](auto& o) { return make<PolynomialLR>(o); }},
      {"PolynomialLR power",
       [](auto& o) { return make<PolynomialLR>(o, Poly{.total_iters = 60, .power = 2.3}); }},
      {"CosineAnnealingLR", [](auto& o) { return make<CosineAnnealingLR>(o, 100); }},
      {"CosineAnnealingLR often",
       [](auto& o) { return make<CosineAnnealingLR>(o, 13, Cosine{.eta_min = 0.003}); }},
      {"CosineAnnealingLR resumed",
       [](auto& o) {
         return make<CosineAnnealingLR>(o, 13, Cosine{.eta_min = 0.003, .last_epoch = 3});
       }},
      {"CosineAnnealingWarmRestarts", [](auto& o) { return make<Warm>(o, 7); }},
      {"CosineAnnealingWarmRestarts mult",
       [](auto& o) { return make<Warm>(o, 3, Restarts{.T_mult = 2, .eta_min = 0.001}); }},
      {"CosineAnnealingWarmRestarts resumed",
       [](auto& o) { return make<Warm>(o, 3, Restarts{.T_mult = 2, .last_epoch = 7}); }},
      {"OneCycleLR", [](auto& o) { return make<OneCycleLR>(o, 0.3, Cycle{.total_steps = 101}); }},
      {"OneCycleLR linear",
       [](auto& o) {
         return make<OneCycleLR>(
             o, PerGroup{0.3, 0.7},
             Cycle{.epochs = 17, .steps_per_epoch = 6, .anneal_strategy = "linear"});
       }},
      {"OneCycleLR three",
       [](auto& o) {
         return make<OneCycleLR>(o, 0.3,
                                 Cycle{.total_steps = 123,
                                       .pct_start = 0.21,
                                       .base_momentum = {0.7, 0.8},
                                       .max_momentum = 0.9,
                                       .div_factor = 7,
                                       .final_div_factor = 123,
                                       .three_phase = true});
       }},
      {"OneCycleLR still",
       [](auto& o) {
         return make<OneCycleLR>(o, 0.3, Cycle{.total_steps = 100, .cycle_momentum = false});
       }},
      {"OneCycleLR Adam",
       [](auto& o) {
         return make<OneCycleLR>(o, 0.01, Cycle{.total_steps = 150, .three_phase = true});
       }},
      {"CyclicLR", [](auto& o) { return make<CyclicLR>(o, 0.01, 0.3, Cyclic{.step_size_up = 7}); }},
      {"CyclicLR two",
       [](auto& o) {
         return make<CyclicLR>(o, PerGroup{0.01, 0.002}, PerGroup{0.3, 0.07},
                               Cyclic{.step_size_up = 5,
                                      .step_size_down = 11,
                                      .mode = "triangular2",
                                      .base_momentum = {0.7, 0.6},
                                      .max_momentum = {0.9, 0.95}});
       }},
      {"CyclicLR range",
       [](auto& o) {
         return make<CyclicLR>(
             o, 0.01, 0.3,
             Cyclic{
                 .step_size_up = 9, .mode = "exp_range", .gamma = 0.97, .cycle_momentum = false});
       }},
      {"CyclicLR saw",
       [](auto& o) {
         return make<CyclicLR>(o, 0.01, 0.3, Cyclic{.step_size_up = 6, .step_size_down = 0});
       }},
      {"CyclicLR cycles",
       [](auto& o) {
         return make<CyclicLR>(o, 0.01, 0.3, Cyclic{.step_size_up = 4, .scale_fn = [](double x) {
                                                      return 1 / (1 + x);
                                                    }});
       }},
      {"CyclicLR steps",
       [](auto& o) {
         return make<CyclicLR>(o, 0.01, 0.3,
                               Cyclic{.step_size_up = 4,
                                      .scale_fn = [](double x) { return 1 / (1 + x); },
                                      .scale_mode = "iterations"});
       }},
      {"CyclicLR Adam",
       [](auto& o) { return make<CyclicLR>(o, 0.001, 0.03, Cyclic{.step_size_up = 13}); }},
      {"CyclicLR resumed",
       [](auto& o) {
         return make<CyclicLR>(o, 0.02, 0.3,
                               Cyclic{.step_size_up = 7, .mode = "triangular2", .last_epoch = 9});
       }},
      {"ReduceLROnPlateau", [](auto& o) { return make<ReduceLROnPlateau>(o); }},
      {"ReduceLROnPlateau rel max",
       [](auto& o) {
         return make<ReduceLROnPlateau>(
             o, Plateau{
                    .mode = "max", .factor = 0.7, .patience = 2, .threshold = 0.01, .cooldown = 3});
       }},
      {"ReduceLROnPlateau abs",
       [](auto& o) {
         return make<ReduceLROnPlateau>(o, Plateau{.factor = 0.5,
                                                   .patience = 1,
                                                   .threshold = 0.02,
                                                   .threshold_mode = "abs",
                                                   .min_lr = {0.01, 0.001}});
       }},
      {"ReduceLROnPlateau abs max",
       [](auto& o) {
         return make<ReduceLROnPlateau>(o, Plateau{.mode = "max",
                                                   .factor = 0.9,
                                                   .patience = 0,
                                                   .threshold = 0.003,
                                                   .threshold_mode = "abs",
                                                   .min_lr = 0.005,
                                                   .eps = 0.01});
       }},
      {"LambdaLR",
       [](auto& o) {
         return make<LambdaLR>(o, [](std::int64_t epoch) { return std::pow(0.95, real(epoch)); });
       }},
      {"LambdaLR two",
       [](auto& o) {
         return make<LambdaLR>(
             o, std::vector<LRLambda>{[](std::int64_t epoch) { return 1 / (1 + real(epoch)); },
                                      [](std::int64_t epoch) { return real(epoch / 30); }});
       }},
      {"MultiplicativeLR",
       [](auto& o) {
         return make<MultiplicativeLR>(
             o, [](std::int64_t epoch) { return 1 - 1 / (10 + real(epoch)); });
       }},
      {"SequentialLR",
       [](auto& o) {
         return sequence(o,
                         {make<LinearLR>(o, Linear{.start_factor = 0.1, .total_iters = 5}),
                          make<CosineAnnealingLR>(o, 60)},
                         {5});
       }},
      {"SequentialLR many",
       [](auto& o) {
         return sequence(
             o,
             {make<ConstantLR>(o, Constant{.factor = 0.3, .total_iters = 20}),
              make<MultiStepLR>(o, Epochs{3, 9}), make<Warm>(o, 3, Restarts{.T_mult = 2}),
              make<PolynomialLR>(o, Poly{.total_iters = 30}),
              make<LambdaLR>(o, [](std::int64_t epoch) { return std::pow(0.9, real(epoch)); }),
              make<ExponentialLR>(o, 0.97), make<LinearLR>(o)},
             {10, 23, 40, 55, 70, 90});
       }},
      {"SequentialLR equal",
       [](auto& o) {
         return sequence(o, {make<ConstantLR>(o), make<ExponentialLR>(o, 0.9), make<StepLR>(o, 2)},
                         {2, 2});
       }},
      {"SequentialLR at once",
       [](auto& o) {
         return sequence(o, {make<ConstantLR>(o), make<ExponentialLR>(o, 0.9)}, {0});
       }},
      {"SequentialLR cycle",
       [](auto& o) {
         return sequence(o,
                         {make<ConstantLR>(o, Constant{.factor = 0.1, .total_iters = 4}),
                          make<OneCycleLR>(o, 0.3, Cycle{.total_steps = 99})},
                         {3});
       }},
      {"SequentialLR cyclic",
       [](auto& o) {
         return sequence(o,
                         {make<ConstantLR>(o, Constant{.factor = 0.1, .total_iters = 4}),
                          make<CyclicLR>(o, 0.02, 0.3, Cyclic{.step_size_up = 5})},
                         {3});
       }},
      {"SequentialLR nested",
       [](auto& o) {
         auto inner = sequence(
             o, {make<ExponentialLR>(o, 0.9), make<StepLR>(o, 2, Step{.gamma = 0.8})}, {2});
         return sequence(o, {inner, make<ExponentialLR>(o, 0.8)}, {40});
       }},
      {"SequentialLR of a chain",
       [](auto& o) {
         auto inner = chain({make<ExponentialLR>(o, 0.9), make<StepLR>(o, 2, Step{.gamma = 0.9})});
         return sequence(o, {inner, make<StepLR>(o, 9, Step{.gamma = 0.8})}, {40});
       }},
      {"SequentialLR resumed",
       [](auto& o) {
         return sequence(o,
                         {make<ConstantLR>(o, Constant{.factor = 0.3, .total_iters = 20}),
                          make<ExponentialLR>(o, 0.9)},
                         {10}, 4);
       }},
      {"ChainedScheduler",
       [](auto& o) {
         return chain({make<ConstantLR>(o, Constant{.factor = 0.1, .total_iters = 20}),
                       make<ExponentialLR>(o, 0.99)});
       }},
      {"ChainedScheduler of a sequence",
       [](auto& o) {
         auto inner = sequence(
             o, {make<LinearLR>(o, Linear{.start_factor = 0.1}), make<CosineAnnealingLR>(o, 50)},
             {5});
         return chain({inner, make<StepLR>(o, 9, Step{.gamma = 0.8})}, {.optimizer = &o});
       }},
  };
  return all;
}

struct Training {
  explicit Training(const std::string& name_of_case) : name(name_of_case) {
    for (const std::int64_t size : {1, 2}) parameters.push_back(nn::make_parameter(ones({size})));
    if (name.find("Adam") != std::string::npos) {
      optimizer = std::make_unique<Adam>(std::vector<AdamGroup>{
          {.params = {parameters[0]}, .lr = 0.1}, {.params = {parameters[1]}, .lr = 0.025}});
    } else {
      optimizer =
          std::make_unique<SGD>(std::vector<SGDGroup>{{.params = {parameters[0]}, .lr = 0.1},
                                                      {.params = {parameters[1]}, .lr = 0.025}},
                                SGDOptions{.lr = 1, .momentum = 0.5});
    }
    if (name.find("resumed") != std::string::npos) {
      for (ParamGroup& group : optimizer->param_groups())
        group["initial_lr"] = group.real("lr") * 1.5;
    }
    scheduler = makers().at(name)(*optimizer);
  }

  void step(std::int64_t epoch, const Value& metrics) const {
    optimizer->step();
    if (auto* plateau = dynamic_cast<ReduceLROnPlateau*>(scheduler.get())) {
      plateau->step(metrics.items()[static_cast<std::size_t>(epoch - 1)].as_real());
    } else {
      scheduler->step();
    }
  }
  void change() const {
    optimizer->param_groups()[0]["lr"] = 0.77;
    optimizer->param_groups()[1]["lr"] = optimizer->param_groups()[1].real("lr") * 1.5;
  }
  void expect(const Tensor& expected, std::int64_t row) const {
    for (std::int64_t i = 0; i < 2; ++i) {
      EXPECT_EQ(optimizer->param_groups()[static_cast<std::size_t>(i)].real("lr"),
                expected.select(0, row).select(0, i).item<double>())
          << name << " group " << i << " row " << row;
    }
  }
  void expect_momenta(const Tensor& expected, std::int64_t row) const {
    for (std::int64_t i = 0; i < 2; ++i) {
      const ParamGroup& group = optimizer->param_groups()[static_cast<std::size_t>(i)];
      EXPECT_EQ(
          group.contains("betas") ? group.at("betas").items()[0].as_real() : group.real("momentum"),
          expected.select(0, row).select(0, i).item<double>())
          << name << " group " << i << " row " << row;
    }
  }

  std::string name;
  std::vector<Tensor> parameters;
  std::unique_ptr<Optimizer> optimizer;
  Scheduler scheduler;
};

// A Counter is read as the dict that it is.
Value as_read(const Value& value) {
  if (value.kind() == Value::Kind::object) return value.object_arguments().items()[0];
  if (value.kind() == Value::Kind::list) {
    std::vector<Value> items;
    for (const Value& item : value.items()) items.push_back(as_read(item));
    return Value::list(std::move(items));
  }
  if (value.kind() != Value::Kind::dict) return value;
  std::vector<Value::Entry> entries;
  for (const auto& [key, item] : value.entries()) entries.emplace_back(key, as_read(item));
  return Value::dict(std::move(entries));
}

class Schedules : public testing::Test {
 protected:
  void for_all(const std::function<void(const std::string& name, const Value& one)>& body) const {
    const Warnings nobody_hears;
    ASSERT_EQ(blocks.size() - 1, makers().size());
    for (std::size_t i = 1; i < blocks.size(); ++i)
      body(blocks[i].find("name")->as_string(), blocks[i]);
  }
  const Value& metrics() const { return *blocks.at(0).find("metrics"); }

  static constexpr std::int64_t kEpochs = 100;
  static constexpr std::int64_t kStates[] = {0, 1, 7, 50, 100};
  const std::vector<Value> blocks = recorded::values("optim/cases/schedules");
};

TEST_F(Schedules, AreThoseOfPyTorchWithTheirStateDicts) {
  for_all([&](const std::string& name, const Value& one) {
    const Training run(name);
    std::size_t state = 0;
    for (std::int64_t epoch = 0; epoch <= kEpochs; ++epoch) {
      if (epoch > 0) run.step(epoch, metrics());
      run.expect(one.find("lrs")->as_tensor(), epoch);
      run.expect_momenta(one.find("momenta")->as_tensor(), epoch);
      if (epoch == 50 && !one.find("get_lr")->is_none()) {
        const auto lrs = run.scheduler->get_lr();
        EXPECT_EQ(Value::list(std::vector<Value>(lrs.begin(), lrs.end())), *one.find("get_lr"))
            << name;
      }
      if (epoch != kStates[state]) continue;
      EXPECT_EQ(as_read(run.scheduler->state_dict()).repr(),
                one.find("states")->items()[state].repr())
          << name << " epoch " << epoch;
      ++state;
    }
  });
}

TEST_F(Schedules, HonourLearningRatesThatAreChangedInBetween) {
  for_all([&](const std::string& name, const Value& one) {
    const Training run(name);
    for (std::int64_t epoch = 0; epoch <= kEpochs; ++epoch) {
      if (epoch == 6 || epoch == 45) run.change();
      if (epoch > 0) run.step(epoch, metrics());
      run.expect(one.find("changed")->as_tensor(), epoch);
    }
    EXPECT_EQ(as_read(run.scheduler->state_dict()).repr(),
              one.find("changed_states")->items()[4].repr())
        << name;
  });
}

TEST_F(Schedules, GoToAnEpochByTheClosedForm) {
  for_all([&](const std::string& name, const Value& one) {
    if (one.find("jumps")->is_none()) return;
    const Training run(name);
    std::int64_t row = 0;
    for (const Value& epoch : blocks.at(0).find("jumps")->items()) {
      run.scheduler->step(epoch.as_int());
      run.expect(one.find("jumps")->as_tensor(), row++);
      run.scheduler->step();
      run.expect(one.find("jumps")->as_tensor(), row++);
    }
    EXPECT_EQ(as_read(run.scheduler->state_dict()).repr(), one.find("jumped_state")->repr())
        << name;
  });
}

// PyTorch's state dicts of epoch 50, and then our steps.
TEST_F(Schedules, GoOnWherePyTorchLeftOff) {
  for_all([&](const std::string& name, const Value& one) {
    const Training run(name);
    const Value saved = run.optimizer->state_dict();
    run.optimizer->load_state_dict(Value::dict(
        {{"state", *saved.find("state")}, {"param_groups", *one.find("param_groups")}}));
    run.scheduler->load_state_dict(one.find("states")->items()[3]);
    EXPECT_EQ(as_read(run.scheduler->state_dict()).repr(), one.find("states")->items()[3].repr())
        << name;
    for (std::int64_t epoch = 51; epoch <= kEpochs; ++epoch) {
      run.step(epoch, metrics());
      run.expect(one.find("lrs")->as_tensor(), epoch);
      run.expect_momenta(one.find("momenta")->as_tensor(), epoch);
    }
    EXPECT_EQ(as_read(run.scheduler->state_dict()).repr(), one.find("states")->items()[4].repr())
        << name;
  });
}

// A run that is interrupted, saved, read and gone on with is the run that was not.
TEST_F(Schedules, GoOnWhereAFileOfOursLeftOff) {
  const TempDir folder;
  for_all([&](const std::string& name, const Value& one) {
    for (const std::int64_t interrupted : {std::int64_t{0}, std::int64_t{3}, std::int64_t{40}}) {
      const Training first(name);
      for (std::int64_t epoch = 1; epoch <= interrupted; ++epoch) first.step(epoch, metrics());
      save(Value::dict({{"optimizer", first.optimizer->state_dict()},
                        {"scheduler", first.scheduler->state_dict()}}),
           folder.file("run.pth"));
      const Value read = load(folder.file("run.pth"));
      const Training run(name);
      run.optimizer->load_state_dict(*read.find("optimizer"));
      run.scheduler->load_state_dict(*read.find("scheduler"));
      for (std::int64_t epoch = interrupted + 1; epoch <= 60; ++epoch) {
        run.step(epoch, metrics());
        run.expect(one.find("lrs")->as_tensor(), epoch);
        run.expect_momenta(one.find("momenta")->as_tensor(), epoch);
      }
    }
  });
}

}  // namespace
}  // namespace tenon::optim::lr_scheduler
