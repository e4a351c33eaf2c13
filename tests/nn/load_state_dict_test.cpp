// What load_state_dict puts where. Every case that does not say otherwise is run twice: with loads
// that swap and with loads that do not.
#include <optional>

#include "support/matchers.h"
#include "support/modules.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Loads : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { scope_.emplace(GetParam()); }
  static bool swaps() { return GetParam(); }

 private:
  std::optional<SwapOnConversionScope> scope_;
};
INSTANTIATE_TEST_SUITE_P(CopyAndSwap, Loads, testing::Bool(),
                         [](const auto& one) { return one.param ? "Swap" : "Copy"; });

TEST_P(Loads, WhatFitsMatchesAndIsCopied) {
  SmallNet from, net;
  const Snapshot source(from);
  const IncompatibleKeys keys = net.load_state_dict(from.state_dict());
  EXPECT_TRUE(keys.empty());
  EXPECT_THAT(keys.missing_keys, IsEmpty());
  EXPECT_THAT(keys.unexpected_keys, IsEmpty());
  EXPECT_EQ(keys.repr(), "<All keys matched successfully>");
  for (const auto& [key, value] : from.state_dict()) {
    EXPECT_TRUE(equal(net.state_dict().tensor(key), value.as_tensor())) << key;
    EXPECT_NE(net.state_dict().tensor(key).data_ptr(), value.as_tensor().data_ptr()) << key;
  }
  source.expect_the_same();
}

TEST_P(Loads, CopyingKeepsEverythingButTheNumbers) {
  SmallNet net;
  const Tensor weight = net.fc1->weight, count = net.count;
  const std::uint64_t id = weight.id(), count_id = count.id();
  const void *data = weight.data_ptr(), *count_data = count.data_ptr();
  const Tensor grad = ones({3, 2});
  weight.set_grad(grad);
  weight.set_attribute("note", Value("mine"));
  const std::int64_t version = weight.version();
  StateDict state = copied(net.state_dict());
  state.set("fc1.weight", full({3, 2}, 7, {.dtype = float64}));
  state.set("count", full({}, 3, {.dtype = int64}));
  net.load_state_dict(state);
  EXPECT_TRUE(weight.is(net.fc1->weight));
  EXPECT_TRUE(count.is(net.count));
  EXPECT_EQ(weight.id(), id);
  EXPECT_EQ(count.id(), count_id);
  EXPECT_EQ(weight.data_ptr(), data);
  EXPECT_EQ(count.data_ptr(), count_data);
  EXPECT_EQ(weight.dtype(), float32);
  EXPECT_EQ(count.dtype(), float32);
  EXPECT_TRUE(equal(weight.detach(), full({3, 2}, 7.0)));
  EXPECT_EQ(count.item<double>(), 3);
  EXPECT_GT(weight.version(), version);
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_TRUE(weight.is_parameter());
  EXPECT_FALSE(count.is_parameter());
  EXPECT_TRUE(weight.grad().is(grad));
  ASSERT_TRUE(weight.attribute("note").has_value());
  EXPECT_EQ(weight.attribute("note")->as_string(), "mine");
}

TEST_P(Loads, APartChangesOnlyItsKeysWhenNotStrict) {
  SmallNet net;
  const Tensor scale = net.scale->clone(), second = net.fc2->weight->clone();
  const IncompatibleKeys keys = net.load_state_dict(
      state_of({{"fc1.weight", full({3, 2}, 4.0)}, {"more", ones({1})}}), {.strict = false});
  EXPECT_THAT(keys.missing_keys, ElementsAre("scale", "count", "fc1.bias", "fc2.weight"));
  EXPECT_THAT(keys.unexpected_keys, ElementsAre("more"));
  EXPECT_FALSE(keys.empty());
  EXPECT_TRUE(equal(net.fc1->weight->detach(), full({3, 2}, 4.0)));
  EXPECT_TRUE(equal(net.scale, scale));
  EXPECT_TRUE(equal(net.fc2->weight, second));
}

TEST_P(Loads, BuffersThatAreNotSavedAreNotExpected) {
  SmallNet net;
  EXPECT_FALSE(net.state_dict().contains("tmp"));
  StateDict state = copied(net.state_dict());
  state.set("tmp", ones({2}));
  EXPECT_THAT(net.load_state_dict(state, {.strict = false}).unexpected_keys, ElementsAre("tmp"));
  EXPECT_TRUE(equal(net.tmp, zeros({2})));
}

