// What happens to changes that user code makes to a module that is being gone through: the rules of
// tenon/nn/module.h, one by one. torture_test.cpp has all of them at all steps.
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "support/matchers.h"
#include "support/modules.h"
#include "torture.h"

namespace tenon::nn {
namespace {

using testing::HasSubstr;

void add_thirty(Module& module) {
  for (int i = 0; i < 30; ++i)
    module.register_parameter("p" + std::to_string(i), make_parameter(ones({1})));
}

TEST(UserCode, ThatRegistersParametersWhileTheyAreConvertedIsAnErrorWithNothingConverted) {
  Linear layer(2, 3);
  const Tensor weight = layer.weight;
  const std::string message = message_of<Error>([&] {
    layer.convert([&](const Tensor& tensor) {
      add_thirty(layer);
      return tensor.to(float64);
    });
  });
  EXPECT_THAT(message, HasSubstr("the parameters of this Linear changed while a conversion was "
                                 "running"));
  EXPECT_THAT(message, HasSubstr("dictionary changed size during iteration"));
  EXPECT_TRUE(layer.weight->is(weight));
  EXPECT_EQ(weight.dtype(), float32);
  EXPECT_EQ(layer.parameters().size(), 32U);
}

TEST(UserCode, ThatReplacesATensorBeforeAConversionReachesItHasTheNewOneConverted) {
  for (const auto policy :
       {ConversionPolicy::set_data, ConversionPolicy::overwrite, ConversionPolicy::swap}) {
    const ConversionScope scope(policy);
    Linear layer(2, 3);
    bool first = true;
    layer.convert([&](const Tensor& tensor) {
      if (std::exchange(first, false)) layer.bias = make_parameter(full({3}, 7.0));
      return tensor.to(float64);
    });
    EXPECT_EQ(layer.bias->dtype(), float64);
    EXPECT_EQ(layer.bias->sum().item<double>(), 21.0);
  }
}

TEST(UserCode, ThatReplacesATensorAfterAConversionHasReachedItKeepsTheNewOne) {
  for (const auto policy :
       {ConversionPolicy::set_data, ConversionPolicy::overwrite, ConversionPolicy::swap}) {
    const ConversionScope scope(policy);
    Linear layer(2, 3);
    const Tensor fresh = make_parameter(ones({3, 2}));
    int calls = 0;
    layer.convert([&](const Tensor& tensor) {
      if (++calls == 2) layer.weight = fresh;
      return tensor.to(float64);
    });
    EXPECT_TRUE(layer.weight->is(fresh));
    EXPECT_EQ(layer.weight->dtype(), float32);
    EXPECT_EQ(layer.bias->dtype(), float64);
  }
}

TEST(UserCode, ThatAddsToAModuleWhichAConversionHasNotReachedHasThatConverted) {
  Sequential row{make<Linear>(2, 2), make<Linear>(2, 2)};
  bool first = true;
  row.convert([&](const Tensor& tensor) {
    if (std::exchange(first, false)) row[1].register_parameter("more", make_parameter(ones({1})));
    return tensor.to(float64);
  });
  EXPECT_EQ(row.get_parameter("1.more").dtype(), float64);
}

TEST(UserCode, MayTakeOutTheModuleThatIsBeingConverted) {
  Sequential row{make<Linear>(2, 2), make<Linear>(2, 2)};
  const std::weak_ptr<Module> last = row.child_slots()[1]->module();
  bool first = true;
  const std::string message = message_of<Error>([&] {
    row.convert([&](const Tensor& tensor) {
      if (std::exchange(first, false)) row.remove("1");
      return tensor.to(float64);
    });
  });
  EXPECT_THAT(message, HasSubstr("the children of this Sequential changed"));
  EXPECT_TRUE(last.expired());
  EXPECT_EQ(row.get_parameter("0.weight").dtype(), float32);
}

TEST(UserCode, ThatDestroysTheModuleWhichIsGoneThroughIsAnError) {
  const auto check = [](const std::function<void(SmallNet&, std::unique_ptr<SmallNet>&)>& f) {
    auto net = std::make_unique<SmallNet>();
    SmallNet& itself = *net;
    EXPECT_THAT(message_of<Error>([&] { f(itself, net); }),
                HasSubstr("was destroyed by user code"));
    EXPECT_EQ(net, nullptr);
  };
  check([](SmallNet& net, auto& owner) {
    net.convert([&](const Tensor& tensor) {
      owner.reset();
      return tensor;
    });
  });
  check([](SmallNet& net, auto& owner) { net.apply([&](Module&) { owner.reset(); }); });
  check([](SmallNet& net, auto& owner) {
    net.fc1->register_state_dict_pre_hook(
        [&](Module&, const std::string&, bool) { owner.reset(); });
    (void)net.state_dict();
  });
  check([](SmallNet& net, auto& owner) {
    net.register_load_state_dict_post_hook([&](Module&, IncompatibleKeys&) { owner.reset(); });
    net.load_state_dict(copied(net.state_dict()));
  });
  check([](SmallNet& net, auto& owner) {
    net.fc1->register_load_state_dict_pre_hook([&](Module&, LoadContext&) { owner.reset(); });
    net.load_state_dict(copied(net.state_dict()));
  });
}

TEST(UserCode, MayReplaceTheLayerThatIsRunning) {
  SmallNet net;
  const std::weak_ptr<Module> before = net.fc1.module();
  net.fc1->register_forward_pre_hook(
      [&](Module&, std::tuple<Tensor>&) { net.fc1 = make<Linear>(2, 3); });
  net.fc1->register_forward_hook([&](Module& module, const std::tuple<Tensor>&, Tensor& result) {
    EXPECT_EQ(before.lock().get(), &module);
    result = full({1, 3}, 8.0);
  });
  const Tensor result = net.fc1(ones({1, 2}));
  EXPECT_EQ(result.sum().item<double>(), 24.0);
  EXPECT_TRUE(before.expired());
}

TEST(UserCode, ThatThrowsOutOfALayerWhichItHasReplacedStillSaysWhichLayer) {
  SmallNet net;
  net.fc1->register_forward_pre_hook([&](Module&, std::tuple<Tensor>&) {
    net.fc1 = nullptr;
    throw ValueError("wrong");
  });
  EXPECT_THAT(message_of<Error>([&] { (void)net.fc1(ones({1, 2})); }),
              HasSubstr("wrong (in Linear("));
}

// Loads.

class UserCodeInLoads : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  bool assign() const { return std::get<0>(GetParam()); }
  ConversionPolicy policy() const {
    return std::get<1>(GetParam()) ? ConversionPolicy::swap : ConversionPolicy::set_data;
  }
  StateDict sevens(const Module& net) const {
    StateDict state;
    for (const auto& [key, value] : net.state_dict())
      state.set(key, full(value.as_tensor().shape(), 7.0));
    return state;
  }
};

TEST_P(UserCodeInLoads, ThatSwapsReplacesOrRemovesAParameterInAPostHookLosesNoValue) {
  const ConversionScope scope(policy());
  using Hook = std::function<void(SmallNet&, const Tensor&)>;
  const std::vector<std::pair<const char*, Hook>> hooks{
      {"was swapped with another tensor",
       [](SmallNet& net, const Tensor& other) { swap_tensors(net.scale, other); }},
      {"has left its place", [](SmallNet& net, const Tensor& other) { net.scale = other; }},
      {"has left its place", [](SmallNet& net, const Tensor&) { net.remove("scale"); }},
      {"has left its place", [](SmallNet& net, const Tensor&) { net.fc1->remove("bias"); }},
  };
  for (const auto& [what, hook] : hooks) {
    SmallNet net;
    const Tensor old = net.scale, weight = net.fc1->weight;
    const Tensor other = make_parameter(full({2}, 3.0));
    const double sum = weight.sum().item<double>();
    net.register_load_state_dict_post_hook([&](Module&, IncompatibleKeys&) { hook(net, other); });
    const std::string message =
        message_of<Error>([&] { net.load_state_dict(sevens(net), {.assign = assign()}); });
    EXPECT_THAT(message, HasSubstr(what));
    EXPECT_THAT(message, HasSubstr("committed_hook"));
    EXPECT_TRUE(net.fc1->weight->is(weight));
    EXPECT_EQ(weight.sum().item<double>(), sum);
    // What the hook did is done, and nothing else.
    EXPECT_EQ(old.sum().item<double>() + other.sum().item<double>(), 8.0);
  }
}

TEST_P(UserCodeInLoads, MaySwapAParameterWhenTheLoadIsDone) {
  const ConversionScope scope(policy());
  SmallNet net;
  const Tensor other = make_parameter(full({2}, 3.0));
  net.register_load_state_dict_committed_hook(
      [&](Module&, IncompatibleKeys&) { swap_tensors(net.scale, other); });
  net.load_state_dict(sevens(net), {.assign = assign()});
  EXPECT_EQ(other.sum().item<double>(), 14.0);
  EXPECT_EQ(net.scale->sum().item<double>(), 6.0);
}

TEST_P(UserCodeInLoads, MayReplaceAParameterBeforeItsModuleIsLoaded) {
  const ConversionScope scope(policy());
  SmallNet net;
  const Tensor other = make_parameter(full({2}, 3.0));
  net.register_load_state_dict_pre_hook([&](Module&, LoadContext&) {
    net.scale = other;
    swap_tensors(net.fc1->bias, make_parameter(full({3}, 2.0)));
  });
  net.load_state_dict(sevens(net), {.assign = assign()});
  EXPECT_EQ(net.scale->sum().item<double>(), 14.0);
  EXPECT_EQ(net.fc1->bias->sum().item<double>(), 21.0);
}

TEST_P(UserCodeInLoads, ThatReplacesATensorOfAnEarlierModuleIsAnError) {
  const ConversionScope scope(policy());
  SmallNet net;
  net.fc2->register_load_state_dict_pre_hook(
      [&](Module&, LoadContext&) { net.fc1->bias = make_parameter(zeros({3})); });
  EXPECT_THAT(message_of<Error>([&] { net.load_state_dict(sevens(net), {.assign = assign()}); }),
              HasSubstr("\"fc1.bias\" has left its place"));
  EXPECT_EQ(net.scale->sum().item<double>(), 2.0);
}

INSTANTIATE_TEST_SUITE_P(Ways, UserCodeInLoads, testing::Combine(testing::Bool(), testing::Bool()));

// Registering.

struct Removed {
  RemovableHandle handle;
  ~Removed() { handle.remove(); }
};

TEST(UserCode, ThatRegistersTheSameNameInARegistrationHookIsOverwritten) {
  SmallNet net;
  bool first = true;
  const Removed hook{register_module_parameter_registration_hook(
      [&](Module& module, const std::string& name, const Tensor&) {
        if (std::exchange(first, false))
          module.register_parameter(name, make_parameter(zeros({1})));
        return Tensor();
      })};
  net.register_parameter("fresh", make_parameter(full({1}, 5.0)));
  EXPECT_EQ(net.get_parameter("fresh").item<double>(), 5.0);
  EXPECT_EQ(net.parameter_slots().size(), 2U);
}

TEST(UserCode, ThatRemovesTheNameInARegistrationHookHasItRegisteredLast) {
  SmallNet net;
  net.register_parameter("a", make_parameter(zeros({1})));
  net.register_parameter("b", make_parameter(zeros({1})));
  const Removed hook{register_module_parameter_registration_hook(
      [&](Module& module, const std::string& name, const Tensor&) {
        module.remove(name);
        return Tensor();
      })};
  net.register_parameter("a", make_parameter(full({1}, 5.0)));
  EXPECT_EQ(net.parameter_slots().back()->name(), "a");
  EXPECT_EQ(net.get_parameter("a").item<double>(), 5.0);
}

TEST(UserCode, ThatDestroysTheModuleInARegistrationHookIsAnError) {
  auto net = std::make_unique<SmallNet>();
  SmallNet& itself = *net;
  const auto other = make<Linear>(2, 3);
  const Removed hook{register_module_module_registration_hook(
      [&](Module&, const std::string&, const std::shared_ptr<Module>&) {
        net.reset();
        return std::shared_ptr<Module>();
      })};
  EXPECT_THAT(message_of<Error>([&] { itself.register_module("fresh", other); }),
              HasSubstr("was destroyed by user code"));
}

}  // namespace
}  // namespace tenon::nn
