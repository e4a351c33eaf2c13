// requires_grad, leaves, grad, and what operators record.
#include "core/autograd_meta.h"
#include "support/long_chain.h"
#include "support/matchers.h"
#include "tenon/autograd.h"

namespace tenon {
namespace {

TEST(RequiresGrad, OnlyForDTypesThatHaveGradients) {
  EXPECT_TRUE(ones({2}).requires_grad_().requires_grad());
  EXPECT_TRUE(zeros({2}, {.dtype = complex64, .requires_grad = true}).requires_grad());
  expect_error<DTypeError>([] { arange(2).requires_grad_(); }, "floating point and complex",
                           "torch.int64");
  arange(2).requires_grad_(false);
  expect_error<DTypeError>([] { empty({2}, {.dtype = bool_, .requires_grad = true}); },
                           "torch.bool");
}

TEST(RequiresGrad, OfAResultFollowsItsArguments) {
  const Tensor w = ones({2}).requires_grad_(), y = w.clone();
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TRUE(w.is_leaf());
  y.requires_grad_();
  expect_error<AutogradError>([&] { y.requires_grad_(false); }, "leaf", "detach()");
  EXPECT_FALSE(y.detach().requires_grad());
  EXPECT_FALSE(w.view(int32).requires_grad());
}

TEST(Recording, NodesHavePyTorchsNames) {
  const Tensor x = ones({4, 6}).requires_grad_(),
               c = zeros({4}, {.dtype = complex64}).requires_grad_();
  const auto name = [](const Tensor& t) { return t.grad_fn() ? t.grad_fn()->name() : "None"; };
  EXPECT_EQ(name(x.view({24})), "ViewBackward0");
  EXPECT_EQ(name(x.t().reshape({24})), "UnsafeViewBackward0");
  EXPECT_EQ(name(x.narrow(0, 1, 2)), "SliceBackward0");
  EXPECT_EQ(name(x[0]), "SelectBackward0");
  EXPECT_EQ(name(x.transpose(0, 1)), "TransposeBackward0");
  EXPECT_EQ(name(x.permute({1, 0})), "PermuteBackward0");
  EXPECT_EQ(name(x.t()), "TBackward0");
  EXPECT_EQ(name(x.mT()), "TransposeBackward0");
  EXPECT_EQ(name(x.movedim(0, 1)), "PermuteBackward0");
  EXPECT_EQ(name(x.expand({2, 4, 6})), "ExpandBackward0");
  EXPECT_EQ(name(x.squeeze()), "SqueezeBackward0");
  EXPECT_EQ(name(x.squeeze(0)), "SqueezeBackward1");
  EXPECT_EQ(name(x.squeeze({0, 1})), "SqueezeBackward2");
  EXPECT_EQ(name(x.unsqueeze(0)), "UnsqueezeBackward0");
  EXPECT_EQ(name(x.flatten()), "ViewBackward0");
  EXPECT_EQ(name(x.unflatten(1, {2, 3})), "ViewBackward0");
  EXPECT_EQ(name(x.as_strided({2, 2}, {1, 1})), "AsStridedBackward0");
  EXPECT_EQ(name(x.diagonal()), "DiagonalBackward0");
  EXPECT_EQ(name(x.unfold(1, 2, 1)), "UnfoldBackward0");
  EXPECT_EQ(name(x.split(2)[0]), "SplitBackward0");
  EXPECT_EQ(name(x.split({1, 3})[0]), "SplitWithSizesBackward0");
  EXPECT_EQ(name(x.chunk(2)[0]), "SplitBackward0");
  EXPECT_EQ(name(x.unbind()[1]), "UnbindBackward0");
  EXPECT_EQ(name(x.index({Ellipsis})), "AliasBackward0");
  EXPECT_EQ(name(x.index({None})), "UnsqueezeBackward0");
  EXPECT_EQ(name(x.index({tensor({0, 1})})), "IndexBackward0");
  EXPECT_EQ(name(c.real()), "SelectBackward0");
  EXPECT_EQ(name(c.conj().imag()), "SelectBackward0");
  EXPECT_EQ(name(view_as_real(c)), "ViewAsRealBackward0");
  EXPECT_EQ(name(view_as_complex(x.view({4, 3, 2}))), "ViewAsComplexBackward0");
  EXPECT_EQ(name(c.conj()), "ConjBackward0");
  EXPECT_EQ(name(c.conj().resolve_conj()), "CloneBackward0");
  EXPECT_EQ(name(x.clone()), "CloneBackward0");
  EXPECT_EQ(name(x.t().contiguous()), "CloneBackward0");
  EXPECT_EQ(name(x.to(float64)), "ToCopyBackward0");
  EXPECT_EQ(name(x.to(Device::meta())), "ToCopyBackward0");
  EXPECT_EQ(name(cat({x, x})), "CatBackward0");
  EXPECT_EQ(name(stack({x, x})), "StackBackward0");
  EXPECT_EQ(name(empty({4, 6}).copy_(x)), "CopyBackwards");
  EXPECT_EQ(name(x.clone().fill_(1)), "FillBackward2");
  EXPECT_EQ(name(x.clone().fill_(tensor(1.0))), "FillBackward3");
  EXPECT_EQ(name(x.clone().zero_()), "ZeroBackward0");
  EXPECT_EQ(name(x.clone().index_put_({tensor({0})}, tensor(1.0))), "IndexPutBackward0");
  EXPECT_EQ(name(x.detach()), "None");
  EXPECT_EQ(name(x.to(float32)), "None");
  EXPECT_EQ(name(zeros_like(x)), "None");
  EXPECT_FALSE(zeros_like(x).requires_grad());
  EXPECT_FALSE(empty_like(x).requires_grad());
}

TEST(Recording, EdgesLeadToTheArguments) {
  const Tensor a = ones({2}).requires_grad_(), b = zeros({2}), c = a.clone();
  const Tensor joined = cat({a, b, c});
  const auto& edges = joined.grad_fn()->next_edges();
  ASSERT_EQ(edges.size(), 3U);
  EXPECT_EQ(edges[0].node->name(), "AccumulateGrad");
  EXPECT_FALSE(edges[1].node);
  EXPECT_EQ(edges[2].node, c.grad_fn());
  const auto pieces = a.split(1);
  EXPECT_EQ(pieces[0].grad_fn(), pieces[1].grad_fn());
}

TEST(Recording, OneAccumulatorServesAllGraphsOfALeaf) {
  const Tensor a = ones({2}).requires_grad_();
  const Tensor y = a.clone(), z = a.view({2, 1});
  EXPECT_EQ(y.grad_fn()->next_edges()[0].node, z.grad_fn()->next_edges()[0].node);
}

TEST(Recording, IsOffInsideANoGradScope) {
  const Tensor a = ones({2}).requires_grad_();
  {
    const NoGradScope scope;
    EXPECT_FALSE(is_grad_enabled());
    EXPECT_FALSE(a.clone().requires_grad());
    const GradModeScope again(true);
    EXPECT_TRUE(a.clone().requires_grad());
  }
  EXPECT_TRUE(is_grad_enabled());
}

TEST(Recording, AnIntegerResultHasNoHistory) {
  const Tensor a = ones({2}).requires_grad_();
  EXPECT_FALSE(a.to(int64).requires_grad());
  EXPECT_FALSE(zeros({2}, {.dtype = int64}).copy_(a).requires_grad());
}

TEST(Recording, AChainOfAMillionIsReleasedWithoutRecursion) {
  Tensor y = ones({1}).requires_grad_();
  for (int i = 0; i < kLongChain; ++i) y = y.view({1});
  EXPECT_TRUE(y.requires_grad());
  y = Tensor();
}

TEST(InPlace, ALeafThatRequiresGradIsNotWrittenInto) {
  const Tensor w = ones({3}).requires_grad_();
  expect_error<AutogradError>([&] { w.fill_(2); }, "leaf Variable that requires grad", "'fill_'",
                              "NoGradScope");
  expect_error<AutogradError>([&] { w.view({3}).zero_(); }, "view of a leaf", "'zero_'");
  EXPECT_EQ(w.select(0, 0).item<float>(), 1.0f);
  EXPECT_EQ(w.version(), 0);
  {
    const NoGradScope scope;
    w.fill_(2);
  }
  w.detach().fill_(3);
  EXPECT_EQ(w.version(), 2);
}

TEST(InPlace, AViewMadeWithoutRecordingDoesNotGetAroundIt) {
  const Tensor w = ones({3}).requires_grad_();
  Tensor view;
  {
    const NoGradScope scope;
    view = w.view({3});
    view.fill_(2);
  }
  EXPECT_TRUE(view.requires_grad());
  expect_error<AutogradError>([&] { view.fill_(3); }, "A view was created in no_grad mode");
  EXPECT_EQ(w[0].item<float>(), 2.0f);
}

TEST(InPlace, WritingIntoAResultIsRecorded) {
  const Tensor x = zeros({2});
  x.copy_(ones({2}).requires_grad_());
  EXPECT_TRUE(x.requires_grad());
  EXPECT_FALSE(x.is_leaf());
}

TEST(InPlace, IntoAViewOfARecordedTensorIsRecordedOfItsBase) {
  const Tensor y = ones({4}).requires_grad_().clone();
  y.slice(0, 1).zero_();
  EXPECT_EQ(y.grad_fn()->name(), "CopySlices");
}

TEST(Grad, MustFitItsTensor) {
  const Tensor t = ones({3});
  EXPECT_FALSE(t.grad().defined());
  t.set_grad(zeros({3}));
  EXPECT_TRUE(t.grad().defined());
  t.set_grad(Tensor());
  EXPECT_FALSE(t.grad().defined());
  expect_error<ShapeError>([&] { t.set_grad(ones({4})); }, "'[4]'", "'[3]'");
  expect_error<DTypeError>([&] { t.set_grad(ones({3}, {.dtype = float64})); }, "float64",
                           "float32");
  expect_error<DeviceError>([&] { t.set_grad(ones({3}, {.device = "meta"})); }, "meta", "cpu");
  expect_error<AutogradError>([&] { t.set_grad(t); }, "own grad");
}

TEST(Base, IsTheTensorItselfForAsLongAsItLives) {
  Tensor root = arange(6);
  const auto id = root.id();
  const Tensor view = root.view({2, 3}), of_view = view[0];
  EXPECT_TRUE(view.base().is(root));
  EXPECT_TRUE(of_view.base().is(root));
  EXPECT_FALSE(root.is_view());
  EXPECT_FALSE(root.base().defined());
  root = Tensor();  // its body lives on in its views, and gets a new name when asked for
  EXPECT_NE(view.base().id(), id);
  const Tensor found = view.base();
  EXPECT_TRUE(of_view.base().is(found));
}

TEST(Base, IsTheTensorItselfAndStaysItWhenTheViewIsSwapped) {
  const Tensor base = arange(4), other = zeros({1}), view = base.slice(0, 2);
  EXPECT_TRUE(view.base().is(base));
  swap_tensors(view, other);
  EXPECT_FALSE(view.base().defined());
  EXPECT_TRUE(other.base().is(base));
}

}  // namespace
}  // namespace tenon
