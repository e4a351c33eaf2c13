#include <thread>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Version, EveryWriteCounts) {
  const Tensor t = zeros({3});
  EXPECT_EQ(t.version(), 0);
  t.fill_(1);
  t.zero_().copy_(ones({3}));
  EXPECT_EQ(t.version(), 3);
}

TEST(Version, ViewsAndDetachedAliasesShareIt) {
  const Tensor t = zeros({4});
  t.fill_(1);
  const Tensor view = t.view({2, 2}), alias = t.detach();
  EXPECT_EQ(view.version(), 1);
  EXPECT_EQ(alias.version(), 1);
  view.fill_(2);
  alias.fill_(3);
  EXPECT_EQ(t.version(), 3);
  EXPECT_EQ(view.select(0, 0).version(), 3);
}

TEST(Version, DataHasOneOfItsOwn) {
  const Tensor t = zeros({4});
  t.fill_(1);
  const Tensor data = t.variable_data();
  EXPECT_EQ(data.version(), 0);
  data.fill_(5);
  EXPECT_EQ(t.version(), 1);
  EXPECT_EQ(t.select(0, 0).item<float>(), 5.0f);
}

TEST(Version, SetDataKeepsIt) {
  const Tensor t = zeros({4});
  t.fill_(1);
  t.set_data(zeros({2}));
  EXPECT_EQ(t.version(), 1);
}

TEST(Version, MetaTensorsCountToo) {
  const Tensor t = zeros({4}, {.device = "meta"});
  t.fill_(1);
  EXPECT_EQ(t.view({2, 2}).version(), 1);
}

TEST(VersionOfSwappedTensors, GoesWithTheBodyAndWhatSharesItFollows) {
  const Tensor a = zeros({3}), b = ones({2});
  a.fill_(1).fill_(2);
  const Tensor handle = a, alias = a.detach();
  swap_tensors(a, b);
  EXPECT_EQ(a.version(), 0);
  EXPECT_EQ(handle.version(), 0);
  EXPECT_EQ(b.version(), 2);
  EXPECT_EQ(alias.version(), 2);
  alias.fill_(3);
  EXPECT_EQ(b.version(), 3);
  b.fill_(4);
  EXPECT_EQ(alias.version(), 4);
  handle.fill_(5);
  EXPECT_EQ(a.version(), 1);
  EXPECT_EQ(b.version(), 4);
  swap_tensors(a, b);
  EXPECT_EQ(a.version(), 4);
  EXPECT_EQ(b.version(), 1);
}

TEST(VersionOfSwappedTensors, AWriteThroughAnotherHandleIsNoticedAfterARefusedSwap) {
  for (const bool through_alias : {true, false}) {
    const Tensor weight = ones({3}).requires_grad_(), handle = weight, alias = weight.detach();
    const Tensor result = (weight * weight).sum();
    expect_error<SwapError>([&] { swap_tensors(weight, zeros({2})); }, "backward pass");
    EXPECT_EQ(weight.version(), 0);
    if (through_alias) {
      alias.fill_(2);
    } else {
      const NoGradScope unrecorded;
      handle.fill_(2);
    }
    EXPECT_EQ(weight.version(), 1);
    expect_error<AutogradError>([&] { result.backward(); }, "MulBackward0", "version 1");
    EXPECT_FALSE(weight.grad().defined());
  }
}

TEST(VersionOfSwappedTensors, AResultThatIsSavedIsLookedForWhereItWent) {
  for (const bool into_saved : {true, false}) {
    const Tensor x = ones({3}).requires_grad_(), other = zeros({3});
    const Tensor y = x.exp();
    const Tensor sum = y.sum();
    swap_tensors(y, other);  // `other` is what the node has saved
    (into_saved ? other : y).detach().fill_(7);
    EXPECT_EQ(other.version(), into_saved ? 1 : 0);
    EXPECT_EQ(y.version(), into_saved ? 0 : 1);
    if (into_saved) {
      expect_error<AutogradError>([&] { sum.backward(); }, "ExpBackward0", "version 1");
    } else {
      sum.backward();
      EXPECT_TRUE(allclose(x.grad(), ones({3}).exp()));
    }
  }
}

TEST(VersionOfSwappedTensors, OfABaseWithViewsStaysWhereItIsBecauseTheSwapIsRefused) {
  const Tensor base = zeros({4}), other = zeros({2});
  other.fill_(1);
  const Tensor view = base.slice(0, 2);
  EXPECT_THROW(swap_tensors(base, other), SwapError);
  EXPECT_THROW(swap_tensors(other, base), SwapError);
  EXPECT_EQ(base.version(), 0);
  EXPECT_EQ(other.version(), 1);
  view.fill_(1);
  EXPECT_EQ(base.version(), 1);
  // A view itself may be swapped: what takes its place counts with the base.
  swap_tensors(view, other);
  EXPECT_EQ(other.version(), 1);
  EXPECT_EQ(view.version(), 1);
  other.fill_(2);
  EXPECT_EQ(base.version(), 2);
  EXPECT_EQ(view.version(), 1);
}

TEST(Version, SharingFromManyThreadsAtOnceKeepsTheCount) {
  for (int round = 0; round < 100; ++round) {
    const Tensor t = zeros({4});
    t.fill_(1);
    Tensor views[4];
    {
      std::vector<std::jthread> threads;
      for (Tensor& view : views) threads.emplace_back([&] { view = t.view({2, 2}); });
    }
    t.fill_(2);
    for (const Tensor& view : views) EXPECT_EQ(view.version(), 2);
  }
}

}  // namespace
}  // namespace tenon
