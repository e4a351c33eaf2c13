// Losses as functions: beside PyTorch's values, their gradients, shapes and errors.
#include "tenon/ops/loss.h"

#include <cmath>
#include <map>

#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/near.h"
#include "support/recorded.h"

namespace tenon {
namespace {

using Loss = std::function<Tensor(const Tensor& x, const Tensor& t, std::string_view reduction)>;

class Losses : public testing::Test {
 protected:
  const StateDict cases = recorded::value("ops/cases/activations_and_losses");
  Tensor at(const std::string& key) const { return cases.at(key).as_tensor(); }
  Tensor given(const char* name) const { return at(std::string("loss.") + name); }

  const Tensor c = given("c"), ci = given("ci"), w = given("w"), u = given("u"), z = given("z"),
               ml = given("ml"), s = given("s"), signs = given("t").sign();

  using View = std::string_view;
  // By the names of tests/record/activations_and_losses.py.
  const std::map<std::string, Loss> all = {
      {"mse", [](auto& x, auto& t, View r) { return mse_loss(x, t, {.reduction = r}); }},
      {"mse_w",
       [&](auto& x, auto& t, View r) { return mse_loss(x, t, {.reduction = r, .weight = u}); }},
      {"l1", [](auto& x, auto& t, View r) { return l1_loss(x, t, {.reduction = r}); }},
      {"l1_w",
       [&](auto& x, auto& t, View r) { return l1_loss(x, t, {.reduction = r, .weight = u}); }},
      {"smooth", [](auto& x, auto& t,
                    View r) { return smooth_l1_loss(x, t, {.reduction = r, .beta = 0.7}); }},
      {"smooth0",
       [](auto& x, auto& t, View r) { return smooth_l1_loss(x, t, {.reduction = r, .beta = 0}); }},
      {"huber",
       [](auto& x, auto& t, View r) { return huber_loss(x, t, {.reduction = r, .delta = 0.7}); }},
      {"huber_w",
       [&](auto& x, auto& t, View r) {
         return huber_loss(x, t, {.reduction = r, .delta = 0.7, .weight = u});
       }},
      {"ce", [&](auto& x, auto&, View r) { return cross_entropy(x, c, {.reduction = r}); }},
      {"ce_w",
       [&](auto& x, auto&, View r) { return cross_entropy(x, c, {.weight = w, .reduction = r}); }},
      {"ce_i",
       [&](auto& x, auto&, View r) {
         return cross_entropy(x, ci, {.weight = w, .ignore_index = 3, .reduction = r});
       }},
      {"ce_s",
       [&](auto& x, auto&, View r) {
         return cross_entropy(x, ci, {.ignore_index = 3, .reduction = r, .label_smoothing = 0.2});
       }},
      {"ce_ws",
       [&](auto& x, auto&, View r) {
         return cross_entropy(
             x, ci, {.weight = w, .ignore_index = 3, .reduction = r, .label_smoothing = 0.2});
       }},
      {"ce_p",
       [](auto& x, auto& t, View r) { return cross_entropy(x, softmax(t, 1), {.reduction = r}); }},
      {"ce_pws",
       [&](auto& x, auto& t, View r) {
         return cross_entropy(x, softmax(t, 1),
                              {.weight = w, .reduction = r, .label_smoothing = 0.2});
       }},
      {"nll",
       [&](auto& x, auto&, View r) { return nll_loss(x, c, {.weight = w, .reduction = r}); }},
      {"bce",
       [](auto& x, auto& t, View r) {
         return binary_cross_entropy(x.sigmoid(), t.sigmoid(), {.reduction = r});
       }},
      {"bce_w",
       [&](auto& x, auto& t, View r) {
         return binary_cross_entropy(x.sigmoid(), t.sigmoid(), {.weight = w, .reduction = r});
       }},
      {"bcel", [](auto& x, auto& t,
                  View r) { return binary_cross_entropy_with_logits(x, t, {.reduction = r}); }},
      {"bcel_w",
       [&](auto& x, auto& t, View r) {
         return binary_cross_entropy_with_logits(x, t,
                                                 {.weight = u, .reduction = r, .pos_weight = w});
       }},
      {"kl", [](auto& x, auto& t, View r) { return kl_div(x, softmax(t, 1), {.reduction = r}); }},
      {"kl_log",
       [](auto& x, auto& t, View r) { return kl_div(x, t, {.reduction = r, .log_target = true}); }},
      {"cos",
       [&](auto& x, auto& t, View r) {
         return cosine_embedding_loss(x, t, s, {.margin = 0.1, .reduction = r});
       }},
      {"triplet",
       [&](auto& x, auto& t, View r) { return triplet_margin_loss(x, t, z, {.reduction = r}); }},
      {"triplet_s",
       [&](auto& x, auto& t, View r) {
         return triplet_margin_loss(x, t, z, {.margin = 3, .p = 1.5, .swap = true, .reduction = r});
       }},
      {"hinge",
       [&](auto& x, auto&, View r) {
         return hinge_embedding_loss(x, signs, {.margin = 0.5, .reduction = r});
       }},
      {"ranking",
       [&](auto& x, auto& t, View r) {
         return margin_ranking_loss(x, t, z.sign(), {.margin = 0.3, .reduction = r});
       }},
      {"soft",
       [&](auto& x, auto&, View r) { return soft_margin_loss(x, signs, {.reduction = r}); }},
      {"labels",
       [&](auto& x, auto&, View r) { return multilabel_margin_loss(x, ml, {.reduction = r}); }},
      {"soft_labels",
       [&](auto& x, auto& t, View r) {
         return multilabel_soft_margin_loss(x, t.sigmoid(), {.weight = w, .reduction = r});
       }},
      {"multi", [&](auto& x, auto&, View r) { return multi_margin_loss(x, c, {.reduction = r}); }},
      {"multi_2",
       [&](auto& x, auto&, View r) {
         return multi_margin_loss(x, c, {.p = 2, .margin = 0.5, .weight = w, .reduction = r});
       }},
      {"poisson",
       [](auto& x, auto& t, View r) { return poisson_nll_loss(x, t.exp() * 3, {.reduction = r}); }},
      {"poisson_f",
       [](auto& x, auto& t, View r) {
         return poisson_nll_loss(x.exp(), t.exp() * 3,
                                 {.log_input = false, .full = true, .reduction = r});
       }},
      {"gauss", [&](auto& x, auto& t,
                    View r) { return gaussian_nll_loss(x, t, u, {.full = true, .reduction = r}); }},
      {"gauss_1",
       [&](auto& x, auto& t, View r) {
         return gaussian_nll_loss(x, t, u.narrow(1, 0, 1) - 0.099, {.eps = 0.5, .reduction = r});
       }},
  };

