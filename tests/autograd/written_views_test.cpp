// Writing into views of recorded tensors, and into what has views.
#include <thread>

#include "support/gradcheck.h"
#include "support/matchers.h"

namespace tenon {
namespace {

Tensor leaf(const Shape& shape) {
  return (arange(shape.numel(), {.dtype = float64}) * 0.37 + 0.5)
      .sin()
      .reshape(shape)
      .requires_grad_();
}

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const AutogradError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(WrittenViews, HaveTheNamesOfPyTorch) {
  const Tensor a = ones({3, 4}).requires_grad_();
  const Tensor x = a * 2, v = x.view({-1});
  v.mul_(2);
  EXPECT_EQ(x.grad_fn()->name(), "CopySlices");
  EXPECT_EQ(v.grad_fn()->name(), "AsStridedBackward0");
  EXPECT_EQ(x.grad_fn()->next_edges()[0].node->name(), "MulBackward0");
  EXPECT_EQ(v.grad_fn()->next_edges()[0].node.get(), x.grad_fn().get());
}

TEST(WrittenViews, MakeABaseThatHadNoHistoryAndItsOtherViewsRequireGrad) {
  const Tensor a = ones({3, 4}).requires_grad_();
  const Tensor x = zeros({3, 4}), v = x[0], w = x[1];
  EXPECT_FALSE(w.requires_grad());
  v.copy_(a[0]);
  EXPECT_EQ(x.grad_fn()->name(), "CopySlices");
  EXPECT_TRUE(w.requires_grad());
  EXPECT_FALSE(w.is_leaf());
  EXPECT_EQ(w.grad_fn()->name(), "AsStridedBackward0");
  x.sum().backward();
  EXPECT_TRUE(
      equal(a.grad(), tensor({{1.F, 1.F, 1.F, 1.F}, {0.F, 0.F, 0.F, 0.F}, {0.F, 0.F, 0.F, 0.F}})));
}

TEST(WrittenViews, HaveTheGradientsThatDifferencesSay) {
  // A row, a column, every second element, a view of a view, and writing several times.
  expect_gradients(
      [](const std::vector<Tensor>& in) {
        const Tensor x = in[0] * 2;
        x[1].mul_(in[1]);
        return x;
      },
      {leaf({3, 4}), leaf({4})});
  expect_gradients(
      [](const std::vector<Tensor>& in) {
        const Tensor x = in[0] * in[0];
        x.select(1, 2).exp_();
        return x * x;
      },
      {leaf({3, 4})});
  expect_gradients(
      [](const std::vector<Tensor>& in) {
        const Tensor x = in[0].clone();
        x.slice(1, 0, 4, 2).copy_(in[1]);
        x.t()[3].add_(in[0].sum(1));
        return x * x;
      },
      {leaf({3, 4}), leaf({3, 1})});
  expect_gradients(
      [](const std::vector<Tensor>& in) {
        const Tensor x = in[0].t().clone() * 3;
        const Tensor part = x.slice(0, 1, 3, 1).transpose(0, 1);
        const Tensor before = part * 1;
        part.mul_(before);
        part[0].sin_();
        return part.sum(0) * x.sum();
      },
      {leaf({3, 4})});
  expect_gradients(
      [](const std::vector<Tensor>& in) {
        const Tensor x = zeros({2, 5}, {.dtype = float64});
        for (std::int64_t i = 0; i < 5; ++i) x.select(1, i).copy_(in[0].select(1, i) * in[1]);
        return x;
      },
      {leaf({2, 5}), leaf({2})});
}

TEST(WrittenViews, SeeWhatWasWrittenIntoTheirBase) {
  expect_gradients(
      [](const std::vector<Tensor>& in) {
        const Tensor x = in[0] * 2, v = x[0], other = x.view({-1});
        x.mul_(in[1]);
        return v * other.slice(0, 4, 8, 1);
      },
      {leaf({3, 4}), leaf({4})});
  expect_gradients(
      [](const std::vector<Tensor>& in) {
        const Tensor x = in[0] * 2, v = x[0], w = x[0];
        v.mul_(in[1]);
        return w * x.sum();
      },
      {leaf({3, 4}), leaf({4})});
}

TEST(WrittenViews, OfATransposedBaseGoBackToItsOrder) {
  expect_gradients(
      [](const std::vector<Tensor>& in) {
        const Tensor x = (in[0] * 2).t().contiguous().t();
        x[1].mul_(in[1]);
        return x * x;
      },
      {leaf({3, 4}), leaf({4})});
}

TEST(WrittenViews, AreNoticedByWhatWasSavedBefore) {
  const Tensor a = ones({3, 4}).requires_grad_();
  const Tensor x = a * 2, v = x[0];
  const Tensor y = v * v;
  v.mul_(2);
  expect_error<AutogradError>([&] { y.sum().backward(); }, "modified by an inplace operation");
}

TEST(WrittenViews, OfLeavesAreRefused) {
  const Tensor a = ones({3, 4}).requires_grad_();
  expect_error<AutogradError>([&] { a[0].mul_(2); }, "a view of a leaf Variable that requires grad",
                              "'mul_'");
  const Tensor x = zeros({3, 4}), v = x[0];
  v.requires_grad_();
  expect_error<AutogradError>([&] { v.mul_(2); }, "a view of a leaf Variable that requires grad");
  x.mul_(a);
  EXPECT_EQ(v.grad_fn()->name(), "AsStridedBackward0");
}

TEST(WrittenViews, OfWhichThereAreSeveralAreRefusedWithTheTextOfPyTorch) {
  const Tensor a = ones({3, 4}).requires_grad_();
  const Tensor x = a * 2;
  const auto parts = x.split(1);
  EXPECT_EQ(
      message([&] { parts[1].mul_(3); }),
      "Output 1 of Split is a view and is being modified inplace. This view is the output of a "
      "function that returns multiple views. Such functions do not allow the output views to be "
      "modified inplace. You should replace the inplace operation by an out-of-place one.");
  const Tensor plain = zeros({3, 4});
  EXPECT_THAT(message([&] { plain.unbind()[0].copy_(a[0]); }),
              testing::StartsWith("A view was created in no_grad mode and is being modified"));
  // Where nothing is recorded they are written to like others.
  plain.unbind()[0].fill_(3);
  EXPECT_EQ(plain[0][0].item<float>(), 3);
  x.mul_(2);
  EXPECT_THAT(
      message([&] { parts[0].grad_fn(); }),
      testing::StartsWith("Output 0 of Split is a view and its base or another view of its base "
                          "has been modified inplace."));
}

TEST(WrittenViews, MadeWithRecordingOffAreRefusedWithTheTextOfPyTorch) {
  const Tensor a = ones({3, 4}).requires_grad_();
  const Tensor x = a * 2;
  Tensor v;
  {
    const NoGradScope unrecorded;
    v = x[0];
  }
  EXPECT_TRUE(v.requires_grad());
  EXPECT_TRUE(v.is_leaf());
  const std::string rest =
      " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify "
      "your "
      "code by moving both the view and the inplace either both inside the no_grad block (if you "
      "don't "
      "want the inplace to be tracked) or both outside (if you want the inplace to be tracked).";
  EXPECT_EQ(
      message([&] { v.mul_(3); }),
      "A view was created in no_grad mode and is being modified inplace with grad mode enabled." +
          rest);
  EXPECT_EQ(message([&] { v.slice(0, 1, 3, 1).mul_(3); }),
            "Output 0 of Slice is a view of a view which was created in no_grad mode and is being "
            "modified inplace with grad mode enabled." +
                rest);
  x.mul_(2);
  EXPECT_EQ(message([&] { v.grad_fn(); }),
            "A view was created in no_grad mode and its base or another view of its base has been "
            "modified inplace with grad mode enabled." +
                rest);
  {
    const NoGradScope unrecorded;
    v.fill_(5);
  }
  EXPECT_EQ(x[0][1].item<float>(), 5);
}

TEST(WrittenViews, OfOtherDtypesAreRefused) {
  const Tensor a = ones({3, 2}).requires_grad_();
  const Tensor x = view_as_complex(a * 2);
  expect_error<NotImplementedError>([&] { x.mul_(2); }, "another dtype");
}

TEST(WrittenViews, KeepTheGradientsThatWereToBeKept) {
  const Tensor a = ones({3, 4}).requires_grad_();
  {
    const Tensor x = a * 2, v = x[0];
    v.retain_grad();
    x.mul_(2);
    (x.sum() + v.sum()).backward();
    EXPECT_TRUE(equal(v.grad(), ones({4})));
  }
  {
    const Tensor x = a * 2, v = x[0];
    x.retain_grad();
    v.mul_(2);
    x.sum().backward();
    EXPECT_TRUE(equal(x.grad(), ones({3, 4})));
  }
}

TEST(WrittenViews, ByTheThousandsDoNotRecurse) {
  const Tensor a = ones({4}).requires_grad_();
  const Tensor x = zeros({8});
  for (int i = 0; i < 20000; ++i) x.slice(0, i % 4, i % 4 + 4, 1).mul_(a);
  x.sum().backward();
  EXPECT_TRUE(equal(a.grad(), zeros({4})));
}

TEST(WrittenViews, CanBeAskedForTheirHistoryByManyThreads) {
  const Tensor a = ones({64, 8}).requires_grad_();
  const Tensor x = a * 2;
  std::vector<Tensor> views;
  for (std::int64_t i = 0; i < 64; ++i) views.push_back(x[i]);
  x.mul_(3);
  std::vector<std::thread> threads;
  std::vector<Tensor> results(4);
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Tensor sum = zeros({8});
      for (const Tensor& view : views) sum = sum + view;
      results[t] = sum;
    });
  }
  for (std::thread& thread : threads) thread.join();
  (results[0] + results[1] + results[2] + results[3]).sum().backward();
  EXPECT_TRUE(equal(a.grad(), full({64, 8}, 24)));
}

