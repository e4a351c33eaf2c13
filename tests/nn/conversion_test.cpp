// Module::to and its kin: what becomes what, and what stays the same tensor, under each policy.
#include "tenon/nn/conversion.h"

#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "support/matchers.h"
#include "support/modules.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Mixed final : public Module {
 public:
  Parameter weight{this, "weight", full({3, 2}, 1.5)};
  Parameter frozen{this, "frozen", make_parameter(arange(3), false)};
  Buffer real{this, "real", full({2}, 0.5)};
  Buffer passing{this, "passing", full({2}, 0.25), {.persistent = false}};
  Buffer whole{this, "whole", arange(3)};
  Buffer truth{this, "truth", ones({2}, {.dtype = bool_})};
  Buffer wave{this, "wave", ones({2}, {.dtype = complex64})};
  Child<Linear> sub{this, "sub", 2, 2};

  // weight, frozen, real, passing, whole, truth, wave, sub.bias
  std::vector<DType> dtypes() const {
    return {weight->dtype(), frozen->dtype(), real->dtype(), passing->dtype(),
            whole->dtype(),  truth->dtype(),  wave->dtype(), sub->bias->dtype()};
  }
};

TEST(ConversionOf, FloatingTensorsAlone) {
  Mixed net;
  for (const auto& [convert, dtype] : std::vector<std::pair<std::function<Module&()>, DType>>{
           {[&]() -> Module& { return net.double_(); }, float64},
           {[&]() -> Module& { return net.half(); }, float16},
           {[&]() -> Module& { return net.bfloat16(); }, tenon::bfloat16},
           {[&]() -> Module& { return net.float_(); }, float32},
           {[&]() -> Module& { return net.floating(float64); }, float64}}) {
    EXPECT_EQ(&convert(), &net);
    EXPECT_THAT(net.dtypes(),
                ElementsAre(dtype, int64, dtype, dtype, int64, bool_, complex64, dtype));
  }
  EXPECT_EQ(net.weight->sum().item<double>(), 9);
}

TEST(ConversionOf, FloatingAndComplexTensorsByTo) {
  Mixed net;
  WarningLog log;
  net.to(float16);
  EXPECT_THAT(net.dtypes(),
              ElementsAre(float16, int64, float16, float16, int64, bool_, float16, float16));
  ASSERT_EQ(log.warnings.size(), 1U);  // the imaginary part of wave
  log.warnings.clear();
  net.to(complex64);
  EXPECT_THAT(net.dtypes(), ElementsAre(complex64, int64, complex64, complex64, int64, bool_,
                                        complex64, complex64));
  ASSERT_EQ(log.warnings.size(), 1U);
  EXPECT_THAT(log.warnings[0], testing::StartsWith("Complex modules are a new feature"));
}

TEST(ConversionOf, EverythingByType) {
  Mixed net;
  net.requires_grad_(false);
  net.type(int32);
  for (const DType dtype : net.dtypes()) EXPECT_EQ(dtype, int32);
  EXPECT_TRUE(equal(net.weight->detach(), full({3, 2}, 1, {.dtype = int32})));
}

TEST(ConversionOf, TheFormsOfToAreOneConversion) {
  Mixed a, b, c, d;
  a.to(Device::cpu(), float64);
  b.to(ones({1}, {.dtype = float64}));
  c.to({.device = Device::cpu(), .dtype = float64, .non_blocking = true});
  d.to(Device::cpu()).to(float64);
  for (const Mixed* net : {&b, &c, &d}) EXPECT_EQ(net->dtypes(), a.dtypes());
  EXPECT_EQ(a.weight->dtype(), float64);
}

TEST(ConversionOf, WholeNumbersAreRefusedByTo) {
  Mixed net;
  const Snapshot before(net);
  expect_error<DTypeError>([&] { net.to(int64); },
                           "nn.Module.to only accepts floating point or complex dtypes, but got "
                           "desired dtype=torch.int64",
                           "type()");
  before.expect_the_same();
}