  static void expect_near(const Tensor& actual, const Tensor& expected, const std::string& what) {
    ASSERT_TRUE(actual.defined()) << what;
    ASSERT_EQ(actual.dtype(), expected.dtype()) << what;
    tenon::expect_near(actual, expected, what, 5e-6);
  }
};

TEST_F(Losses, AreThoseOfPyTorchWithEveryReduction) {
  for (const auto& [name, f] : all) {
    for (const char* reduction : {"none", "mean", "sum"}) {
      const std::string key = name + "." + reduction;
      const Tensor x = given("x").clone().requires_grad_(), t = given("t").clone().requires_grad_();
      const Tensor y = f(x, t, reduction);
      expect_near(y, at(key), key);
      y.backward(
          {.gradient = y.dim() == 0
                           ? full({}, 1.5)
                           : (arange(y.numel(), {.dtype = float32}) + 1).reshape(y.shape())});
      expect_near(x.grad(), at(key + ".gx"), key + " gradient of the input");
      if (cases.contains(key + ".gt"))
        expect_near(t.grad(), at(key + ".gt"), key + " gradient of the target");
    }
  }
}

TEST_F(Losses, HaveGradientsThatDifferencesAgreeWith) {
  for (const auto& [name, f] : all) {
    SCOPED_TRACE(name);
    const Tensor x = given("x").to(float64).requires_grad_(),
                 t = given("t").to(float64).requires_grad_();
    for (const char* reduction : {"none", "mean"}) {
      expect_gradients(
          [&, &loss = f](const std::vector<Tensor>& in) { return loss(in[0], in[1], reduction); },
          {x, t}, {.atol = 1e-5, .rtol = 1e-4});
    }
  }
}

TEST_F(Losses, OfSixteenBitFloatsAreRoundedOnce) {
  const Tensor x = given("x").to(bfloat16), t = given("t").to(bfloat16);
  for (const char* name : {"mse", "smooth", "huber", "nll", "bcel", "multi", "labels"}) {
    const Tensor y = all.at(name)(x, t, "mean");
    EXPECT_EQ(y.dtype(), bfloat16) << name;
    EXPECT_TRUE(equal(y, all.at(name)(x.to(float32), t.to(float32), "mean").to(bfloat16))) << name;
  }
  EXPECT_EQ(cross_entropy(x, c).dtype(), bfloat16);
  EXPECT_EQ(l1_loss(x, t).dtype(), bfloat16);
}

TEST_F(Losses, OfMetaTensorsHaveShapes) {
  const auto meta = [](const Tensor& x) { return x.to(Device::meta()); };
  const Tensor x = meta(given("x")), t = meta(given("t"));
  EXPECT_EQ(mse_loss(x, t).shape(), Shape());
  EXPECT_EQ(cross_entropy(x, meta(c), {.reduction = "none"}).shape(), Shape({4}));
  EXPECT_EQ(cross_entropy(x, meta(c), {.label_smoothing = 0.1}).shape(), Shape());
  EXPECT_EQ(binary_cross_entropy(x, t, {.reduction = "none"}).shape(), Shape({4, 5}));
  EXPECT_EQ(multi_margin_loss(x, meta(c), {.reduction = "none"}).shape(), Shape({4}));
  EXPECT_EQ(multilabel_margin_loss(x, meta(ml)).shape(), Shape());
}

TEST_F(Losses, OfClassesTakeAnyNumberOfDimensions) {
  for (const char* reduction : {"none", "mean", "sum"}) {
    const Tensor k = given("k").clone().requires_grad_();
    const Tensor y = cross_entropy(
        k, given("kc"), {.weight = given("kw"), .reduction = reduction, .label_smoothing = 0.1});
    y.backward({.gradient = ones_like(y)});
    expect_near(y, at(std::string("deep.") + reduction), reduction);
    expect_near(k.grad(), at(std::string("deep.") + reduction + ".gx"), reduction);
  }
  const Tensor one = given("one");
  expect_near(cross_entropy(one, tensor(3)), at("one"), "one");
  expect_near(cross_entropy(one, softmax(one, 0)), at("one_p"), "one_p");
  EXPECT_EQ(nll_loss(one, tensor(3), {.reduction = "none"}).shape(), Shape());
  EXPECT_EQ(multi_margin_loss(one, tensor(3), {.reduction = "none"}).shape(), Shape());
  EXPECT_EQ(multilabel_margin_loss(one, tensor({1, -1, 0, 0, 0}), {.reduction = "none"}).shape(),
            Shape());
  EXPECT_EQ(nll_loss(zeros({2, 3, 4, 5}), zeros({2, 4, 5}, {.dtype = uint8})).shape(), Shape());
}

TEST_F(Losses, OfNothingAreNaNAsMeansOfNothingAre) {
  const auto is_nan = [](const Tensor& y) { return isnan(y).item<bool>(); };
  EXPECT_TRUE(is_nan(mse_loss(zeros({0, 3}), zeros({0, 3}))));
  EXPECT_TRUE(is_nan(cross_entropy(zeros({0, 3}), zeros({0}, {.dtype = int64}))));
  EXPECT_TRUE(is_nan(cross_entropy(zeros({0, 3}), zeros({0, 3}))));
  const Tensor x = zeros({2, 3}).requires_grad_(), y = nll_loss(x, tensor({-100, -100}));
  EXPECT_TRUE(is_nan(y));
  y.backward();
  EXPECT_TRUE(equal(x.grad(), zeros({2, 3})));
  EXPECT_EQ(nll_loss(x, tensor({-100, -100}), {.reduction = "sum"}).item<float>(), 0);
}

TEST_F(Losses, OfProbabilitiesThatAreCertainAndWrongAreFinite) {
  const Tensor x = tensor({0.F, 1.F}).requires_grad_();
  const Tensor y = binary_cross_entropy(x, tensor({1.F, 0.F}), {.reduction = "none"});
  EXPECT_TRUE(equal(y.detach(), tensor({100.F, 100.F})));
  y.sum().backward();
  EXPECT_TRUE(equal(x.grad(), tensor({-1e12F, 1e12F})));
  EXPECT_FLOAT_EQ(binary_cross_entropy_with_logits(tensor({-200.F}), tensor({1.F})).item<float>(),
                  200);
}

TEST_F(Losses, RecordNodesWithTheNamesOfPyTorch) {
  const Tensor x = given("x").clone().requires_grad_(), t = given("t");
  const auto name = [](const Tensor& y) { return y.grad_fn()->name(); };
  EXPECT_EQ(name(mse_loss(x, t)), "MseLossBackward0");
  EXPECT_EQ(name(l1_loss(x, t)), "MeanBackward0");
  EXPECT_EQ(name(smooth_l1_loss(x, t)), "SmoothL1LossBackward0");
  EXPECT_EQ(name(huber_loss(x, t)), "HuberLossBackward0");
  EXPECT_EQ(name(cross_entropy(x, c)), "NllLossBackward0");
  EXPECT_EQ(name(cross_entropy(given("k").clone().requires_grad_(), given("kc"))),
            "NllLoss2DBackward0");
  EXPECT_EQ(name(binary_cross_entropy(x.sigmoid(), t.sigmoid())), "BinaryCrossEntropyBackward0");
  EXPECT_EQ(name(binary_cross_entropy_with_logits(x, t)), "BinaryCrossEntropyWithLogitsBackward0");
  EXPECT_EQ(name(soft_margin_loss(x, t)), "SoftMarginLossBackward0");
  EXPECT_EQ(name(multilabel_margin_loss(x, ml)), "MultilabelMarginLossBackward0");
  EXPECT_EQ(name(multi_margin_loss(x, c)), "MultiMarginLossBackward0");
}

TEST_F(Losses, WarnOfSizesThatBroadcast) {
  std::vector<std::string> said;
  const WarningHandler before =
      set_warning_handler([&](const std::string& text) { said.push_back(text); });
  EXPECT_FLOAT_EQ(mse_loss(zeros({2, 3}), ones({3})).item<float>(), 1);
  kl_div(zeros({2}), zeros({2}));
  set_warning_handler(before);
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0],
            "Using a target size (torch.Size([3])) that is different to the input size "
            "(torch.Size([2, 3])). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.");
  EXPECT_THAT(said[1], testing::HasSubstr("'batchmean'"));
}

