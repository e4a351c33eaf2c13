// Module::state_dict: names, order, aliases, metadata, hooks, and the file that comes of it.
#include <algorithm>

#include "io/files.h"
#include "nn/names.h"
#include "support/archive_id.h"
#include "support/matchers.h"
#include "support/temp_dir.h"
#include "tenon/nn/module.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;

class Block : public Module {
 public:
  Parameter weight{this, "weight", ones({2})};
  Buffer mean{this, "mean", zeros({2})};
  std::int64_t version() const override { return 2; }
};

// Upstream's example: a layer under two names, a null child, buffers of both kinds.
class Net : public Module {
 public:
  Net() { again = linear; }
  Child<Linear> linear{this, "linear", 3, 4};
  Child<Linear> again{this, "again", nullptr};
  Child<Linear> null{this, "null", nullptr};
  Child<Block> block{this, "block"};
  Parameter scale{this, "scale", ones({1})};
  Parameter none{this, "none", Tensor()};
  Buffer count{this, "count", zeros({})};
  Buffer cache{this, "cache", zeros({}), {.persistent = false}};
};

TEST(StateDict, HasEveryNameOfEverythingInOrder) {
  const Net net;
  const StateDict state = net.state_dict();
  EXPECT_THAT(names(state),
              ElementsAre("scale", "count", "linear.weight", "linear.bias", "again.weight",
                          "again.bias", "block.weight", "block.mean"));
  EXPECT_EQ(state.metadata().repr(),
            "OrderedDict({'': {'version': 1}, 'linear': {'version': 1}, 'again': {'version': 1}, "
            "'block': {'version': 2}})");
  EXPECT_EQ(state.tensor("linear.weight").data_ptr(), state.tensor("again.weight").data_ptr());
}

TEST(StateDict, IsAnAliasOfTheModule) {
  const Net net;
  const StateDict state = net.state_dict();
  const Tensor bias = state.tensor("linear.bias");
  EXPECT_FALSE(bias.is(net.linear->bias));
  EXPECT_FALSE(bias.requires_grad());
  EXPECT_FALSE(bias.is_parameter());
  bias.fill_(7);
  EXPECT_TRUE(equal(net.linear->bias, full({4}, 7.0)));
  EXPECT_TRUE(equal(net.again->bias, full({4}, 7.0)));
}

TEST(StateDict, HasTheTensorsThemselvesWhenAsked) {
  const Net net;
  const StateDict state = net.state_dict({.keep_vars = true});
  EXPECT_TRUE(state.tensor("scale").is(net.scale));
  EXPECT_TRUE(state.tensor("again.bias").is(net.linear->bias));
  EXPECT_TRUE(state.tensor("count").is(net.count));
  EXPECT_TRUE(state.tensor("scale").requires_grad());
}

TEST(StateDict, TakesAPrefixAsItIs) {
  const Block block;
  const StateDict dotted = block.state_dict({.prefix = "net.block."});
  EXPECT_THAT(names(dotted), ElementsAre("net.block.weight", "net.block.mean"));
  EXPECT_EQ(dotted.metadata().repr(), "OrderedDict({'net.block': {'version': 2}})");
  const StateDict bare = block.state_dict({.prefix = "ab"});
  EXPECT_THAT(names(bare), ElementsAre("abweight", "abmean"));
  EXPECT_EQ(bare.metadata().repr(), "OrderedDict({'a': {'version': 2}})");
}

TEST(StateDict, IsAddedToOneThatIsThere) {
  const Block one, two;
  StateDict state;
  state.set_metadata(Value::ordered_dict({}));
  state.set("first", ones({1}));
  one.state_dict(state, {.prefix = "one."});
  two.state_dict(state, {.prefix = "two."});
  EXPECT_THAT(names(state),
              ElementsAre("first", "one.weight", "one.mean", "two.weight", "two.mean"));
  EXPECT_EQ(state.metadata().repr(), "OrderedDict({'one': {'version': 2}, 'two': {'version': 2}})");
  // Again under a name that is there: in its place.
  two.state_dict(state, {.prefix = "one."});
  EXPECT_EQ(state.size(), 5U);
  EXPECT_EQ(state.metadata().repr(), "OrderedDict({'one': {'version': 2}, 'two': {'version': 2}})");
  EXPECT_EQ(state.tensor("one.weight").data_ptr(), two.weight->data_ptr());
}

// As PyTorch, which notes versions in a destination that has the place for them.
TEST(StateDict, NotesNoVersionsInADestinationWithoutMetadata) {
  Block block;
  std::vector<bool> seen;
  block.register_state_dict_post_hook(
      [&](Module&, StateDict& state, const std::string&, const Value& notes) {
        seen.push_back(state.metadata().is_none());
        EXPECT_EQ(notes.repr(), "{'version': 2}");
      });
  StateDict state;
  block.state_dict(state, {.prefix = "one."});
  EXPECT_TRUE(state.metadata().is_none());
  EXPECT_EQ(state.size(), 2U);
  EXPECT_THAT(seen, ElementsAre(true));
}

