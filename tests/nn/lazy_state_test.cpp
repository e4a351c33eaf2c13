// State dicts of lazy modules: what is in them, and what loading them into lazy and other modules
// does.
#include "nn/lazy_networks.h"
#include "support/matchers.h"
#include "support/modules.h"
#include "support/recorded.h"
#include "support/wrappers.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFixtures = TENON_SOURCE_DIR "/tests/nn/fixtures/";

TEST(LazyDraws, ComeInPyTorchsOrder) {
  const auto states = recorded::values("nn/cases/lazy_drawn");
  ASSERT_EQ(states.size(), 3U);
  for (const Value& state : states) {
    const std::int64_t seed = state.find("seed")->as_int();
    manual_seed(static_cast<std::uint64_t>(seed));
    LazyMixed net;
    net(ones({2, 3, 8, 8}));
    EXPECT_TRUE(equal(rand({3}), state.find("after")->as_tensor()));
    for (const auto& [name, parameter] : net.named_parameters())
      EXPECT_TRUE(equal(parameter, state.find(name)->as_tensor())) << name << " of seed " << seed;
  }
}

TEST(LazyDraws, AreTheRecordedStreams) {
  class LazyFirst : public Layer {
   public:
    Child<LazyLinear> a{this, "a", 6};
    Child<Linear> b{this, "b", 6, 3};

   protected:
    Tensor forward(const Tensor& x) override { return b(relu(a(x))); }
  };
  const Value streams = recorded::value("nn/cases/lazy_streams");
  EXPECT_EQ(streams.entries().size(), 12u);
  for (const std::uint64_t seed :
       {std::uint64_t{0}, std::uint64_t{11}, std::uint64_t{1099511627787}}) {
    manual_seed(seed);
    LazyFirst net;
    net(ones({2, 4}));
    for (const auto& [name, parameter] : net.named_parameters()) {
      const std::string key = "lazy." + name + "@" + std::to_string(seed);
      EXPECT_TRUE(equal(parameter, streams.find(key)->as_tensor())) << key;
    }
  }
}

TEST(LazyState, HasTheTensorsThemselves) {
  LazyBatchNorm1d norm;
  const StateDict state = norm.state_dict();
  EXPECT_THAT(keys_of(state),
              ElementsAre("weight", "bias", "running_mean", "running_var", "num_batches_tracked"));
  EXPECT_TRUE(state.at("weight").as_tensor().is(norm.weight));
  EXPECT_TRUE(state.at("running_mean").as_tensor().is(norm.running_mean));
  EXPECT_FALSE(state.at("num_batches_tracked").as_tensor().is(norm.num_batches_tracked));
  EXPECT_EQ(state.at("running_mean").repr(), "<UninitializedBuffer>");
  EXPECT_EQ(state.metadata().repr(), "OrderedDict({'': {'version': 2}})");
}

TEST(LazyState, DetachesWhatHasAShapeUnlessItIsToBeTheTensorsThemselves) {
  LazyLinear linear(4);
  linear.load_state_dict(state_of({{"bias", Value(ones({4}))}}), {.strict = false});
  ASSERT_TRUE(is_lazy(linear.weight));
  const StateDict detached = linear.state_dict();
  EXPECT_TRUE(detached.tensor("weight").is(linear.weight));
  EXPECT_FALSE(detached.tensor("bias").is(linear.bias));
  EXPECT_FALSE(detached.tensor("bias").requires_grad());
  EXPECT_EQ(detached.tensor("bias").data_ptr(), linear.bias->data_ptr());
  const StateDict kept = linear.state_dict({.keep_vars = true});
  EXPECT_TRUE(kept.tensor("weight").is(linear.weight));
  EXPECT_TRUE(kept.tensor("bias").is(linear.bias));
}

TEST(LazyState, HasNoBuffersThatAreNotPersistentWhetherTheyHaveAShapeOrNot) {
  class Buffers final : public Lazy<Layer> {
   public:
    Buffers() {
      register_buffer("lazy", uninitialized_buffer());
      register_buffer("lazy_unsaved", uninitialized_buffer(), {.persistent = false});
      register_buffer("plain", ones({2}));
      register_buffer("plain_unsaved", ones({2}), {.persistent = false});
      register_buffer("none", Tensor());
    }

   protected:
    void initialize_parameters(const Tensor& /*x*/) override {}
    Tensor forward(const Tensor& x) override { return x; }
  };
  const Buffers buffers;
  EXPECT_THAT(keys_of(buffers.state_dict()), ElementsAre("lazy", "plain"));
  EXPECT_THAT(keys_of(buffers.state_dict({.keep_vars = true})), ElementsAre("lazy", "plain"));
}

