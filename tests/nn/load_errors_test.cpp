// Loads that are refused: the text, character for character, the fields, and a module that nothing
// has happened to.
#include <optional>

#include "support/matchers.h"
#include "support/modules.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LoadErrors : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { scope_.emplace(GetParam()); }
  // The error of a load that must leave everything as it was.
  static LoadError refused(Module& module, const StateDict& state,
                           const LoadStateDictOptions& options = {}) {
    const Snapshot before(module);
    const std::string dict = state.repr();
    try {
      module.load_state_dict(state, options);
    } catch (const LoadError& error) {
      before.expect_the_same();
      EXPECT_EQ(state.repr(), dict);
      EXPECT_FALSE(error.torn());
      return error;
    }
    ADD_FAILURE() << "no exception";
    return {"", {}};
  }
  static const char* verb() { return GetParam() ? "swapping" : "copying"; }

 private:
  std::optional<SwapOnConversionScope> scope_;
};
INSTANTIATE_TEST_SUITE_P(CopyAndSwap, LoadErrors, testing::Bool(),
                         [](const auto& one) { return one.param ? "Swap" : "Copy"; });

StateDict wrong_in_every_way() {
  return state_of({{"fc1.bad", ones({1})},
                   {"z", ones({1})},
                   {"fc1.weight", ones({3, 3})},
                   {"fc2.weight.bad", ones({1})},
                   {"fc1.bias", 3},
                   {"a", ones({1})},
                   {"gone.x", ones({1})},
                   {"none.y", ones({1})},
                   {"tmp", ones({2})},
                   {"fc2.bias", ones({2})},
                   {"x._extra_state", 1},
                   {"_extra_state", 2},
                   {"fc2._extra_state", 2},
                   {"count", ones({2})}});
}

constexpr const char* kTensorProblems =
    "\n\tsize mismatch for count: copying a param with shape torch.Size([2]) from checkpoint, the "
    "shape in current model is torch.Size([])."
    "\n\tsize mismatch for fc1.weight: copying a param with shape torch.Size([3, 3]) from "
    "checkpoint, the shape in current model is torch.Size([3, 2])."
    "\n\tWhile copying the parameter named \"fc1.bias\", expected torch.Tensor or Tensor-like "
    "object from checkpoint but received <class 'int'>";

TEST_P(LoadErrors, HaveEveryProblemInPyTorchsWordsAndOrder) {
  SmallNet net;
  const LoadError error = refused(net, wrong_in_every_way());
  EXPECT_EQ(error.what(),
            std::string("Error(s) in loading state_dict for Net:"
                        "\n\tMissing key(s) in state_dict: \"scale\", \"fc2.weight\". "
                        "\n\tUnexpected key(s) in state_dict: \"_extra_state\", \"z\", \"a\", "
                        "\"none.y\", \"tmp\", \"x._extra_state\", \"fc1.bad\", "
                        "\"fc2._extra_state\", \"fc2.weight.bad\", \"fc2.bias\". ") +
                kTensorProblems);
  EXPECT_THAT(error.missing_keys(), ElementsAre("scale", "fc2.weight"));
  EXPECT_EQ(error.unexpected_keys().size(), 10U);
  EXPECT_EQ(error.errors().size(), 3U);
}

TEST_P(LoadErrors, OfTensorsAreErrorsWithoutStrictToo) {
  SmallNet net;
  const LoadError error = refused(net, wrong_in_every_way(), {.strict = false});
  EXPECT_EQ(error.what(), std::string("Error(s) in loading state_dict for Net:") + kTensorProblems);
  EXPECT_THAT(error.missing_keys(), IsEmpty());
  EXPECT_THAT(error.unexpected_keys(), IsEmpty());
}

