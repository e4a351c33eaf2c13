// nn::clone: everything of a module again, and nothing shared.
#include <array>
#include <optional>

#include "nn/names.h"
#include "support/matchers.h"
#include "support/wrappers.h"
#include "tenon/nn/containers.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

bool shares(const Tensor& a, const Tensor& b) { return a.storage().is(b.storage()); }

class Net : public Layer {
 public:
  explicit Net(std::string text = {}) : note(std::move(text)) {}
  Parameter scale{this, "scale", full({3}, 2.0)};
  Parameter none{this, "none", Tensor()};
  Parameter absent{this, "absent"};
  Buffer count{this, "count", zeros({})};
  Buffer cache{this, "cache", ones({2}), {.persistent = false}};
  Child<Linear> first{this, "first", 3, 3};
  Child<Linear> second{this, "second", nullptr};
  Child<ModuleList<>> more{this, "more"};
  std::string note;

 protected:
  Tensor forward(const Tensor& x) override { return first(x) * scale.get(); }
};

TEST(Clone, HasEverythingAgainAndSharesNothing) {
  const auto net = make<Net>("kept");
  net->more->append(make<Dropout>(0.25));
  net->eval();
  net->scale->requires_grad_(false);
  net->scale->set_grad(ones({3}));
  const auto copy = clone(*net);
  EXPECT_EQ(copy->repr(), net->repr());
  EXPECT_EQ(copy->note, "kept");
  EXPECT_THAT(names(copy->state_dict()),
              ElementsAre("scale", "count", "first.weight", "first.bias"));
  EXPECT_EQ(names(copy->named_buffers()), names(net->named_buffers()));
  EXPECT_FALSE(copy->training());
  EXPECT_FALSE(copy->get_submodule("more.0").training());
  EXPECT_FALSE(copy->scale->requires_grad());
  EXPECT_TRUE(copy->first->weight->requires_grad());
  EXPECT_TRUE(copy->scale->is_parameter());
  EXPECT_FALSE(copy->scale->grad().defined());
  EXPECT_FALSE(copy->cache.persistent());
  EXPECT_TRUE(copy->none.registered());
  EXPECT_FALSE(copy->absent.registered());
  EXPECT_EQ(&copy->scale.owner(), copy.get());
  EXPECT_EQ(&copy->first.owner(), copy.get());
  const StateDict ours = net->state_dict(), theirs = copy->state_dict();
  for (const auto& [name, value] : ours) {
    EXPECT_TRUE(equal(value.as_tensor(), theirs.tensor(name))) << name;
    EXPECT_FALSE(shares(value.as_tensor(), theirs.tensor(name))) << name;
  }
  const Tensor x = randn({2, 3});
  EXPECT_TRUE(equal((*copy)(x), (*net)(x)));
  copy->absent = make_parameter(ones({1}));
  EXPECT_THAT(names(copy->named_parameters({.recurse = false})), ElementsAre("scale", "absent"));
  EXPECT_FALSE(net->absent.registered());
}

TEST(Clone, OfACloneWorksTooAndOutlivesTheOriginal) {
  auto net = make<Net>("a");
  auto copy = clone(*net);
  net.reset();
  const auto again = clone(*copy);
  copy.reset();
  EXPECT_TRUE(equal(again->scale, full({3}, 2.0)));
  EXPECT_EQ((*again)(ones({1, 3})).size(1), 3);
}

TEST(Clone, KeepsTiesAndSharedChildren) {
  const auto net = make<Net>();
  net->second = net->first;
  net->more->append(make<Linear>(3, 3));
  net->more->get_submodule("0").as<Linear>()->weight = net->first->weight;
  net->register_buffer("alias", net->count);
  const auto copy = clone(*net);
  EXPECT_EQ(copy->second.get(), copy->first.get());
  EXPECT_TRUE(copy->get_parameter("more.0.weight").is(copy->first->weight));
  EXPECT_TRUE(copy->get_buffer("alias").is(copy->count));
  EXPECT_EQ(names(copy->named_parameters()), names(net->named_parameters()));
}

TEST(Clone, KeepsViewsOfOneStorage) {
  const auto net = make<Net>();
  const Tensor all = arange(12.0);
  net->register_buffer("all", all.slice(0, 2, 10));
  net->register_buffer("rows", all.slice(0, 2, 10).view({2, 4})[1]);
  net->register_buffer("every_other", all.slice(0, 3, 9, 2));
  const auto copy = clone(*net);
  const Tensor copied = copy->get_buffer("all"), rows = copy->get_buffer("rows");
  EXPECT_TRUE(shares(copied, rows));
  EXPECT_FALSE(shares(copied, all));
  EXPECT_TRUE(equal(rows, net->get_buffer("rows")));
  EXPECT_TRUE(equal(copy->get_buffer("every_other"), net->get_buffer("every_other")));
  copied.fill_(-1);
  EXPECT_TRUE(equal(rows, full({4}, -1.0)));
  EXPECT_TRUE(equal(copy->get_buffer("every_other"), full({3}, -1.0)));
  EXPECT_EQ(all[2].item<double>(), 2);
}