TEST(LazyState, ThatWasLoadedIsOfItsOwnSizesAndNoDryRunOfOthersChangesThat) {
  LazyMLP from, net;
  from(ones({10, 6}));
  net.load_state_dict(from.state_dict());
  const Tensor before = net.fc1->weight->detach().clone();
  expect_error<ShapeError>([&] { net(ones({10, 7})); }, "in fc1: Linear(in_features=6");
  EXPECT_TRUE(equal(net.fc1->weight, before));
  EXPECT_EQ(net.fc1->in_features, 6);
  EXPECT_TRUE(equal(net(ones({10, 6})), from(ones({10, 6}))));
}

// PyTorch's documentation calls them experimental; what made a warning of it is gone there.
TEST(LazyState, OfModulesThatAreMadeAndCalledWarnsOfNothing) {
  const WarningLog log;
  LazyMixed net;
  (void)net.state_dict();
  net(ones({2, 3, 8, 8}));
  EXPECT_TRUE(log.warnings.empty());
}

TEST(LazyLoad, TakesShapesAndKeepsDtypeDeviceAndIdentity) {
  LazyMLP from, net;
  from(ones({10, 6}));
  net.double_();
  net.fc1->weight->requires_grad_(false);
  const Tensor weight = net.fc1->weight;
  net.load_state_dict(from.state_dict());
  EXPECT_TRUE(net.fc1->weight.get().is(weight));
  EXPECT_EQ(weight.dtype(), float64);
  EXPECT_FALSE(weight.requires_grad());
  EXPECT_TRUE(net.fc1->bias->requires_grad());
  EXPECT_TRUE(equal(weight, from.fc1->weight->to(float64)));
  EXPECT_EQ(net.fc1->in_features, 6);
  EXPECT_EQ(net.repr(), from.repr());
  EXPECT_EQ(net.fc1->Module::as<LazyLinear>(), nullptr);
}

TEST(LazyLoad, WithAssignTakesTheTensorsThatCome) {
  LazyMLP from, net;
  from.double_();
  from(ones({10, 6}, {.dtype = float64}));
  const StateDict state = from.state_dict();
  net.load_state_dict(state, {.assign = true});
  EXPECT_EQ(net.fc1->weight->dtype(), float64);
  EXPECT_EQ(net.fc1->weight->data_ptr(), from.fc1->weight->data_ptr());
  EXPECT_TRUE(net.fc1->weight->requires_grad());
  EXPECT_EQ(net.repr(), from.repr());
}

TEST(LazyLoad, OfAnotherLazyOneWithAssignTakesItsDtype) {
  for (const ConversionPolicy policy : {ConversionPolicy::set_data, ConversionPolicy::swap}) {
    const ConversionScope scope(policy);
    LazyLinear from(4), net(4);
    from.half();
    const Tensor weight = net.weight;
    EXPECT_TRUE(net.load_state_dict(from.state_dict()).empty());
    EXPECT_EQ(net.weight->dtype(), float32);
    net.load_state_dict(from.state_dict(), {.assign = true});
    EXPECT_TRUE(is_lazy(net.weight));
    EXPECT_EQ(net.weight->dtype(), float16);
    EXPECT_FALSE(net.weight.get().is(from.weight));
    EXPECT_EQ(net.weight.get().is(weight), policy == ConversionPolicy::swap);
    EXPECT_EQ(net.type_name(), "LazyLinear");
  }
}

