// Those who take part in a load: hooks before, after and when it is done, and modules that load in
// a way of their own.
#include <optional>

#include "support/matchers.h"
#include "support/modules.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LoadHooks : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { scope_.emplace(GetParam()); }

 private:
  std::optional<SwapOnConversionScope> scope_;
};
INSTANTIATE_TEST_SUITE_P(CopyAndSwap, LoadHooks, testing::Bool(),
                         [](const auto& one) { return one.param ? "Swap" : "Copy"; });

TEST_P(LoadHooks, BeforeAModuleSeeItsOwnEntriesAndTheOptions) {
  SmallNet net;
  std::vector<std::string> seen;
  net.fc1->register_load_state_dict_pre_hook([&](Module& module, LoadContext& context) {
    seen = context.keys();
    EXPECT_EQ(&context.module(), &module);
    EXPECT_EQ(&module, net.fc1.get());
    EXPECT_EQ(context.prefix(), "fc1.");
    EXPECT_FALSE(context.options().strict);
    EXPECT_EQ(context.version(), 1);
    EXPECT_EQ(context.local_metadata().repr(), "{'version': 1}");
  });
  StateDict state;
  state.set("fc11.weight", ones({1}));  // not fc1's
  state.set("fc1.bias", ones({3}));
  state.set("fc1", ones({1}));
  state.set("fc1.weight.more", ones({1}));
  state.set("fc1.weight", ones({3, 2}));
  state.set_metadata(net.state_dict().metadata());
  net.load_state_dict(state, {.strict = false});
  EXPECT_THAT(seen, ElementsAre("fc1.bias", "fc1.weight.more", "fc1.weight"));
}

TEST_P(LoadHooks, RunOncePerLoadUntilTheyAreRemoved) {
  SmallNet net;
  std::vector<std::string> calls;
  const auto note = [&](Module& module, LoadContext& context) {
    std::string line = module.type_name() + "@" + context.prefix() + ":";
    for (const std::string& key : context.keys()) line += " " + key;
    calls.push_back(line);
  };
  net.register_load_state_dict_pre_hook(note);
  net.fc1->register_load_state_dict_pre_hook(note);
  RemovableHandle handle = net.fc1->register_load_state_dict_pre_hook(note);
  net.load_state_dict(copied(net.state_dict()));
  EXPECT_THAT(calls,
              ElementsAre("Net@: scale count fc1.weight fc1.bias fc2.weight",
                          "Linear@fc1.: fc1.weight fc1.bias", "Linear@fc1.: fc1.weight fc1.bias"));
  handle.remove();
  handle.remove();
  net.load_state_dict(copied(net.state_dict()));
  EXPECT_EQ(calls.size(), 5U);
}

TEST_P(LoadHooks, EditsAreSeenByTheModuleAndThoseInItOnly) {
  class Pair final : public Module {
   public:
    Child<SmallNet> a{this, "a"};
    Child<SmallNet> b{this, "b"};
  };
  Pair net;
  StateDict state = copied(net.state_dict());
  state.set("a.old_scale", full({2}, 4.0));
  state.erase("a.scale");
  state.set("a.junk", ones({1}));
  state.set("b.fc1.bias", full({3}, 1.0));
  const std::string before = state.repr();
  net.a->register_load_state_dict_pre_hook([](Module&, LoadContext& context) {
    EXPECT_TRUE(context.rename("a.old_scale", "a.scale"));
    EXPECT_FALSE(context.rename("a.nothing", "a.scale"));
    EXPECT_TRUE(context.erase("a.junk"));
    EXPECT_FALSE(context.erase("a.junk"));
    context.set("a.fc1.bias", full({3}, 6.0));
    EXPECT_EQ(context.find("b.scale"), nullptr);
    EXPECT_FALSE(context.erase("b.scale"));
    EXPECT_FALSE(context.rename("b.scale", "a.x"));
  });
  std::optional<double> seen;
  net.a->fc1->register_load_state_dict_pre_hook([&](Module&, LoadContext& context) {
    seen = context.find("a.fc1.bias")->as_tensor()[0].item<double>();
  });
  EXPECT_TRUE(net.load_state_dict(state).empty());
  EXPECT_EQ(seen, 6);
  EXPECT_TRUE(equal(net.a->scale->detach(), full({2}, 4.0)));
  EXPECT_TRUE(equal(net.a->fc1->bias->detach(), full({3}, 6.0)));
  EXPECT_TRUE(equal(net.b->fc1->bias->detach(), full({3}, 1.0)));
  EXPECT_EQ(state.repr(), before);
}