TEST_P(Loads, KeysOfNullEntriesAreUnexpectedAndThoseBelowANullChildNobodys) {
  SmallNet net;
  StateDict state = copied(net.state_dict());
  state.set("gone.weight", ones({2}));
  state.set("gone.deeper.weight", ones({2}));
  EXPECT_TRUE(net.load_state_dict(state).empty());
  state.set("gone", ones({2}));      // the name of a child is no name of a tensor
  state.set("fc2.bias", ones({2}));  // null there
  EXPECT_THAT(net.load_state_dict(state, {.strict = false}).unexpected_keys,
              ElementsAre("gone", "fc2.bias"));
}

TEST_P(Loads, OneElementFillsATensorWithoutDimensions) {
  SmallNet net;
  StateDict state = copied(net.state_dict());
  state.set("count", tensor({5.0}));
  for (const bool assign : {false, true}) {
    net.count->zero_();
    EXPECT_TRUE(net.load_state_dict(state, {.assign = assign}).empty());
    EXPECT_EQ(net.count->dim(), 0);
    EXPECT_EQ(net.count->item<double>(), 5);
  }
  EXPECT_EQ(state.tensor("count").shape(), Shape({1}));
  state.set("count", tensor({5.0, 6.0}));
  const std::string message = message_of<LoadError>([&] { net.load_state_dict(state); });
  EXPECT_THAT(message,
              HasSubstr("size mismatch for count: copying a param with shape torch.Size([2]) from "
                        "checkpoint, the shape in current model is torch.Size([])."));
  state.set("count", ones({1, 1}));
  expect_error<LoadError>([&] { net.load_state_dict(state); }, "torch.Size([1, 1])");
}

TEST_P(Loads, AssigningTakesTheCheckpointsMemoryDtypeAndStrides) {
  SmallNet net;
  const Tensor weight = net.fc1->weight, count = net.count;
  weight.set_grad(ones({3, 2}));
  StateDict state = copied(net.state_dict());
  const Tensor incoming = arange(6.0).view({2, 3}).to(float64).t(), total = full({}, 9.0);
  state.set("fc1.weight", incoming);
  state.set("count", total);
  net.load_state_dict(state, {.assign = true});
  const Tensor now = net.fc1->weight;
  EXPECT_EQ(now.is(weight), swaps());
  EXPECT_EQ(now.data_ptr(), incoming.data_ptr());
  EXPECT_EQ(now.dtype(), float64);
  EXPECT_EQ(now.stride(), Dims({1, 3}));
  EXPECT_TRUE(now.is_parameter());
  EXPECT_TRUE(now.requires_grad());
  EXPECT_TRUE(now.is_leaf());
  EXPECT_FALSE(now.grad().defined());  // another dtype
  EXPECT_FALSE(incoming.requires_grad());
  EXPECT_FALSE(incoming.is_parameter());
  EXPECT_EQ(net.count->data_ptr(), total.data_ptr());
  EXPECT_EQ(net.count.get().is(total), !swaps());
  EXPECT_EQ(net.count.get().is(count), swaps());
}

TEST_P(Loads, AssigningBySwapKeepsTheGradThatStillFits) {
  SmallNet net;
  const Tensor weight = net.fc1->weight, grad = ones({3, 2});
  weight.set_grad(grad);
  weight.set_attribute("note", Value(1));
  net.load_state_dict(copied(net.state_dict()), {.assign = true});
  EXPECT_EQ(net.fc1->weight->grad().defined(), swaps());
  EXPECT_EQ(net.fc1->weight->attribute("note").has_value(), swaps());
  if (swaps()) {
    EXPECT_TRUE(net.fc1->weight->grad().is(grad));
  }
}

TEST_P(Loads, RequiresGradIsTheModulesAndNotTheCheckpoints) {
  for (const bool keep_vars : {false, true}) {
    for (const bool assign : {false, true}) {
      SmallNet from, net;
      from.fc1->weight->requires_grad_(false);
      net.fc1->bias->requires_grad_(false);
      net.load_state_dict(from.state_dict({.keep_vars = keep_vars}), {.assign = assign});
      EXPECT_TRUE(net.fc1->weight->requires_grad()) << keep_vars << assign;
      EXPECT_FALSE(net.fc1->bias->requires_grad()) << keep_vars << assign;
      EXPECT_TRUE(net.scale->requires_grad());
      EXPECT_FALSE(net.count->requires_grad());
    }
  }
}