TEST(Clone, KeepsAttributesOfTensors) {
  const auto net = make<Net>();
  net->scale->set_attribute("tag", "important");
  net->scale->set_attribute("number", 7);
  const auto attributes = clone(*net)->scale->attributes();
  ASSERT_EQ(attributes.size(), 2U);
  EXPECT_EQ(attributes[0].first, "tag");
  EXPECT_EQ(attributes[1].second.repr(), "7");
}

TEST(Clone, KeepsTheLayoutOfItsTensors) {
  const auto net = make<Net>();
  net->register_buffer("turned", arange(6.0).view({2, 3}).transpose(0, 1));
  net->register_buffer("meta", empty({2, 2}, {.device = Device("meta")}));
  net->register_buffer("nothing", empty({0, 3}));
  const auto copy = clone(*net);
  EXPECT_TRUE(equal(copy->get_buffer("turned"), net->get_buffer("turned")));
  EXPECT_EQ(copy->get_buffer("turned").stride(), net->get_buffer("turned").stride());
  EXPECT_TRUE(copy->get_buffer("meta").is_meta());
  EXPECT_EQ(copy->get_buffer("nothing").shape(), Shape({0, 3}));
}

TEST(Clone, KeepsDynamicEntriesAmongMembersInOrder) {
  const auto net = make<Net>();
  net->register_parameter("late", make_parameter(ones({1})));
  net->remove("scale");
  net->register_parameter("later", make_parameter(ones({2})));
  net->scale = make_parameter(ones({3}));
  net->register_buffer("hidden", ones({1}), {.persistent = false});
  net->register_module("extra", make<Linear>(1, 1));
  net->register_module("null", std::shared_ptr<Module>());
  const auto copy = clone(*net);
  EXPECT_THAT(names(copy->named_parameters({.recurse = false})),
              ElementsAre("late", "later", "scale"));
  EXPECT_EQ(names(copy->state_dict()), names(net->state_dict()));
  EXPECT_EQ(copy->repr(), net->repr());
  copy->remove("late");
  EXPECT_TRUE(net->get_parameter("late").defined());
  // A slot that was taken out is still to come last.
  net->remove("first");
  const auto without = clone(*net);
  without->register_module("next", make<Identity>());
  without->first = make<Linear>(1, 1);
  EXPECT_THAT(names(without->named_children()), ElementsAre("more", "extra", "next", "first"));
}

TEST(Clone, KeepsManyNames) {
  const auto net = make<Net>();
  for (int i = 0; i < 30; ++i) net->register_buffer("b" + std::to_string(i), full({1}, i));
  const auto copy = clone(*net);
  for (int i = 0; i < 30; ++i) EXPECT_EQ(copy->get_buffer("b" + std::to_string(i)).item<int>(), i);
  EXPECT_TRUE(copy->get_parameter("scale").is(copy->scale));
  expect_error<ValueError>([&] { copy->register_buffer("first", {}); }, "already exists");
  copy->remove("b7");
  copy->register_module("b7", make<Identity>());
}

TEST(Clone, HasTheSameHooksWhichAreGivenTheCloneAndAreItsOwn) {
  const auto net = make<Net>();
  std::vector<const Module*> seen;
  auto pre = net->register_forward_pre_hook(
      [&](Module& module, std::tuple<Tensor>&) { seen.push_back(&module); });
  net->register_forward_hook(
      [&](Module& module, const std::tuple<Tensor>&, Tensor&) { seen.push_back(&module); });
  net->register_state_dict_pre_hook(
      [&](Module& module, const std::string&, bool) { seen.push_back(&module); });
  const auto copy = clone(*net);
  (*copy)(ones({1, 3}));
  copy->state_dict();
  EXPECT_THAT(seen, ElementsAre(copy.get(), copy.get(), copy.get()));
  pre.remove();  // the original's
  seen.clear();
  (*copy)(ones({1, 3}));
  (*net)(ones({1, 3}));
  EXPECT_THAT(seen, ElementsAre(copy.get(), copy.get(), net.get()));
}

