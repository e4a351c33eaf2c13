// User code that destroys a scheduler, one of its parts, its optimizer or what it is given while it
// is at work: overridden functions, and user-defined tensors as numbers.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "busy_tensor.h"
#include "support/matchers.h"

namespace tenon::optim {
namespace {

using namespace lr_scheduler;
using testing::HasSubstr;

constexpr const char* kGone = "was destroyed by user code";

std::unique_ptr<SGD> sgd(int groups = 1) {
  auto made = std::make_unique<SGD>(Params{parameter_with_grad()}, SGDOptions{.momentum = 0.9});
  for (int i = 1; i < groups; ++i)
    made->add_param_group(ParamGroup(Params{parameter_with_grad()}, {}));
  return made;
}

// Every function that it may override does it.
class OwnSchedule final : public LRScheduler {
 public:
  explicit OwnSchedule(Optimizer& optimizer) : LRScheduler("OwnSchedule", optimizer, -1) {
    initial_step();
  }

 protected:
  std::vector<double> current_lr() const override {
    std::vector<double> lrs = numbers("lr");
    happen();
    return lrs;
  }
  void advance(std::optional<double> epoch) override {
    LRScheduler::advance(epoch);
    happen();
  }
  void write(const std::vector<double>& lrs) override {
    LRScheduler::write(lrs);
    happen();
  }
  void own_state(SchedulerState& state) override {
    state.real("floor", floor_);
    happen();
  }
  void check() const override { happen(); }

