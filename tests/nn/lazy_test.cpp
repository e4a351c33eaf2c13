// Lazy modules: their life from a class without sizes to the plain one, what conversions, clones
// and optimizers make of them, and users' own. Texts are those of PyTorch 2.14.1.
#include "tenon/nn/lazy.h"

#include <algorithm>

#include "nn/lazy_networks.h"
#include "support/matchers.h"
#include "support/modules.h"
#include "support/wrappers.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;

// A user's: a plain class, and a lazy one that becomes it.
class Scale : public Layer {
 public:
  Parameter scale{this, "scale"};
  Buffer seen{this, "seen"};
  Scale() = default;

 protected:
  Tensor forward(const Tensor& x) override { return x * scale; }
};
class LazyScale final : public Lazy<Scale> {
 public:
  LazyScale() {
    scale = uninitialized_parameter();
    seen = uninitialized_buffer();
  }
  void initialize_parameters(const Tensor& input) override {
    ++calls;
    if (!has_uninitialized_params()) return;
    materialize(scale, {input.size(-1)});
    init::ones_(scale);
    if (forgets) return;
    materialize(seen, {2});
    seen->fill_(0);
  }
  int calls = 0;
  bool forgets = false;
};
// One that has no plain class to become.
class StaysLazy final : public Lazy<Layer> {
 public:
  Parameter scale{this, "scale", uninitialized_parameter()};
  void initialize_parameters(const Tensor& input) override { materialize(scale, input.shape()); }

 protected:
  Tensor forward(const Tensor& x) override { return x + 1; }
};
class SaysNothing final : public Lazy<Layer> {
 protected:
  Tensor forward(const Tensor& x) override { return x; }
};
class DoesNothing final : public Lazy<Layer> {
 public:
  void initialize_parameters(const Tensor& /*input*/) override {}

 protected:
  Tensor forward(const Tensor& x) override { return x; }
};

TEST(LazyMLP, PrintsWhatTheDocumentationSaysBeforeAndAfter) {
  LazyMLP net;
  EXPECT_EQ(net.repr(),
            "LazyMLP(\n"
            "  (fc1): LazyLinear(in_features=0, out_features=10, bias=True)\n"
            "  (relu1): ReLU()\n"
            "  (fc2): LazyLinear(in_features=0, out_features=1, bias=True)\n"
            "  (relu2): ReLU()\n)");
  EXPECT_EQ(net.state_dict().repr(),
            "OrderedDict({'fc1.weight': <UninitializedParameter>, 'fc1.bias': "
            "<UninitializedParameter>, 'fc2.weight': <UninitializedParameter>, 'fc2.bias': "
            "<UninitializedParameter>})");
  EXPECT_EQ(net(ones({10, 10})).shape(), Shape({10, 1}));
  EXPECT_EQ(net.repr(),
            "LazyMLP(\n"
            "  (fc1): Linear(in_features=10, out_features=10, bias=True)\n"
            "  (relu1): ReLU()\n"
            "  (fc2): Linear(in_features=10, out_features=1, bias=True)\n"
            "  (relu2): ReLU()\n)");
}

TEST(LazyLinear, BecomesALinearAtItsFirstCall) {
  LazyLinear lazy(10);
  Module& module = lazy;
  EXPECT_TRUE(lazy.has_uninitialized_params());
  EXPECT_TRUE(is_lazy(lazy.weight));
  EXPECT_TRUE(is_lazy(lazy.bias));
  EXPECT_NE(module.as<LazyLinear>(), nullptr);
  EXPECT_NE(module.as<Linear>(), nullptr);
  EXPECT_NE(module.as<LazyModuleMixin>(), nullptr);
  const Tensor x = rand({5, 5}), y = lazy(x);
  EXPECT_FALSE(lazy.has_uninitialized_params());
  EXPECT_EQ(lazy.weight->shape(), Shape({10, 5}));
  EXPECT_EQ(lazy.bias->shape(), Shape({10}));
  EXPECT_EQ(lazy.in_features, 5);
  EXPECT_TRUE(equal(y, linear(x, lazy.weight, lazy.bias)));
  EXPECT_EQ(module.type_name(), "Linear");
  EXPECT_EQ(module.repr(), "Linear(in_features=5, out_features=10, bias=True)");
  EXPECT_EQ(module.as<LazyLinear>(), nullptr);
  EXPECT_EQ(std::as_const(module).as<LazyLinear>(), nullptr);
  EXPECT_EQ(module.as<LazyModuleMixin>(), nullptr);
  EXPECT_EQ(module.as<Linear>(), &lazy);
}

