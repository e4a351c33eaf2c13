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
  EXPECT_EQ(grads[0].item<double>(), 30);
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