TEST_F(Losses, SayWhatIsWrong) {
  const Tensor x = zeros({4, 5}), t = zeros({4, 5});
  expect_error<ShapeError>([&] { mse_loss(x, zeros({4, 3})); }, "5", "3");
  expect_error<ValueError>([&] { mse_loss(x, t, {.reduction = "foo"}); },
                           "foo is not a valid value for reduction");
  expect_error<ShapeError>([&] { mse_loss(x, t, {.weight = zeros({5})}); }, "[5]", "[4, 5]");
  expect_error<NotImplementedError>([] { mse_loss(tensor({1}), tensor({2})); }, "mse_loss",
                                    "'Long'");
  expect_error<ValueError>([&] { smooth_l1_loss(x, t, {.beta = -1}); }, "negative", "-1.0");
  expect_error<ValueError>([&] { huber_loss(x, t, {.delta = 0}); }, "non-positive", "0.0");
  expect_error<IndexError>([&] { cross_entropy(x, tensor({0, 5, 1, 2})); },
                           "Target 5 is out of bounds", "5 classes", "[1]");
  expect_error<ShapeError>([&] { cross_entropy(x, tensor({0, 1})); },
                           "Expected input batch_size (4) to match target batch_size (2)",
                           "[4, 5]");
  expect_error<DTypeError>([&] { cross_entropy(x, zeros({4})); },
                           "expected target dtype to be Long or Byte, but got Float");
  expect_error<ShapeError>([&] { cross_entropy(x, c, {.weight = ones({3})}); }, "all 5 classes",
                           "[3]");
  expect_error<ShapeError>([] { nll_loss(zeros({2, 3, 4}), zeros({2, 5}, {.dtype = int64})); },
                           "Expected target size [2, 4], got [2, 5]");
  expect_error<ValueError>([&] { cross_entropy(x, c, {.label_smoothing = 2}); },
                           "between 0.0 and 1.0", "2");
  expect_error<ValueError>([&] { cross_entropy(x, t, {.ignore_index = 1}); },
                           "ignore_index is not supported");
  expect_error<DTypeError>([&] { cross_entropy(x, t.to(int64)); }, "class probabilities", "Long");
  expect_error<ShapeError>([] { nll_loss(tensor(1.), tensor(0)); }, "1 or more dimensions");
  expect_error<DeviceError>([&] { cross_entropy(x, c.to(Device::meta())); }, "meta", "cpu");
  expect_error<ValueError>([&] { binary_cross_entropy(x + 2, t); }, "between 0 and 1", "2.0",
                           "with_logits");
  expect_error<ShapeError>([&] { binary_cross_entropy(x, zeros({4})); }, "torch.Size([4])",
                           "torch.Size([4, 5])");
  expect_error<ShapeError>([&] { binary_cross_entropy_with_logits(x, zeros({3, 5})); },
                           "Target size (torch.Size([3, 5]))");
  expect_error<ShapeError>(
      [&] { binary_cross_entropy_with_logits(x, t, {.pos_weight = ones({4})}); }, "pos_weight",
      "[4]", "[4, 5]");
  expect_error<ShapeError>([&] { cosine_embedding_loss(x, t, ones({4, 2})); }, "multi-target");
  expect_error<ShapeError>([&] { multilabel_margin_loss(x, zeros({4, 4}, {.dtype = int64})); },
                           "inconsistent target size: [4, 4] for input of size: [4, 5]");
  expect_error<IndexError>([&] { multilabel_margin_loss(x, full({4, 5}, 7)); }, "out of range",
                           "7");
  expect_error<IndexError>([&] { multi_margin_loss(x, tensor({0, 5, 1, 2})); }, "5");
  expect_error<ValueError>([&] { multi_margin_loss(x, c, {.p = 3}); }, "p == 1 and p == 2");
  expect_error<ShapeError>([&] { multi_margin_loss(x, c, {.weight = ones({3, 1})}); },
                           "weight must be one-dimensional", "[3, 1]");
  expect_error<ShapeError>([&] { multi_margin_loss(x, c, {.weight = ones({2})}); },
                           "inconsistent weight size, expected ", " but got [2]");
  expect_error<ShapeError>([&] { multi_margin_loss(x, tensor({0, 1})); },
                           "Expected target size [4], but got [2]");
  expect_error<ValueError>([&] { gaussian_nll_loss(x, t, t - 1); }, "negative");
  expect_error<ShapeError>([&] { gaussian_nll_loss(x, t, ones({3})); }, "[3]", "[4, 5]");
  expect_error<ShapeError>([&] { margin_ranking_loss(x, t[0], t); }, "torch.Size([5])");
  expect_error<ShapeError>([&] { triplet_margin_loss(x, t[0], t); }, "anchor 2D, positive 1D");
  expect_error<ValueError>([&] { triplet_margin_loss(x, t, t, {.margin = -1}); }, "-1.0");
}

