// User code that a load runs without knowing it: deleters of the memory that is replaced, hooks
// that change the state dict they are loaded from, and what takes views of tensors that are about
// to be swapped.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/matchers.h"

namespace tenon::nn {
namespace {

using testing::HasSubstr;

constexpr int kOthers = 20;

// Memory whose deleter does something, once.
Tensor with_deleter(std::function<void()> deed) {
  return from_blob(new float[2]{}, {2},
                   {.dtype = float32, .deleter = [deed = std::move(deed)](void* memory) {
                      delete[] static_cast<float*>(memory);
                      deed();
                    }});
}

struct Net final : Module {
  explicit Net(const std::function<void()>& deed) {
    register_parameter("a", make_parameter(with_deleter(deed)));
    for (int i = 0; i < kOthers; ++i)
      register_parameter("p" + std::to_string(i), make_parameter(ones({2})));
    register_buffer("b", ones({2}));
  }
  StateDict other_values() const {
    StateDict state;
    for (const auto& [name, value] : state_dict()) state.set(name, full({2}, 3.0));
    return state;
  }
};

using Deed = std::function<void(std::unique_ptr<Net>&)>;

// How the tensors are held decides how they are replaced.
enum class Held : std::uint8_t { by_their_slots, by_others_too, with_hooks };

void load_with(const Deed& deed, const LoadStateDictOptions& options, Held held, bool swaps) {
  std::unique_ptr<Net> net;
  bool waits = false;
  int calls = 0;
  net = std::make_unique<Net>([&] {
    if (!std::exchange(waits, false)) return;
    ++calls;
    deed(net);
  });
  const StateDict state = net->other_values();
  std::vector<Tensor> others;
  for (const auto& [name, parameter] : net->named_parameters()) {
    if (held == Held::by_others_too && name != "a") others.push_back(parameter);
    if (held == Held::with_hooks) parameter.register_hook([](const Tensor&) { return Tensor(); });
  }
  std::optional<SwapOnConversionScope> scope;
  if (swaps) scope.emplace();
  waits = true;
  net->load_state_dict(state, options);
  EXPECT_EQ(calls, 1);
  if (!net) return;
  for (const auto& [name, parameter] : net->named_parameters()) {
    if (name.starts_with("q")) continue;
    EXPECT_TRUE(equal(parameter.detach(), full({2}, 3.0))) << name;
  }
}

TEST(LoadUserCode, InADeleterOfReplacedMemoryRunsWhenTheLoadIsDone) {
  const std::vector<Deed> deeds{
      [](auto& net) {
        for (int i = 0; i < kOthers; ++i) net->remove("p" + std::to_string(i));
        net->remove("b");
      },
      [](auto& net) {
        for (int i = 0; i < 50; ++i)
          net->register_parameter("q" + std::to_string(i), make_parameter(ones({1})));
      },
      [](auto& net) { net->load_state_dict(net->other_values(), {.assign = true}); },
      [](auto& net) { net.reset(); },
  };
  for (const Deed& deed : deeds) {
    for (const bool swaps : {false, true}) {
      for (const Held held : {Held::by_their_slots, Held::by_others_too, Held::with_hooks})
        load_with(deed, {.assign = true}, held, swaps);
    }
  }
}

// What a hook has captured goes with the tensor, too.
TEST(LoadUserCode, InWhatAHookOfAReplacedTensorHasCapturedRunsWhenTheLoadIsDone) {
  auto net = std::make_unique<Net>([] {});
  std::shared_ptr<void> captured(nullptr, [&](void*) { net->remove("p3"); });
  std::weak_ptr<void> gone = captured;
  const StateDict state = net->other_values();
  net->get_parameter("a").register_hook(
      [own = std::exchange(captured, nullptr)](const Tensor&) { return Tensor(); });
  net->load_state_dict(state, {.assign = true});
  EXPECT_TRUE(gone.expired());
  EXPECT_EQ(net->parameters().size(), static_cast<std::size_t>(kOthers));
}

// The hook of a child, when keys of the parent have been taken.
struct Pair final : Module {
  Parameter w{this, "w", ones({2})};
  Child<Linear> first{this, "first", 2, 2};
  Child<Linear> second{this, "second", 2, 2};
};

TEST(LoadUserCode, MayDoAnythingToTheStateDictThatIsLoaded) {
  const Pair source;
  const std::vector<std::function<void(std::optional<StateDict>&)>> deeds{
      [](auto& state) { *state = StateDict(); },
      [](auto& state) { state.reset(); },
      [](auto& state) { const StateDict elsewhere = std::move(*state); },
      [](auto& state) { state->erase("first.weight"); },
      [](auto& state) { state->set("second.weight", ones({7})); },
      [](auto& state) { state->set_metadata({}); },
      [](auto& state) {
        for (int i = 0; i < 1000; ++i) state->set("k" + std::to_string(i), ones({1}));
      },
      [](auto& state) {
        for (auto& [name, tensor] : state->tensors()) tensor = ones({7});
      },
  };
  for (const auto& deed : deeds) {
    for (const bool assign : {false, true}) {
      for (int when = 0; when < 3; ++when) {
        Pair net;
        std::optional<StateDict> state = source.state_dict();
        int calls = 0;
        const auto hook = [&](Module&, LoadContext&) {
          if (++calls == when + 1) deed(state);
        };
        net.register_load_state_dict_pre_hook(hook);
        net.first->register_load_state_dict_pre_hook(hook);
        net.second->register_load_state_dict_pre_hook(hook);
        const IncompatibleKeys keys = net.load_state_dict(*state, {.assign = assign});
        EXPECT_EQ(calls, 3);
        EXPECT_TRUE(keys.empty());
        for (const auto& [name, value] : source.state_dict())
          EXPECT_TRUE(equal(net.get_parameter(name).detach(), value.as_tensor())) << name;
      }
    }
  }
}

TEST(LoadUserCode, ThatLoadsTheSameStateDictElsewhereAndThenEmptiesItHarmsNeither) {
  const Pair source;
  StateDict state = source.state_dict();
  Pair net, other;
  other.second->register_load_state_dict_pre_hook([&](Module&, LoadContext&) { state = {}; });
  net.first->register_load_state_dict_pre_hook(
      [&](Module&, LoadContext&) { other.load_state_dict(state); });
  net.load_state_dict(state);
  for (const Pair* loaded : {&net, &other}) {
    for (const auto& [name, value] : source.state_dict())
      EXPECT_TRUE(equal(loaded->get_parameter(name).detach(), value.as_tensor())) << name;
  }
  EXPECT_TRUE(state.empty());
}

// Extra state is set when everything has been checked.
struct WithExtra final : Module {
  Parameter w{this, "w", ones({2})};
  std::function<void()> deed = {};
  std::optional<Value> get_extra_state() const override { return Value(1); }
  void set_extra_state(const Value&) override {
    if (const auto once = std::exchange(deed, nullptr)) once();
  }
};

TEST(LoadUserCode, ThatTakesAViewOfATensorThatIsToBeSwappedIsAnError) {
  WithExtra net;
  const StateDict state = net.state_dict();
  Tensor view;
  net.deed = [&] { view = net.w->view({2, 1}); };
  const SwapOnConversionScope swaps;
  EXPECT_THAT(message_of<LoadError>([&] { net.load_state_dict(state, {.assign = true}); }),
              HasSubstr("1 live view"));
  EXPECT_TRUE(view.base().is(net.w.get()));
}

TEST(LoadUserCode, ThatTakesAViewOfATensorThatIsToBeReplacedKeepsWhatItHas) {
  WithExtra net;
  StateDict state = net.state_dict();
  state.set("w", full({2}, 5.0));
  Tensor view;
  net.deed = [&] { view = net.w->view({2, 1}); };
  net.load_state_dict(state, {.assign = true});
  EXPECT_EQ(net.w->detach()[0].item<double>(), 5.0);
  EXPECT_EQ(view.detach()[0][0].item<double>(), 1.0);
  EXPECT_FALSE(view.base().is(net.w.get()));
}

TEST(LoadUserCode, ThatGivesATensorOtherDataBeforeItIsCopiedIntoIsAnError) {
  WithExtra net;
  const StateDict state = net.state_dict();
  net.deed = [&] { net.w->set_data(ones({5, 2})); };
  EXPECT_THAT(message_of<LoadError>([&] { net.load_state_dict(state); }),
              HasSubstr("has given it other data"));
}

// Its first operator does something else before.
class Meddling final : public Wrapper<Meddling> {
 public:
  explicit Meddling(std::function<void()> deed) : Wrapper(ones({2})), deed_(std::move(deed)) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (const auto deed = std::exchange(deed_, nullptr)) deed();
    if (call.is<op::detach>()) return Value(make_tensor<Meddling>(nullptr));
    return std::nullopt;
  }

 private:
  mutable std::function<void()> deed_;
};

TEST(LoadUserCode, ThatTakesATensorOutWhileItsValueIsMadeAParameterIsAnError) {
  const auto net = std::make_unique<Net>([] {});
  StateDict state = net->other_values();
  state.set("p3", make_tensor<Meddling>([&] { net->remove("p3"); }));
  EXPECT_THAT(message_of<LoadError>([&] { net->load_state_dict(state, {.assign = true}); }),
              HasSubstr("\"p3\" has left its place"));
  EXPECT_TRUE(equal(net->parameters()[1].detach(), ones({2})));
}

}  // namespace
}  // namespace tenon::nn
