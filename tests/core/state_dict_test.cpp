#include "tenon/state_dict.h"

#include "support/matchers.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {
namespace {

StateDict three() {
  StateDict state;
  state.set("a.weight", ones({2}));
  state.set("a._extra_state", 5);
  state.set("b.weight", zeros({3}));
  return state;
}

TEST(StateDict, KeepsTheOrderInWhichNamesCame) {
  StateDict state = three();
  state.set("a.weight", ones({4}));  // keeps its place
  std::vector<std::string> names;
  for (const auto& [name, value] : state) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"a.weight", "a._extra_state", "b.weight"}));
  EXPECT_EQ(state.tensor("a.weight").numel(), 4);
}

TEST(StateDict, SaysWhatIsMissingAndWhatIsNear) {
  const StateDict state = three();
  EXPECT_EQ(state.find("c"), nullptr);
  expect_error<IndexError>([&] { state.at("module.b.weight"); }, "'module.b.weight'", "'b.weight'");
  expect_error<IndexError>([&] { state.at("c"); }, "3 entries");
  expect_error<TypeError>([&] { state.tensor("a._extra_state"); }, "Tensor", "int");
}

TEST(StateDict, TensorsAloneCanBeReplacedWhileTheyAreWalkedOver) {
  StateDict state = three();
  int seen = 0;
  for (auto& [name, tensor] : state.tensors()) {
    tensor = tensor.to(float64);
    ++seen;
  }
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(state.tensor("b.weight").dtype(), float64);
  EXPECT_EQ(state.at("a._extra_state").as_int(), 5);
}

TEST(StateDict, OneTensorCanBePutUnderTheNameOfAnother) {
  StateDict state = three();
  auto all = state.tensors();
  auto at = all.begin();
  const StateDict::Slot first = (*at).tensor;
  ++at;
  (*at).tensor = first;
  EXPECT_TRUE(state.tensor("b.weight").is(state.tensor("a.weight")));
}

TEST(StateDict, EntriesCanBeTakenOut) {
  StateDict state = three();
  EXPECT_TRUE(state.erase("a._extra_state"));
  EXPECT_FALSE(state.erase("a._extra_state"));
  EXPECT_EQ(state.size(), 2u);
  EXPECT_TRUE(state.contains("b.weight"));
  EXPECT_EQ(state.erase_if([](std::string_view, const Value& v) { return v.is_tensor(); }), 2u);
  EXPECT_TRUE(state.empty());
  state.set("again", 1);
  EXPECT_TRUE(state.contains("again"));
}

TEST(StateDict, CopiesAreTheirOwnAndMovesLeaveSomethingThatCanBeUsed) {
  StateDict first = three();
  StateDict second = first;
  second.erase("a.weight");
  EXPECT_TRUE(first.contains("a.weight"));
  EXPECT_TRUE(second.tensor("b.weight").is(first.tensor("b.weight")));
  const StateDict moved = std::move(first);
  EXPECT_EQ(moved.size(), 3u);
  EXPECT_FALSE(first.contains("a.weight"));  // NOLINT(bugprone-use-after-move)
  first.set("x", 1);
  EXPECT_TRUE(first.contains("x"));
}

TEST(StateDict, BecomesAValueAndBack) {
  StateDict state = three();
  state.set_metadata(Value::dict({{"", Value::dict({{"version", 2}})}}));
  const Value value = state;
  const StateDict back = value;
  EXPECT_EQ(back.size(), 3u);
  EXPECT_EQ(back.metadata().find("")->find("version")->as_int(), 2);
  EXPECT_TRUE(back.tensor("b.weight").is(state.tensor("b.weight")));
}

TEST(StateDict, WhatIsNoneSaysWhereOneMightBe) {
  EXPECT_TRUE(StateDict::is_one(Value::dict({})));
  EXPECT_FALSE(StateDict::is_one(Value::list({})));
  expect_error<TypeError>([] { StateDict state = Value::list({}); }, "list");
  const Value training = Value::dict({{"model", Value::dict({{"w", ones({1})}})}, {3, 4}});
  expect_error<TypeError>([&] { StateDict state = training; }, "'model'");
}

TEST(StateDict, ManyNamesAreFound) {
  StateDict state;
  for (int i = 0; i < 10'000; ++i) state.set("layer." + std::to_string(i), i);
  for (int i = 0; i < 10'000; i += 777)
    EXPECT_EQ(state.at("layer." + std::to_string(i)).as_int(), i);
}

}  // namespace
}  // namespace tenon