TEST(LazyLoad, OfWidthsThatContradictWhatIsKnownIsRefusedAndNothingChanges) {
  LazyLinear net(4);
  expect_error<LoadError>([&] { net.load_state_dict(Linear(3, 9).state_dict()); },
                          "size mismatch for weight: copying a param with shape torch.Size([9, 3]) "
                          "from checkpoint, the shape in current model is torch.Size([4, 3]).",
                          "size mismatch for bias: copying a param with shape torch.Size([9]) from "
                          "checkpoint, the shape in current model is torch.Size([4]).");
  EXPECT_TRUE(is_lazy(net.weight));
  EXPECT_EQ(net.type_name(), "LazyLinear");
  LazyConv2d conv(4, 3);
  EXPECT_THROW(conv.load_state_dict(Conv2d(2, 4, 5).state_dict()), LoadError);
  EXPECT_THROW(conv.load_state_dict(Conv1d(2, 4, 3).state_dict()), LoadError);
  LazyConvTranspose2d up(4, 3, {.groups = 2});
  EXPECT_THROW(up.load_state_dict(ConvTranspose2d(3, 2, 3).state_dict()), LoadError);
  up.load_state_dict(ConvTranspose2d(6, 4, 3, {.groups = 2}).state_dict());
  EXPECT_EQ(up.in_channels, 6);
  LazyConv2d grouped(4, 3, {.groups = 2});
  grouped.load_state_dict(Conv2d(6, 4, 3, {.groups = 2}).state_dict());
  EXPECT_EQ(grouped.in_channels, 6);
}

TEST(LazyLoad, ASizeThatNothingSaysIsMinusOneInTheError) {
  LazyLinear net(4);
  expect_error<LoadError>(
      [&] { net.load_state_dict(Conv1d(2, 4, 3).state_dict()); },
      "size mismatch for weight: copying a param with shape torch.Size([4, 2, "
      "3]) from checkpoint, the shape in current model is torch.Size([4, -1]).");
  LazyConv2d grouped(4, 3, {.groups = 2});
  expect_error<LoadError>([&] { grouped.load_state_dict(Linear(3, 4).state_dict()); },
                          "the shape in current model is torch.Size([4, -1, 3, 3]).");
  LazyConvTranspose1d up(4, 3, {.groups = 2});
  expect_error<LoadError>([&] { up.load_state_dict(Linear(3, 4).state_dict()); },
                          "the shape in current model is torch.Size([-1, 2, 3]).");
  StateDict state = BatchNorm1d(3).state_dict();
  for (const char* name : {"weight", "bias", "running_mean", "running_var"})
    state.set(name, zeros({2, 2}));
  LazyBatchNorm1d norm;
  expect_error<LoadError>([&] { norm.load_state_dict(state); },
                          "size mismatch for running_mean: copying a param with shape "
                          "torch.Size([2, 2]) from checkpoint, the shape in current model is "
                          "torch.Size([-1]).");
}

TEST(LazyLoad, ANormWhoseTensorsDisagreeIsRefused) {
  StateDict state = BatchNorm1d(3).state_dict();
  state.set("running_mean", zeros({4}));
  LazyBatchNorm1d norm;
  expect_error<LoadError>([&] { norm.load_state_dict(state); },
                          "size mismatch for running_mean: copying a param with shape "
                          "torch.Size([4]) from checkpoint, the shape in current model is "
                          "torch.Size([3]).");
  EXPECT_TRUE(norm.has_uninitialized_params());
}

TEST(LazyLoad, MismatchedOnesCanBeLeftOut) {
  LazyLinear net(4);
  const auto report = net.load_state_dict(Linear(3, 9).state_dict(), {.skip_mismatched = true});
  ASSERT_EQ(report.mismatched.size(), 2u);
  EXPECT_EQ(report.mismatched[0].module, Shape({4, 3}));
  EXPECT_TRUE(net.has_uninitialized_params());
  net(ones({2, 5}));
  EXPECT_EQ(net.in_features, 5);
}

TEST(LazyLoad, OfAPartLeavesTheRestToTheFirstCallWhichKeepsWhatWasLoaded) {
  LazyLinear net(4);
  EXPECT_THROW(net.load_state_dict(state_of({{"bias", Value(ones({4}))}})), LoadError);
  EXPECT_TRUE(is_lazy(net.bias));
  net.load_state_dict(state_of({{"bias", Value(full({4}, 7.0))}}), {.strict = false});
  EXPECT_FALSE(is_lazy(net.bias));
  EXPECT_TRUE(is_lazy(net.weight));
  EXPECT_EQ(net.type_name(), "LazyLinear");
  net(ones({2, 3}));
  EXPECT_TRUE(equal(net.bias, full({4}, 7.0)));
  EXPECT_EQ(net.repr(), "Linear(in_features=3, out_features=4, bias=True)");
  LazyLinear other(4);
  other.load_state_dict(state_of({{"weight", Value(ones({4, 3}))}}), {.strict = false});
  EXPECT_EQ(other.in_features, 3);
  EXPECT_EQ(other.type_name(), "LazyLinear");
  expect_error<ValueError>(
      [&] { other(ones({2, 5})); },
      "The in_features inferred from input: 5 is not equal to in_features from self.weight: 3");
  other(ones({2, 3}));
  EXPECT_TRUE(equal(other.weight, ones({4, 3})));
}