TEST(LazyLinear, DrawsAsPyTorchDoesAtTheFirstCallAndNothingBefore) {
  manual_seed(0);
  LazyLinear lazy(2);
  lazy(ones({1, 3}));
  // torch.manual_seed(0); m = nn.LazyLinear(2); m(torch.ones(1, 3)); m.weight, m.bias
  EXPECT_EQ(lazy.weight->detach().repr(),
            "tensor([[-0.0043,  0.3097, -0.4752],\n        [-0.4249, -0.2224,  0.1548]])");
  EXPECT_EQ(lazy.bias->detach().repr(), "tensor([-0.0114,  0.4578])");
  manual_seed(0);
  LazyLinear another(2);
  EXPECT_EQ(rand({1}).repr(), "tensor([0.4963])");
}

TEST(LazyLinear, WithoutABiasHasNone) {
  LazyLinear lazy(4, {.bias = false});
  EXPECT_EQ(lazy.repr(), "LazyLinear(in_features=0, out_features=4, bias=False)");
  lazy(ones({2, 3}));
  EXPECT_FALSE(lazy.bias.defined());
  EXPECT_EQ(lazy.repr(), "Linear(in_features=3, out_features=4, bias=False)");
}

TEST(LazyLinear, AnInputWithoutDimensionsIsRefusedAndTheLayerStaysLazy) {
  LazyLinear lazy(4);
  EXPECT_THROW(lazy(tensor(1.0)), ShapeError);
  EXPECT_TRUE(lazy.has_uninitialized_params());
  EXPECT_EQ(lazy.type_name(), "LazyLinear");
  lazy(ones({3}));
  EXPECT_EQ(lazy.in_features, 3);
}

TEST(LazyLinear, ResettingItWhileItIsLazyDoesNothing) {
  LazyLinear lazy(4);
  lazy.reset_parameters();
  EXPECT_TRUE(lazy.has_uninitialized_params());
}

TEST(LazyLinear, CalledFirstInInferenceModeCanBeTrainedAfterwards) {
  LazyLinear lazy(3);
  {
    const InferenceModeScope inference;
    EXPECT_TRUE(lazy(ones({1, 2})).is_inference());
  }
  EXPECT_FALSE(lazy.weight->is_inference());
  lazy(ones({1, 2})).sum().backward();
  EXPECT_TRUE(equal(lazy.weight->grad(), ones({3, 2})));
  optim::SGD(lazy.parameters(), {.lr = 0.1}).step();
}

TEST(LazyChain, IsInitialisedByOneCall) {
  Sequential net(make<LazyLinear>(15), make<LazyLinear>(10));
  net(ones({5, 10}));
  EXPECT_EQ(net.get_parameter("0.weight").shape(), Shape({15, 10}));
  EXPECT_EQ(net.get_parameter("1.weight").shape(), Shape({10, 15}));
}

// test_lazy_module_parameter, test_lazy_module_buffer: a user's module.
TEST(LazyModule, OfAUserBecomesItsPlainClass) {
  LazyScale lazy;
  EXPECT_EQ(lazy.type_name(), "LazyScale");
  EXPECT_TRUE(lazy.is_waiting());
  lazy(ones({2, 3}));
  EXPECT_EQ(lazy.type_name(), "Scale");
  EXPECT_FALSE(lazy.is_waiting());
  EXPECT_TRUE(lazy.became_plain());
  EXPECT_EQ(lazy.Module::as<LazyScale>(), nullptr);
  lazy(ones({2, 3}));
  EXPECT_EQ(lazy.calls, 1);
}

TEST(LazyModule, WithNoClassToBecomeStaysOfItsOwn) {
  StaysLazy lazy;
  EXPECT_EQ(lazy(ones({2})).sum().item<double>(), 4);
  EXPECT_EQ(lazy.type_name(), "StaysLazy");
  EXPECT_FALSE(lazy.is_waiting());
  EXPECT_FALSE(lazy.became_plain());
  EXPECT_NE(lazy.Module::as<StaysLazy>(), nullptr);
  lazy(ones({7}));  // is not asked again
  EXPECT_EQ(lazy.scale->shape(), Shape({2}));
}