TEST_P(LoadHooks, EditsShowInTheListsOfKeys) {
  SmallNet net;
  net.fc1->register_load_state_dict_pre_hook([](Module&, LoadContext& context) {
    context.set("fc1.new", ones({1}));
    context.erase("fc1.weight");
  });
  const IncompatibleKeys keys = net.load_state_dict(copied(net.state_dict()), {.strict = false});
  EXPECT_THAT(keys.missing_keys, ElementsAre("fc1.weight"));
  EXPECT_THAT(keys.unexpected_keys, ElementsAre("fc1.new"));
}

TEST_P(LoadHooks, CannotEditWhatIsAnothersAndSayWhy) {
  SmallNet net;
  net.fc1->register_load_state_dict_pre_hook(
      [](Module&, LoadContext& context) { context.set("fc2.weight", ones({1})); });
  net.fc2->register_load_state_dict_pre_hook(
      [](Module&, LoadContext& context) { context.rename("fc2.weight", "scale"); });
  const Snapshot before(net);
  expect_error<LoadError>(
      [&] { net.load_state_dict(copied(net.state_dict())); },
      "While running a load hook of \"fc1\" (Linear), an exception occurred : a load hook of "
      "\"fc1.\" cannot set the key \"fc2.weight\", which is another module's",
      "a load hook of \"fc2.\" cannot rename a key to \"scale\"");
  before.expect_the_same();
}

// Three levels of ten.
template <class Leaf>
std::shared_ptr<ModuleList<>> ten_of(const Leaf& leaf) {
  auto list = make<ModuleList<>>();
  for (int i = 0; i < 10; ++i) list->append(leaf());
  return list;
}

TEST_P(LoadHooks, DeepInALargeTreeSeeExactlyTheirOwnEntries) {
  auto tree =
      ten_of([] { return ten_of([] { return ten_of([] { return make<Linear>(1, 1); }); }); });
  std::vector<std::size_t> sizes;
  const auto count = [&](Module& module, LoadContext& context) {
    sizes.push_back(context.keys().size());
    EXPECT_EQ(context.keys().size(), module.state_dict().size());
  };
  tree->get_submodule("3.1").register_load_state_dict_pre_hook(count);
  tree->get_submodule("3.1.4").register_load_state_dict_pre_hook(count);
  tree->get_submodule("1").register_load_state_dict_pre_hook(count);
  EXPECT_TRUE(tree->load_state_dict(copied(tree->state_dict())).empty());
  EXPECT_THAT(sizes, ElementsAre(200, 20, 2));
}

class Versioned final : public Module {
 public:
  Parameter weight{this, "weight", zeros({2})};
  std::int64_t version() const override { return 3; }
  std::vector<std::optional<std::int64_t>> seen;

 protected:
  // Before version 2 the weight was stored halved, and under another name.
  void load_from_state_dict(LoadContext& context) override {
    seen.push_back(context.version());
    if (context.version().value_or(1) < 2) {
      const std::string old = context.prefix() + "half_weight";
      if (const Value* value = context.find(old))
        context.load(weight, value->as_tensor() * 2, context.prefix() + "half_weight");
    }
    context.load_own();
  }
};