class Volumes final : public Module {
 public:
  Parameter image{this, "image", ones({2, 3, 2, 2})};
  Parameter volume{this, "volume", ones({2, 3, 2, 2, 2})};
  Parameter matrix{this, "matrix", ones({3, 2})};
};

TEST(ConversionOf, MemoryFormatIsForFourDimensions) {
  Volumes net;
  net.remove("volume");
  net.to({.memory_format = MemoryFormat::channels_last});
  EXPECT_EQ(net.image->stride(), Dims({12, 1, 6, 3}));
  EXPECT_EQ(net.matrix->stride(), Dims({2, 1}));
}

TEST(ConversionOf, MetaHasNoDataAndToSaysWhatToDo) {
  const auto net = with_device(Device::meta(), [] { return std::make_unique<SmallNet>(); });
  const Snapshot before(*net);
  const std::string advice = message_of<NotImplementedError>([&] { net->to(Device::cpu()); });
  EXPECT_THAT(advice, testing::HasSubstr("Cannot copy out of meta tensor; no data!"));
  EXPECT_THAT(advice,
              testing::HasSubstr("Please use Module::to_empty() instead of Module::to() when "
                                 "moving a module from meta to a different device."));
  const std::string bare = message_of<NotImplementedError>([&] { net->cpu(); });
  EXPECT_THAT(bare, testing::HasSubstr("Cannot copy out of meta tensor; no data!"));
  EXPECT_THAT(bare, testing::Not(testing::HasSubstr("Module::to_empty()")));
  before.expect_the_same();
  EXPECT_EQ(net->double_().as<SmallNet>()->scale->dtype(), float64);
}

TEST(ConversionOf, ToEmptyMakesItRealHereOrEverywhere) {
  const auto make_net = [] {
    return with_device(Device::meta(), [] { return std::make_unique<SmallNet>(); });
  };
  const auto net = make_net();
  const Tensor scale = net->scale;
  net->to_empty(Device::cpu(), {.recurse = false});
  EXPECT_TRUE(net->scale->is_cpu() && net->count->is_cpu() && net->tmp->is_cpu());
  EXPECT_THAT(net->meta_tensors(), ElementsAre("fc1.weight", "fc1.bias", "fc2.weight"));
  EXPECT_FALSE(scale.is(net->scale));
  EXPECT_TRUE(scale.is_meta());
  EXPECT_TRUE(net->scale->requires_grad() && net->scale->is_parameter());
  net->to_empty(Device::cpu());
  EXPECT_THAT(net->meta_tensors(), IsEmpty());
  std::vector<const void*> memory;
  for (const Tensor& tensor : net->parameters()) memory.push_back(tensor.storage().identity());
  std::sort(memory.begin(), memory.end());
  EXPECT_EQ(std::unique(memory.begin(), memory.end()), memory.end());
  {
    const SwapOnConversionScope swap;
    const auto other = make_net();
    const std::vector<Tensor> before = other->parameters();
    other->to_empty(Device::cpu());
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_TRUE(before[i].is(other->parameters()[i]));
      EXPECT_TRUE(before[i].is_cpu());
    }
  }
}

TEST(ConversionOf, AnyFunction) {
  SmallNet net;
  const Tensor fc1 = net.fc1->weight->clone();
  net.convert([](const Tensor& t) { return t * 2; }, false);
  EXPECT_TRUE(equal(net.scale->detach(), full({2}, 2.0)));
  EXPECT_TRUE(equal(net.fc1->weight, fc1));
  EXPECT_TRUE(net.scale->is_leaf());
  net.convert([](const Tensor& t) { return t + 1; });
  EXPECT_TRUE(equal(net.scale->detach(), full({2}, 3.0)));
  EXPECT_EQ(net.count->item<double>(), 1);
  EXPECT_TRUE(equal(net.fc1->weight->detach(), (fc1 + 1).detach()));
}