TEST(LazyModule, ThatLeavesSomethingOpenIsNamed) {
  LazyScale lazy;
  lazy.forgets = true;
  expect_error<Error>([&] { lazy(ones({2, 3})); },
                      "module LazyScale has not been fully initialized");
  EXPECT_EQ(lazy.type_name(), "LazyScale");
  lazy.forgets = false;
  materialize(lazy.seen, {2});
  lazy(ones({2, 3}));
  EXPECT_EQ(lazy.type_name(), "Scale");
}

TEST(LazyModule, WithoutAnInitialisationSaysSo) {
  SaysNothing lazy;
  expect_error<NotImplementedError>([&] { lazy(ones({1})); },
                                    "initialize_parameters is not implemented for SaysNothing");
}

TEST(LazyModule, HooksRunAroundTheInitialisationInTheirOrder) {
  LazyLinear lazy(4);
  std::vector<std::string> seen;
  lazy.register_forward_pre_hook(
      [&](Module& module, std::tuple<Tensor>&) { seen.push_back(module.type_name()); });
  lazy.register_forward_pre_hook(
      [&](Module& module, std::tuple<Tensor>& args) {
        seen.push_back(module.type_name());
        std::get<0>(args) = ones({2, 3});
      },
      {.prepend = true});
  lazy.register_forward_hook([&](Module& module, const std::tuple<Tensor>&, Tensor& result) {
    seen.push_back("after " + module.type_name());
    result = result + 1;
  });
  lazy(ones({2, 7}));
  EXPECT_THAT(seen, ElementsAre("LazyLinear", "Linear", "after Linear"));
  EXPECT_EQ(lazy.in_features, 3);
  lazy(ones({2, 3}));
  EXPECT_EQ(seen.size(), 6u);
}

// test_lazy_pre_forward_hook, test_lazy_forward_hook
TEST(LazyModule, HooksReplaceInputsAndResultsOfOneThatInitialisesNothing) {
  DoesNothing before, after;
  before.register_forward_pre_hook(
      [](Module&, std::tuple<Tensor>& args) { std::get<0>(args) = std::get<0>(args) + 1; });
  EXPECT_TRUE(equal(before(zeros({2, 2})), ones({2, 2})));
  after.register_forward_hook(
      [](Module&, const std::tuple<Tensor>&, Tensor& result) { result = result + 1; });
  EXPECT_TRUE(equal(after(zeros({2, 2})), ones({2, 2})));
}

TEST(LazyModule, TheInitialisingHookIsGoneAfterwardsAndOthersAreNot) {
  LazyScale lazy;
  RemovableHandle mine = lazy.register_forward_pre_hook([](Module&, std::tuple<Tensor>&) {});
  lazy(ones({2}));
  lazy(ones({2}));
  EXPECT_EQ(lazy.calls, 1);
  mine.remove();
  lazy(ones({2}));
}

TEST(LazyModule, IsInvokedByItsBaseToo) {
  LazyLinear lazy(4);
  Module& module = lazy;
  EXPECT_EQ(module(ones({2, 3})).shape(), Shape({2, 4}));
  EXPECT_EQ(lazy.in_features, 3);
}

TEST(LazyModule, ErrorsOfTheFirstCallSayWhichLayer) {
  LazyMLP net;
  expect_error<ShapeError>([&] { net(tensor(1.0)); }, "fc1: LazyLinear(");
}

// test_register_state_dict_pre_hook_lazy_module
TEST(LazyModule, StateDictPreHooksRunBeforeAndAfterTheFirstCall) {
  LazyLinear lazy(4);
  std::vector<std::string> prefixes;
  lazy.register_state_dict_pre_hook([&](Module&, const std::string& prefix, bool keep_vars) {
    prefixes.push_back(prefix + (keep_vars ? "yes" : "no"));
  });
  lazy.state_dict({.prefix = "a."});
  lazy(ones({2, 3}));
  lazy.state_dict({.prefix = "b.", .keep_vars = true});
  EXPECT_THAT(prefixes, ElementsAre("a.no", "b.yes"));
}