TEST_P(LoadHooks, AModuleMayLoadWhatOlderVersionsSaved) {
  auto inner = make<Versioned>();
  ModuleList<> net(inner);
  StateDict now = copied(net.state_dict());
  EXPECT_EQ(now.metadata().find("0")->find("version")->as_int(), 3);
  EXPECT_TRUE(net.load_state_dict(now).empty());
  StateDict old = state_of({{"0.half_weight", full({2}, 1.5)}});
  EXPECT_TRUE(net.load_state_dict(old).empty());
  EXPECT_TRUE(equal(inner->weight->detach(), full({2}, 3.0)));
  old.set_metadata(Value::ordered_dict({{"0", Value::dict({{"version", 1}})}}));
  EXPECT_TRUE(net.load_state_dict(old).empty());
  EXPECT_THAT(inner->seen, ElementsAre(3, std::nullopt, 1));
  old.set("0.half_weight", ones({7}));
  const Snapshot before(net);
  expect_error<LoadError>([&] { net.load_state_dict(old); }, "size mismatch for 0.half_weight: ");
  before.expect_the_same();
}

// Saves and loads in a way of its own.
class Custom final : public Module {
 public:
  Parameter weight{this, "weight", ones({1})};
  Child<Linear> sub{this, "sub", 2, 2};
  std::int64_t serial = 0;

 protected:
  void save_to_state_dict(StateDict& destination, const std::string& prefix,
                          bool keep_vars) const override {
    Module::save_to_state_dict(destination, prefix, keep_vars);
    destination.set(prefix + "serial", serial + 1);
  }
  void load_from_state_dict(LoadContext& context) override {
    const std::string key = context.prefix() + "serial";
    if (const Value* value = context.find(key)) {
      const std::int64_t loaded = value->as_int();
      context.erase(key);
      context.at_commit([this, loaded] { serial = loaded; });
    } else {
      context.missing(key);
    }
    context.load_own();
  }
};

TEST_P(LoadHooks, ModulesWithAWayOfTheirOwnWorkInContainers) {
  const auto make_net = [] { return make<ModuleList<>>(make<Custom>(), make<Custom>()); };
  const auto from = make_net(), net = make_net();
  from->get_submodule("0").as<Custom>()->serial = 10;
  StateDict state = copied(from->state_dict());
  EXPECT_THAT(keys_of(state), ElementsAre("0.weight", "0.serial", "0.sub.weight", "0.sub.bias",
                                          "1.weight", "1.serial", "1.sub.weight", "1.sub.bias"));
  EXPECT_TRUE(net->load_state_dict(state).empty());
  EXPECT_EQ(net->get_submodule("0").as<Custom>()->serial, 11);
  EXPECT_EQ(net->get_submodule("1").as<Custom>()->serial, 1);
  state.erase("1.serial");
  state.set("0.serial", 77);
  const Snapshot before(*net);
  expect_error<LoadError>([&] { net->load_state_dict(state); },
                          "Missing key(s) in state_dict: \"1.serial\". ");
  before.expect_the_same();
  EXPECT_EQ(net->get_submodule("0").as<Custom>()->serial, 11);
}

// Does not call load_own.
class Silent final : public Module {
 public:
  Parameter weight{this, "weight", zeros({1})};
  Child<Linear> sub{this, "sub", 1, 1, {.bias = false}};
  bool fails = false;

 protected:
  void load_from_state_dict(LoadContext& context) override {
    if (fails) throw Error("cannot");
    context.error("nothing is right with " + context.prefix());
    context.unexpected("said so");
  }
};

TEST_P(LoadHooks, AStepSaysWhatIsWrongAndLooksAtItsOwnKeysItself) {
  ModuleList<> net(make<Silent>());
  StateDict state = copied(net.state_dict());
  state.set("0.other", ones({1}));
  state.set("0.sub.other", ones({1}));
  const Snapshot before(net);
  EXPECT_EQ(message_of<LoadError>([&] { net.load_state_dict(state); }),
            "Error(s) in loading state_dict for ModuleList:\n\tUnexpected key(s) in state_dict: "
            "\"said so\", \"0.sub.other\". \n\tnothing is right with 0.");
  net[0].as<Silent>()->fails = true;
  expect_error<LoadError>([&] { net.load_state_dict(state, {.strict = false}); },
                          "While running the load step of \"0\" (Silent), an exception occurred : "
                          "cannot");
  before.expect_the_same();
}