TEST_F(Losses, HaveNoGradientForWeights) {
  const Tensor x = rand({3, 4}), c = tensor({0, 1, 2}), t = rand({3, 4});
  const Tensor w = rand({4}).requires_grad_(), each = rand({3, 4}).requires_grad_();
  const char* said = "not differentiable with respect to argument 'weight'";
  expect_error<AutogradError>([&] { nll_loss(x, c, {.weight = w}); }, "nll_loss", said);
  expect_error<AutogradError>([&] { cross_entropy(x, c, {.weight = w}); }, "nll_loss", said);
  expect_error<AutogradError>([&] { cross_entropy(x, c, {.weight = w, .label_smoothing = 0.1}); },
                              said);
  expect_error<AutogradError>([&] { multi_margin_loss(x, c, {.weight = w}); }, "multi_margin",
                              said);
  expect_error<AutogradError>([&] { binary_cross_entropy(x, t, {.weight = each}); },
                              "'binary_cross_entropy'", said);
  expect_error<AutogradError>([&] { binary_cross_entropy_with_logits(x, t, {.weight = each}); },
                              "'binary_cross_entropy_with_logits'", said);
  expect_error<AutogradError>([&] { binary_cross_entropy_with_logits(x, t, {.pos_weight = w}); },
                              "argument 'pos_weight'");
  const NoGradScope unrecorded;
  EXPECT_TRUE(equal(nll_loss(x, c, {.weight = w}), nll_loss(x, c, {.weight = w.detach()})));
}