TEST(Clone, CopiesUserDefinedTensorsPartByPart) {
  if (!has_unflatten("ScaledTensor"))
    register_unflatten("ScaledTensor", [](const Flattened& parts, const Layout&) {
      return make_tensor<ScaledTensor>(parts.tensors.at(0).second, parts.context.as_real());
    });
  const auto net = make<Net>();
  const Tensor payload = ones({2, 2});
  net->register_parameter("weight", make_parameter(make_tensor<ScaledTensor>(payload, 0.5), false));
  net->register_buffer("payload", payload);
  const auto copy = clone(*net);
  const auto* scaled = copy->get_parameter("weight").as<ScaledTensor>();
  ASSERT_NE(scaled, nullptr);
  EXPECT_EQ(scaled->scale, 0.5);
  EXPECT_TRUE(copy->get_parameter("weight").is_parameter());
  EXPECT_FALSE(shares(scaled->elem, payload));
}

// Neither flattens nor answers clone with its own kind.
class Loose : public Wrapper<Loose> {
 public:
  explicit Loose(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (call.is<op::detach>()) return make_tensor<Loose>(elem.detach());
    return call.call_with([](const Tensor& t) {
      const auto* loose = t.as<Loose>();
      return loose != nullptr ? loose->elem : t;
    });
  }
  Tensor elem;
};

TEST(Clone, RefusesAUserDefinedTensorWhoseCloneIsAnother) {
  const auto net = make<Net>();
  net->register_buffer("loose", make_tensor<Loose>(ones({2})));
  EXPECT_THAT(message_of<TypeError>([&] { clone(*net); }),
              HasSubstr("this Loose cannot be cloned: its clone() returned a Tensor"));
}

TEST(Clone, RefusesABufferWithAHistory) {
  const auto net = make<Net>();
  net->count = net->scale.get().sum();
  EXPECT_THAT(message_of<AutogradError>([&] { clone(*net); }), HasSubstr("leaves of the graph"));
  net->count = net->count->detach();
  EXPECT_EQ(clone(*net)->count->item<double>(), 6);
}

TEST(Clone, NeedsToKnowTheClass) {
  class Hidden : public Linear {
   public:
    Hidden() : Linear(1, 1) {}
  };
  ModuleList<> list;
  list.append(std::shared_ptr<Module>(new Hidden));
  EXPECT_THAT(message_of<Error>([&] { clone(list); }),
              HasSubstr("this Hidden cannot be cloned: how to copy its class is not known"));
  const Linear& base = *list[0].as<Linear>();
  expect_error<Error>([&] { clone(base); }, "this Hidden cannot be cloned");
  // Whoever names it tells the module.
  const Hidden& named = *list[0].as<Hidden>();
  EXPECT_EQ(clone(named)->type_name(), "Hidden");
  EXPECT_EQ(clone(base)->type_name(), "Hidden");
  EXPECT_EQ(clone(list)->size(), 1U);
}

TEST(Clone, NeedsAClassThatCanBeCopied) {
  class Fixed : public Layer {
   public:
    Fixed() = default;
    Fixed(const Fixed&) = delete;

   protected:
    Tensor forward(const Tensor& x) override { return x; }
  };
  const auto fixed = make<Fixed>();
  expect_error<Error>([&] { clone(*fixed); }, "this Fixed cannot be cloned");
  Sequential net(make<Identity>(), fixed);
  expect_error<Error>([&] { clone(net); }, "this Fixed cannot be cloned");
}

TEST(Clone, IsTheOnlyWayToCopy) {
  const Linear linear(1, 1);
  EXPECT_THAT(message_of<Error>([&] { const Linear copy(linear); }),
              HasSubstr("nn::clone(module) makes another one"));
  expect_error<Error>([&] { const Parameter copy(linear.weight); }, "nn::clone(module)");
}

TEST(Clone, RefusesSlotsOutsideTheirModule) {
  class Outside : public Module {
   public:
    Outside() { slots.push_back(std::make_shared<Parameter>(this, "far", ones({1}))); }
    Outside(const Outside& other) : Module(other) {
      for (const auto& slot : other.slots) slots.push_back(std::make_shared<Parameter>(*slot));
    }
    std::vector<std::shared_ptr<Parameter>> slots;
  };
  const auto outside = make<Outside>();
  EXPECT_THAT(message_of<Error>([&] { clone(*outside); }),
              HasSubstr("a slot that is not a member of its module cannot be cloned"));
}