TEST(LazyConversion, KeepsItLazyWhateverThePolicy) {
  for (const ConversionPolicy policy :
       {ConversionPolicy::set_data, ConversionPolicy::overwrite, ConversionPolicy::swap}) {
    const ConversionScope scope(policy);
    LazyMLP net;
    const Tensor weight = net.fc1->weight;
    net.to(float64);
    EXPECT_TRUE(is_lazy(weight));
    EXPECT_TRUE(net.fc1->weight.get().is(weight));
    EXPECT_EQ(weight.dtype(), float64);
    net.half();
    net.bfloat16();
    net.to(Device::meta());
    EXPECT_TRUE(is_lazy(weight));
    EXPECT_TRUE(weight.is_meta());
    EXPECT_EQ(weight.dtype(), bfloat16);
    net.to_empty(Device::cpu());
    net.double_();
    EXPECT_TRUE(is_lazy(weight));
    net(ones({2, 3}, {.dtype = float64}));
    EXPECT_EQ(weight.shape(), Shape({10, 3}));
    EXPECT_EQ(weight.dtype(), float64);
    EXPECT_TRUE(net.fc1->weight.get().is(weight));
  }
}

TEST(LazyConversion, BuffersStayLazyToo) {
  LazyBatchNorm1d norm;
  norm.to(Device::meta()).to(float64);
  EXPECT_TRUE(is_lazy(norm.running_mean));
  EXPECT_TRUE(norm.num_batches_tracked->is_meta());
  norm(empty({4, 3}, {.dtype = float64, .device = "meta"}));
  EXPECT_EQ(norm.running_mean->shape(), Shape({3}));
  EXPECT_TRUE(norm.running_mean->is_meta());
  EXPECT_EQ(norm.type_name(), "BatchNorm1d");
}

TEST(LazyConversion, ThatCannotBeLeavesTheModuleAsItWas) {
  LazyLinear lazy(4);
  EXPECT_THROW(lazy.type(int64), DTypeError);
  EXPECT_EQ(lazy.weight->dtype(), float32);
  lazy.requires_grad_(false);
  EXPECT_FALSE(lazy.weight->requires_grad());
  lazy(ones({2, 3}));
  EXPECT_FALSE(lazy.weight->requires_grad());
  EXPECT_FALSE(lazy.bias->requires_grad());
}

TEST(LazyMeta, BuiltOnMetaRunsOnMeta) {
  const auto net = with_device("meta", [] { return make<LazyMLP>(); });
  EXPECT_TRUE(net->fc1->weight->is_meta());
  EXPECT_EQ((*net)(empty({4, 6}, {.device = "meta"})).shape(), Shape({4, 1}));
  EXPECT_EQ(net->fc1->weight->shape(), Shape({10, 6}));
  EXPECT_EQ(net->fc1->type_name(), "Linear");
}

TEST(LazyClone, IsLazyAndOfItsOwn) {
  const auto net = make<LazyMLP>();
  net->double_();
  const auto other = clone(*net);
  EXPECT_EQ(other->repr(), net->repr());
  EXPECT_TRUE(is_lazy(other->fc1->weight));
  EXPECT_FALSE(other->fc1->weight.get().is(net->fc1->weight));
  EXPECT_EQ(other->fc1->weight->dtype(), float64);
  (*other)(ones({2, 3}, {.dtype = float64}));
  EXPECT_EQ(other->fc1->in_features, 3);
  EXPECT_EQ(other->fc1->type_name(), "Linear");
  EXPECT_EQ(net->fc1->type_name(), "LazyLinear");
  EXPECT_TRUE(is_lazy(net->fc1->weight));
  (*net)(ones({2, 5}, {.dtype = float64}));
  EXPECT_EQ(net->fc1->in_features, 5);
  const auto third = clone(*net);
  EXPECT_EQ(third->repr(), net->repr());
  EXPECT_EQ((*third)(ones({2, 5}, {.dtype = float64})).shape(), Shape({2, 1}));
}

TEST(LazyClone, OfBuffersWorks) {
  const auto norm = make<LazyBatchNorm2d>();
  const auto other = clone(*norm);
  EXPECT_TRUE(is_lazy(other->running_var));
  (*other)(rand({2, 3, 4, 4}));
  EXPECT_EQ(other->num_features, 3);
  EXPECT_EQ(norm->num_features, 0);
}

TEST(LazyClone, TiedParametersStayTied) {
  class Tied : public Module {
   public:
    Parameter a{this, "a", uninitialized_parameter()};
    Parameter b{this, "b", a.get()};
  };
  const auto tied = make<Tied>(), other = clone(*tied);
  EXPECT_TRUE(other->a.get().is(other->b));
  materialize(other->a, {3});
  EXPECT_EQ(other->b->shape(), Shape({3}));
  EXPECT_TRUE(is_lazy(tied->a));
}

