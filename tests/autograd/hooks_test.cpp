#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

using testing::ElementsAre;

Tensor leaf(double value) { return full({}, value, {.dtype = float64}).requires_grad_(); }

TEST(TensorHooks, OfALeafMayReplaceItsGradient) {
  const Tensor x = leaf(3);
  RemovableHandle twice = x.register_hook([](const Tensor& grad) { return grad * 2; });
  x.register_hook([](const Tensor& grad) { return grad + 1; });
  (x * 5).backward();
  EXPECT_EQ(x.grad().item<double>(), 11);
  twice.remove();
  x.set_grad({});
  (x * 5).backward();
  EXPECT_EQ(x.grad().item<double>(), 6);
}

TEST(TensorHooks, SeeTheWholeGradientOnce) {
  const Tensor x = leaf(3);
  std::vector<double> seen;
  x.register_hook([&](const Tensor& grad) {
    seen.push_back(grad.item<double>());
    return Tensor();
  });
  (x * 2 + x * 3).backward();
  EXPECT_THAT(seen, ElementsAre(5));
}

TEST(TensorHooks, OfWhatIsNoLeafActOnTheWay) {
  const Tensor x = leaf(3);
  Tensor y = x * 2;
  RemovableHandle handle = y.register_hook([](const Tensor& grad) { return grad * 10; });
  const Tensor z = y * 3;
  z.backward({.retain_graph = true});
  EXPECT_EQ(x.grad().item<double>(), 60);
  y = Tensor();  // the handle does not need it
  handle.remove();
  z.backward();
  EXPECT_EQ(x.grad().item<double>(), 66);
}

TEST(TensorHooks, AlsoActOnWhatIsAskedFor) {
  const Tensor x = leaf(3);
  const Tensor y = x * 2;
  y.register_hook([](const Tensor& grad) { return grad * 10; });
  x.register_hook([](const Tensor& grad) { return grad + 1; });
  const auto grads = autograd::grad({y * 3}, {y, x});
  EXPECT_EQ(grads[0].item<double>(), 3);  // as it arrives: x is behind it
  EXPECT_EQ(grads[1].item<double>(), 61);
}

TEST(TensorHooks, AfterAccumulationSeeTheGrad) {
  const Tensor x = leaf(3);
  std::vector<double> seen;
  RemovableHandle handle = x.register_post_accumulate_grad_hook([&](const Tensor& tensor) {
    EXPECT_TRUE(tensor.is(x));
    seen.push_back(tensor.grad().item<double>());
    tensor.set_grad({});
  });
  (x * 2).backward();
  (x * 3).backward();
  EXPECT_THAT(seen, ElementsAre(2, 3));
  EXPECT_FALSE(x.grad().defined());
  handle.remove();
  (x * 4).backward();
  EXPECT_EQ(x.grad().item<double>(), 4);
}

TEST(TensorHooks, AreRefusedWhereTheyWouldNotRun) {
  expect_error<AutogradError>(
      [] { ones({}).register_hook([](const Tensor& grad) { return grad; }); },
      "cannot register a hook on a tensor that doesn't require gradient");
  expect_error<AutogradError>(
      [] { (leaf(1) * 2).register_post_accumulate_grad_hook([](const Tensor&) {}); },
      "post accumulate grad hooks cannot be registered on non-leaf tensors");
}

TEST(RetainGrad, KeepsTheGradOfWhatIsNoLeaf) {
  const Tensor x = leaf(3);
  const Tensor y = x * 2;
  EXPECT_FALSE(y.retains_grad());
  y.retain_grad();
  y.retain_grad();
  EXPECT_TRUE(y.retains_grad());
  y.register_hook([](const Tensor& grad) { return grad * 10; });
  (y * 3).backward();
  EXPECT_EQ(y.grad().item<double>(), 30);  // after all hooks
  expect_error<AutogradError>([] { ones({}).retain_grad(); },
                              "can't retain_grad on Tensor that has requires_grad=False");
}

TEST(RetainGrad, DoesNotKeepTheTensor) {
  const Tensor x = leaf(3);
  WeakTensor weak;
  Tensor z;
  {
    const Tensor y = x * 2;
    y.retain_grad();
    weak = WeakTensor(y);
    z = y + 3;
  }
  EXPECT_FALSE(weak.lock().defined());
  z.backward();
  EXPECT_EQ(x.grad().item<double>(), 2);
}

TEST(RetainGrad, GoesAlongWhenTheTensorIsWrittenTo) {
  const Tensor x = leaf(3);
  const Tensor y = x * 2;
  y.retain_grad();
  y.mul_(5);
  y.backward();
  EXPECT_EQ(y.grad().item<double>(), 1);
  EXPECT_EQ(x.grad().item<double>(), 10);
}

TEST(RetainGrad, FollowsASwap) {
  const Tensor x = ones({2, 3}).requires_grad_();
  const Tensor y = x * 2, other = zeros({4});
  y.retain_grad();
  swap_tensors(y, other);
  EXPECT_FALSE(y.retains_grad());
  EXPECT_TRUE(other.retains_grad());
  other.sum().backward();
  EXPECT_FALSE(y.grad().defined());
  EXPECT_TRUE(equal(other.grad(), ones({2, 3})));
  EXPECT_TRUE(equal(x.grad(), full({2, 3}, 2.0)));
}

TEST(RetainGrad, OfTwoThatAreSwappedStaysWithEachHistory) {
  const Tensor x = leaf(3);
  const Tensor y = x * 2, z = x * 5;
  const Tensor sum = 10 * y + z;
  y.retain_grad();
  z.retain_grad();
  swap_tensors(y, z);
  z.retain_grad();  // it does already
  sum.backward();
  EXPECT_EQ(z.grad().item<double>(), 10);
  EXPECT_EQ(y.grad().item<double>(), 1);
}

