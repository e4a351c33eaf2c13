// User code that changes an optimizer, a scheduler or a scaler while it is at work: hooks,
// closures, functions of schedules, and operators of user-defined tensors.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "busy_tensor.h"
#include "support/matchers.h"

namespace tenon::optim {
namespace {

using testing::HasSubstr;

using Deed = std::function<void(std::unique_ptr<SGD>&)>;

void add_groups(Optimizer& optimizer) {
  for (int i = 0; i < 20; ++i)
    optimizer.add_param_group(ParamGroup(Params{parameter_with_grad()}, {}));
}

// Everything that runs user code, with user code that does all of this.
TEST(OptimizerUserCode, MayDoAnythingInAHookOrAClosure) {
  using Run = std::function<void(SGD&, const std::function<void()>&)>;
  const std::vector<Run> runs{
      [](SGD& sgd, const auto& f) {
        sgd.register_step_pre_hook([f](Optimizer&) { f(); });
        sgd.register_step_pre_hook(
            [](Optimizer& one) { EXPECT_FALSE(one.param_groups().empty()); });
        sgd.step();
      },
      [](SGD& sgd, const auto& f) {
        sgd.register_step_post_hook([f](Optimizer&) { f(); });
        sgd.register_step_post_hook(
            [](Optimizer& one) { EXPECT_FALSE(one.param_groups().empty()); });
        sgd.step();
      },
      [](SGD& sgd, const auto& f) {
        sgd.step([f] {
          f();
          return ones({});
        });
      },
      [](SGD& sgd, const auto& f) {
        sgd.register_state_dict_pre_hook([f](Optimizer&) { f(); });
        (void)sgd.state_dict();
      },
      [](SGD& sgd, const auto& f) {
        sgd.register_state_dict_post_hook([f](Optimizer&, const Value&) -> std::optional<Value> {
          f();
          return {};
        });
        (void)sgd.state_dict();
      },
      [](SGD& sgd, const auto& f) {
        const Value state = sgd.state_dict();
        sgd.register_load_state_dict_pre_hook(
            [f](Optimizer&, const Value&) -> std::optional<Value> {
              f();
              return {};
            });
        sgd.load_state_dict(state);
      },
      [](SGD& sgd, const auto& f) {
        const Value state = sgd.state_dict();
        sgd.register_load_state_dict_post_hook([f](Optimizer&) { f(); });
        sgd.load_state_dict(state);
      },
  };
  const std::vector<Deed> deeds{
      [](auto& sgd) { add_groups(*sgd); },
      [](auto& sgd) { sgd->load_state_dict(sgd->state_dict()); },
      [](auto& sgd) { sgd->step(); },
      [](auto& sgd) { sgd->zero_grad(); },
      [](auto& sgd) { sgd->register_step_post_hook([](Optimizer&) {}); },
      [](auto&) { throw ValueError("thrown"); },
  };
  for (const Run& run : runs) {
    for (const Deed& each : deeds) {
      auto sgd = std::make_unique<SGD>(Params{parameter_with_grad()}, SGDOptions{.lr = 0.1});
      int calls = 0;
      try {
        run(*sgd, [&] {
          if (++calls == 1) each(sgd);
        });
      } catch (const Error&) {
        EXPECT_GT(calls, 0);
      }
      EXPECT_GT(calls, 0);
      sgd->load_state_dict(sgd->state_dict());
      sgd->step();
    }
    auto sgd = std::make_unique<SGD>(Params{parameter_with_grad()}, SGDOptions{.lr = 0.1});
    SGD& itself = *sgd;
    EXPECT_THAT(message_of<Error>([&] { run(itself, [&] { sgd.reset(); }); }),
                HasSubstr("was destroyed by user code"));
  }
}

TEST(OptimizerUserCode, MayDestroyTheClosureThatItIs) {
  const Tensor parameter = parameter_with_grad();
  SGD sgd({parameter}, {.lr = 0.5});
  auto closure = std::make_unique<std::function<Tensor()>>();
  *closure = [&, text = std::string(100, 'x')] {
    closure.reset();
    return full({}, static_cast<double>(text.size()));
  };
  EXPECT_EQ(sgd.step(*closure).item<double>(), 100);
  EXPECT_EQ(parameter.sum().item<double>(), 1.0);
}

TEST(Parameters, AreGivenAsBracesVectorsArraysSpansAndLists) {
  const Tensor a = parameter_with_grad(), b = parameter_with_grad();
  const Tensor both[] = {a, b};
  const auto count = [](const Params& params) { return params.tensors().size(); };
  EXPECT_EQ(count({a}), 1U);
  EXPECT_EQ(count({a, b}), 2U);
  EXPECT_EQ(count(std::vector<Tensor>{a, b}), 2U);
  EXPECT_EQ(count(std::array<Tensor, 2>{a, b}), 2U);
  EXPECT_EQ(count(both), 2U);
  EXPECT_EQ(count(std::span<const Tensor>(both)), 2U);
  EXPECT_EQ(count(TensorList{a, b}), 2U);
  const std::vector<std::pair<std::string, Tensor>> named{{"a", a}, {"b", b}};
  EXPECT_EQ(Params(named).names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(SGD(both).param_groups().size(), 1U);
  EXPECT_EQ(SGD(TensorList{a, b}, {.lr = 0.5}).param_groups()[0].params().size(), 2U);
}

TEST(OptimizerUserCode, ThatAddsGroupsWhileOneIsUpdatedHasThemUpdatedAfterIt) {
  const AtEnd end;
  const Tensor busy = busy_parameter(), late = parameter_with_grad();
  SGD sgd({busy}, {.lr = 0.5, .momentum = 0.9});
  deed = [&] {
    sgd.add_param_group(ParamGroup(Params{late}, {}));
    EXPECT_THAT(message_of<Error>([&] { sgd.add_param_group(ParamGroup(Params{late}, {})); }),
                HasSubstr("more than one parameter group"));
    add_groups(sgd);
  };
  sgd.step();
  EXPECT_EQ(sgd.param_groups().size(), 22U);
  EXPECT_EQ(late.sum().item<double>(), 1.0);
  EXPECT_EQ(BusyTensor::unwrap(busy).sum().item<double>(), 1.0);
}

TEST(OptimizerUserCode, ThatLoadsWhileAGroupIsUpdatedIsAnError) {
  const AtEnd end;
  SGD sgd({busy_parameter()}, {.lr = 0.5, .momentum = 0.9});
  deed = [&] { sgd.load_state_dict(sgd.state_dict()); };
  EXPECT_THAT(message_of<Error>([&] { sgd.step(); }), HasSubstr("cannot be loaded while"));
  sgd.load_state_dict(sgd.state_dict());
  sgd.step();
}

TEST(OptimizerUserCode, MayAddGroupsWhileGradientsAreSetToZero) {
  const AtEnd end;
  const Tensor parameter = nn::make_parameter(ones({2}));
  parameter.set_grad(make_tensor<BusyTensor>(ones({2})));
  SGD sgd({parameter}, {.lr = 0.5});
  deed = [&] { add_groups(sgd); };
  sgd.zero_grad({.set_to_none = false});
  EXPECT_EQ(sgd.param_groups().size(), 21U);
}

// Whatever a gradient's operator does at whichever of its calls: the step ends, or is an error.
TEST(OptimizerUserCode, MayDoAnythingWhileAGroupIsUpdatedOrItsGradientsAreSetToZero) {
  using Made = std::unique_ptr<Optimizer>;
  const std::vector<std::function<Made(Params)>> kinds{
      [](Params p) { return Made(new SGD(std::move(p), {.lr = 0.1, .momentum = 0.9})); },
      [](Params p) { return Made(new Adam(std::move(p), {.lr = 0.1, .amsgrad = true})); },
      [](Params p) { return Made(new Adagrad(std::move(p), {.lr = 0.1})); },
      [](Params p) { return Made(new RMSprop(std::move(p), {.momentum = 0.9, .centered = true})); },
  };
  const std::vector<std::function<void(Made&)>> deeds{
      [](Made& one) { one->param_groups().clear(); },
      [](Made& one) {
        for (int i = 0; i < 20; ++i) one->param_groups().push_back(one->param_groups()[0]);
      },
      [](Made& one) {
        for (int i = 0; i < 50; ++i) one->param_groups()[0]["x" + std::to_string(i)] = 1;
      },
      [](Made& one) {
        for (const Tensor& parameter : one->param_groups()[0].params()) one->state(parameter) = {};
        one->param_groups().clear();
      },
      [](Made& one) { one.reset(); },
  };
  const std::vector<std::function<void(Optimizer&)>> runs{
      [](Optimizer& one) { one.step(); },
      [](Optimizer& one) { one.zero_grad({.set_to_none = false}); },
  };
  const AtEnd end;
  for (const auto& kind : kinds) {
    for (const auto& each : deeds) {
      for (const auto& run : runs) {
        for (int when = 0; when < 12; ++when) {
          Made one = kind(Params{with_busy_grad(), with_busy_grad()});
          Optimizer& itself = *one;
          int calls = 0;
          const std::function<void()> act = [&] {
            if (calls++ == when) {
              each(one);
            } else {
              deed = act;
            }
          };
          deed = act;
          try {
            run(itself);
          } catch (const Error&) {
            EXPECT_GT(calls, 0);
          }
          deed = nullptr;
          if (one) one->zero_grad();
        }
      }
    }
  }
}

// Updates of plain parameters wait for each other. What counts the steps of a later one may be
// somebody's, who gives an earlier one memory of another size.
TEST(OptimizerUserCode, ThatCountsStepsMayGiveAParameterOtherData) {
  const AtEnd end;
  using Made = std::unique_ptr<Optimizer>;
  const std::vector<std::function<Made(Params)>> kinds{
      [](Params p) { return Made(new Adam(std::move(p), {.lr = 0.1})); },
      [](Params p) { return Made(new Adagrad(std::move(p), {.lr = 0.1})); },
      [](Params p) { return Made(new RMSprop(std::move(p), {.lr = 0.1})); },
  };
  for (const auto& kind : kinds) {
    const Tensor first = parameter_with_grad(), second = parameter_with_grad();
    const Made optimizer = kind({first, second});
    optimizer->step();
    const double before = first.detach()[0].item<double>();
    double updated = before;
    optimizer->state(second)["step"] =
        make_tensor<BusyTensor>(optimizer->state(second).tensor("step").clone());
    deed = [&] {
      updated = first.detach()[0].item<double>();
      first.set_data(full({1 << 20}, 5.0));
    };
    optimizer->step();
    EXPECT_NE(updated, before);
    EXPECT_TRUE(equal(first.detach(), full({1 << 20}, 5.0)));
  }
}

TEST(OptimizerUserCode, ThatDestroysTheOptimizerWhileItsStateIsConvertedIsAnError) {
  const AtEnd end;
  Adam source({with_busy_grad(), with_busy_grad()}, {.lr = 0.1});
  source.step();
  Value state = source.state_dict();
  const auto wide = [] { return nn::make_parameter(ones({2}, {.dtype = float64})); };
  auto adam = std::make_unique<Adam>(Params{wide(), wide()}, AdamOptions{.lr = 0.1});
  Adam& itself = *adam;
  for (const Tensor& parameter : source.param_groups()[0].params())
    source.state(parameter)["exp_avg"] = make_tensor<BusyTensor>(ones({2}));
  state = source.state_dict();
  deed = [&] { adam.reset(); };
  EXPECT_THAT(message_of<Error>([&] { itself.load_state_dict(state); }),
              HasSubstr("was destroyed by user code"));
}

TEST(OptimizerUserCode, ThatDestroysTheOptimizerWhileItIsShownIsAnError) {
  const AtEnd end;
  auto sgd = std::make_unique<SGD>(Params{parameter_with_grad()}, SGDOptions{.lr = 0.1});
  sgd->param_groups()[0]["note"] = make_tensor<BusyTensor>(ones({2}));
  SGD& itself = *sgd;
  deed = [&] { sgd->param_groups().clear(); };
  EXPECT_THAT(itself.repr(), HasSubstr("note: Busy"));
  add_groups(itself);
  itself.param_groups()[0]["note"] = make_tensor<BusyTensor>(ones({2}));
  deed = [&] { sgd.reset(); };
  EXPECT_THAT(message_of<Error>([&] { (void)itself.repr(); }),
              HasSubstr("was destroyed by user code"));
}

// A handler of warnings for as long as there is one.
struct Listening {
  explicit Listening(WarningHandler handler) : before(set_warning_handler(std::move(handler))) {}
  ~Listening() { set_warning_handler(before); }
  WarningHandler before;
};

TEST(OptimizerUserCode, InAHandlerOfWarningsMayAddTheSameGroupOrDestroyTheOptimizer) {
  const Tensor twice = parameter_with_grad();
  auto sgd = std::make_unique<SGD>(Params{parameter_with_grad()}, SGDOptions{.lr = 0.1});
  SGD& itself = *sgd;
  const auto add = [&] { itself.add_param_group(SGDGroup{.params = {twice, twice}}); };
  {
    const Listening listening(
        [&](const std::string&) { itself.add_param_group(SGDGroup{.params = {twice}}); });
    EXPECT_THAT(message_of<ValueError>(add), HasSubstr("more than one parameter group"));
    EXPECT_EQ(sgd->param_groups().size(), 2U);
    sgd->param_groups().pop_back();
  }
  const Listening listening([&](const std::string&) { sgd.reset(); });
  EXPECT_THAT(message_of<Error>(add), HasSubstr("was destroyed by user code"));
}

TEST(SchedulerUserCode, InAHandlerOfWarningsThatDestroysItOrTheOptimizerIsAnError) {
  for (const bool optimizer : {false, true}) {
    auto sgd = std::make_unique<SGD>(Params{parameter_with_grad()}, SGDOptions{.lr = 0.1});
    auto steps = std::make_unique<lr_scheduler::StepLR>(*sgd, 3);
    auto plateau = std::make_unique<lr_scheduler::ReduceLROnPlateau>(*sgd);
    lr_scheduler::StepLR& these = *steps;
    lr_scheduler::ReduceLROnPlateau& that = *plateau;
    const Listening listening([&](const std::string&) {
      if (optimizer) {
        sgd.reset();
      } else {
        steps.reset();
        plateau.reset();
      }
    });
    const auto one = [&] { (void)these.get_lr(); };
    const auto other = [&] { that.step(1.0, 3); };
    if (optimizer) {
      EXPECT_THAT(message_of<Error>(one), HasSubstr("was destroyed by user code"));
      sgd = std::make_unique<SGD>(Params{parameter_with_grad()}, SGDOptions{.lr = 0.1});
      plateau = std::make_unique<lr_scheduler::ReduceLROnPlateau>(*sgd);
      auto& itself = *plateau;
      EXPECT_THAT(message_of<Error>([&] { itself.step(1.0, 3); }),
                  HasSubstr("was destroyed by user code"));
      continue;
    }
    EXPECT_THAT(message_of<Error>(other), HasSubstr("was destroyed by user code"));
    steps = std::make_unique<lr_scheduler::StepLR>(*sgd, 3);
    auto& itself = *steps;
    EXPECT_THAT(message_of<Error>([&] { (void)itself.get_lr(); }),
                HasSubstr("was destroyed by user code"));
  }
}

TEST(SchedulerUserCode, MayAddGroupsOrStepAgain) {
  const std::vector<std::function<void(SGD&, lr_scheduler::LRScheduler*)>> deeds{
      [](SGD& sgd, auto*) { add_groups(sgd); },
      [](SGD&, auto* scheduler) { scheduler->step(); },
      [](SGD&, auto* scheduler) { scheduler->load_state_dict(scheduler->state_dict()); },
      [](SGD& sgd, auto*) { sgd.param_groups().clear(); },
      [](SGD&, auto*) { throw ValueError("thrown"); },
  };
  for (std::size_t kind = 0; kind < 3; ++kind) {
    for (const auto& each : deeds) {
      SGD sgd({parameter_with_grad()}, {.lr = 0.5, .momentum = 0.9});
      add_groups(sgd);
      std::unique_ptr<lr_scheduler::LRScheduler> scheduler;
      bool waits = false;
      const auto f = [&](auto) {
        if (std::exchange(waits, false)) each(sgd, scheduler.get());
        return 0.5;
      };
      if (kind == 0) scheduler = std::make_unique<lr_scheduler::LambdaLR>(sgd, f);
      if (kind == 1) scheduler = std::make_unique<lr_scheduler::MultiplicativeLR>(sgd, f);
      if (kind == 2) {
        scheduler = std::make_unique<lr_scheduler::CyclicLR>(
            sgd, 0.1, 0.2, lr_scheduler::CyclicLROptions{.scale_fn = f});
      }
      sgd.step();
      waits = true;
      try {
        scheduler->step();
      } catch (const Error&) {
      }
      EXPECT_FALSE(waits);
      (void)scheduler->state_dict();
    }
  }
}

TEST(SchedulerUserCode, ThatDestroysTheSchedulerOrItsOptimizerIsAnError) {
  for (const bool optimizer : {false, true}) {
    auto sgd = std::make_unique<SGD>(Params{parameter_with_grad()}, SGDOptions{.lr = 0.5});
    std::unique_ptr<lr_scheduler::LRScheduler> scheduler;
    bool waits = false;
    scheduler = std::make_unique<lr_scheduler::LambdaLR>(*sgd, [&](auto) {
      if (waits && optimizer) sgd.reset();
      if (waits && !optimizer) scheduler.reset();
      return 0.5;
    });
    sgd->step();
    waits = true;
    auto& itself = *scheduler;
    EXPECT_THAT(message_of<Error>([&] { itself.step(); }), HasSubstr("was destroyed by user code"));
  }
}

TEST(SchedulerUserCode, ThatScalesCyclesAndDestroysTheOptimizerIsAnError) {
  auto sgd = std::make_unique<SGD>(Params{parameter_with_grad()}, SGDOptions{.lr = 0.5});
  bool waits = false;
  lr_scheduler::CyclicLROptions options{.cycle_momentum = false};
  options.scale_fn = [&](double) {
    if (waits) sgd.reset();
    return 0.5;
  };
  lr_scheduler::CyclicLR scheduler(*sgd, 0.1, 0.2, options);
  sgd->step();
  waits = true;
  EXPECT_THAT(message_of<Error>([&] { scheduler.step(); }),
              HasSubstr("was destroyed by user code"));
}

TEST(ScalerUserCode, MayUpdateTheScalerWhileGradientsAreUnscaled) {
  const AtEnd end;
  const Tensor parameter = nn::make_parameter(ones({2}));
  parameter.set_grad(make_tensor<BusyTensor>(ones({2})));
  SGD sgd({parameter}, {.lr = 0.5});
  amp::GradScaler scaler({.device = "cpu", .init_scale = 4});
  (void)scaler.scale(ones({}));
  deed = [&] { scaler.update(2.0); };
  scaler.unscale_(sgd);
  EXPECT_EQ(scaler.get_scale(), 2.0);
}

TEST(ScalerUserCode, ThatDestroysTheOptimizerOrTheScalerIsAnError) {
  const AtEnd end;
  for (const bool unscale : {false, true}) {
    auto sgd = std::make_unique<SGD>(Params{with_busy_grad()}, SGDOptions{.lr = 0.5});
    SGD& itself = *sgd;
    amp::GradScaler scaler({.device = "cpu"});
    (void)scaler.scale(ones({}));
    deed = [&] { sgd.reset(); };
    EXPECT_THAT(message_of<Error>([&] {
                  if (unscale) {
                    scaler.unscale_(itself);
                  } else {
                    scaler.step(itself);
                  }
                }),
                HasSubstr("was destroyed by user code"));
  }
  auto scaler = std::make_unique<amp::GradScaler>(amp::GradScalerOptions{.device = "cpu"});
  amp::GradScaler& itself = *scaler;
  std::vector<Tensor> outputs{make_tensor<BusyTensor>(ones({})), ones({})};
  deed = [&] {
    scaler.reset();
    outputs.clear();
  };
  EXPECT_THAT(message_of<Error>([&] { (void)itself.scale(outputs); }),
              HasSubstr("was destroyed by user code"));
}

// Another optimizer may come to lie where a destroyed one was.
TEST(ScalerUserCode, ThatDestroysTheOptimizerInItsStepLeavesNothingOfItInTheScaler) {
  amp::GradScaler scaler({.device = "cpu"});
  (void)scaler.scale(ones({}));
  std::optional<SGD> place(std::in_place, Params{parameter_with_grad()}, SGDOptions{.lr = 0.5});
  SGD& itself = *place;
  itself.register_step_post_hook([&](Optimizer&) { place.reset(); });
  EXPECT_THAT(message_of<Error>([&] { scaler.step(itself); }),
              HasSubstr("was destroyed by user code"));
  const Tensor parameter = parameter_with_grad();
  place.emplace(Params{parameter}, SGDOptions{.lr = 0.5});
  EXPECT_TRUE(scaler.step(*place));
  EXPECT_NE(parameter.detach()[0].item<float>(), 1.0f);
}

}  // namespace
}  // namespace tenon::optim
