// User code that changes or destroys an optimizer while its options are read and checked: classes
// derived from it, and user-defined tensors among the options of a group.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "busy_tensor.h"
#include "support/matchers.h"

namespace tenon::optim {
namespace {

using testing::HasSubstr;

constexpr const char* kGone = "was destroyed by user code";

// Every function that it may override does it.
class OwnOptimizer final : public Optimizer {
 public:
  explicit OwnOptimizer(Params params)
      : Optimizer("OwnOptimizer", NamedValues(std::vector<NamedValues::Entry>{{"lr", 1.0}})) {
    std::vector<ParamGroup> groups;
    groups.emplace_back(std::move(params), NamedValues());
    add_groups(std::move(groups));
  }

 protected:
  void check(const ParamGroup& /*group*/, bool /*fresh*/) const override { happen(); }
  void update(ParamGroup& /*group*/) override { happen(); }
  std::vector<Kept> kept(const ParamGroup& /*group*/) const override {
    happen();
    return {};
  }
  void complete(ParamGroup& /*group*/) const override { happen(); }
};

TEST(OptimizerUserCode, OfAClassOfOnesOwnThatDestroysItIsAnError) {
  const AtEnd end;
  struct Run {
    int calls;
    std::function<void(Optimizer&, const Value&)> run;
  };
  const std::vector<Run> runs{
      {1, [](Optimizer& one,
             const Value&) { one.add_param_group(ParamGroup(Params{parameter_with_grad()}, {})); }},
      {2, [](Optimizer& one, const Value&) { one.step(); }},
      {3, [](Optimizer& one, const Value& saved) { one.load_state_dict(saved); }},
  };
  for (const Run& each : runs) {
    for (int when = 1; when <= each.calls; ++when) {
      auto optimizer = std::make_unique<OwnOptimizer>(Params{parameter_with_grad()});
      OwnOptimizer& itself = *optimizer;
      itself.state(itself.param_groups()[0].params()[0])["x"] = 1;
      const Value saved = itself.state_dict();
      deed = at(when, [&] { optimizer.reset(); });
      EXPECT_THAT(message_of<Error>([&] { each.run(itself, saved); }), HasSubstr(kGone)) << when;
    }
  }
}

// What is loaded then is what the state dict has.
TEST(OptimizerUserCode, MayEmptyTheGroupsWhileTheyAreLoaded) {
  const AtEnd end;
  for (int when = 1; when <= 6; ++when) {
    OwnOptimizer optimizer(Params{parameter_with_grad()});
    for (int i = 0; i < 2; ++i)
      optimizer.add_param_group(ParamGroup(Params{parameter_with_grad()}, {}));
    const Value saved = optimizer.state_dict();
    deed = at(when, [&] { optimizer.param_groups().clear(); });
    optimizer.load_state_dict(saved);
    EXPECT_EQ(optimizer.param_groups().size(), 3U);
  }
}

using Made = std::unique_ptr<Optimizer>;
const std::vector<std::function<Made()>>& kinds() {
  static const auto params = [] { return Params{parameter_with_grad(), parameter_with_grad()}; };
  static const std::vector<std::function<Made()>> all{
      [] { return Made(new SGD(params(), {.lr = 0.1, .momentum = 0.9})); },
      [] { return Made(new Adam(params(), {.lr = 0.1})); },
      [] { return Made(new AdamW(params(), {.lr = 0.1})); },
      [] { return Made(new Adagrad(params(), {.lr = 0.1})); },
      [] { return Made(new RMSprop(params(), {.lr = 0.1, .momentum = 0.9})); },
  };
  return all;
}

TEST(OptimizerUserCode, ThatReadsAnOptionMayDoAnythingButDestroyTheOptimizer) {
  const AtEnd end;
  const std::vector<std::function<void(Made&)>> deeds{
      [](Made& one) { one.reset(); },
      [](Made& one) { one->param_groups().clear(); },
      [](Made& one) {
        for (int i = 0; i < 20; ++i) one->param_groups().push_back(one->param_groups()[0]);
      },
      [](Made& one) {
        ParamGroup& group = one->param_groups()[0];
        while (!group.empty()) group.erase(std::string(group.begin()->first));
      },
      [](Made& one) {
        for (int i = 0; i < 50; ++i) one->param_groups()[0]["x" + std::to_string(i)] = i;
      },
  };
  const std::vector<std::function<void(Optimizer&, const Value&)>> runs{
      [](Optimizer& one, const Value&) { one.step(); },
      [](Optimizer& one, const Value& saved) { one.load_state_dict(saved); },
      [](Optimizer& one, const Value&) {
        NamedValues options;
        options["lr"] = busy_number(0.5);
        one.add_param_group(ParamGroup(Params{parameter_with_grad()}, std::move(options)));
      },
      [](Optimizer& one, const Value&) { one.param_groups()[0]["lr"] *= 0.5; },
      [](Optimizer& one, const Value&) { one.param_groups()[0]["lr"] /= 2; },
  };
  for (const auto& kind : kinds()) {
    for (std::size_t d = 0; d < deeds.size(); ++d) {
      for (const auto& run : runs) {
        for (int when = 1; when <= 4; ++when) {
          Made optimizer = kind();
          Optimizer& itself = *optimizer;
          itself.step();
          for (const char* name : {"lr", "weight_decay"})
            itself.param_groups()[0][name] = busy_number(0.1);
          const Value saved = itself.state_dict();
          bool done = false;
          deed = at(when, [&] {
            done = true;
            deeds[d](optimizer);
          });
          std::string text;
          try {
            run(itself, saved);
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
}

TEST(OptimizerUserCode, ThatEmptiesTheGroupsHasTheirParametersUpdatedWithItsOptions) {
  const AtEnd end;
  for (const auto& kind : kinds()) {
    const Made one = kind(), other = kind();
    const Tensor first = one->param_groups()[0].params()[0],
                 second = other->param_groups()[0].params()[0];
    for (const Made* each : {&one, &other}) (*each)->param_groups()[0]["lr"] = busy_number(0.25);
    one->step();
    // The first time the options are checked, the second time they are used.
    deed = at(2, [&] { other->param_groups().clear(); });
    other->step();
    EXPECT_TRUE(other->param_groups().empty());
    EXPECT_TRUE(equal(first.detach(), second.detach()));
  }
}

TEST(NamedValuesUserCode, ThatTakesANumberOutOfItsPlaceWhileItIsMultipliedIsAnError) {
  const AtEnd end;
  const std::vector<std::function<void(NamedValues&)>> deeds{
      [](NamedValues& all) { all = NamedValues(); },
      [](NamedValues& all) {
        const NamedValues copy;
        all = copy;
      },
      [](NamedValues& all) { all.erase("lr"); },
      [](NamedValues& all) { all.erase("first"); },
      [](NamedValues& all) {
        for (int i = 0; i < 50; ++i) all["x" + std::to_string(i)] = i;
      },
      [](NamedValues& all) {
        for (int i = 0; i < 50; ++i) all.set_default("x" + std::to_string(i), i);
      },
  };
  for (const auto& each : deeds) {
    NamedValues all;
    all["first"] = 1;
    all["lr"] = busy_number(0.5);
    deed = [&] { each(all); };
    EXPECT_THAT(message_of<Error>([&] { all["lr"] *= 2; }), HasSubstr(kGone));
  }
  NamedValues all;
  all["lr"] = busy_number(0.5);
  deed = [&] { all["lr"] = 7; };
  all["lr"] *= 2;
  EXPECT_EQ(all.real("lr"), 1.0);
}

// The others are in their places by then.
TEST(NamedValuesUserCode, InADeleterOfWhatIsErasedMayEraseMore) {
  const AtEnd end;
  NamedValues all;
  all["first"] = from_blob(new float[1]{1}, {1}, {.deleter = [](void* memory) {
                             delete[] static_cast<float*>(memory);
                             happen();
                           }});
  for (const char* name : {"second", "third"}) all[name] = 1;
  deed = [&] {
    EXPECT_TRUE(all.erase("second"));
    for (int i = 0; i < 50; ++i) all["x" + std::to_string(i)] = i;
  };
  EXPECT_TRUE(all.erase("first"));
  EXPECT_EQ(all.size(), 51U);
  EXPECT_EQ(all.begin()->first, "third");
}

}  // namespace
}  // namespace tenon::optim