TEST_P(LoadHooks, WhatIsForTheCommitRunsInTheOrderOfTheWalkAndSeesTheNewValues) {
  SmallNet net;
  std::vector<std::string> calls;
  const auto later = [&](Module&, LoadContext& context) {
    context.at_commit([&calls, &net, prefix = context.prefix()] {
      calls.push_back(prefix + std::to_string(net.scale->sum().item<int>()));
    });
  };
  net.register_load_state_dict_pre_hook(later);
  net.fc2->register_load_state_dict_pre_hook(later);
  net.register_load_state_dict_committed_hook(
      [&](Module&, IncompatibleKeys& keys) { calls.push_back("root " + keys.repr()); });
  net.fc1->register_load_state_dict_committed_hook(
      [&](Module&, IncompatibleKeys&) { calls.emplace_back("fc1"); });
  StateDict state = copied(net.state_dict());
  state.set("scale", full({2}, 4.0));
  net.load_state_dict(state);
  EXPECT_THAT(calls, ElementsAre("8", "fc2.8", "fc1", "root <All keys matched successfully>"));
  calls.clear();
  state.set("scale", ones({3}));
  EXPECT_THROW(net.load_state_dict(state), LoadError);
  EXPECT_THAT(calls, IsEmpty());
}

TEST_P(LoadHooks, AfterALoadComeChildrenFirstAndSeeTheListsAsFarAsTheWalkHasCome) {
  SmallNet net;
  std::vector<std::string> calls;
  const auto note = [&](Module& module, IncompatibleKeys& keys) {
    calls.push_back(module.type_name() + " " + keys.repr());
    EXPECT_EQ(net.scale->sum().item<double>(), 2);  // still the old values
  };
  net.register_load_state_dict_post_hook(note);
  net.fc1->register_load_state_dict_post_hook(note);
  StateDict state = copied(net.state_dict());
  state.set("scale", full({2}, 4.0));
  state.set("fc2.more", ones({1}));
  state.set("more", ones({1}));
  state.erase("fc1.bias");
  state.erase("fc2.weight");
  net.load_state_dict(state, {.strict = false});
  EXPECT_THAT(
      calls,
      ElementsAre("Linear _IncompatibleKeys(missing_keys=['fc1.bias'], unexpected_keys=['more'])",
                  "Net _IncompatibleKeys(missing_keys=['fc1.bias', 'fc2.weight'], "
                  "unexpected_keys=['more', 'fc2.more'])"));
}

TEST_P(LoadHooks, AfterALoadMayCauseTheErrorAndAvoidIt) {
  SmallNet net;
  RemovableHandle adds =
      net.fc1->register_load_state_dict_post_hook([](Module&, IncompatibleKeys& keys) {
        keys.missing_keys.emplace_back("foo");
        keys.unexpected_keys.emplace_back("bar");
      });
  const StateDict state = copied(net.state_dict());
  const IncompatibleKeys keys = net.load_state_dict(state, {.strict = false});
  EXPECT_THAT(keys.missing_keys, ElementsAre("foo"));
  EXPECT_THAT(keys.unexpected_keys, ElementsAre("bar"));
  const Snapshot before(net);
  EXPECT_EQ(message_of<LoadError>([&] { net.load_state_dict(state); }),
            "Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: \"foo\". "
            "\n\tUnexpected key(s) in state_dict: \"bar\". ");
  before.expect_the_same();
  net.register_load_state_dict_post_hook([](Module&, IncompatibleKeys& all) {
    all.missing_keys.clear();
    all.unexpected_keys.clear();
  });
  EXPECT_TRUE(net.load_state_dict(state).empty());
  EXPECT_TRUE(net.load_state_dict({}).empty());
  adds.remove();
  EXPECT_TRUE(net.load_state_dict(state).empty());
}

