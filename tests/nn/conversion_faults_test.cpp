// Conversions that fail change nothing at all; and what conversions do to user-defined tensors.
#include "support/matchers.h"
#include "support/modules.h"
#include "support/wrappers.h"
#include "tenon/extend/saved_tensor.h"

namespace tenon::nn {
namespace {

using testing::HasSubstr;

constexpr auto kPolicies = {ConversionPolicy::set_data, ConversionPolicy::overwrite,
                            ConversionPolicy::swap};

// Knows detach and conversions, of which one fails: the number that is left until then.
class Brittle final : public Wrapper<Brittle> {
 public:
  explicit Brittle(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (call.is<op::to_copy>() && --until_failure == 0) throw Error("this conversion failed");
    if (!call.is_any<op::detach, op::to_copy>()) return std::nullopt;
    const auto unwrap = [](const Tensor& t) {
      const auto* brittle = t.as<Brittle>();
      return brittle != nullptr ? brittle->elem : t;
    };
    return make_tensor<Brittle>(call.call_with(unwrap).as_tensor());
  }
  void for_each_payload(const std::function<void(const Tensor&)>& visit) const override {
    visit(elem);
  }
  Tensor elem;
  static inline int until_failure = 0;
};

std::shared_ptr<ModuleList<>> three_brittle() {
  auto list = make<ModuleList<>>();
  for (int i = 0; i < 3; ++i) {
    auto layer = make<Linear>(2, 2);
    layer->weight = make_parameter(make_tensor<Brittle>(full({2, 2}, 1.0)));
    layer->bias->set_grad(ones({2}));
    layer->register_buffer("seen", zeros({2}));
    list->append(layer);
  }
  return list;
}

TEST(ConversionOfWrappers, ToMetaTakesThePayloadAlong) {
  Linear layer(2, 2);
  const Tensor before = make_parameter(make_tensor<Brittle>(full({2, 2}, 1.0)));
  layer.weight = before;
  layer.to(Device::meta());
  // As of a plain tensor, the data of one on the CPU cannot be that of one on meta.
  EXPECT_FALSE(layer.weight->is(before));
  EXPECT_TRUE(layer.weight->as<Brittle>()->elem.is_meta());
  EXPECT_TRUE(before.as<Brittle>()->elem.is_cpu());
}

TEST(ConversionFaults, AThirdParameterThatFailsLeavesTheFirstTwo) {
  for (const auto policy : kPolicies) {
    const ConversionScope scope(policy);
    const auto net = three_brittle();
    const Snapshot before(*net);
    Brittle::until_failure = 3;
    expect_error<Error>([&] { net->double_(); }, "this conversion failed");
    before.expect_the_same();
    Brittle::until_failure = 0;
    net->double_();
    EXPECT_EQ(net->get_parameter("2.weight").dtype(), float64);
    EXPECT_EQ(net->get_parameter("0.bias").grad().dtype(), float64);
  }
}

TEST(ConversionFaults, ALiveViewInTheLastModuleLeavesAllOthers) {
  const SwapOnConversionScope swap;
  SmallNet net;
  net.fc1->weight->set_grad(ones({3, 2}));
  {
    const Tensor view = net.scale->view({2, 1});  // the root comes last
    const Snapshot before(net);
    const std::string message = message_of<SwapError>([&] { net.double_(); });
    EXPECT_THAT(message, HasSubstr("_apply(): Couldn't swap Net.scale: "));
    EXPECT_THAT(message, HasSubstr("1 live view"));
    before.expect_the_same();
  }
  net.double_();
  EXPECT_EQ(net.scale->dtype(), float64);
}

TEST(ConversionFaults, ALiveViewOfAGradLeavesItsParameterToo) {
  const SwapOnConversionScope swap;
  SmallNet net;
  const Tensor grad = ones({3, 2}), view = grad.view({6});
  net.fc1->weight->set_grad(grad);
  const Snapshot before(net);
  expect_error<SwapError>([&] { net.double_(); }, "_apply(): Couldn't swap Linear.weight.grad: ");
  before.expect_the_same();
}

TEST(ConversionFaults, WholeNumbersCannotRequireGrad) {
  for (const auto policy : kPolicies) {
    const ConversionScope scope(policy);
    SmallNet net;
    net.fc1->weight->requires_grad_(false);
    const Snapshot before(net);
    const std::string message = message_of<DTypeError>([&] { net.type(int64); });
    before.expect_the_same();
    if (policy == ConversionPolicy::set_data) {
      EXPECT_THAT(message,
                  HasSubstr("data set to a tensor that requires gradients must be floating "
                            "point or complex dtype"));
    }
  }
}

TEST(ConversionFaults, AFunctionThatThrowsOrGivesNothingChangesNothing) {
  for (const auto policy : kPolicies) {
    const ConversionScope scope(policy);
    SmallNet net;
    const Snapshot before(net);
    int calls = 0;
    EXPECT_THROW(net.convert([&](const Tensor& t) {
      if (++calls == 4) throw std::runtime_error("enough");
      return t * 2;
    }),
                 std::runtime_error);
    EXPECT_EQ(calls, 4);
    before.expect_the_same();
    EXPECT_THROW(net.convert([](const Tensor& t) { return t.is_parameter() ? t * 2 : Tensor(); }),
                 Error);
    EXPECT_THROW(net.convert([](const Tensor& t) { return t.is_parameter() ? Tensor() : t * 2; }),
                 Error);
    before.expect_the_same();
  }
}

// User-defined tensors.

TEST(ConversionOfWrappers, BySetDataChangesTheFaceAndNotThePayload) {
  Brittle::until_failure = 0;
  const auto net = three_brittle();
  const Tensor weight = net->get_parameter("0.weight");
  const Tensor elem = weight.as<Brittle>()->elem;
  net->to(tenon::bfloat16);
  EXPECT_TRUE(weight.is(net->get_parameter("0.weight")));
  EXPECT_EQ(weight.dtype(), tenon::bfloat16);
  EXPECT_TRUE(weight.as<Brittle>()->elem.is(elem));
  EXPECT_EQ(elem.dtype(), float32);
}

TEST(ConversionOfWrappers, BySwapChangesThePayload) {
  const SwapOnConversionScope swap;
  const auto net = three_brittle();
  const Tensor weight = net->get_parameter("0.weight");
  net->to(tenon::bfloat16);
  EXPECT_TRUE(weight.is(net->get_parameter("0.weight")));
  EXPECT_EQ(weight.dtype(), tenon::bfloat16);
  EXPECT_EQ(weight.as<Brittle>()->elem.dtype(), tenon::bfloat16);
  EXPECT_TRUE(weight.is_parameter() && weight.requires_grad());
}

TEST(ConversionOfWrappers, ThatCanBeTakenApartAreSwappedUnderEveryPolicy) {
  for (const auto policy : kPolicies) {
    const ConversionScope scope(policy);
    Linear net(2, 2);
    net.weight = make_parameter(make_tensor<ScaledTensor>(ones({2, 2}), 0.5));
    const Tensor weight = net.weight, bias = net.bias;
    net.to(tenon::bfloat16);
    EXPECT_TRUE(weight.is(net.weight));
    EXPECT_EQ(weight.dtype(), tenon::bfloat16);
    EXPECT_EQ(weight.as<ScaledTensor>()->elem.dtype(), tenon::bfloat16);
    EXPECT_EQ(weight.as<ScaledTensor>()->scale, 0.5);
    EXPECT_TRUE(weight.is_parameter() && weight.requires_grad());
    EXPECT_EQ(bias.is(net.bias), policy != ConversionPolicy::overwrite);
  }
}

TEST(ConversionOfWrappers, AFunctionMayMakeThemOfPlainTensorsAndBack) {
  for (const auto policy : kPolicies) {
    const ConversionScope scope(policy);
    Linear net(2, 2);
    const Tensor weight = net.weight, numbers = weight.detach().clone();
    net.convert([](const Tensor& t) { return make_tensor<ScaledTensor>(t.detach(), 2.0); });
    ASSERT_NE(net.weight->as<ScaledTensor>(), nullptr);
    EXPECT_TRUE(weight.is(net.weight));  // such a tensor is swapped in
    EXPECT_TRUE(net.weight->is_parameter());
    net.convert([](const Tensor& t) { return ScaledTensor::unwrap(t); });
    EXPECT_EQ(net.weight->as<ScaledTensor>(), nullptr);
    EXPECT_TRUE(equal(net.weight->detach(), numbers));
    EXPECT_EQ(weight.is(net.weight), policy == ConversionPolicy::swap);
  }
}

// As much of PyTorch's test_swap_module_params_poisons_acc_grad as there is without backward.
TEST(ConversionOfRecordedParameters, IsRefusedWhileABackwardPassHasSavedThem) {
  const SwapOnConversionScope swap;
  SmallNet net;
  {
    const SavedTensor saved(net.scale, SavedTensor::Role::input);
    const Snapshot before(net);
    expect_error<SwapError>([&] { net.half(); }, "Couldn't swap Net.scale", "1 backward pass");
    before.expect_the_same();
  }
  net.half();
  EXPECT_EQ(net.scale->dtype(), float16);
}

TEST(SkipInit, MakesAModuleOfTheSameShapesOnTheDevice) {
  const auto net = skip_init<Linear>(Device::cpu(), 3, 2);
  const Linear drawn(3, 2);
  EXPECT_TRUE(net->weight->is_cpu());
  EXPECT_EQ(net->weight->shape(), drawn.weight->shape());
  EXPECT_TRUE(net->weight->is_parameter() && net->weight->requires_grad());
}

}  // namespace
}  // namespace tenon::nn
