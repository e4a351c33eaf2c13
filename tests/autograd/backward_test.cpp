// Running graphs backwards: where gradients arrive, what is kept, and what is refused.
#include <thread>

#include "core/body_editor.h"
#include "support/gradcheck.h"
#include "support/long_chain.h"
#include "support/matchers.h"

namespace tenon {
namespace {

using testing::HasSubstr;

Tensor leaf(double value) { return full({}, value, {.dtype = float64}).requires_grad_(); }

TEST(Backward, AddsToTheGradsOfLeaves) {
  const Tensor x = leaf(3), y = leaf(4);
  (x * y + x).backward();
  EXPECT_EQ(x.grad().item<double>(), 5);
  EXPECT_EQ(y.grad().item<double>(), 3);
  (x * 2).backward();
  EXPECT_EQ(x.grad().item<double>(), 7);
  EXPECT_FALSE(x.grad().requires_grad());
}

TEST(Backward, AddsInPlaceSoThatWhoHoldsTheGradSeesIt) {
  const Tensor x = leaf(3);
  (x * 2).backward();
  const Tensor held = x.grad();
  (x * 2).backward();
  EXPECT_EQ(held.item<double>(), 4);
}

TEST(Backward, LeavesALeafAloneThatWasFrozenSince) {
  const Tensor x = ones({2}).requires_grad_(), y = ones({2}).requires_grad_();
  int calls = 0;
  x.register_post_accumulate_grad_hook([&](const Tensor&) { ++calls; });
  const Tensor loss = (x * y).sum();
  x.requires_grad_(false);
  loss.backward();
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(y.grad().defined());
}

TEST(Backward, TakesAGradientOfTheResult) {
  const Tensor x = ones({3}, {.dtype = float64}).requires_grad_();
  (x * 2).backward({.gradient = tensor({1.0, 2.0, 3.0}, {.dtype = float64})});
  EXPECT_TRUE(equal(x.grad(), tensor({2.0, 4.0, 6.0}, {.dtype = float64})));
}

TEST(Backward, SaysWhatCannotBe) {
  const Tensor x = ones({3}).requires_grad_();
  expect_error<AutogradError>([&] { (x * 2).backward(); },
                              "grad can be implicitly created only for scalar outputs");
  expect_error<AutogradError>([&] { ones({}).backward(); },
                              "element 0 of tensors does not require grad and does not have a "
                              "grad_fn");
  expect_error<AutogradError>([&] { (x * 2).backward({.gradient = ones({2})}); },
                              "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) "
                              "and output[0] has a shape of torch.Size([3]).");
  const Tensor z = full({}, std::complex<double>(1, 1)).requires_grad_();
  expect_error<AutogradError>([&] { (z * z).backward(); },
                              "grad can be implicitly created only for real scalar outputs but got "
                              "torch.complex64");
}

TEST(Backward, RunsAGraphOnce) {
  const Tensor x = leaf(3);
  const Tensor y = x * x;
  y.backward({.retain_graph = true});
  y.backward();
  EXPECT_EQ(x.grad().item<double>(), 12);
  expect_error<AutogradError>(
      [&] { y.backward(); },
      "Trying to backward through the graph a second time (or directly access saved tensors after "
      "they have already been freed). Saved intermediate values of the graph are freed when you "
      "call .backward() or autograd::grad(). Specify {.retain_graph = true} if you need to "
      "backward "
      "through the graph a second time or if you need to access saved tensors after calling "
      "backward.");
  // Where nothing was saved, it can be run again: as in PyTorch.
  const Tensor sum = x + 1;
  sum.backward();
  sum.backward();
  EXPECT_EQ(x.grad().item<double>(), 14);
}

TEST(Backward, NoticesAWriteToWhatWasSaved) {
  const Tensor x = leaf(3);
  const Tensor y = x * 1;
  const Tensor z = y * y;
  y.add_(1);
  expect_error<AutogradError>([&] { z.backward(); },
                              "one of the variables needed for gradient computation has been "
                              "modified by an inplace operation",
                              "MulBackward0");
}

TEST(Backward, OfAResultThatWasSavedNoticesToo) {
  const Tensor x = leaf(1);
  const Tensor y = x.exp();
  y.add_(1);
  expect_error<AutogradError>([&] { y.backward(); }, "ExpBackward0");
}

TEST(Backward, ReachesGivenInputsAlone) {
  const Tensor x = leaf(3), y = leaf(4);
  (x * y).backward({.inputs = {x}});
  EXPECT_EQ(x.grad().item<double>(), 4);
  EXPECT_FALSE(y.grad().defined());
}

TEST(Backward, KeepsTheOrderOfMemoryOfTheLeaf) {
  const Tensor x = empty({2, 3}).t().fill_(1).requires_grad_();
  (x * ones({3, 2})).sum().backward();
  EXPECT_EQ(x.grad().stride(), x.stride());
}

TEST(Grad, GivesGradientsAndAddsThemToNothing) {
  const Tensor x = leaf(3), y = leaf(4);
  const auto grads = autograd::grad({x * y * y}, {x, y});
  EXPECT_EQ(grads[0].item<double>(), 16);
  EXPECT_EQ(grads[1].item<double>(), 24);
  EXPECT_FALSE(x.grad().defined());
}

TEST(Grad, OfWhatIsNoLeaf) {
  const Tensor x = leaf(3);
  const Tensor y = x * 2;
  const Tensor z = y * y;
  EXPECT_EQ(autograd::grad({z}, {y}, {.retain_graph = true})[0].item<double>(), 12);
  // Both it and what it was made from.
  const auto both = autograd::grad({z}, {y, x});
  EXPECT_EQ(both[0].item<double>(), 12);
  EXPECT_EQ(both[1].item<double>(), 24);
}

TEST(Grad, OfWhatWasNotUsed) {
  const Tensor x = leaf(3), y = leaf(4);
  expect_error<AutogradError>(
      [&] { autograd::grad({x * 2}, {y}); },
      "One of the differentiated Tensors appears to not have been used in "
      "the graph. Set {.allow_unused = true} if this is the desired behavior.");
  EXPECT_FALSE(autograd::grad({x * 2}, {y}, {.allow_unused = true})[0].defined());
  EXPECT_EQ(autograd::grad({x * 2}, {y}, {.materialize_grads = true})[0].item<double>(), 0);
  expect_error<AutogradError>([&] { autograd::grad({x * 2}, {ones({})}); },
                              "One of the differentiated Tensors does not require grad");
}

TEST(Grad, IsDifferentiatedAgain) {
  const Tensor x = leaf(2);
  const Tensor first = autograd::grad({x.pow(4)}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(first.item<double>(), 32);
  const Tensor second = autograd::grad({first}, {x}, {.create_graph = true})[0];
  EXPECT_EQ(second.item<double>(), 48);
  EXPECT_EQ(autograd::grad({second}, {x})[0].item<double>(), 48);
}

TEST(Grad, OfSeveralResultsIsTheirSum) {
  const Tensor x = leaf(3);
  const Tensor y = x * x;
  EXPECT_EQ(autograd::grad({y, y * 2}, {x})[0].item<double>(), 18);
}

// A diamond of a hundred levels has 2^100 ways through it.
TEST(Backward, VisitsEachNodeOnce) {
  const Tensor x = leaf(1);
  Tensor y = x;
  for (int i = 0; i < 100; ++i) y = (y + y) / 2;
  y.backward();
  EXPECT_EQ(x.grad().item<double>(), 1);
}

TEST(Backward, OfAMillionStepsDoesNotRecurse) {
  const Tensor x = leaf(1);
  {
    Tensor y = x;
    for (int i = 0; i < kLongChain; ++i) y = y + 1;
    y.backward();
  }
  EXPECT_EQ(x.grad().item<double>(), 1);
}

TEST(Backward, LeavesNothingBehind) {
  const Tensor x = leaf(1);
  const auto before = x.body().use_count();
  {
    const Tensor y = (x.exp() * x.sigmoid()).sqrt();
    y.backward();
    EXPECT_EQ(x.body().live_saves(), 0);
  }
  EXPECT_EQ(x.body().use_count(), before);
  {
    // Also where it is never run.
    const Tensor y = (x.exp() * x).tanh();
    EXPECT_GT(x.body().live_saves(), 0);
  }
  EXPECT_EQ(x.body().use_count(), before);
  EXPECT_EQ(x.body().live_saves(), 0);
}

TEST(Backward, OfGraphsThatShareLeavesFromSeveralThreads) {
  const Tensor x = ones({100}, {.dtype = float64}).requires_grad_();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) (x * x).sum().backward();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(equal(x.grad(), full({100}, 1600.0, {.dtype = float64})));
}

TEST(Backward, ReachesASwappedLeafAndSaysSo) {
  const Tensor x = leaf(3);
  const Tensor y = x + 1;
  swap_tensors(x, leaf(4));
  expect_error<SwapError>([&] { y.backward(); }, "poisoned by swap_tensors");
  (x + 1).backward();
  EXPECT_EQ(x.grad().item<double>(), 1);
}

TEST(Backward, WhatWasSavedCannotBeSwapped) {
  const Tensor x = leaf(3);
  {
    const Tensor y = x * x;
    expect_error<SwapError>([&] { swap_tensors(x, leaf(4)); }, "backward pass");
    y.backward();
  }
  swap_tensors(x, leaf(4));
}

TEST(Backward, ANodeThatIsKnownByNameOnlySaysSo) {
  const Tensor x = leaf(1);
  expect_error<NotImplementedError>([&] { x.nextafter(leaf(2)).backward(); }, "NextafterBackward0");
}

TEST(Backward, MayBeginWithTheLeafItself) {
  const Tensor x = leaf(3);
  x.clone().backward({.gradient = x, .create_graph = true});
  EXPECT_EQ(x.grad().item<double>(), 3);
  x.set_grad({});
}

// In PyTorch the leaf has a grad of another shape then, or the next graph does not go backwards.
TEST(LeafWithOtherData, OfAnotherShapeTakesNoGradientOfAGraphFromBefore) {
  const Tensor x = ones({2, 3}).requires_grad_();
  const Tensor before = (x * 2).sum();
  x.set_data(ones({4}));
  const Tensor after = (x * 3).sum();
  expect_error<AutogradError>([&] { before.backward(); }, "[2, 3]", "[4]", "set_data");
  EXPECT_FALSE(x.grad().defined());
  after.backward();
  EXPECT_TRUE(equal(x.grad(), full({4}, 3.0)));
}

// torch: RuntimeError: Function SumBackward0 returned an invalid gradient at index 0 - got [4] but
// expected shape compatible with [2, 3]
TEST(ResultWithOtherData, OfAnotherShapePassesOnNoGradient) {
  const Tensor x = ones({2, 3}).requires_grad_();
  const Tensor y = x * 2;
  const Tensor before = y.sum();
  y.set_data(ones({4}));
  expect_error<AutogradError>([&] { y.sum().backward(); },
                              "Function SumBackward0 returned an invalid gradient at index 0 - got "
                              "[4] but expected shape compatible with [2, 3]");
  expect_error<AutogradError>([&] { (ones({4}) * y).sum().backward(); },
                              "Function MulBackward0 returned an invalid gradient at index 1");
  EXPECT_FALSE(x.grad().defined());
  // What was recorded before does not see it.
  before.backward();
  EXPECT_TRUE(equal(x.grad(), full({2, 3}, 2.0)));
}

TEST(ResultWithOtherData, ThatTheOldShapeBroadcastsToSumsTheGradient) {
  const Tensor x = ones({1, 3}).requires_grad_();
  const Tensor y = x * 2;
  y.set_data(ones({5, 3}));
  y.sum().backward();
  EXPECT_TRUE(equal(x.grad(), full({1, 3}, 10.0)));
}

}  // namespace
}  // namespace tenon