TEST(LazyLoad, ThatFailsElsewhereLeavesItLazy) {
  LazyMLP net, from;
  from(ones({10, 6}));
  StateDict state = copied(from.state_dict());
  state.set("more", ones({1}));
  EXPECT_THROW(net.load_state_dict(state), LoadError);
  EXPECT_TRUE(is_lazy(net.fc1->weight));
  EXPECT_EQ(net.fc1->type_name(), "LazyLinear");
}

TEST(LazyLoad, OnMetaTakesShapesAndWithAssignEverything) {
  LazyMLP from;
  from(ones({10, 6}));
  const auto net = with_device("meta", [] { return make<LazyMLP>(); });
  const WarningLog log;
  net->load_state_dict(from.state_dict());
  EXPECT_TRUE(net->fc1->weight->is_meta());
  EXPECT_EQ(net->fc1->weight->shape(), Shape({10, 6}));
  EXPECT_EQ(net->repr(), from.repr());
  ASSERT_EQ(log.warnings.size(), 1u);
  EXPECT_THAT(log.warnings[0], HasSubstr("copying from a non-meta parameter in the checkpoint"));
  const auto other = with_device("meta", [] { return make<LazyMLP>(); });
  EXPECT_THROW(other->load_state_dict(from.state_dict(), {.allow_meta = false}), LoadError);
  EXPECT_TRUE(is_lazy(other->fc1->weight));
  other->load_state_dict(from.state_dict(), {.assign = true, .allow_meta = false});
  EXPECT_TRUE(other->fc1->weight->is_cpu());
  // From meta there is nothing to be copied.
  LazyMLP real;
  expect_error<LoadError>([&] { real.load_state_dict(net->state_dict()); },
                          "Cannot copy out of meta tensor; no data!");
  EXPECT_TRUE(is_lazy(real.fc1->weight));
}

TEST(LazyLoad, OfTiedOnesGivesOneTensor) {
  class Tied : public Module {
   public:
    Child<LazyLinear> a{this, "a", 4};
    Child<LazyLinear> b{this, "b", 4};
    Tied() { b->weight = a->weight; }
  };
  for (const bool assign : {false, true}) {
    Tied net;
    StateDict state;
    const Linear from(3, 4);
    state.set("a.weight", from.weight->detach());
    state.set("a.bias", from.bias->detach());
    state.set("b.weight", from.weight->detach());
    state.set("b.bias", from.bias->detach());
    net.load_state_dict(state, {.assign = assign});
    EXPECT_TRUE(net.a->weight.get().is(net.b->weight));
    EXPECT_TRUE(equal(net.a->weight, from.weight));
    EXPECT_EQ(net.b->in_features, 3);
    EXPECT_EQ(net.b->type_name(), "Linear");
  }
}

TEST(LazyLoad, OfAUsersModuleWaitsForItsFirstCallUnlessItsClassSaysMore) {
  class Scale : public Layer {
   public:
    Parameter scale{this, "scale"};

   protected:
    Tensor forward(const Tensor& x) override { return x * scale; }
  };
  class LazyScale : public Lazy<Scale> {
   public:
    LazyScale() { scale = uninitialized_parameter(); }
    void initialize_parameters(const Tensor& /*input*/) override { ++calls; }
    bool sizes_from_tensors() override { return knows; }
    int calls = 0;
    bool knows = false;
  };
  const StateDict state = state_of({{"scale", Value(full({3}, 2.0))}});
  LazyScale waits;
  waits.load_state_dict(state);
  EXPECT_EQ(waits.type_name(), "LazyScale");
  EXPECT_TRUE(equal(waits(ones({3})), full({3}, 2.0)));
  EXPECT_EQ(waits.calls, 1);
  EXPECT_EQ(waits.type_name(), "Scale");
  LazyScale knows;
  knows.knows = true;
  knows.load_state_dict(state);
  EXPECT_EQ(knows.type_name(), "Scale");
  knows(ones({3}));
  EXPECT_EQ(knows.calls, 0);
}