TEST(Clone, RefusesACopyConstructorThatLeavesSlotsOut) {
  class Forgetful : public Module {
   public:
    Forgetful() = default;
    Forgetful(const Forgetful& other) : Module(other) {}
    std::optional<Parameter> weight{std::in_place, this, "weight", ones({1})};
  };
  class Lazy : public Module {
   public:
    Lazy() { weight.emplace(this, "weight", ones({1})); }
    Lazy(const Lazy& other) : Module(other) {}
    std::optional<Parameter> weight;
  };
  const auto lazy = make<Lazy>();
  EXPECT_THAT(message_of<Error>([&] { clone(*lazy); }),
              HasSubstr("its own copy constructor leaves out some of its slots"));
}

TEST(Clone, CopiesSlotsInsideMembersOfAModule) {
  struct Pair {
    Pair(Module* owner, const std::string& name)
        : low(owner, name + "_low", zeros({1})), high(owner, name + "_high", ones({1})) {}
    Parameter low, high;
  };
  class Ranges : public Module {
   public:
    Pair x{this, "x"};
    std::optional<Parameter> maybe{std::in_place, this, "maybe", full({1}, 5.0)};
    std::optional<Parameter> never;
  };
  const auto ranges = make<Ranges>();
  const auto copy = clone(*ranges);
  EXPECT_THAT(names(copy->named_parameters()), ElementsAre("x_low", "x_high", "maybe"));
  EXPECT_EQ(&copy->x.high.owner(), copy.get());
  EXPECT_EQ((*copy->maybe)->item<double>(), 5);
}

TEST(Clone, WorksWhateverTheBasesAre) {
  struct Mixin {
    virtual ~Mixin() = default;
    std::array<double, 5> numbers{1, 2, 3, 4, 5};
  };
  class Second : public Mixin, public Linear {
   public:
    Second() : Linear(2, 2) {}
    Buffer more{this, "more", ones({1})};
  };
  const auto second = make<Second>();
  const auto copy = clone(*second);
  EXPECT_THAT(names(copy->state_dict()), ElementsAre("weight", "bias", "more"));
  EXPECT_EQ(copy->numbers[4], 5);
  EXPECT_EQ(&copy->more.owner(), static_cast<Module*>(copy.get()));
  class Named : public Identity {
   public:
    Named() : Identity(3, "anything") {}
    Buffer more{this, "more", ones({1})};
  };
  Sequential net(make<Named>());
  EXPECT_THAT(names(clone(net)->state_dict()), ElementsAre("0.more"));
}

TEST(Clone, ThatFailsHalfWayLeavesNothingBehind) {
  class Failing : public Module {
   public:
    Failing() = default;
    Failing(const Failing& other)
        : Module(other), before(other.before), child(other.child), after((fail(), other.after)) {}
    static void fail() { throw ValueError("half way"); }
    Parameter before{this, "before", ones({1})};
    Child<Linear> child{this, "child", 2, 2};
    Parameter after{this, "after", ones({1})};
  };
  const auto failing = make<Failing>();
  failing->register_buffer("dynamic", ones({1}));
  failing->register_module("sub", make<Linear>(1, 1));
  for (int i = 0; i < 20; ++i) failing->register_buffer("b" + std::to_string(i), ones({1}));
  Sequential net(make<Linear>(1, 1), failing);
  EXPECT_EQ(message_of<ValueError>([&] { clone(net); }), "half way");
  EXPECT_EQ(message_of<ValueError>([&] { clone(*failing); }), "half way");
  EXPECT_THAT(
      names(failing->named_parameters()),
      ElementsAre("before", "after", "child.weight", "child.bias", "sub.weight", "sub.bias"));
  // The thread is ready for the next one.
  EXPECT_EQ(clone(net[0])->type_name(), "Linear");
  expect_error<Error>([&] { const Linear copy(*net[0].as<Linear>()); }, "nn::clone(module)");
}

TEST(Clone, OfAChildIsNotHeldByTheTree) {
  Sequential net(make<Linear>(2, 2));
  const std::shared_ptr<Module> copy = clone(net[0]);
  EXPECT_EQ(copy.use_count(), 1);
  // So it may take in what it came from.
  const auto holder = make<ModuleList<>>();
  const auto another = clone(*holder);
  another->append(holder);
  expect_error<ValueError>([&] { holder->append(another); }, "circle");
}

TEST(Clone, ASlotIsCopiedIntoItsModuleAndNowhereElse) {
  class Odd final : public Layer {
   public:
    Odd() = default;
    Odd(const Odd& other) : Layer(other), a(other.a) { const Parameter elsewhere(other.a); }
    Parameter a{this, "a", ones({2})};

   protected:
    Tensor forward(const Tensor& x) override { return x; }
  };
  const auto odd = make<Odd>();
  expect_error<Error>([&] { clone(*odd); }, "outside of the module");
}

}  // namespace
}  // namespace tenon::nn
