// swap_tensors: what moves, what stays, and when it is refused.
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/body_editor.h"
#include "support/matchers.h"
#include "support/wrappers.h"
#include "tenon/extend/saved_tensor.h"

namespace tenon {
namespace {

struct Facts {
  explicit Facts(const Tensor& t)
      : shape(t.shape()),
        dtype(t.dtype()),
        device(t.device()),
        requires_grad(t.requires_grad()),
        version(t.version()),
        type(t.body().type_name()),
        data(t.data_ptr()) {}
  bool operator==(const Facts&) const = default;
  Shape shape;
  DType dtype;
  Device device;
  bool requires_grad;
  std::int64_t version;
  std::string type;
  void* data;
};

std::vector<Tensor> all_kinds() {
  return {ones({3}).requires_grad_(),
          arange(6.0).view({2, 3}).clone(),
          arange(4),
          nn::make_parameter(zeros({2})),
          empty({5, 5}, {.device = "meta"}),
          make_tensor<ScaledTensor>(ones({2, 2}), 0.5),
          tensor(true)};
}

TEST(SwapTensors, EveryPairOfKindsExchangesEverythingButIdentity) {
  for (std::size_t i = 0; i < all_kinds().size(); ++i) {
    for (std::size_t j = 0; j < all_kinds().size(); ++j) {
      const Tensor a = all_kinds()[i], b = all_kinds()[j];
      const Facts of_a(a), of_b(b);
      const auto id_a = a.id(), id_b = b.id();
      a.set_attribute("foo", "bar");
      swap_tensors(a, b);
      EXPECT_EQ(Facts(a), of_b);
      EXPECT_EQ(Facts(b), of_a);
      EXPECT_EQ(a.id(), id_a);
      EXPECT_EQ(b.id(), id_b);
      EXPECT_FALSE(a.attribute("foo"));
      EXPECT_EQ(b.attribute("foo")->as_string(), "bar");
    }
  }
}

TEST(SwapTensors, EveryHandleFollows) {
  const Tensor weight = zeros({2}), fresh = ones({3});
  const std::vector<Tensor> optimizer{weight};
  const Tensor another = weight;
  swap_tensors(weight, fresh);
  EXPECT_EQ(optimizer[0].shape(), Shape({3}));
  EXPECT_TRUE(optimizer[0].is(weight));
  EXPECT_TRUE(another.is(weight));
}

TEST(SwapTensors, InPlaceOperatorsReturnTheRightTensor) {
  const Tensor a = zeros({2}), b = zeros({3});
  swap_tensors(a, b);
  EXPECT_TRUE(a.fill_(1).is(a));
  EXPECT_EQ(a.shape(), Shape({3}));
}

TEST(SwapTensors, WithItselfDoesNothing) {
  const Tensor a = arange(3), view = a.slice(0, 1);
  swap_tensors(a, a);
  EXPECT_EQ(a.shape(), Shape({3}));
}

TEST(SwapTensors, ParameterFlagAndGradMove) {
  const Tensor p = nn::make_parameter(ones({2})), t = zeros({3});
  p.set_grad(full({2}, 7.0));
  swap_tensors(p, t);
  EXPECT_FALSE(p.is_parameter());
  EXPECT_FALSE(p.grad().defined());
  EXPECT_TRUE(t.is_parameter());
  EXPECT_EQ(t.grad().select(0, 0).item<float>(), 7.0f);
}

TEST(SwapTensors, AGradInItsSlotIsSwappedLikeAnyTensor) {
  const Tensor p = nn::make_parameter(ones({2})), grad = zeros({2}), other = ones({2});
  p.set_grad(grad);
  swap_tensors(grad, other);
  EXPECT_EQ(p.grad().select(0, 0).item<float>(), 1.0f);
}

TEST(SwapTensors, DetachedAliasesDoNotStandInTheWay) {
  const Tensor a = ones({3}), alias = a.detach(), data = a.variable_data(), reread = a.view(int32);
  swap_tensors(a, zeros({2}));
  EXPECT_EQ(alias.shape(), Shape({3}));
  EXPECT_EQ(alias.select(0, 0).item<float>(), 1.0f);
}

TEST(SwapTensors, RefusesATensorWithLiveViewsAndSaysHowMany) {
  const Tensor a = arange(3), b = arange(2);
  {
    const Tensor view = a.slice(0, 1), of_view = view.view({2, 1});
    expect_error<SwapError>([&] { swap_tensors(a, b); }, "the first tensor", "2 live views",
                            "detach()");
    expect_error<SwapError>([&] { swap_tensors(b, a); }, "the second tensor");
    EXPECT_EQ(a.shape(), Shape({3}));
    EXPECT_EQ(b.shape(), Shape({2}));
    swap_tensors(view, b);  // a view itself may be
  }
  EXPECT_EQ(b.shape(), Shape({2}));
}

TEST(SwapTensors, AViewKeepsItsBaseWhenItMoves) {
  const Tensor base = arange(4), other = zeros({1});
  const Tensor view = base.slice(0, 2);
  swap_tensors(view, other);
  EXPECT_TRUE(other.base().is(base));
  EXPECT_FALSE(view.is_view());
}

TEST(SwapTensors, NonLeavesMoveWithTheirHistory) {
  const Tensor y = ones({2}).requires_grad_().clone(), other = zeros({3});
  swap_tensors(y, other);
  EXPECT_TRUE(y.is_leaf());
  EXPECT_EQ(other.grad_fn()->name(), "CloneBackward0");
}

TEST(SwapTensors, RefusesWhatIsSavedForABackwardPass) {
  const Tensor a = ones({3}).requires_grad_(), b = zeros({2});
  {
    const SavedTensor saved(a, SavedTensor::Role::input);
    expect_error<SwapError>([&] { swap_tensors(a, b); }, "1 backward pass");
    const Tensor view = a.detach();
  }
  swap_tensors(a, b);
  EXPECT_EQ(a.shape(), Shape({2}));
}

TEST(SwapTensors, RefusesWhatHasAViewThatIsSavedForABackwardPass) {
  const Tensor a = ones({2, 3}).requires_grad_(), b = zeros({2});
  {
    const SavedTensor saved(a.t().slice(0, 1), SavedTensor::Role::input);
    EXPECT_EQ(a.body().live_views(), 0);
    expect_error<SwapError>([&] { swap_tensors(a, b); }, "1 backward pass");
    SavedTensor moved;
    moved = SavedTensor(a.t(), SavedTensor::Role::input);
    EXPECT_EQ(a.body().live_saves(), 2);
  }
  EXPECT_EQ(a.body().live_saves(), 0);
  swap_tensors(a, b);
  EXPECT_EQ(a.shape(), Shape({2}));
}

TEST(SwapTensors, RefusesAViewThatIsSavedAndNotAnotherOfTheSameTensor) {
  const Tensor base = ones({2, 3}), saved_view = base.t(), other_view = base[0];
  const SavedTensor saved(saved_view, SavedTensor::Role::input);
  expect_error<SwapError>([&] { swap_tensors(saved_view, zeros({2})); }, "1 backward pass");
  swap_tensors(other_view, zeros({2}));
  EXPECT_EQ(saved.unpack("t").shape(), Shape({3, 2}));
}

TEST(SwapTensors, AnOutputThatANodeSavedMayBeSwapped) {
  const Tensor y = ones({3});
  const SavedTensor saved(y, SavedTensor::Role::output);
  swap_tensors(y, zeros({2}));
  EXPECT_EQ(saved.unpack("exp").shape(), Shape({3}));
}

// The accumulator of a leaf is held by graphs; here a graph is the tensor y.
AccumulateGrad& accumulator_of(const Tensor& y) {
  return dynamic_cast<AccumulateGrad&>(*y.grad_fn()->next_edges()[0].node);
}

TEST(SwapTensors, PoisonsTheAccumulatorOfAGraphRecordedBefore) {
  const Tensor a = ones({3}).requires_grad_(), b = zeros({2});
  const Tensor y = a.clone();
  AccumulateGrad& accumulator = accumulator_of(y);
  accumulator.check_not_poisoned();
  swap_tensors(a, b);
  expect_error<SwapError>([&] { accumulator.check_not_poisoned(); }, "poisoned by swap_tensors",
                          "after backward");
  swap_tensors(a, b);  // back again: the old graph stays poisoned, a new one is not
  const Tensor again = a.clone();
  EXPECT_NE(&accumulator_of(again), &accumulator);
  accumulator_of(again).check_not_poisoned();
}

TEST(SwapTensors, ARefusalPoisonsNobody) {
  const Tensor a = ones({3}).requires_grad_(), b = arange(4);
  const Tensor y = a.clone(), view = b.slice(0, 1);
  expect_error<SwapError>([&] { swap_tensors(a, b); }, "the second tensor");
  accumulator_of(y).check_not_poisoned();
}

TEST(SwapTensors, HooksMoveAndStillFire) {
  const Tensor a = ones({2}).requires_grad_(), b = zeros({3});
  int fired = 0;
  a.register_hook([&](const Tensor& grad) {
    ++fired;
    return grad;
  });
  swap_tensors(a, b);
  EXPECT_TRUE(BodyEditor::autograd(a.body()) == nullptr ||
              BodyEditor::autograd(a.body())->hooks.empty());
  for (const auto& [removed, hook] : BodyEditor::autograd(b.body())->hooks) hook(ones({2}));
  EXPECT_EQ(fired, 1);
}

TEST(SwapTensors, HooksOfEveryKindFollowTheBodyIntoABackward) {
  const Tensor a = ones({2}).requires_grad_(), b = zeros({3}).requires_grad_();
  std::vector<std::string> log;
  RemovableHandle first = a.register_hook([&](const Tensor& grad) {
    log.push_back("grad of " + grad.shape().repr());
    return grad * 2;
  });
  RemovableHandle second = a.register_post_accumulate_grad_hook(
      [&](const Tensor& tensor) { log.push_back("accumulated " + tensor.shape().repr()); });
  swap_tensors(a, b);
  (a * 1).sum().backward();
  EXPECT_TRUE(log.empty());
  (b * 1).sum().backward();
  EXPECT_EQ(log,
            (std::vector<std::string>{"grad of torch.Size([2])", "accumulated torch.Size([2])"}));
  EXPECT_EQ(b.grad().sum().item<double>(), 4);
  EXPECT_EQ(a.grad().sum().item<double>(), 3);
  // The handles remove them from where they are.
  first.remove();
  second.remove();
  (b * 1).sum().backward();
  EXPECT_EQ(log.size(), 2U);
  EXPECT_EQ(b.grad().sum().item<double>(), 6);
}

TEST(SwapTensors, HooksOfACalculatedTensorFollowItsHistory) {
  const Tensor leaf = ones({2}).requires_grad_(), other = zeros({3});
  const Tensor y = leaf * 3;
  int calls = 0;
  y.register_hook([&](const Tensor& grad) {
    ++calls;
    return grad * 10;
  });
  swap_tensors(y, other);
  other.sum().backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(leaf.grad().sum().item<double>(), 60);
}

TEST(SwapTensors, AStateThatAGeneratorGaveMayBeSwapped) {
  Generator generator = default_generator().clone_state();
  const Tensor state = generator.get_state(), other = ones({2});
  const Tensor expected = rand({4}, {.generator = generator});
  swap_tensors(state, other);
  generator.set_state(other);
  EXPECT_TRUE(equal(rand({4}, {.generator = generator}), expected));
}

TEST(SwapTensors, RefusesATensorAndWhatItContains) {
  const Tensor payload = ones({2, 2});
  const Tensor outer = make_tensor<ScaledTensor>(payload, 0.5);
  expect_error<SwapError>([&] { swap_tensors(outer, payload); }, "contains");
  expect_error<SwapError>([&] { swap_tensors(payload, outer); }, "contains");
  const Tensor twice = make_tensor<ScaledTensor>(outer, 2.0);
  expect_error<SwapError>([&] { swap_tensors(twice, payload); }, "contains");
  const Tensor p = nn::make_parameter(ones({2})), grad = zeros({2});
  p.set_grad(grad);
  expect_error<SwapError>([&] { swap_tensors(p, grad); }, "contains");
  const Tensor holder = zeros({1}), held = ones({1});
  holder.set_attribute("inside", Value::dict({{"a", Value::list({1, held})}}));
  expect_error<SwapError>([&] { swap_tensors(held, holder); }, "contains");
  EXPECT_EQ(outer.as<ScaledTensor>()->scale, 0.5);
}

TEST(SwapTensors, AnUndefinedTensorIsRefused) {
  expect_error<Error>([] { swap_tensors(Tensor(), arange(2)); }, "undefined");
  expect_error<Error>([] { swap_tensors(arange(2), Tensor()); }, "undefined");
}

TEST(SwapTensors, PairsOnDifferentThreadsDoNotMeet) {
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      const Tensor a = arange(2), b = arange(3);
      for (int i = 0; i < 1000; ++i) swap_tensors(a, b);
      EXPECT_EQ(a.numel(), 2);
    });
  }
}