TEST_P(LoadErrors, OneOfEachKindByItself) {
  SmallNet net;
  StateDict state = copied(net.state_dict());
  state.set("extra", ones({3}));
  EXPECT_STREQ(refused(net, state).what(),
               "Error(s) in loading state_dict for Net:\n\tUnexpected key(s) in state_dict: "
               "\"extra\". ");
  state.erase("extra");
  state.set("fc1.extra", ones({3}));
  EXPECT_THAT(refused(net, state).unexpected_keys(), ElementsAre("fc1.extra"));
  state.erase("fc1.extra");
  state.erase("fc1.bias");
  EXPECT_STREQ(refused(net, state).what(),
               "Error(s) in loading state_dict for Net:\n\tMissing key(s) in state_dict: "
               "\"fc1.bias\". ");
}

TEST_P(LoadErrors, UnexpectedKeysComeModuleByModuleAndThenInTheDictsOrder) {
  SmallNet net;
  StateDict state;
  for (const char* key : {"fc2.b", "fc1.b", "b", "fc2.a", "fc1.a", "a"}) state.set(key, ones({1}));
  for (const auto& [key, value] : copied(net.state_dict())) state.set(key, value);
  EXPECT_THAT(refused(net, state).unexpected_keys(),
              ElementsAre("b", "a", "fc1.b", "fc1.a", "fc2.b", "fc2.a"));
}

TEST_P(LoadErrors, NameTheTypeOfWhatIsNoTensor) {
  SmallNet net;
  const std::vector<std::pair<Value, std::string>> cases = {
      {Value(), "NoneType"},
      {Value(3), "int"},
      {Value(2.5), "float"},
      {Value("x"), "str"},
      {Value(true), "bool"},
      {Value::list({1}), "list"},
      {Value::tuple({1, Value::tuple({2})}), "tuple"},
      {Value::dict({}), "dict"}};
  for (const auto& [value, type] : cases) {
    StateDict state = copied(net.state_dict());
    state.set("scale", value);
    EXPECT_EQ(refused(net, state).what(),
              "Error(s) in loading state_dict for Net:\n\tWhile copying the parameter named "
              "\"scale\", expected torch.Tensor or Tensor-like object from checkpoint but received "
              "<class '" +
                  type + "'>");
  }
}

TEST_P(LoadErrors, WholeNumbersCannotBeAssignedToWhatRequiresGrad) {
  SmallNet net;
  StateDict state = copied(net.state_dict());
  state.set("scale", ones({2}, {.dtype = int64}));
  EXPECT_EQ(refused(net, state, {.assign = true}).what(),
            std::string("Error(s) in loading state_dict for Net:\n\tWhile ") + verb() +
                " the parameter named \"scale\", whose dimensions in the model are torch.Size([2]) "
                "and whose dimensions in the checkpoint are torch.Size([2]), an exception occurred "
                ": ('Only Tensors of floating point and complex dtype can require gradients',).");
  EXPECT_TRUE(net.load_state_dict(state).empty());  // a copy converts
  net.scale->requires_grad_(false);
  EXPECT_TRUE(net.load_state_dict(state, {.assign = true}).empty());
  EXPECT_EQ(net.scale->dtype(), int64);
}

TEST_P(LoadErrors, MetaHasNothingToCopy) {
  SmallNet net;
  StateDict state = copied(net.state_dict());
  state.set("scale", empty({2}, {.device = Device::meta()}));
  EXPECT_THAT(refused(net, state).what(),
              HasSubstr("an exception occurred : ('Cannot copy out of meta tensor; no data!',)."));
  EXPECT_THAT(refused(net, state).what(),
              HasSubstr("While " + std::string(verb()) + " the parameter named \"scale\""));
}