// What stays the same tensor. One parameter, its grad, a buffer.
struct Observed {
  explicit Observed(SmallNet& net)
      : weight(net.fc1->weight), grad(ones({3, 2})), buffer(net.count), data(weight.data_ptr()) {
    weight.set_grad(grad);
    weight.set_attribute("note", Value("mine"));
    version = weight.version();
  }
  Tensor weight, grad, buffer;
  const void* data;
  std::int64_t version = 0;
};

TEST(ConversionBySetData, KeepsTheTensorItsGradAndAllAboutIt) {
  SmallNet net;
  const Observed seen(net);
  const Tensor alias = seen.weight.detach(), view = seen.weight.view({6});
  net.double_();
  EXPECT_TRUE(seen.weight.is(net.fc1->weight));
  EXPECT_EQ(seen.weight.dtype(), float64);
  EXPECT_TRUE(seen.weight.requires_grad() && seen.weight.is_parameter());
  EXPECT_TRUE(seen.weight.grad().is(seen.grad));
  EXPECT_EQ(seen.grad.dtype(), float64);
  EXPECT_EQ(seen.weight.version(), seen.version);
  EXPECT_TRUE(seen.weight.attribute("note").has_value());
  EXPECT_FALSE(seen.buffer.is(net.count));  // buffers are always replaced
  EXPECT_EQ(seen.buffer.dtype(), float32);
  EXPECT_EQ(net.count->dtype(), float64);
  // Aliases and views keep the old memory.
  EXPECT_EQ(alias.dtype(), float32);
  EXPECT_EQ(view.dtype(), float32);
  EXPECT_EQ(view.data_ptr(), seen.data);
  EXPECT_TRUE(view.base().is(seen.weight));
}

TEST(ConversionByOverwrite, PutsANewParameterThereAndLeavesTheOld) {
  const ConversionScope scope(ConversionPolicy::overwrite);
  SmallNet net;
  const Observed seen(net);
  net.double_();
  const Tensor now = net.fc1->weight;
  EXPECT_FALSE(seen.weight.is(now));
  EXPECT_EQ(now.dtype(), float64);
  EXPECT_TRUE(now.requires_grad() && now.is_parameter());
  EXPECT_EQ(now.grad().dtype(), float64);
  EXPECT_FALSE(now.grad().is(seen.grad));
  EXPECT_EQ(seen.weight.dtype(), float32);
  EXPECT_EQ(seen.weight.data_ptr(), seen.data);
  EXPECT_TRUE(seen.weight.grad().is(seen.grad));
  EXPECT_EQ(seen.grad.dtype(), float32);
  EXPECT_FALSE(now.attribute("note").has_value());
}

// As PyTorch, whose words it has: the old parameter would keep itself, by its grad's history.
TEST(ConversionByOverwrite, RefusesAGradWithAHistory) {
  const ConversionScope overwrite(ConversionPolicy::overwrite);
  Linear net(3, 2);
  net(ones({1, 3})).square().sum().backward({.create_graph = true});
  ASSERT_FALSE(net.weight->grad().is_leaf());
  const Tensor before = *net.weight;
  expect_error<AutogradError>([&] { net.double_(); }, "param_grad must be a leaf tensor",
                              "Linear.weight", "detach()");
  // What stays itself while its parameter is replaced, too.
  expect_error<AutogradError>(
      [&] { net.convert([](const Tensor& t) { return t.is_leaf() ? t.clone() : t; }); },
      "param_grad must be a leaf tensor");
  EXPECT_TRUE(net.weight->is(before));
  EXPECT_EQ(net.weight->dtype(), float32);
  for (const Tensor& parameter : net.parameters()) parameter.set_grad(parameter.grad().detach());
  net.double_();
  EXPECT_EQ(net.weight->grad().dtype(), float64);
}

TEST(ConversionBySwap, TakesAGradWithoutItsHistory) {
  const SwapOnConversionScope swap;
  Linear net(3, 2);
  net(ones({1, 3})).square().sum().backward({.create_graph = true});
  net.double_();
  EXPECT_EQ(net.weight->grad().dtype(), float64);
  EXPECT_TRUE(net.weight->grad().is_leaf());
}

