// Losses: beside what PyTorch wrote down, their buffers and their text.
#include "tenon/nn/loss.h"

#include "support/matchers.h"

namespace tenon::nn {
namespace {

// The cases of losses.pth: NAME.in, NAME.target, NAME.loss and NAME.grad.
class RecordedLosses : public testing::Test {
 protected:
  const StateDict cases = load(TENON_SOURCE_DIR "/tests/io/fixtures/torch-2.11/losses.pth");

  void check(const std::string& name, Criterion&& criterion) const {
    const Tensor input = cases.at(name + ".in").as_tensor().requires_grad_();
    const Tensor loss = criterion(input, cases.at(name + ".target").as_tensor());
    EXPECT_TRUE(allclose(loss.detach(), cases.at(name + ".loss").as_tensor(), {.rtol = 1e-5}))
        << name;
    loss.backward();
    const Tensor expected = cases.at(name + ".grad").as_tensor();
    const double largest = expected.abs().max().item<double>();
    EXPECT_LE((input.grad() - expected).abs().max().item<double>(), 1e-5 * largest) << name;
  }
};

TEST_F(RecordedLosses, AreWhatTheyWereThere) {
  check("mse", MSELoss());
  check("l1", L1Loss());
  check("ce", CrossEntropyLoss());
  check("ce_ls", CrossEntropyLoss({.label_smoothing = 0.1}));
  check("nll", NLLLoss());
  check("bce", BCEWithLogitsLoss());
  check("huber", SmoothL1Loss());
  check("kl", KLDivLoss({.reduction = "batchmean"}));
}

TEST(LossModules, HaveTheirWeightsAsBuffers) {
  CrossEntropyLoss plain;
  EXPECT_TRUE(plain.state_dict().empty());
  CrossEntropyLoss weighted({.weight = tensor({1.F, 2.F})});
  EXPECT_EQ(weighted.state_dict().size(), 1U);
  EXPECT_TRUE(equal(weighted.state_dict().at("weight").as_tensor(), tensor({1.F, 2.F})));
  weighted.to(float64);
  EXPECT_EQ(weighted.weight->dtype(), float64);
  BCEWithLogitsLoss positive({.pos_weight = ones({2})});
  EXPECT_EQ(positive.state_dict().size(), 1U);
  EXPECT_TRUE(positive.state_dict().contains("pos_weight"));
  EXPECT_TRUE(positive.named_parameters().empty());
}

TEST(LossModules, PassOnWhatTheyWereGiven) {
  manual_seed(1);
  const Tensor x = randn({4, 3}), t = randn({4, 3}), classes = tensor({0, 2, 1, -100}),
               weight = rand({3}), signs = t.sign();
  const auto same = [](const Tensor& a, const Tensor& b) { return a.dim() > 0 && equal(a, b); };
  EXPECT_TRUE(same(MSELoss({.reduction = "none"})(x, t), mse_loss(x, t, {.reduction = "none"})));
  EXPECT_TRUE(same(CrossEntropyLoss({.weight = weight, .reduction = "none"})(x, classes),
                   cross_entropy(x, classes, {.weight = weight, .reduction = "none"})));
  EXPECT_TRUE(same(HuberLoss({.reduction = "none", .delta = 0.3})(x, t),
                   huber_loss(x, t, {.reduction = "none", .delta = 0.3})));
  EXPECT_TRUE(same(SmoothL1Loss({.reduction = "none", .beta = 0.3})(x, t),
                   smooth_l1_loss(x, t, {.reduction = "none", .beta = 0.3})));
  EXPECT_TRUE(same(HingeEmbeddingLoss({.margin = 0.2, .reduction = "none"})(x, signs),
                   hinge_embedding_loss(x, signs, {.margin = 0.2, .reduction = "none"})));
  EXPECT_TRUE(same(
      MultiMarginLoss({.p = 2, .weight = weight, .reduction = "none"})(x, tensor({0, 2, 1, 1})),
      multi_margin_loss(x, tensor({0, 2, 1, 1}), {.p = 2, .weight = weight, .reduction = "none"})));
  EXPECT_TRUE(same(GaussianNLLLoss({.full = true, .reduction = "none"})(x, t, ones({4, 3})),
                   gaussian_nll_loss(x, t, 1.0, {.full = true, .reduction = "none"})));
  EXPECT_TRUE(same(TripletMarginLoss({.swap = true, .reduction = "none"})(x, t, x + t),
                   triplet_margin_loss(x, t, x + t, {.swap = true, .reduction = "none"})));
  EXPECT_TRUE(same(MarginRankingLoss({.margin = 0.5, .reduction = "none"})(x, t, signs),
                   margin_ranking_loss(x, t, signs, {.margin = 0.5, .reduction = "none"})));
  EXPECT_TRUE(same(CosineSimilarity({.dim = 0})(x, t), cosine_similarity(x, t, 0)));
  EXPECT_TRUE(same(PairwiseDistance({.p = 1})(x, t), pairwise_distance(x, t, {.p = 1})));
  const auto farthest = [](const Tensor& a, const Tensor& b) { return amax((a - b).abs(), {1}); };
  EXPECT_TRUE(same(TripletMarginWithDistanceLoss(
                       {.distance_function = farthest, .reduction = "none"})(x, t, x + t),
                   clamp(farthest(x, t) - farthest(x, x + t) + 1, ClampOptions{.min = 0})));
}

TEST(LossModules, SayTheirNameOnly) {
  EXPECT_EQ(CrossEntropyLoss({.weight = ones({2})}).repr(), "CrossEntropyLoss()");
  EXPECT_EQ(MSELoss().repr(), "MSELoss()");
  EXPECT_EQ(CosineSimilarity().repr(), "CosineSimilarity()");
}

TEST(LossModules, TheDistanceThatIsNotGivenIsAModule) {
  TripletMarginWithDistanceLoss loss;
  EXPECT_EQ(loss.repr(),
            "TripletMarginWithDistanceLoss(\n  (distance_function): PairwiseDistance()\n)");
  const Tensor a = tensor({{1.F, 2.F}}), b = tensor({{0.F, 4.F}}), c = tensor({{1.F, 1.5F}});
  EXPECT_TRUE(equal(loss(a, b, c), triplet_margin_with_distance_loss(a, b, c)));
  const auto first = [](const Tensor& x, const Tensor&) { return x.select(1, 0); };
  EXPECT_EQ(TripletMarginWithDistanceLoss({.distance_function = first}).repr(),
            "TripletMarginWithDistanceLoss()");
}

TEST(LossModules, RefuseWhatMakesNoSense) {
  expect_error<ValueError>([] { TripletMarginLoss({.margin = 0}); }, "greater than 0", "0.0");
  expect_error<ValueError>([] { MultiMarginLoss({.p = 3}); }, "only p == 1 and p == 2", "3");
  expect_error<ShapeError>(
      [] { MultiMarginLoss({.weight = ones({3, 1})}); },
      "MultiMarginLoss: expected weight to be None or 1D tensor, got 2D instead");
  expect_error<ShapeError>(
      [] { MultiMarginLoss({.weight = tensor(1.)}); },
      "MultiMarginLoss: expected weight to be None or 1D tensor, got 0D instead");
  expect_error<ValueError>([] { MSELoss({.reduction = "most"})(zeros({2}), zeros({2})); },
                           "most is not a valid value for reduction", "in MSELoss()");
}

}  // namespace
}  // namespace tenon::nn
