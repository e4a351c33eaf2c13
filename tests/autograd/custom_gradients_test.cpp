// Gradients of operators that users write, and of user-defined tensors.
#include "core/autograd_meta.h"
#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/wrappers.h"
#include "tenon/extend/custom_op.h"
#include "tenon/extend/gradient.h"

namespace tenon {

namespace my {
// x² times a number, with what it was calculated from as a second result.
struct scaled_square {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& self, double factor,
                                               const std::optional<Tensor>& bias);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo scaled_square::info{"scaled_square", kind};
}  // namespace my

template <>
struct Rule<my::scaled_square> {
  static constexpr std::string_view gradient = "ScaledSquareBackward";
  static bool saves(std::size_t place, const Wanted& wanted) { return place == 0 && wanted[0]; }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& self,
                       double factor, const std::optional<Tensor>& bias) {
    EXPECT_TRUE(!bias || !bias->defined());  // not asked for
    Tensor of_self = grads[0].defined() ? grads[0] * self * (2 * factor) : zeros_like(self);
    if (grads[1].defined()) of_self = of_self + grads[1] * 3;
    if (g.wanted(0)) g.set(0, of_self);
    if (g.wanted(1)) g.set(1, grads[0]);
  }
  static std::array<Layout, 2> infer(const Tensor& self, double, const std::optional<Tensor>&) {
    return {Layout::packed_like(self.layout()), Layout::packed_like(self.layout())};
  }
  static void cpu(std::array<Tensor, 2>& out, const Tensor& self, double factor,
                  const std::optional<Tensor>& bias) {
    out[0].copy_(bias ? self * self * factor + *bias : self * self * factor);
    out[1].copy_(self * 3);
  }
};

namespace {

std::tuple<Tensor, Tensor> scaled_square(const Tensor& x, double factor,
                                         const std::optional<Tensor>& bias = {}) {
  return call<my::scaled_square>(x, factor, bias);
}

Tensor leaf(const Shape& shape, double first) {
  return (arange(shape.numel(), {.dtype = float64}) * 0.5 + first).reshape(shape).requires_grad_();
}

TEST(CustomGradient, OfEachResultAndOfBoth) {
  const Tensor x = leaf({2, 3}, 0.25), b = leaf({3}, 1);
  expect_gradients(
      [](const std::vector<Tensor>& a) { return std::get<0>(scaled_square(a[0], 2, a[1])); },
      {x, b});
  expect_gradients([](const std::vector<Tensor>& a) { return std::get<1>(scaled_square(a[0], 2)); },
                   {x});
  expect_gradients(
      [](const std::vector<Tensor>& a) {
        const auto [y, z] = scaled_square(a[0], 2);
        return y * z;
      },
      {x});
  EXPECT_EQ(std::get<1>(scaled_square(x, 2)).grad_fn()->name(), "ScaledSquareBackward");
}

TEST(CustomGradient, OfAWrongShapeIsNamed) {
  struct Wrong final : Node {
    std::string name() const override { return "Wrong"; }
    std::vector<Tensor> apply(std::vector<Tensor>) override { return {ones({5})}; }
  };
  const Tensor x = ones({3}).requires_grad_();
  auto node = make_ref<Wrong>();
  node->set_next_edges({gradient_edge(x)});
  const Tensor y = ones({3});
  detail::set_history(y, node, 0);
  expect_error<AutogradError>(
      [&] { y.sum().backward(); },
      "Function Wrong returned an invalid gradient at index 0 - got [5] but "
      "expected shape compatible with [3]");
}

// What its class carries out is recorded as a step, and run backwards as one.
TEST(CustomGradient, PassesUserDefinedTensors) {
  std::vector<std::string> log;
  const Tensor wrapped = make_tensor<LoggingTensor>(full({2}, 3.0), log).requires_grad_();
  const Tensor plain = full({2}, 4.0).requires_grad_();
  const Tensor y = (wrapped * plain).sum();
  EXPECT_NE(y.as<LoggingTensor>(), nullptr);
  y.backward();
  ASSERT_NE(plain.grad().as<LoggingTensor>(), nullptr);
  EXPECT_TRUE(equal(plain.grad().as<LoggingTensor>()->elem, full({2}, 3.0)));
  ASSERT_TRUE(wrapped.grad().defined());
  const auto* grad = wrapped.grad().as<LoggingTensor>();
  EXPECT_TRUE(equal(grad != nullptr ? grad->elem : wrapped.grad(), full({2}, 4.0)));
}

// Counts how many of it there are.
class CountedTensor : public Wrapper<CountedTensor> {
 public:
  explicit CountedTensor(Tensor payload) : Wrapper(payload), elem(std::move(payload)) { ++alive; }
  ~CountedTensor() override { --alive; }
  std::optional<Value> dispatch(const OpCall& call) const override {
    const Value result = call.call_with([](const Tensor& t) {
      const auto* counted = t.as<CountedTensor>();
      return counted != nullptr ? counted->elem : t;
    });
    return result.is_tensor() ? Value(make_tensor<CountedTensor>(result.as_tensor())) : result;
  }
  Tensor elem;
  static inline int alive = 0;
};

TEST(WrapperGradients, OfFunctionsThatSaveTheirResultDoNotHoldThemselves) {
  {
    const Tensor x = make_tensor<CountedTensor>(ones({3})).requires_grad_();
    const Tensor y = x.exp().tanh(), z = x.exp();
    EXPECT_GT(CountedTensor::alive, 0);
  }
  EXPECT_EQ(CountedTensor::alive, 0);
}

TEST(WrapperGradients, OfFunctionsThatSaveTheirResultAreDerivedTwice) {
  const Tensor x = make_tensor<CountedTensor>(full({3}, 0.5)).requires_grad_();
  const auto first = autograd::grad({x.exp().sum()}, {x}, {.create_graph = true});
  const auto second = autograd::grad({first[0].sum()}, {x});
  const auto* counted = second[0].as<CountedTensor>();
  ASSERT_NE(counted, nullptr);
  EXPECT_TRUE(allclose(counted->elem, full({3}, 0.5).exp()));
}

TEST(WrapperGradients, NoticeThatASavedResultWasWrittenTo) {
  const Tensor x = make_tensor<CountedTensor>(ones({3})).requires_grad_();
  const Tensor y = x.exp();
  {
    const NoGradScope unrecorded;
    y.mul_(2);
  }
  expect_error<AutogradError>([&] { y.sum().backward(); }, "modified by an inplace operation");
}

}  // namespace
}  // namespace tenon
