// Tensors that have several names in a module, through loads.
#include <limits>
#include <optional>

#include "support/matchers.h"
#include "support/modules.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Tied final : public Module {
 public:
  Child<Embedding> embedding{this, "embedding", 4, 3};
  Child<Linear> body{this, "body", 3, 3};
  Child<Linear> head{this, "head", 3, 4, {.bias = false}};
  Buffer mean{this, "mean", zeros({2})};
  Buffer same_mean{this, "same_mean", mean};
  Buffer passing_mean{this, "passing_mean", mean, {.persistent = false}};

  Tied() { head->weight = embedding->weight; }
  bool is_tied() const {
    return head->weight.get().is(embedding->weight) && same_mean.get().is(mean) &&
           passing_mean.get().is(mean);
  }
};

class LoadTies : public testing::TestWithParam<std::tuple<bool, bool>> {
 protected:
  void SetUp() override { scope_.emplace(swaps()); }
  static bool swaps() { return std::get<0>(GetParam()); }
  static bool assign() { return std::get<1>(GetParam()); }
  // A dict whose tensors share nothing.
  static StateDict apart(const Tied& net) {
    StateDict state = copied(net.state_dict());
    state.set("embedding.weight", full({4, 3}, 2.0));
    state.set("head.weight", full({4, 3}, 2.0));
    state.set("mean", full({2}, 3.0));
    state.set("same_mean", full({2}, 3.0));
    return state;
  }

 private:
  std::optional<SwapOnConversionScope> scope_;
};
INSTANTIATE_TEST_SUITE_P(Ways, LoadTies, testing::Combine(testing::Bool(), testing::Bool()),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param) ? "Swap" : "Copy") +
                                  (std::get<1>(one.param) ? "Assign" : "");
                         });

TEST_P(LoadTies, StayTied) {
  Tied net;
  const Tensor weight = net.embedding->weight;
  const StateDict state = apart(net);
  const IncompatibleKeys keys = net.load_state_dict(state, {.assign = assign()});
  EXPECT_TRUE(keys.empty());
  EXPECT_THAT(keys.tie_conflicts, IsEmpty());
  EXPECT_TRUE(net.is_tied());
  EXPECT_EQ(weight.is(net.embedding->weight), swaps() || !assign());
  EXPECT_TRUE(equal(net.head->weight->detach(), full({4, 3}, 2.0)));
  EXPECT_TRUE(equal(net.passing_mean, full({2}, 3.0)));
  EXPECT_EQ(net.parameters().size(), 3U);
}

TEST_P(LoadTies, OfWhichTheDictHasOtherValuesTakeTheLastAndSaySo) {
  Tied net;
  StateDict state = apart(net);
  state.set("head.weight", full({4, 3}, 5.0));
  state.set("mean", full({2}, 7.0));
  const IncompatibleKeys keys = net.load_state_dict(state, {.assign = assign()});
  EXPECT_TRUE(keys.empty());
  EXPECT_THAT(keys.tie_conflicts, ElementsAre("mean", "embedding.weight"));
  EXPECT_TRUE(net.is_tied());
  EXPECT_TRUE(equal(net.embedding->weight->detach(), full({4, 3}, 5.0)));
  EXPECT_TRUE(equal(net.mean, full({2}, 3.0)));
}

TEST_P(LoadTies, ConflictsCanBeErrors) {
  Tied net;
  StateDict state = apart(net);
  state.set("head.weight", full({4, 3}, 5.0));
  const Snapshot before(net);
  const LoadStateDictOptions options{.assign = assign(), .allow_tie_conflicts = false};
  EXPECT_EQ(message_of<LoadError>([&] { net.load_state_dict(state, options); }),
            "Error(s) in loading state_dict for Tied:\n\t\"embedding.weight\" and \"head.weight\" "
            "are one tensor in the module, and come with different values");
  before.expect_the_same();
  EXPECT_TRUE(net.load_state_dict(apart(net), options).empty());
}

TEST_P(LoadTies, AMissingNameFollowsTheOther) {
  for (const char* missing : {"embedding.weight", "head.weight"}) {
    Tied net;
    StateDict state = apart(net);
    state.erase(missing);
    state.erase("mean");
    const IncompatibleKeys keys = net.load_state_dict(state, {.strict = false, .assign = assign()});
    EXPECT_THAT(keys.missing_keys, ElementsAre("mean", missing));
    EXPECT_TRUE(net.is_tied()) << missing;
    EXPECT_TRUE(equal(net.head->weight->detach(), full({4, 3}, 2.0)));
    EXPECT_TRUE(equal(net.mean, full({2}, 3.0)));
  }
}

TEST_P(LoadTies, ANameThatIsLeftOutFollowsTheOther) {
  Tied net;
  StateDict state = apart(net);
  state.set("head.weight", ones({5, 3}));
  state.set("mean", ones({3}));
  const IncompatibleKeys keys =
      net.load_state_dict(state, {.assign = assign(), .skip_mismatched = true});
  EXPECT_EQ(keys.mismatched.size(), 2U);
  EXPECT_TRUE(net.is_tied());
  EXPECT_TRUE(equal(net.head->weight->detach(), full({4, 3}, 2.0)));
}