TEST_P(LoadErrors, ATensorWhoseElementsAreOneCannotBeCopiedInto) {
  SmallNet net;
  net.count = zeros({1}).expand({3});
  StateDict state = copied(net.state_dict());
  state.set("scale", full({2}, 5.0));
  state.set("fc1.weight", full({3, 2}, 5.0));
  state.set("count", tensor({1.0, 2.0, 3.0}));
  EXPECT_THAT(refused(net, state).what(),
              HasSubstr("the parameter named \"count\", whose dimensions in the model are "
                        "torch.Size([3])"));
  EXPECT_TRUE(net.load_state_dict(state, {.assign = true}).empty());
  EXPECT_TRUE(equal(net.count, tensor({1.0, 2.0, 3.0})));
}

TEST_P(LoadErrors, AShiftedPartOfTheModulesOwnMemoryCannotBeCopied) {
  ParameterDict net;
  const Tensor memory = arange(4.0);
  net.register_parameter("first", make_parameter(zeros({3})));
  net.register_parameter("second", make_parameter(memory.slice(0, 0, 3)));
  const StateDict state = state_of({{"first", ones({3})}, {"second", memory.slice(0, 1, 4)}});
  EXPECT_THAT(refused(net, state).what(),
              HasSubstr("some elements of the input tensor and the written-to tensor refer to a "
                        "single memory location"));
  EXPECT_TRUE(net.load_state_dict(state, {.assign = true}).empty());
}

TEST(LoadErrorsOfSwaps, ALiveViewIsALineAndNothingIsSwapped) {
  const SwapOnConversionScope swap;
  SmallNet net;
  for (const bool assign : {false, true}) {
    const Tensor view = net.fc2->weight->view({6});
    StateDict state = copied(net.state_dict());
    state.set("scale", full({2}, 5.0));
    const Snapshot before(net);
    const std::string message =
        message_of<LoadError>([&] { net.load_state_dict(state, {.assign = assign}); });
    before.expect_the_same();
    EXPECT_THAT(message, HasSubstr("While swapping the parameter named \"fc2.weight\", whose "
                                   "dimensions in the model are torch.Size([2, 3])"));
    EXPECT_THAT(message, HasSubstr("1 live view"));
  }
  EXPECT_TRUE(net.load_state_dict(copied(net.state_dict())).empty());
}

TEST(LoadErrorsOfSwaps, SayThatTheyAreWhateverTheReason) {
  const SwapOnConversionScope swap;
  SmallNet net;
  StateDict state = copied(net.state_dict());
  state.set("fc2.weight", state.tensor("fc2.weight").to(Device("meta")));
  expect_error<LoadError>([&] { net.load_state_dict(state); },
                          "While swapping the parameter named \"fc2.weight\"",
                          "Cannot copy out of meta tensor; no data!");
}

// Extra state.

class Counter : public Module {
 public:
  Parameter weight{this, "weight", ones({1})};
  Value state = 0;
  bool fails = false;
  std::vector<std::string> given;

  std::optional<Value> get_extra_state() const override { return state; }
  void set_extra_state(const Value& value) override {
    given.push_back(value.repr());
    state = value;
    if (fails) throw Error("not this one");
  }
};
class Counters final : public Module {
 public:
  Child<Counter> first{this, "first"};
  Child<Counter> second{this, "second"};
};

TEST_P(LoadErrors, ExtraStateOfAnyKindGoesThere) {
  for (const Value& value :
       {Value(), Value(3), Value("text"), Value::dict({{"a", Value::list({1, 2})}}),
        Value(tensor({1.0, 2.0}))}) {
    Counters from, net;
    from.first->state = value;
    const StateDict state = from.state_dict();
    EXPECT_EQ(keys_of(state), (std::vector<std::string>{"first.weight", "first._extra_state",
                                                        "second.weight", "second._extra_state"}));
    EXPECT_TRUE(net.load_state_dict(state).empty());
    EXPECT_EQ(net.first->state.repr(), value.repr());
    EXPECT_EQ(net.first->given.size(), 1U);
  }
}