// What flatten() makes is nobody else's, and gone as soon as it was looked at.
class Computing final : public Wrapper<Computing> {
 public:
  explicit Computing(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  std::optional<Flattened> flatten() const override {
    return Flattened{{{"a", elem.clone()}, {"b", elem.clone()}}, {}};
  }
  Tensor elem;
};

TEST(SwapTensors, APayloadThatFlattenMakesAnewIsLookedThrough) {
  const Tensor w = make_tensor<Computing>(ones({2})), plain = zeros({2});
  swap_tensors(w, plain);
  EXPECT_EQ(w.as<Computing>(), nullptr);
  EXPECT_NE(plain.as<Computing>(), nullptr);
}

// Its class does something when its payload is asked for.
class Acting final : public Wrapper<Acting> {
 public:
  Acting(Tensor payload, std::function<void()> act)
      : Wrapper(payload), elem(std::move(payload)), deed(std::move(act)) {}
  void for_each_payload(const std::function<void(const Tensor&)>& visit) const override {
    if (const auto once = std::exchange(deed, nullptr)) once();
    visit(elem);
  }
  Tensor elem;
  mutable std::function<void()> deed;
};

TEST(SwapTensors, APayloadThatSwapsItsTensorMeanwhileIsAnError) {
  Tensor a;
  const Tensor b = ones({3});
  a = make_tensor<Acting>(ones({2}), [&] { swap_tensors(a, ones({5})); });
  expect_error<SwapError>([&] { swap_tensors(a, b); }, "while the swap was being checked");
  EXPECT_EQ(a.numel(), 5);
  EXPECT_EQ(b.numel(), 3);
}

// The tensors are those that the variables named when they were given.
TEST(SwapTensors, IsOfTheTensorsItWasGivenWhateverAPayloadDoesToTheCallersVariables) {
  const std::vector<std::function<void(std::unique_ptr<Tensor>&)>> deeds{
      [](auto& variable) { *variable = ones({5}); }, [](auto& variable) { *variable = Tensor(); },
      [](auto& variable) { variable.reset(); }};
  for (const auto& deed : deeds) {
    auto a = std::make_unique<Tensor>(), b = std::make_unique<Tensor>(ones({3}));
    *a = make_tensor<Acting>(ones({2}), [&] {
      deed(a);
      deed(b);
    });
    const Tensor first = *a, second = *b;
    swap_tensors(*a, *b);
    EXPECT_EQ(first.numel(), 3);
    EXPECT_NE(second.as<Acting>(), nullptr);
  }
}

TEST(SwapTensors, APayloadThatTakesAViewMeanwhileIsRefused) {
  Tensor view;
  const Tensor b = ones({3});
  const Tensor a = make_tensor<Acting>(ones({2}), [&] { view = b.view({3, 1}); });
  expect_error<SwapError>([&] { swap_tensors(a, b); }, "1 live view");
  EXPECT_TRUE(view.base().is(b));
  EXPECT_EQ(b.numel(), 3);
}

TEST(SwapTensors, RefusesWhatWouldOwnItselfThroughItsHistory) {
  const Tensor x = ones({2}).requires_grad_();
  x.set_grad(ones({2}));
  const Tensor y = x.clone();
  expect_error<SwapError>([&] { swap_tensors(y, x.grad()); }, "calculated from");
}

TEST(SwapTensors, RefusesWhatWouldOwnItselfThroughItsBase) {
  const Tensor x = ones({2}), held = zeros({2});
  x.set_attribute("held", held);
  const Tensor view = x.view({2, 1});
  expect_error<SwapError>([&] { swap_tensors(view, held); }, "contains");
}

}  // namespace
}  // namespace tenon