 private:
  double floor_ = 1;
};

// With one of its numbers user-defined, alone or in a list.
Value with_busy(const Value& state, const char* name) {
  std::vector<Value::Entry> entries;
  for (const auto& [key, value] : state.entries()) {
    if (key != Value(name)) {
      entries.emplace_back(key, value);
    } else if (value.kind() == Value::Kind::list) {
      entries.emplace_back(key, Value::list({Value(busy_number(value.items()[0].as_real()))}));
    } else {
      entries.emplace_back(key, busy_number(value.as_real()));
    }
  }
  return Value::dict(std::move(entries));
}

TEST(SchedulerUserCode, ThatReadsASavedNumberMayDestroyTheStateDict) {
  const AtEnd end;
  const auto optimizer = sgd();
  ExponentialLR scheduler(*optimizer, 0.5);
  for (const char* name : {"gamma", "base_lrs"}) {
    auto saved = std::make_unique<Value>(with_busy(scheduler.state_dict(), name));
    deed = [&] { saved.reset(); };
    scheduler.load_state_dict(*saved);
    EXPECT_EQ(saved, nullptr);
    EXPECT_EQ(scheduler.state_dict().find("gamma")->as_real(), 0.5);
  }
}

TEST(SchedulerUserCode, ThatReadsASavedNumberAndDestroysTheSchedulerOrTheOptimizerIsAnError) {
  const AtEnd end;
  for (const char* name : {"gamma", "base_lrs", "_last_lr"}) {
    for (const bool all : {false, true}) {
      auto optimizer = sgd();
      auto scheduler = std::make_unique<ExponentialLR>(*optimizer, 0.5);
      ExponentialLR& itself = *scheduler;
      const Value saved = with_busy(itself.state_dict(), name);
      deed = [&] {
        if (all) optimizer.reset();
        if (!all) scheduler.reset();
      };
      EXPECT_THAT(message_of<Error>([&] { itself.load_state_dict(saved); }), HasSubstr(kGone));
    }
  }
}

// At each of its calls.
TEST(SchedulerUserCode, OfAScheduleOfOnesOwnThatDestroysItIsAnError) {
  const AtEnd end;
  struct Run {
    int calls;
    std::function<void(LRScheduler&, const Value&)> run;
  };
  const std::vector<Run> runs{
      {1, [](LRScheduler& one, const Value&) { (void)one.state_dict(); }},
      {3, [](LRScheduler& one, const Value& saved) { one.load_state_dict(saved); }},
      {3, [](LRScheduler& one, const Value&) { one.step(); }},
      {1, [](LRScheduler& one, const Value&) { (void)one.get_lr(); }},
  };
  for (const Run& each : runs) {
    for (int when = 1; when <= each.calls; ++when) {
      const auto optimizer = sgd();
      auto scheduler = std::make_unique<OwnSchedule>(*optimizer);
      optimizer->step();
      OwnSchedule& itself = *scheduler;
      const Value saved = itself.state_dict();
      deed = at(when, [&] { scheduler.reset(); });
      EXPECT_THAT(message_of<Error>([&] { each.run(itself, saved); }), HasSubstr(kGone)) << when;
    }
  }
}

TEST(SchedulerUserCode, OfAPartThatDestroysTheWholeOrAnyPartIsAnError) {
  const AtEnd end;
  const std::vector<std::function<void(LRScheduler&, const Value&)>> runs{
      [](LRScheduler& one, const Value&) { (void)one.state_dict(); },
      [](LRScheduler& one, const Value& saved) { one.load_state_dict(saved); },
      [](LRScheduler& one, const Value&) { one.step(); },
  };
  for (const bool chained : {false, true}) {
    for (const auto& run : runs) {
      for (int what = 0; what < 3; ++what) {
        for (int when = 1; when <= 6; ++when) {
          const auto optimizer = sgd();
          auto first = std::make_unique<OwnSchedule>(*optimizer);
          auto second = std::make_unique<OwnSchedule>(*optimizer);
          const std::vector<SchedulerPart> parts{*first, *second};
          std::unique_ptr<LRScheduler> whole;
          if (chained) whole = std::make_unique<ChainedScheduler>(parts);
          if (!chained) whole = std::make_unique<SequentialLR>(*optimizer, parts, Dims{5});
          optimizer->step();
          LRScheduler& itself = *whole;
          const Value saved = itself.state_dict();
          bool done = false;
          deed = at(when, [&] {
            done = true;
            if (what == 0) whole.reset();
            if (what == 1) first.reset();
            if (what == 2) second.reset();
          });
          std::string text;
          try {
            run(itself, saved);
          } catch (const Error& error) {
            text = error.what();
          }
          deed = nullptr;
          if (done) {
            EXPECT_THAT(text, HasSubstr(kGone));
          }
        }
      }
    }
  }
}

TEST(SchedulerUserCode, OfASharedPartThatDestroysTheWholeIsAnError) {
  const AtEnd end;
  for (const bool loads : {false, true}) {
    const auto optimizer = sgd();
    auto part = std::make_shared<OwnSchedule>(*optimizer);
    auto whole = std::make_unique<SequentialLR>(
        *optimizer, std::vector<SchedulerPart>{part, std::make_shared<OwnSchedule>(*optimizer)},
        Dims{1});
    part.reset();
    SequentialLR& itself = *whole;
    const Value saved = itself.state_dict();
    deed = [&] { whole.reset(); };
    EXPECT_THAT(message_of<Error>([&] {
                  if (loads) itself.load_state_dict(saved);
                  if (!loads) (void)itself.state_dict();
                }),
                HasSubstr(kGone));
  }
}

// Schedules whose first step reads the groups.
const std::vector<std::function<void(Optimizer&)>>& first_steps() {
  static const std::vector<std::function<void(Optimizer&)>> all{
      [](Optimizer& one) { const StepLR made(one, 1); },
      [](Optimizer& one) { const MultiStepLR made(one, {1}); },
      [](Optimizer& one) { const LambdaLR made(one, [](auto) { return 0.5; }); },
      [](Optimizer& one) { const MultiplicativeLR made(one, [](auto) { return 0.5; }); },
      [](Optimizer& one) { const ExponentialLR made(one, 0.5); },
      [](Optimizer& one) { const CosineAnnealingLR made(one, 5); },
      [](Optimizer& one) { const CosineAnnealingWarmRestarts made(one, 5); },
      [](Optimizer& one) { const OneCycleLR made(one, 0.1, {.total_steps = 5}); },
      [](Optimizer& one) { const CyclicLR made(one, 0.1, 0.2); },
      [](Optimizer& one) { const ReduceLROnPlateau made(one); },
  };
  return all;
}

TEST(SchedulerUserCode, ThatReadsALearningRateMayDoAnythingWhileASchedulerIsMade) {
  const AtEnd end;
  const std::vector<std::function<void(std::unique_ptr<SGD>&)>> deeds{
      [](auto& one) { one.reset(); },
      [](auto& one) { one->param_groups().clear(); },
      [](auto& one) { one->param_groups().pop_back(); },
      [](auto& one) {
        for (int i = 0; i < 20; ++i)
          one->add_param_group(ParamGroup(Params{parameter_with_grad()}, {}));
      },
  };
  for (const auto& make : first_steps()) {
    for (std::size_t d = 0; d < deeds.size(); ++d) {
      for (int when = 1; when <= 6; ++when) {
        auto optimizer = sgd(3);
        Optimizer& itself = *optimizer;
        for (ParamGroup& group : itself.param_groups()) {
          for (const char* name : {"lr", "momentum"}) group[name] = busy_number(0.5);
        }
        bool done = false;
        deed = at(when, [&] {
          done = true;
          deeds[d](optimizer);
        });
        std::string text;
        try {
          make(itself);
        } catch (const Error& error) {
          text = error.what();
        }
        deed = nullptr;
        if (done && d == 0) {
          EXPECT_THAT(text, HasSubstr(kGone));
        }
      }
    }
  }
}

TEST(SchedulerUserCode, ThatReadsALearningRateMayDoAnythingInAStep) {
  const AtEnd end;
  const std::vector<std::function<std::unique_ptr<LRScheduler>(Optimizer&)>> kinds{
      [](Optimizer& one) { return std::make_unique<CosineAnnealingLR>(one, 1); },
      [](Optimizer& one) { return std::make_unique<ExponentialLR>(one, 0.5); },
      [](Optimizer& one) {
        return std::make_unique<OneCycleLR>(one, 0.1, OneCycleLROptions{.total_steps = 9});
      },
      [](Optimizer& one) {
        return std::make_unique<MultiplicativeLR>(one, [](auto) { return 0.5; });
      },
      [](Optimizer& one) {
        return std::make_unique<ReduceLROnPlateau>(one, ReduceLROnPlateauOptions{.patience = 0});
      },
  };
  for (const auto& kind : kinds) {
    for (int what = 0; what < 4; ++what) {
      for (int when = 1; when <= 6; ++when) {
        auto optimizer = sgd(3);
        auto scheduler = kind(*optimizer);
        optimizer->step();
        for (ParamGroup& group : optimizer->param_groups()) {
          for (const char* name : {"lr", "momentum", "max_lr"})
            if (group.contains(name)) group[name] = busy_number(0.5);
        }
        LRScheduler& itself = *scheduler;
        bool done = false;
        deed = at(when, [&] {
          done = true;
          if (what == 0) scheduler.reset();
          if (what == 1) optimizer.reset();
          if (what == 2) optimizer->param_groups().clear();
          if (what == 3) optimizer->param_groups().push_back(optimizer->param_groups()[0]);
        });
        std::string text;
        try {
          // The second measure is worse than the first.
          if (auto* plateau = dynamic_cast<ReduceLROnPlateau*>(&itself)) {
            plateau->step(1.0);
            plateau->step(2.0);
          } else {
            itself.step();
            itself.step();
          }
        } catch (const Error& error) {
          text = error.what();
        }
        deed = nullptr;
        if (done && what < 2) {
          EXPECT_THAT(text, HasSubstr(kGone));
        }
      }
    }
  }
}

// What was there goes when it has another value, and so does its memory.
TEST(SchedulerUserCode, InADeleterOfALearningRateThatDestroysTheOptimizerIsAnError) {
  const AtEnd end;
  for (const auto& make : first_steps()) {
    auto optimizer = sgd(2);
    Optimizer& itself = *optimizer;
    bool done = false;
    for (const char* name : {"lr", "momentum", "initial_lr", "max_lr"}) {
      itself.param_groups()[0][name] = from_blob(new float[1]{0.5F}, {1}, {.deleter = [](void* m) {
                                                   delete[] static_cast<float*>(m);
                                                   happen();
                                                 }});
    }
    deed = [&] {
      done = true;
      optimizer.reset();
    };
    std::string text;
    try {
      make(itself);
    } catch (const Error& error) {
      text = error.what();
    }
    deed = nullptr;
    if (done) {
      EXPECT_THAT(text, HasSubstr(kGone));
    }
  }
}

TEST(SchedulerUserCode, ThatMeasuresAndDestroysTheSchedulerIsAnError) {
  const AtEnd end;
  for (const bool optimizers : {false, true}) {
    auto optimizer = sgd();
    auto scheduler = std::make_unique<ReduceLROnPlateau>(*optimizer);
    ReduceLROnPlateau& itself = *scheduler;
    auto metric = std::make_unique<Tensor>(busy_number(1));
    deed = [&] {
      metric.reset();
      if (optimizers) optimizer.reset();
      if (!optimizers) scheduler.reset();
    };
    EXPECT_THAT(message_of<Error>([&] { itself.step(*metric); }), HasSubstr(kGone));
  }
}

TEST(ScalerUserCode, ThatReadsTheNewScaleMayDestroyItAndNotTheScaler) {
  const AtEnd end;
  auto scaler = std::make_unique<amp::GradScaler>(amp::GradScalerOptions{.device = "cpu"});
  amp::GradScaler& itself = *scaler;
  (void)itself.scale(ones({}));
  auto scale = std::make_unique<Tensor>(busy_number(2));
  deed = [&] { scale.reset(); };
  itself.update(*scale);
  EXPECT_EQ(itself.get_scale(), 2.0);
  deed = [&] { scaler.reset(); };
  EXPECT_THAT(message_of<Error>([&] { itself.update(busy_number(4)); }), HasSubstr(kGone));
}

}  // namespace
}  // namespace tenon::optim