TEST(RetainGrad, GoesAlongWhenATensorIsSwappedAndThenWrittenTo) {
  const Tensor x = leaf(3), other = leaf(7).detach();
  const Tensor y = x * 2;
  y.retain_grad();
  swap_tensors(y, other);
  other.mul_(5);
  (other * 3).backward();
  EXPECT_EQ(other.grad().item<double>(), 3);
  EXPECT_FALSE(y.grad().defined());
  EXPECT_EQ(x.grad().item<double>(), 30);
}

// As the tensor lives on in its view.
TEST(RetainGrad, IsKeptForWhoeverAsksAViewForItsBase) {
  const Tensor x = ones({3}).requires_grad_();
  Tensor view, sum;
  {
    const Tensor y = x * 2;
    y.retain_grad();
    view = y[0];
    sum = y.sum();
  }
  sum.backward();
  EXPECT_TRUE(equal(view.base().grad(), ones({3})));
}

// As PyTorch answers each: what is asked for is what arrives before its own hooks if something
// else that is asked for lies behind it, and what they make of it if it ends there.
TEST(GradOfSeveral, IsBeforeHooksOnTheWayAndAfterThemAtTheEnd) {
  struct Graph {
    Tensor x = leaf(2), y = x * 3, w = y * 2, z = w * w;
    Graph() {
      x.register_hook([](const Tensor& grad) { return grad * 5; });
      y.register_hook([](const Tensor& grad) { return grad * 10; });
      w.register_hook([](const Tensor& grad) { return grad * 7; });
      z.register_hook([](const Tensor& grad) { return grad * 3; });
    }
    std::vector<double> of(const std::vector<Tensor>& inputs) const {
      std::vector<double> numbers;
      for (const Tensor& grad : autograd::grad({z}, inputs)) numbers.push_back(grad.item<double>());
      return numbers;
    }
  };
  const auto asked = [](auto&& choose) {
    const Graph graph;
    return graph.of(choose(graph));
  };
  using G = const Graph&;
  using T = std::vector<Tensor>;
  EXPECT_THAT(asked([](G g) { return T{g.z}; }), ElementsAre(3));
  EXPECT_THAT(asked([](G g) { return T{g.w}; }), ElementsAre(504));
  EXPECT_THAT(asked([](G g) { return T{g.w, g.y}; }), ElementsAre(72, 10080));
  EXPECT_THAT(asked([](G g) { return T{g.y, g.w}; }), ElementsAre(10080, 72));
  EXPECT_THAT(asked([](G g) { return T{g.w, g.y, g.x}; }), ElementsAre(72, 1008, 151200));
  EXPECT_THAT(asked([](G g) { return T{g.y, g.y, g.x}; }), ElementsAre(1008, 1008, 151200));
  EXPECT_THAT(asked([](G g) { return T{g.z, g.x}; }), ElementsAre(1, 151200));
  EXPECT_THAT(asked([](G g) { return T{g.x}; }), ElementsAre(151200));
}

TEST(GradOfSeveral, OfOneOfSeveralResultsOfANode) {
  const Tensor x = arange(6, {.dtype = float64}).requires_grad_();
  const std::vector<Tensor> parts = x.split(3);
  parts[0].register_hook([](const Tensor& grad) { return grad * 10; });
  parts[1].register_hook([](const Tensor& grad) { return grad * 100; });
  const auto grads = autograd::grad({(parts[0] * parts[1]).sum()}, {parts[0], x});
  EXPECT_TRUE(equal(grads[0], tensor({3, 4, 5}).to(float64)));
  EXPECT_TRUE(equal(grads[1], tensor({30, 40, 50, 0, 100, 200}).to(float64)));
}

TEST(GradOfSeveral, LeavesWhatIsRetainedAfterTheHooks) {
  for (const bool alone : {true, false}) {
    const Tensor x = leaf(2), y = x * 3;
    y.retain_grad();
    y.register_hook([](const Tensor& grad) { return grad * 10; });
    const auto inputs = alone ? std::vector<Tensor>{y} : std::vector<Tensor>{y, x};
    const auto grads = autograd::grad({y * y}, inputs);
    EXPECT_EQ(grads[0].item<double>(), alone ? 120 : 12);
    EXPECT_EQ(y.grad().item<double>(), 120);
  }
}

TEST(GradOfSeveral, DoesNotRunHooksAfterAccumulation) {
  const Tensor x = leaf(2);
  x.register_post_accumulate_grad_hook([](const Tensor&) { FAIL(); });
  EXPECT_EQ(autograd::grad({x * x}, {x})[0].item<double>(), 4);
  EXPECT_FALSE(x.grad().defined());
}

TEST(TensorHooks, MustReturnWhatCanTakeTheGradientsPlace) {
  for (const bool of_leaf : {true, false}) {
    const Tensor x = ones({2}).requires_grad_();
    const Tensor y = of_leaf ? x : x * 1;
    RemovableHandle handle = y.register_hook([](const Tensor&) { return ones({5}); });
    expect_error<AutogradError>([&] { (y * 2).sum().backward(); },
                                "hook has changed the size of value");
    handle.remove();
    y.register_hook([](const Tensor& grad) { return grad.to(float64); });
    expect_error<AutogradError>([&] { (y * 2).sum().backward(); },
                                "hook has changed the type of value");
  }
}

}  // namespace
}  // namespace tenon