TEST_P(LoadHooks, ThatThrowAreInTheErrorAndNothingHasChanged) {
  SmallNet net;
  std::vector<RemovableHandle> handles;
  handles.push_back(net.register_load_state_dict_pre_hook(
      [](Module&, LoadContext&) { throw std::runtime_error("one"); }));
  handles.push_back(net.fc2->register_load_state_dict_pre_hook(
      [](Module&, LoadContext&) { throw Error("two"); }));
  handles.push_back(net.fc1->register_load_state_dict_post_hook(
      [](Module&, IncompatibleKeys&) { throw Error("three"); }));
  StateDict state = copied(net.state_dict());
  state.set("scale", full({2}, 4.0));
  state.set("unknown", ones({1}));
  const Snapshot before(net);
  EXPECT_EQ(message_of<LoadError>([&] { net.load_state_dict(state); }),
            "Error(s) in loading state_dict for Net:"
            "\n\tUnexpected key(s) in state_dict: \"unknown\". "
            "\n\tWhile running a load hook of the root (Net), an exception occurred : one"
            "\n\tWhile running a load hook of \"fc2\" (Linear), an exception occurred : two"
            "\n\tWhile running a load post-hook of \"fc1\" (Linear), an exception occurred : "
            "three");
  before.expect_the_same();
  for (RemovableHandle& handle : handles) handle.remove();
  state.erase("unknown");
  EXPECT_TRUE(net.load_state_dict(state).empty());
}

TEST_P(LoadHooks, ThatThrowWhenTheLoadIsDoneSayThatItIsTorn) {
  SmallNet net;
  net.register_load_state_dict_committed_hook(
      [](Module&, IncompatibleKeys&) { throw Error("too late"); });
  StateDict state = copied(net.state_dict());
  try {
    net.load_state_dict(state);
    FAIL() << "no exception";
  } catch (const LoadError& error) {
    EXPECT_TRUE(error.torn());
    EXPECT_THAT(error.written(),
                ElementsAre("scale", "count", "fc1.weight", "fc1.bias", "fc2.weight"));
    EXPECT_THAT(error.what(), HasSubstr("too late"));
  }
}

TEST_P(LoadHooks, DoNotKeepTheModule) {
  auto net = make<SmallNet>();
  const std::weak_ptr<SmallNet> watch = net;
  RemovableHandle handle = net->register_load_state_dict_pre_hook([](Module&, LoadContext&) {});
  net.reset();
  EXPECT_TRUE(watch.expired());
  handle.remove();
}

TEST(LoadPostHook, ThatTakesAViewStandsInTheWayOfASwap) {
  SmallNet net;
  Tensor view;
  net.register_load_state_dict_post_hook(
      [&](Module&, IncompatibleKeys&) { view = net.fc1->weight->detach().view({-1}); });
  StateDict state = net.state_dict();
  for (auto& [name, tensor] : state.tensors()) tensor = tensor.to(float64).clone();
  {
    Tensor kept;
    net.register_load_state_dict_post_hook(
        [&](Module&, IncompatibleKeys&) { kept = net.fc1->bias.get().view({-1}); });
    const SwapOnConversionScope swap;
    expect_error<LoadError>([&] { net.load_state_dict(state, {.assign = true}); }, "fc1.bias",
                            "live view");
    EXPECT_EQ(net.fc1->weight->dtype(), float32);
  }
}

TEST(LoadHooks, MayThrowAnything) {
  SmallNet net;
  net.register_load_state_dict_pre_hook([](Module&, LoadContext&) { throw 42; });
  expect_error<LoadError>([&] { net.load_state_dict(net.state_dict()); }, "none of std::exception");
}

}  // namespace
}  // namespace tenon::nn