TEST_P(LoadTies, OnMetaBecomeOneRealTensor) {
  Tied from;
  auto net = with_device(Device::meta(), [] { return std::make_unique<Tied>(); });
  net->load_state_dict(apart(from), {.assign = true});
  EXPECT_TRUE(net->is_tied());
  EXPECT_THAT(net->meta_tensors(), IsEmpty());
}

TEST_P(LoadTies, TheModulesOwnDictWithItsVariablesIsNoConflict) {
  Tied net;
  for (const bool keep_vars : {false, true}) {
    const StateDict state = net.state_dict({.keep_vars = keep_vars});
    EXPECT_THAT(net.load_state_dict(state, {.assign = assign()}).tie_conflicts, IsEmpty());
    EXPECT_TRUE(net.is_tied());
  }
}

TEST_P(LoadTies, ThreeNamesAreOneTensorAndTheLastCounts) {
  ParameterDict net;
  const Tensor one = make_parameter(zeros({1}));
  for (const char* name : {"a", "b", "c"}) net.register_parameter(name, one);
  StateDict state = state_of({{"a", full({1}, 1.0)}, {"b", full({1}, 2.0)}, {"c", full({1}, 1.0)}});
  const IncompatibleKeys keys = net.load_state_dict(state, {.assign = assign()});
  EXPECT_THAT(keys.tie_conflicts, ElementsAre("b"));  // a has the value that counts
  EXPECT_TRUE(net["a"].is(net["b"]) && net["b"].is(net["c"]));
  EXPECT_EQ(net["a"].item<double>(), 1);
}

TEST_P(LoadTies, NamesThatShareMemoryWithoutBeingOneTensorLoadEachForItself) {
  ParameterDict net;
  const Tensor memory = zeros({4});
  net.register_parameter("front", make_parameter(memory.slice(0, 0, 2)));
  net.register_parameter("back", make_parameter(memory.slice(0, 2, 4)));
  const StateDict state = state_of({{"front", full({2}, 1.0)}, {"back", full({2}, 2.0)}});
  EXPECT_THAT(net.load_state_dict(state, {.assign = assign()}).tie_conflicts, IsEmpty());
  EXPECT_TRUE(equal(net["front"].detach(), full({2}, 1.0)));
  EXPECT_TRUE(equal(net["back"].detach(), full({2}, 2.0)));
  EXPECT_EQ(net["front"].storage().is(net["back"].storage()), !assign());
}

TEST_P(LoadTies, BytesSayWhetherValuesDiffer) {
  ParameterDict net;
  const Tensor one = make_parameter(zeros({2}));
  for (const char* name : {"a", "b"}) net.register_parameter(name, one);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const LoadStateDictOptions options{.assign = assign(), .allow_tie_conflicts = false};
  EXPECT_TRUE(net.load_state_dict(state_of({{"a", full({2}, nan)}, {"b", full({2}, nan)}}), options)
                  .empty());
  // The same numbers in another order in memory are the same.
  EXPECT_TRUE(
      net.load_state_dict(state_of({{"a", full({2}, 3.0)}, {"b", full({1}, 3.0).expand({2})}}),
                          {.assign = assign()})
          .tie_conflicts.empty());
  EXPECT_THAT(net.load_state_dict(state_of({{"a", full({2}, 0.0)}, {"b", full({2}, -0.0)}}),
                                  {.assign = assign()})
                  .tie_conflicts,
              ElementsAre("a"));
}

// Everything in a shared module has two names, although nobody holds its tensors twice.
class Inner final : public Module {
 public:
  Child<Linear> deep{this, "deep", 2, 2, {.bias = false}};
};
class Outer final : public Module {
 public:
  Child<Inner> left{this, "left"};
  Child<Inner> right{this, "right", left.share()};
};

TEST_P(LoadTies, WhatIsDeepInASharedModuleHasTwoNames) {
  Outer net;
  const StateDict state =
      state_of({{"left.deep.weight", full({2, 2}, 1.0)}, {"right.deep.weight", full({2, 2}, 2.0)}});
  const IncompatibleKeys keys = net.load_state_dict(state, {.assign = assign()});
  EXPECT_THAT(keys.tie_conflicts, ElementsAre("left.deep.weight"));
  EXPECT_TRUE(equal(net.left->deep->weight->detach(), full({2, 2}, 2.0)));
  const Snapshot before(net);
  const StateDict other =
      state_of({{"left.deep.weight", full({2, 2}, 3.0)}, {"right.deep.weight", full({2, 2}, 4.0)}});
  expect_error<LoadError>(
      [&] { net.load_state_dict(other, {.assign = assign(), .allow_tie_conflicts = false}); },
      "\"left.deep.weight\" and \"right.deep.weight\" are one tensor");
  before.expect_the_same();
}

TEST(LoadBySwap, TwoParametersMayExchangeTheirValues) {
  ParameterList list({zeros({2}), ones({2})});
  StateDict state;
  state.set("0", list[1]);
  state.set("1", list[0]);
  const SwapOnConversionScope swap;
  list.load_state_dict(state, {.assign = true});
  EXPECT_TRUE(equal(list[0], ones({2})) && equal(list[1], zeros({2})));
}

}  // namespace
}  // namespace tenon::nn