TEST_F(Losses, OfProbabilitiesHaveGradientsForWeights) {
  const Tensor x = rand({3, 4}), t = softmax(rand({3, 4}), 1), w = rand({4}).requires_grad_();
  cross_entropy(x, t, {.weight = w, .reduction = "sum"}).backward();
  EXPECT_TRUE(allclose(w.grad(), -sum(log_softmax(x, 1) * t, {0})));
}

TEST_F(Losses, DistancesAreThoseOfPyTorch) {
  const Tensor x = given("x").clone().requires_grad_(), t = given("t").clone().requires_grad_();
  const Tensor y = cat({cosine_similarity(x, t), pairwise_distance(x, t, {.p = 3}),
                        sum(normalize(x, {.dim = 0}), {1})});
  y.sum().backward();
  expect_near(y, at("distances"), "distances");
  expect_near(x.grad(), at("distances.gx"), "gx");
  expect_near(t.grad(), at("distances.gt"), "gt");
  EXPECT_EQ(pairwise_distance(x, t[0], {.keepdim = true}).shape(), Shape({4, 1}));
  EXPECT_EQ(cosine_similarity(x.unsqueeze(1), t, 2).shape(), Shape({4, 4}));
  EXPECT_EQ(cosine_similarity(zeros({2, 3}), zeros({2, 3})).sum().item<float>(), 0);
}

TEST(BinaryCrossEntropy, TargetsAreProbabilitiesToo) {
  const Tensor x = tensor({.2F, .7F});
  for (const float bad : {1.5F, -.5F, NAN}) {
    expect_error<ValueError>([&] { binary_cross_entropy(x, tensor({.2F, bad})); },
                             "all elements of target should be between 0 and 1");
  }
  EXPECT_EQ(binary_cross_entropy(x, tensor({0.F, 1.F}), {.reduction = "none"}).numel(), 2);
}

// What PyTorch divides by at least is the float nearest to 1e-12, also of doubles.
TEST(BinaryCrossEntropy, ItsGradientAtTheEndsIsPyTorchs) {
  const Tensor x = tensor({0., 1., 1e-13}, {.dtype = float64}).requires_grad_();
  binary_cross_entropy(x, tensor({.3, .4, .2}, {.dtype = float64}), {.reduction = "sum"})
      .backward();
  const double theirs[] = {-300000001198.74084, 600000002397.4817, -200000000799.06058};
  for (int i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(x.grad()[i].item<double>(), theirs[i]);
}

}  // namespace
}  // namespace tenon