TEST(LazyLoad, OfAUserDefinedTensorIsItsOwnAffair) {
  const auto state = [] {
    return state_of({{"weight", Value(make_tensor<ScaledTensor>(full({4, 3}, 2.0), 0.5))}});
  };
  LazyLinear assigned(4, {.bias = false});
  assigned.load_state_dict(state(), {.assign = true});
  EXPECT_NE(assigned.weight->as<ScaledTensor>(), nullptr);
  EXPECT_TRUE(assigned.weight->is_parameter());
  EXPECT_EQ(assigned.repr(), "Linear(in_features=3, out_features=4, bias=False)");
  // It does not say how it is copied into a plain tensor.
  LazyLinear copied_into(4, {.bias = false});
  EXPECT_THROW(copied_into.load_state_dict(state()), LoadError);
  EXPECT_TRUE(is_lazy(copied_into.weight));
  EXPECT_EQ(copied_into.type_name(), "LazyLinear");
}

TEST(LazyOptimizers, FollowParametersThatMaterialise) {
  const auto steps = [](auto make_optimizer) {
    Sequential net(make<LazyLinear>(4), make<LazyLinear>(2));
    auto optimizer = make_optimizer(net.parameters());
    optimizer.step();  // there is nothing to be done
    optimizer.zero_grad();
    net(ones({3, 5})).sum().backward();
    const Tensor before = net.get_parameter("0.weight").detach().clone();
    optimizer.step();
    EXPECT_FALSE(equal(net.get_parameter("0.weight"), before));
    EXPECT_TRUE(optimizer.stale_parameters(net).empty());
  };
  steps([](const auto& p) { return optim::SGD(p, {.lr = 0.1, .momentum = 0.9}); });
  steps([](const auto& p) { return optim::Adam(p, {.lr = 0.1}); });
  steps([](const auto& p) { return optim::AdamW(p, {.lr = 0.1}); });
  steps([](const auto& p) { return optim::RMSprop(p, {.lr = 0.1}); });
  // What keeps state from the beginning needs shapes at the beginning, as in PyTorch.
  LazyLinear lazy(4);
  expect_error<Error>([&] { optim::Adagrad(lazy.parameters(), {.lr = 0.1}); }, "uninitialized");
}

TEST(LazyOptimizers, TakeStateForParametersWithoutAShape) {
  manual_seed(3);
  LazyLinear trained(4);
  optim::Adam optimizer(trained.parameters(), {.lr = 0.1});
  trained(ones({3, 5})).sum().backward();
  optimizer.step();
  LazyLinear lazy(4);
  optim::Adam other(lazy.parameters(), {.lr = 0.1});
  other.load_state_dict(optimizer.state_dict());
  lazy.load_state_dict(trained.state_dict());
  for (LazyLinear* net : {&trained, &lazy}) {
    net->zero_grad();
    (*net)(ones({3, 5})).sum().backward();
  }
  optimizer.step();
  other.step();
  EXPECT_TRUE(equal(lazy.weight, trained.weight));
  EXPECT_THROW(other.add_param_group({{lazy.weight.get()}}), ValueError);
}

TEST(LazyOptimizers, StepAsThoseThatWereMadeAfterwards) {
  manual_seed(3);
  LazyLinear early(4);
  optim::Adam first(early.parameters(), {.lr = 0.1});
  early(ones({3, 5}));
  manual_seed(3);
  LazyLinear late(4);
  late(ones({3, 5}));
  optim::Adam second(late.parameters(), {.lr = 0.1});
  for (int i = 0; i < 3; ++i) {
    for (LazyLinear* net : {&early, &late}) (*net)(ones({3, 5})).pow(2).sum().backward();
    first.step();
    second.step();
  }
  EXPECT_TRUE(equal(early.weight, late.weight));
  EXPECT_TRUE(equal(early.bias, late.bias));
}

}  // namespace
}  // namespace tenon::nn