TEST(InferenceMode, RecordsNothingAndMakesTensorsThatNeverAre) {
  const Tensor a = ones({3}).requires_grad_();
  Tensor made, view;
  {
    const InferenceModeScope inference;
    EXPECT_TRUE(is_inference_mode_enabled());
    EXPECT_FALSE(is_grad_enabled());
    made = a * 2;
    EXPECT_TRUE(made.is_inference());
    EXPECT_FALSE(made.requires_grad());
    made.mul_(1);
    view = a.slice(0, 0, 2, 1);
    EXPECT_FALSE(view.is_inference());
    const GradModeScope on(true);
    EXPECT_TRUE(is_grad_enabled());
    EXPECT_FALSE((a * 2).requires_grad());
  }
  EXPECT_FALSE(is_inference_mode_enabled());
  EXPECT_TRUE(is_grad_enabled());
  EXPECT_TRUE(made[0].is_inference());
  EXPECT_TRUE(made.detach().is_inference());
  EXPECT_FALSE(made.clone().is_inference());
  EXPECT_FALSE((made * 2).is_inference());
  expect_error<AutogradError>([&] { made.mul_(2); }, "Inplace update to inference tensor");
  expect_error<AutogradError>([&] { made.view({-1}).add_(1); },
                              "Inplace update to inference tensor");
  expect_error<AutogradError>([&] { made.requires_grad_(); },
                              "Setting requires_grad=True on inference");
  expect_error<AutogradError>([&] { a* made; }, "Inference tensors cannot be saved for backward");
  EXPECT_THAT(
      message([&] { view.mul_(2); }),
      testing::StartsWith("A view was created in inference mode and is being modified inplace in "
                          "normal mode. Given that"));
}

TEST(InferenceMode, MayWriteIntoOrdinaryTensors) {
  const Tensor x = zeros({3});
  {
    const InferenceModeScope inference;
    x.add_(1);
    const InferenceModeScope off(false);
    EXPECT_TRUE((ones({1}).requires_grad_() * 2).requires_grad());
  }
  EXPECT_TRUE(equal(x, ones({3})));
}

TEST(WrittenViews, MadeWithRecordingOffHaveNoGradientOfTheirOwn) {
  const Tensor w = ones({2, 2}).requires_grad_();
  Tensor v;
  {
    const NoGradScope unrecorded;
    v = w.view({-1});
  }
  (v * 2.0).sum().backward();
  EXPECT_FALSE(v.grad().defined());
  EXPECT_FALSE(w.grad().defined());
}

TEST(WrittenViews, WhoseHistoryCannotBeToldAreStillPrinted) {
  const Tensor b = ones({4}).requires_grad_() * 2;
  const auto parts = b.chunk(2);
  b.mul_(2.0);
  EXPECT_EQ(parts[0].repr(), "tensor([4., 4.], grad_fn=<Invalid>)");
}

}  // namespace
}  // namespace tenon
