// User code that changes a container while something is put into it or taken out: registration
// hooks, the detach of a user-defined tensor that becomes a parameter, destructors of modules, and
// deleters.
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "support/matchers.h"
#include "tenon/nn/containers.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Modules by name.

struct Registration {
  explicit Registration(std::function<void(Module&)> each)
      : handle(register_module_module_registration_hook(
            [each = std::move(each)](Module& owner, const std::string&,
                                     const std::shared_ptr<Module>&) {
              each(owner);
              return std::shared_ptr<Module>();
            })) {}
  ~Registration() { handle.remove(); }
  RemovableHandle handle;
};

TEST(ModuleDictUserCode, ThatEmptiesTheOtherOneLosesNoEntry) {
  ModuleDict<> to, from{{"a", make<ReLU>()}, {"b", make<Tanh>()}, {"c", make<GELU>()}};
  const Registration hook([&](Module& owner) {
    if (&owner == &to) from.clear();
  });
  to.update(from);
  EXPECT_THAT(to.keys(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(from.size(), 0U);
}

TEST(ModuleDictUserCode, ThatAddsToTheOtherOneHasItInTheNextUpdate) {
  ModuleDict<> to, from{{"a", make<ReLU>()}, {"b", make<Tanh>()}};
  const Registration hook([&](Module& owner) {
    if (&owner != &to) return;
    for (int i = 0; i < 40; ++i) from.set("more" + std::to_string(i), make<ReLU>());
  });
  to.update(from);
  EXPECT_THAT(to.keys(), ElementsAre("a", "b"));
  EXPECT_EQ(from.size(), 42U);
}

TEST(ModuleDictUserCode, ThatDestroysEitherOneIsAnErrorOrNothing) {
  auto to = std::make_unique<ModuleDict<>>();
  auto from = std::make_unique<ModuleDict<>>();
  from->set("a", make<ReLU>());
  from->set("b", make<Tanh>());
  {
    const Registration hook([&](Module&) { from.reset(); });
    to->update(*from);
    EXPECT_THAT(to->keys(), ElementsAre("a", "b"));
  }
  ModuleDict<> other{{"a", make<ReLU>()}};
  const Registration hook([&](Module&) { to.reset(); });
  ModuleDict<>& itself = *to;
  EXPECT_THAT(message_of<Error>([&] { itself.update(other); }),
              HasSubstr("was destroyed by user code"));
}

// Does it when it goes.
struct Dying final : Layer {
  explicit Dying(std::function<void()> last) : last(std::move(last)) {}
  ~Dying() override {
    if (last) last();
  }
  std::function<void()> last;

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

TEST(ModuleDictUserCode, InADestructorMayAddToADictThatIsCleared) {
  ModuleDict<> dict;
  dict.set("a", std::make_shared<Dying>([&] {
             dict.remove("b");
             for (int i = 0; i < 40; ++i) dict.set("more" + std::to_string(i), make<ReLU>());
           }));
  for (const char* name : {"b", "c"}) dict.set(name, make<ReLU>());
  dict.clear();
  EXPECT_EQ(dict.size(), 40U);
}

TEST(ModuleDictUserCode, InADestructorThatDestroysADictThatIsClearedIsAnError) {
  auto dict = std::make_unique<ModuleDict<>>();
  ModuleDict<>& itself = *dict;
  dict->set("a", std::make_shared<Dying>([&] { dict.reset(); }));
  dict->set("b", make<ReLU>());
  EXPECT_THAT(message_of<Error>([&] { itself.clear(); }), HasSubstr("was destroyed by user code"));
}

TEST(ParameterDictUserCode, InADeleterThatDestroysADictThatIsClearedIsAnError) {
  auto dict = std::make_unique<ParameterDict>();
  ParameterDict& itself = *dict;
  dict->set("a", from_blob(new float[1]{1}, {1}, {.deleter = [&](void* memory) {
                             delete[] static_cast<float*>(memory);
                             dict.reset();
                           }}));
  dict->set("b", ones({1}));
  EXPECT_THAT(message_of<Error>([&] { itself.clear(); }), HasSubstr("was destroyed by user code"));
}

// Tensors that become parameters.

std::function<void()> at_detach;

class Detached final : public Wrapper<Detached> {
 public:
  explicit Detached(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (const auto deed = std::exchange(at_detach, nullptr)) deed();
    return make_tensor<Detached>(call.call_with([](const Tensor& tensor) {
                                       const auto* own = tensor.as<Detached>();
                                       return own != nullptr ? own->elem : tensor;
                                     })
                                     .as_tensor());
  }
  Tensor elem;
};
Tensor talkative() { return make_tensor<Detached>(ones({2})); }

TEST(ParameterListUserCode, ThatAppendsWhileOneIsAppendedLosesNeither) {
  ParameterList list({ones({1}), ones({1})});
  at_detach = [&] { list.append(full({2}, 7.0)); };
  list.append(talkative());
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list[2].sum().item<double>(), 14.0);
  EXPECT_NE(list[3].as<Detached>(), nullptr);
}

TEST(ParameterListUserCode, ThatEmptiesTheListHasNothingToReplace) {
  ParameterList list({ones({1}), ones({1}), ones({1})});
  const auto empties = [&] {
    while (list.size() > 0) list.pop();
  };
  at_detach = empties;
  EXPECT_THROW(list.set(1, talkative()), IndexError);
  EXPECT_EQ(list.size(), 0U);
  list.extend({ones({1}), ones({1})});
  at_detach = empties;
  list.append(talkative());
  EXPECT_EQ(list.size(), 1U);
  EXPECT_EQ(list.parameter_slots()[0]->name(), "0");
}

TEST(ParameterListUserCode, ThatChangesTheVectorOfAnExtendHasNoEffectOnIt) {
  ParameterList list;
  std::vector<Tensor> tensors{talkative(), ones({3})};
  at_detach = [&] { tensors.clear(); };
  list.extend(tensors);
  EXPECT_EQ(list.size(), 2U);
}

TEST(ParameterDictUserCode, MayRemoveTheEntryWhoseNameWasGiven) {
  ParameterDict dict{{"a", ones({1})}, {"a_name_too_long_to_be_in_the_string_itself", ones({1})}};
  const std::string name = dict.keys()[1];
  at_detach = [&] { dict.clear(); };
  dict.set(dict.parameter_slots()[1]->name(), talkative());
  EXPECT_THAT(dict.keys(), ElementsAre(name));
}

TEST(ParameterContainersUserCode, ThatDestroysTheContainerIsAnError) {
  const auto check = [](auto container, auto act) {
    auto& itself = *container;
    at_detach = [&] { container.reset(); };
    EXPECT_THAT(message_of<Error>([&] { act(itself); }), HasSubstr("was destroyed by user code"));
    EXPECT_EQ(container, nullptr);
  };
  const auto list = [] { return std::make_unique<ParameterList>(std::vector<Tensor>{ones({2})}); };
  check(list(), [](ParameterList& of) { of.append(talkative()); });
  check(list(), [](ParameterList& of) { of.set(0, talkative()); });
  check(list(), [](ParameterList& of) { of.extend({talkative(), ones({2})}); });
  check(std::make_unique<ParameterDict>(), [](ParameterDict& of) { of.set("a", talkative()); });
}

}  // namespace
}  // namespace tenon::nn