TEST(StateDict, HasNoMetadataIfAHookTakesItAway) {
  Block block;
  block.register_state_dict_post_hook(
      [](Module&, StateDict& state, const std::string&, const Value&) { state.set_metadata({}); });
  EXPECT_TRUE(block.state_dict().metadata().is_none());
}

TEST(StateDict, OfAModuleWithoutAnythingStillSaysItsVersion) {
  const Identity identity;
  EXPECT_EQ(identity.state_dict().repr(), "OrderedDict()");
  EXPECT_EQ(identity.state_dict().metadata().repr(), "OrderedDict({'': {'version': 1}})");
}

TEST(StateDict, PrintsAsPythonDoes) {
  Linear linear(2, 1);
  {
    const NoGradScope no_grad;
    linear.weight->copy_(tensor({{0.5, -1.0}}));
    linear.bias->fill_(2);
  }
  EXPECT_EQ(linear.state_dict().repr(),
            "OrderedDict({'weight': tensor([[ 0.5000, -1.0000]]), 'bias': tensor([2.])})");
  EXPECT_EQ(linear.state_dict({.keep_vars = true}).repr(),
            "OrderedDict({'weight': Parameter containing:\n"
            "tensor([[ 0.5000, -1.0000]], requires_grad=True), 'bias': Parameter containing:\n"
            "tensor([2.], requires_grad=True)})");
}

class Counter : public Module {
 public:
  Parameter weight{this, "weight", ones({1})};
  Child<Linear> inner{this, "inner", 1, 1, {.bias = false}};
  std::int64_t steps = 3;

  std::optional<Value> get_extra_state() const override {
    return Value::dict({{"steps", steps}, {"note", "text"}});
  }
  void set_extra_state(const Value& state) override { steps = state.find("steps")->as_int(); }
};

TEST(StateDict, HasExtraStateBehindTheModulesOwn) {
  Counter counter;
  Module& module = counter;
  const StateDict state = module.state_dict({.prefix = "c."});
  EXPECT_THAT(names(state), ElementsAre("c.weight", "c._extra_state", "c.inner.weight"));
  EXPECT_EQ(state.at("c._extra_state").repr(), "{'steps': 3, 'note': 'text'}");
  Counter other;
  other.steps = 0;
  other.load_state_dict(counter.state_dict());
  EXPECT_EQ(other.steps, 3);
}

TEST(StateDict, WritesWhatAnOverrideWrites) {
  class Own : public Module {
   public:
    Parameter weight{this, "weight", ones({1})};

   protected:
    void save_to_state_dict(StateDict& destination, const std::string& prefix,
                            bool keep_vars) const override {
      Module::save_to_state_dict(destination, prefix + "own_", keep_vars);
      destination.set(prefix + "kept", keep_vars);
    }
  };
  Sequential net(make<Own>());
  EXPECT_THAT(names(net.state_dict()), ElementsAre("0.own_weight", "0.kept"));
  EXPECT_EQ(net.state_dict({.keep_vars = true}).at("0.kept").repr(), "True");
}

TEST(StateDict, KeepsTheVersionsOfAModuleWhoseStateAnOverrideAdds) {
  class Own : public Module {
   public:
    std::shared_ptr<Linear> hidden = make<Linear>(1, 1);

   protected:
    void save_to_state_dict(StateDict& destination, const std::string& prefix,
                            bool keep_vars) const override {
      Module::save_to_state_dict(destination, prefix, keep_vars);
      hidden->state_dict(destination, {.prefix = prefix + "hidden.", .keep_vars = keep_vars});
    }
  };
  Sequential net(make<Own>(), make<Linear>(1, 1));
  const StateDict state = net.state_dict();
  std::vector<std::string> noted;
  for (const auto& [name, value] : state.metadata().entries()) noted.push_back(name.as_string());
  EXPECT_THAT(noted, ElementsAre("", "0", "0.hidden", "1"));

  // Several of them, and a destination that is used again.
  Sequential two(make<Own>(), make<Own>());
  StateDict destination = two.state_dict();
  two.state_dict(destination);
  noted.clear();
  for (const auto& [name, value] : destination.metadata().entries()) {
    if (std::find(noted.begin(), noted.end(), name.as_string()) == noted.end())
      noted.push_back(name.as_string());
  }
  EXPECT_THAT(noted, ElementsAre("", "0", "0.hidden", "1", "1.hidden"));
}