TEST(ConversionBySwap, KeepsEveryHandleWithGradAndAttributes) {
  const SwapOnConversionScope swap;
  SmallNet net;
  net.fc1->bias->requires_grad_(false);
  const Observed seen(net);
  net.double_();
  EXPECT_TRUE(seen.weight.is(net.fc1->weight));
  EXPECT_EQ(seen.weight.dtype(), float64);
  EXPECT_TRUE(seen.weight.requires_grad() && seen.weight.is_parameter());
  EXPECT_FALSE(net.fc1->bias->requires_grad());
  EXPECT_TRUE(seen.weight.grad().is(seen.grad));
  EXPECT_EQ(seen.grad.dtype(), float64);
  EXPECT_TRUE(equal(seen.grad, ones({3, 2}, {.dtype = float64})));
  ASSERT_TRUE(seen.weight.attribute("note").has_value());
  EXPECT_EQ(seen.weight.attribute("note")->as_string(), "mine");
  EXPECT_FALSE(seen.buffer.is(net.count));
}

TEST(ConversionThatChangesNothing, DoesNothingUnderEveryPolicy) {
  for (const auto policy :
       {ConversionPolicy::set_data, ConversionPolicy::overwrite, ConversionPolicy::swap}) {
    const ConversionScope scope(policy);
    SmallNet net;
    const Observed seen(net);
    const Tensor view = net.fc2->weight->view({6});  // no hindrance, as nothing is swapped
    const Snapshot before(net);
    net.float_().cpu().to(float32).type(float32).to(Device::cpu(), float32);
    before.expect_the_same();
  }
}

TEST(ConversionOfAGradAlone, ReplacesItsData) {
  for (const auto policy :
       {ConversionPolicy::set_data, ConversionPolicy::overwrite, ConversionPolicy::swap}) {
    const ConversionScope scope(policy);
    SmallNet net;
    const Observed seen(net);
    // As if the parameter had been converted by somebody who forgot its grad.
    seen.weight.set_data(seen.weight.detach().to(float64));
    net.double_();
    EXPECT_TRUE(seen.weight.is(net.fc1->weight));
    EXPECT_EQ(net.fc1->weight->grad().dtype(), float64);
    EXPECT_EQ(net.fc1->weight->grad().is(seen.grad), policy != ConversionPolicy::overwrite);
  }
}

TEST(ConversionPolicies, ComeFromTheProcessUnlessAScopeSaysOtherwise) {
  EXPECT_EQ(get_conversion_policy(), ConversionPolicy::set_data);
  set_overwrite_module_params_on_conversion(true);
  EXPECT_TRUE(get_overwrite_module_params_on_conversion());
  EXPECT_EQ(get_conversion_policy(), ConversionPolicy::overwrite);
  set_swap_module_params_on_conversion(true);
  EXPECT_TRUE(get_swap_module_params_on_conversion());
  EXPECT_EQ(get_conversion_policy(), ConversionPolicy::swap);  // beats the other
  {
    const SwapOnConversionScope off(false);
    EXPECT_EQ(get_conversion_policy(), ConversionPolicy::overwrite);
    const ConversionScope scope(ConversionPolicy::set_data);
    EXPECT_EQ(get_conversion_policy(), ConversionPolicy::set_data);
    {
      const SwapOnConversionScope on;
      EXPECT_EQ(get_conversion_policy(), ConversionPolicy::swap);
    }
    EXPECT_EQ(get_conversion_policy(), ConversionPolicy::set_data);
    std::thread([] { EXPECT_EQ(get_conversion_policy(), ConversionPolicy::swap); }).join();
  }
  SmallNet net;
  const Tensor weight = net.fc1->weight;
  net.double_();
  EXPECT_TRUE(weight.is(net.fc1->weight));
  set_swap_module_params_on_conversion(false);
  net.float_();
  EXPECT_FALSE(weight.is(net.fc1->weight));
  set_overwrite_module_params_on_conversion(false);
  EXPECT_EQ(get_conversion_policy(), ConversionPolicy::set_data);
}