TEST(LazyReplicas, AreRefused) {
  const auto net = make<LazyMLP>();
  const char* text =
      "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy "
      "forward pass to correctly initialize the modules";
  expect_error<Error>([&] { replicate(*net, 2); }, text);
  expect_error<Error>([&] { data_parallel(*net, ones({4, 3}), {.replicas = 2}); }, text);
  expect_error<Error>([&] { data_parallel(*net, ones({4, 3}), {.replicas = 1}); }, text);
  (*net)(ones({4, 3}));
  EXPECT_EQ(replicate(*net, 2).size(), 2u);
  EXPECT_EQ(data_parallel(*net, ones({4, 3}), {.replicas = 2}).shape(), Shape({4, 1}));
}

TEST(LazyShared, OneWeightOfTwoLayersMaterialisesOnce) {
  LazyLinear a(4), b(4);
  b.weight = a.weight;
  a(ones({2, 3}));
  const Tensor drawn = a.weight->detach().clone();
  b(ones({2, 3}));
  EXPECT_TRUE(b.weight.get().is(a.weight));
  EXPECT_TRUE(equal(a.weight, drawn));
  EXPECT_EQ(b.in_features, 3);
  LazyLinear c(4);
  c.weight = a.weight;
  expect_error<ValueError>(
      [&] { c(ones({2, 5})); },
      "The in_features inferred from input: 5 is not equal to in_features from self.weight: 3");
}

// The second layer draws as well, and must not write to what the first has used.
TEST(LazyShared, OneWeightOfTwoLayersHasItsGradient) {
  LazyLinear a(3), b(3);
  b.weight = a.weight;
  const Tensor x = ones({2, 3}).requires_grad_();
  b(a(x)).sum().backward();
  EXPECT_TRUE(a.weight->grad().defined());
  EXPECT_EQ(b.type_name(), "Linear");
}

TEST(LazyShared, OneTensorCannotGetTwoShapes) {
  const auto first = make<LazyLinear>(4), second = make<LazyLinear>(4);
  second->weight = first->weight;
  Sequential net{first, second};
  StateDict state;
  for (const char* layer : {"0", "1"}) {
    state.set(std::string(layer) + ".weight", zeros({4, layer[0] == '0' ? 1000 : 5}));
    state.set(std::string(layer) + ".bias", zeros({4}));
  }
  for (const bool assign : {false, true}) {
    expect_error<LoadError>([&] { net.load_state_dict(state, {.assign = assign}); },
                            "which is the same tensor in the module");
    EXPECT_TRUE(is_lazy(first->weight));
  }
}

// Nothing is drawn for float8.
TEST(LazyModule, AFirstCallThatFailsLeavesItLazy) {
  LazyLinear layer(4, {.dtype = float8_e4m3fn});
  const Tensor x = zeros({2, 3}, {.dtype = float8_e4m3fn});
  for (int i = 0; i < 2; ++i) {
    EXPECT_THROW(layer(x), Error);
    EXPECT_TRUE(layer.has_uninitialized_params());
    EXPECT_EQ(layer.in_features, 0);
    EXPECT_EQ(layer.type_name(), "LazyLinear");
  }
  layer.to(float32);
  layer(ones({2, 3}));
  EXPECT_EQ(layer.type_name(), "Linear");
}

TEST(LazyModule, LoadedInInferenceModeItCanBeTrained) {
  LazyLinear layer(2);
  StateDict state;
  state.set("weight", ones({2, 3}));
  state.set("bias", ones({2}));
  {
    const InferenceModeScope inference;
    layer.load_state_dict(state);
  }
  optim::SGD optimizer(layer.parameters(), {.lr = 1});
  layer(ones({1, 3})).sum().backward();
  optimizer.step();
  EXPECT_TRUE(equal(layer.weight, zeros({2, 3})));
}

TEST(LazyModule, UserDefinedTensorsAreNotLoadedIntoWhatHasNoShape) {
  std::vector<std::string> log;
  const Tensor wrapper = make_tensor<LoggingTensor>(ones({2}), log), open = uninitialized_buffer();
  EXPECT_THROW(wrapper.module_load(open), Error);
  EXPECT_THROW(open.module_load(wrapper), Error);
}

}  // namespace
}  // namespace tenon::nn