// Metadata that goes may have its place taken by what comes next.
TEST(StateDict, KeepsTheVersionsOfSeveralModulesWhoseStateOneOverrideAdds) {
  class Own : public Module {
   public:
    std::vector<std::shared_ptr<Linear>> hidden{make<Linear>(1, 1), make<Linear>(1, 1),
                                                make<Linear>(1, 1), make<Linear>(1, 1)};
    std::size_t count = 0;

   protected:
    void save_to_state_dict(StateDict& destination, const std::string& prefix,
                            bool keep_vars) const override {
      for (std::size_t i = 0; i < count; ++i) {
        hidden[i]->state_dict(destination,
                              {.prefix = prefix + std::to_string(i) + ".", .keep_vars = keep_vars});
      }
    }
  };
  Own own;
  for (std::size_t count = 0; count <= own.hidden.size(); ++count) {
    own.count = count;
    const Module& module = own;
    EXPECT_EQ(module.state_dict().metadata().entries().size(), 1 + count);
  }
}

TEST(StateDictHooks, RunBeforeAndAfterWithTheirModulesArguments) {
  Net net;
  std::vector<std::string> log;
  const auto pre = [&](const char* which) {
    return [&log, which](Module& module, const std::string& prefix, bool keep_vars) {
      log.push_back(std::string(which) + " " + module.type_name() + " '" + prefix + "' " +
                    (keep_vars ? "kept" : "detached"));
    };
  };
  const auto post = [&](const char* which) {
    return [&log, which](Module& module, StateDict& state, const std::string& prefix,
                         const Value& metadata) {
      log.push_back(std::string(which) + " " + module.type_name() + " '" + prefix + "' " +
                    std::to_string(state.size()) + " " + metadata.repr());
    };
  };
  net.register_state_dict_pre_hook(pre("pre1"));
  auto second = net.register_state_dict_pre_hook(pre("pre2"));
  net.register_state_dict_post_hook(post("post1"));
  net.register_state_dict_post_hook(post("post2"));
  net.block->register_state_dict_pre_hook(pre("pre"));
  net.block->register_state_dict_post_hook(post("post"));
  net.state_dict({.prefix = "n.", .keep_vars = true});
  EXPECT_THAT(
      log, ElementsAre("pre1 Net 'n.' kept", "pre2 Net 'n.' kept", "pre Block 'n.block.' kept",
                       "post Block 'n.block.' 8 {'version': 2}", "post1 Net 'n.' 8 {'version': 1}",
                       "post2 Net 'n.' 8 {'version': 1}"));
  log.clear();
  second.remove();
  net.state_dict();
  EXPECT_EQ(log.size(), 5U);
  EXPECT_EQ(log[0], "pre1 Net '' detached");
}

TEST(StateDictHooks, MayEditWhatIsThere) {
  Net net;
  net.block->register_state_dict_post_hook(
      [](Module&, StateDict& state, const std::string& prefix, const Value&) {
        state.erase(prefix + "mean");
        state.set(prefix + "added", 1);
      });
  net.register_state_dict_post_hook(
      [](Module&, StateDict& state, const std::string&, const Value&) {
        state.set_metadata(Value::ordered_dict({{"", "mine"}}));
      });
  const StateDict state = net.state_dict();
  EXPECT_FALSE(state.contains("block.mean"));
  EXPECT_EQ(state.at("block.added").repr(), "1");
  EXPECT_EQ(state.metadata().repr(), "OrderedDict({'': 'mine'})");
}

TEST(StateDictHooks, APreHookMayStillChangeTheModule) {
  Block block;
  block.register_state_dict_pre_hook(
      [](Module& module, const std::string&, bool) { module.register_buffer("late", ones({1})); });
  EXPECT_THAT(names(block.state_dict()), ElementsAre("weight", "mean", "late"));
}

TEST(StateDictHooks, WhatTheyThrowComesOut) {
  Net net;
  net.block->register_state_dict_post_hook(
      [](Module&, StateDict&, const std::string&, const Value&) { throw ValueError("no"); });
  EXPECT_EQ(message_of<ValueError>([&] { net.state_dict(); }), "no");
}

// The documented tutorial's network, whose file PyTorch 2.11 wrote.
class SomeModule : public Layer {
 public:
  SomeModule() {
    for (int i = 0; i < 10; ++i) linears->append(make<Linear>(16, 16));
  }
  Child<ModuleList<Linear>> linears{this, "linears"};

 protected:
  Tensor forward(const Tensor& x) override {
    Tensor y = x;
    for (Linear& linear : *linears) y = linear(y);
    return y;
  }
};

TEST(StateDict, OfALoadedModuleIsSavedAsTheBytesItCameFrom) {
  const std::string file = fixture("torch-2.11/some_module.pth");
  SomeModule module;
  EXPECT_EQ(module.load_state_dict(load(file)).repr(), "<All keys matched successfully>");
  EXPECT_EQ(module.repr(),
            "SomeModule(\n"
            "  (linears): ModuleList(\n"
            "    (0-9): 10 x Linear(in_features=16, out_features=16, bias=True)\n"
            "  )\n"
            ")");
  const TempDir dir;
  save(module.state_dict(), dir.file("some_module.pth"));
  EXPECT_EQ(without_id(TempDir::read(dir.file("some_module.pth"))),
            without_id(TempDir::read(file)));
}

}  // namespace
}  // namespace tenon::nn