TEST_P(Loads, AssigningOntoMetaMakesItReal) {
  for (const bool keep_vars : {false, true}) {
    SmallNet from;
    from.fc2->weight->requires_grad_(false);
    auto net = with_device(Device::meta(), [] { return std::make_unique<SmallNet>(); });
    net->scale->requires_grad_(false);
    const std::vector<Tensor> before = net->parameters();
    const Tensor count = net->count;
    const StateDict state = from.state_dict({.keep_vars = keep_vars});
    EXPECT_TRUE(net->load_state_dict(state, {.assign = true}).empty());
    std::size_t i = 0;
    for (const auto& [name, parameter] : net->named_parameters()) {
      EXPECT_TRUE(equal(parameter.detach(), state.tensor(name).detach())) << name;
      EXPECT_EQ(parameter.is(before[i]), swaps()) << name;
      EXPECT_EQ(parameter.is(state.tensor(name)), keep_vars && !swaps()) << name;
      EXPECT_EQ(parameter.data_ptr(), state.tensor(name).data_ptr()) << name;
      EXPECT_EQ(parameter.requires_grad(), name != "scale") << name;
      ++i;
    }
    EXPECT_EQ(net->count.get().is(count), swaps());
    EXPECT_EQ(net->count.get().is(state.tensor("count")), !swaps());
    EXPECT_EQ(keys_of(net->state_dict()), keys_of(from.state_dict()));
    EXPECT_THAT(net->meta_tensors(), ElementsAre("tmp"));
    const Tensor x = ones({1, 2});
    EXPECT_TRUE(equal((*net->fc1)(x), (*from.fc1)(x)));
  }
}

TEST_P(Loads, CopyingOntoMetaDoesNothingAndSaysSoOnce) {
  SmallNet from;
  auto net = with_device(Device::meta(), [] { return std::make_unique<SmallNet>(); });
  const Snapshot before(*net);
  const WarningLog log;
  EXPECT_TRUE(net->load_state_dict(from.state_dict()).empty());
  before.expect_the_same();
  ASSERT_EQ(log.warnings.size(), 1U);
  EXPECT_THAT(log.warnings[0],
              HasSubstr("for scale and 4 more: copying from a non-meta parameter in the checkpoint "
                        "to a meta parameter in the current model, which is a no-op. (Did you mean "
                        "to pass .assign = true"));
}

TEST_P(Loads, MetaOntoMetaIsSilent) {
  auto from = with_device(Device::meta(), [] { return std::make_unique<SmallNet>(); });
  auto net = with_device(Device::meta(), [] { return std::make_unique<SmallNet>(); });
  const WarningLog log;
  EXPECT_TRUE(net->load_state_dict(from->state_dict()).empty());
  EXPECT_THAT(log.warnings, IsEmpty());
}

TEST_P(Loads, TheCallersDictIsNeverChangedAndASecondLoadIsPlain) {
  SmallNet from, first, second;
  const StateDict state = copied(from.state_dict());
  const Value metadata = state.metadata();
  const std::string before = state.repr(), metadata_before = metadata.repr();
  first.load_state_dict(state, {.assign = true});
  EXPECT_EQ(state.repr(), before);
  EXPECT_EQ(state.metadata().repr(), metadata_before);
  second.load_state_dict(state);
  EXPECT_EQ(first.fc1->weight->data_ptr(), state.tensor("fc1.weight").data_ptr());
  EXPECT_NE(second.fc1->weight->data_ptr(), state.tensor("fc1.weight").data_ptr());
  EXPECT_TRUE(equal(second.fc1->weight, first.fc1->weight));
}

TEST_P(Loads, WhatWouldStayOnMetaCanBeAnError) {
  SmallNet from;
  auto net = with_device(Device::meta(), [] { return std::make_unique<SmallNet>(); });
  const Snapshot before(*net);
  expect_error<LoadError>(
      [&] { net->load_state_dict(from.state_dict(), {.assign = true, .allow_meta = false}); },
      "1 tensor would be on meta, without data: \"tmp\"", "to_empty()");
  expect_error<LoadError>([&] { net->load_state_dict(from.state_dict(), {.allow_meta = false}); },
                          "6 tensors would be on meta",
                          "\"scale\", \"fc1.weight\", \"fc1.bias\", \"fc2.weight\", \"count\", "
                          "\"tmp\"");
  before.expect_the_same();
  net->tmp = zeros({2});
  EXPECT_TRUE(
      net->load_state_dict(from.state_dict(), {.assign = true, .allow_meta = false}).empty());
  EXPECT_THAT(net->meta_tensors(), IsEmpty());
}