TEST_P(LoadErrors, ExtraStateIsMissingOrUnexpectedLikeAnyKey) {
  Counter counter;
  EXPECT_STREQ(refused(counter, state_of({{"weight", ones({1})}})).what(),
               "Error(s) in loading state_dict for Counter:\n\tMissing key(s) in state_dict: "
               "\"_extra_state\". ");
  EXPECT_THAT(counter.given, IsEmpty());
  SmallNet net;
  StateDict state = copied(net.state_dict());
  state.set("fc1._extra_state", 5);
  EXPECT_THAT(refused(net, state).unexpected_keys(), ElementsAre("fc1._extra_state"));
}

TEST_P(LoadErrors, AFailingExtraStateTakesBackTheOthers) {
  Counters net;
  net.first->state = 1;
  net.second->state = 2;
  Counters from;
  from.first->state = 10;
  from.second->state = 20;
  net.second->fails = true;
  StateDict state = copied(from.state_dict());
  state.set("first.weight", full({1}, 9.0));
  const Snapshot before(net);
  const std::string message = message_of<LoadError>([&] { net.load_state_dict(state); });
  before.expect_the_same();
  EXPECT_THAT(message, HasSubstr("While setting the extra state of a Counter, an exception "
                                 "occurred : not this one"));
  EXPECT_THAT(net.first->given, ElementsAre("10", "1"));
}

TEST_P(LoadErrors, ExtraStateIsNotSetIfAnythingElseIsWrong) {
  Counters net;
  StateDict state = copied(net.state_dict());
  state.set("second.weight", ones({2}));
  refused(net, state);
  EXPECT_THAT(net.first->given, IsEmpty());
}

// Many keys: if any of this took the square of them, it would not end before ctest does.

TEST(LoadErrorsOfManyKeys, AreShortInTextCompleteInFieldsAndLinearInTime) {
  constexpr int kKeys = 500'000;
  ParameterDict net;
  StateDict state;
  const Tensor one = make_parameter(ones({1})), other = ones({1});
  for (int i = 0; i < kKeys; ++i) {
    net.register_parameter("p" + std::to_string(i), one);
    state.set("q" + std::to_string(i), other);
  }
  try {
    net.load_state_dict(state);
    FAIL() << "no exception";
  } catch (const LoadError& error) {
    EXPECT_EQ(error.missing_keys().size(), std::size_t{kKeys});
    EXPECT_EQ(error.unexpected_keys().size(), std::size_t{kKeys});
    EXPECT_EQ(error.missing_keys().back(), "p499999");
    const std::string text = error.what();
    EXPECT_LT(text.size(), 1000U);
    EXPECT_THAT(text, HasSubstr("\"p19\" and 499980 more of 500000 (all are in "
                                "LoadError::missing_keys()). \n\tUnexpected key(s)"));
  }
}

TEST(LoadErrorsOfManyKeys, TwoHundredAreShownInFull) {
  ParameterDict net;
  for (int i = 0; i < 200; ++i)
    net.register_parameter("p" + std::to_string(i), make_parameter(ones({1})));
  expect_error<LoadError>([&] { net.load_state_dict({}); }, "\"p198\", \"p199\". ");
  net.register_parameter("p200", make_parameter(ones({1})));
  expect_error<LoadError>([&] { net.load_state_dict({}); }, "\"p19\" and 181 more of 201");
}

TEST(LoadErrorsOfManyKeys, OneTensorOfVeryManyNamesIsLinearToo) {
  constexpr int kNames = 200'000;
  ParameterDict net;
  StateDict state;
  const Tensor one = make_parameter(zeros({1})), value = ones({1});
  for (int i = 0; i < kNames; ++i) {
    net.register_parameter("p" + std::to_string(i), one);
    state.set("p" + std::to_string(i), value);
  }
  for (const bool assign : {false, true})
    EXPECT_TRUE(net.load_state_dict(state, {.assign = assign}).empty());
  EXPECT_TRUE(net["p0"].is(net["p199999"]));
  EXPECT_EQ(net["p0"].item<double>(), 1);
}

}  // namespace
}  // namespace tenon::nn