// Ties and shared memory.

class Knotted final : public Module {
 public:
  Parameter a{this, "a", arange(6.0)};
  Parameter b{this, "b", a};
  Parameter front{this, "front", make_parameter(a->detach().slice(0, 0, 3))};
  Buffer mean{this, "mean", zeros({4})};
  Buffer same{this, "same", mean};
  Buffer rest{this, "rest", mean->detach().slice(0, 2, 4).view({2, 1})};
  Child<SmallNet> sub{this, "sub"};
  Child<SmallNet> again{this, "again", sub.share()};

  void expect_knots() const {
    EXPECT_TRUE(b.get().is(a));
    EXPECT_TRUE(same.get().is(mean));
    EXPECT_TRUE(front->storage().is(a->storage()));
    EXPECT_EQ(front->data_ptr(), a->data_ptr());
    EXPECT_TRUE(rest->storage().is(mean->storage()));
    EXPECT_EQ(rest->storage_offset(), mean->storage_offset() + 2);
    EXPECT_EQ(rest->shape(), Shape({2, 1}));
    EXPECT_EQ(sub.get(), again.get());
  }
};

TEST(ConversionOfKnots, KeepsWhatIsOneTensorOrShareMemory) {
  for (const auto policy :
       {ConversionPolicy::set_data, ConversionPolicy::overwrite, ConversionPolicy::swap}) {
    const ConversionScope scope(policy);
    Knotted net;
    net.expect_knots();
    net.double_();
    net.expect_knots();
    EXPECT_TRUE(equal(net.front->detach(), arange(3.0).to(float64)));
    const NoGradScope no_grad;
    net.mean->fill_(3);
    EXPECT_EQ(net.rest->sum().item<double>(), 6);
    net.to(Device::meta());
    EXPECT_TRUE(net.a->is_meta() && net.rest->is_meta());
    EXPECT_TRUE(net.b.get().is(net.a) && net.same.get().is(net.mean));
    net.to_empty(Device::cpu());
    net.expect_knots();
  }
}

// Its class does something when it is asked what it is made of, which a swap has to ask.
class Looking final : public Wrapper<Looking> {
 public:
  explicit Looking(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  static Tensor unwrap(const Tensor& tensor) {
    const auto* looking = tensor.as<Looking>();
    return looking != nullptr ? looking->elem : tensor;
  }
  std::optional<Value> dispatch(const OpCall& call) const override {
    const Value result = call.call_with(unwrap);
    if (!call.is_any<op::detach, op::to_copy, op::clone>()) return result;
    return make_tensor<Looking>(result.as_tensor());
  }
  std::optional<Flattened> flatten() const override {
    if (deed) deed();
    return Flattened{{{"elem", elem}}, 1.0};
  }
  Tensor elem;
  static inline std::function<void()> deed;
};

TEST(ConversionBySwapping, IsRefusedForAViewThatIsTakenWhileItLooksIntoAnotherTensor) {
  struct Pair final : Module {
    Parameter plain{this, "plain", ones({2})};
    Parameter looking{this, "looking", make_parameter(make_tensor<Looking>(ones({2})))};
  };
  for (int when = 1; when < 20; ++when) {
    Pair net;
    Tensor view;
    int calls = 0;
    Looking::deed = [&] {
      if (++calls == when) view = net.plain->view({2, 1});
    };
    const SwapOnConversionScope swaps;
    std::string refused;
    try {
      net.double_();
    } catch (const SwapError& error) {
      refused = error.what();
    }
    Looking::deed = nullptr;
    if (!view.defined()) break;
    EXPECT_THAT(refused, testing::HasSubstr("1 live view")) << when;
    EXPECT_EQ(net.plain->dtype(), float32) << when;
    EXPECT_TRUE(view.base().is(net.plain.get())) << when;
  }
}

}  // namespace
}  // namespace tenon::nn