TEST_P(Loads, ARealTensorThatWouldBecomeMetaIsOneThatWouldBeOnMeta) {
  SmallNet net;
  const Snapshot before(net);
  StateDict state = copied(net.state_dict());
  state.set("fc1.bias", empty({3}, {.device = Device::meta()}));
  expect_error<LoadError>(
      [&] { net.load_state_dict(state, {.assign = true, .allow_meta = false}); },
      "1 tensor would be on meta", "\"fc1.bias\"");
  before.expect_the_same();
  net.load_state_dict(state, {.assign = true});
  EXPECT_THAT(net.meta_tensors(), ElementsAre("fc1.bias"));
}

TEST_P(Loads, TensorsOfAnotherShapeAreLeftOutOnRequest) {
  SmallNet net;
  const Tensor weight = net.fc1->weight, old = weight.detach().clone();
  StateDict state = copied(net.state_dict());
  state.set("fc1.weight", ones({4, 2}));
  state.set("scale", full({2}, 8.0));
  for (const bool assign : {false, true}) {
    const IncompatibleKeys keys =
        net.load_state_dict(state, {.assign = assign, .skip_mismatched = true});
    ASSERT_EQ(keys.mismatched.size(), 1U);
    EXPECT_EQ(keys.mismatched[0].key, "fc1.weight");
    EXPECT_EQ(keys.mismatched[0].checkpoint, Shape({4, 2}));
    EXPECT_EQ(keys.mismatched[0].module, Shape({3, 2}));
    EXPECT_FALSE(keys.empty());
    EXPECT_EQ(keys.repr(),
              "_IncompatibleKeys(missing_keys=[], unexpected_keys=[], "
              "mismatched_keys=['fc1.weight'])");
    EXPECT_TRUE(weight.is(net.fc1->weight));
    EXPECT_TRUE(equal(weight.detach(), old));
    EXPECT_EQ(net.scale->sum().item<double>(), 16);
  }
}

// A shared layer, and modules that are shared with all that is in them.
class Shared final : public Module {
 public:
  Child<Linear> first{this, "first", 2, 2};
  Child<Linear> again{this, "again", first.share()};
  Child<Linear> gone{this, "gone", nullptr};
};

TEST_P(Loads, ASharedModuleTakesWhatItsLastNameHas) {
  Shared net;
  const StateDict own = net.state_dict();
  EXPECT_THAT(keys_of(own),
              ElementsAre("first.weight", "first.bias", "again.weight", "again.bias"));
  StateDict state = copied(own);
  EXPECT_THAT(net.load_state_dict(state).tie_conflicts, IsEmpty());
  state.set("first.bias", full({2}, 1.0));
  state.set("again.bias", full({2}, 2.0));
  for (const bool assign : {false, true}) {
    const IncompatibleKeys keys = net.load_state_dict(state, {.assign = assign});
    EXPECT_TRUE(equal(net.first->bias->detach(), full({2}, 2.0)));
    EXPECT_THAT(keys.tie_conflicts, ElementsAre("first.bias"));
  }
  const Snapshot before(net);
  state.set("again.bias", full({2}, 3.0));
  expect_error<LoadError>([&] { net.load_state_dict(state, {.allow_tie_conflicts = false}); },
                          "\"first.bias\" and \"again.bias\" are one tensor in the module");
  before.expect_the_same();
}

TEST(IncompatibleKeysText, IsPyTorchs) {
  IncompatibleKeys keys;
  EXPECT_EQ(keys.repr(), "<All keys matched successfully>");
  keys.missing_keys = {"a", "b's"};
  EXPECT_EQ(keys.repr(), "_IncompatibleKeys(missing_keys=['a', \"b's\"], unexpected_keys=[])");
  keys.unexpected_keys = {"c"};
  std::ostringstream out;
  out << keys;
  EXPECT_EQ(out.str(), "_IncompatibleKeys(missing_keys=['a', \"b's\"], unexpected_keys=['c'])");
}

}  // namespace
}  // namespace tenon::nn
