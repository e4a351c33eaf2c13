// How much memory gradients take: counted, at two sizes.
#include <functional>

#include "support/gradcheck.h"
#include "support/matchers.h"

namespace tenon {
namespace {

// The most that is allocated at once while f runs, beside what is there already.
std::int64_t peak_of(const std::function<void()>& f) {
  reset_peak_memory_stats();
  const std::int64_t before = memory_allocated();
  f();
  return max_memory_allocated() - before;
}

TEST(MemoryOfGradients, IndexPutKeepsPositionsAndNoValues) {
  const Tensor base = zeros({1000}, {.dtype = float64}).requires_grad_();
  const Tensor index = arange(1000);
  for (const bool wanted : {false, true}) {
    const Tensor x = base * 1;
    const std::int64_t before = memory_allocated();
    {
      Tensor values = ones({1000}, {.dtype = float64});
      if (wanted) values.requires_grad_();
      x.index_put_({index}, values);
    }
    // The index is the caller's, and shared. The values live on in the leaf where it is wanted.
    EXPECT_EQ(memory_allocated() - before, wanted ? 8000 : 0);
    x.sum().backward();
    EXPECT_TRUE(equal(base.grad(), zeros_like(base.detach())));
    base.set_grad({});
  }
}

TEST(MemoryOfGradients, CdistTakesAsMuchAsArgumentsAndResult) {
  for (const double p : {1., 2., 3., std::numeric_limits<double>::infinity()}) {
    const auto bytes = [&](std::int64_t n) {
      const Tensor a = randn({n, n}).requires_grad_(), b = randn({n, n}).requires_grad_();
      return peak_of([&] { cdist(a, b, {.p = p}).sum().backward(); });
    };
    // Twice the size: four times arguments and result, eight times the differences.
    const auto small = bytes(100), large = bytes(200);
    EXPECT_LT(large, 5 * small) << p;
    EXPECT_LT(large, 40 * 200 * 200 * 4) << p;
  }
}

TEST(MemoryOfGradients, MultilabelMarginLossTakesAsMuchAsTheInput) {
  const auto bytes = [&](std::int64_t n) {
    const Tensor x = randn({4, n}).requires_grad_(), target = arange(n).expand({4, n});
    return peak_of([&] { multilabel_margin_loss(x, (target / 2).to(int64)).backward(); });
  };
  const auto small = bytes(500), large = bytes(1000);
  EXPECT_LT(large, 2.5 * static_cast<double>(small));
  EXPECT_LT(large, 100 * 1000 * 4);
}

TEST(MemoryOfGradients, OfAWeightIsCalculatedWhereItStays) {
  constexpr std::int64_t kBytes = 256 * 512 * 4;
  const Tensor x = randn({2, 512}).requires_grad_();
  const Tensor weight = randn({256, 512}).requires_grad_();
  const Tensor bias = zeros({256}).requires_grad_();
  for (const Tensor& added : {Tensor(), bias}) {
    const Tensor loss = linear(x, weight, added).sum();
    EXPECT_LT(peak_of([&] { loss.backward(); }), kBytes + kBytes / 8);
    EXPECT_EQ(weight.grad().stride(), weight.stride());
    EXPECT_FALSE(weight.grad().is_view());
    weight.set_grad({});
  }
  // Of a weight that is used twice the second is added to the first.
  const Tensor loss = linear(x, weight).sum() + linear(x, weight).sum();
  EXPECT_LT(peak_of([&] { loss.backward(); }), 2 * kBytes + kBytes / 8);
}

TEST(MemoryOfGradients, OfAnEmbeddingIsOneOfItsSize) {
  constexpr std::int64_t kBytes = 4096 * 64 * 4;
  const Tensor weight = randn({4096, 64}).requires_grad_();
  const Tensor loss = embedding(tensor({1, 2, 3}), weight).sum();
  EXPECT_LT(peak_of([&] { loss.backward(); }), kBytes + kBytes / 8);
}

TEST(MemoryOfGradients, ScatterReduceKeepsValuesOnlyWhereTheyAreNeeded) {
  const Tensor x = zeros({1000}).requires_grad_(), index = arange(1000), src = ones({1000});
  const auto kept = [&](const char* reduce) {
    const Tensor y = x * 1;
    const std::int64_t before = memory_allocated();
    y.scatter_reduce_(0, index, src, reduce);
    return memory_allocated() - before;
  };
  EXPECT_EQ(kept("sum"), 0);
  EXPECT_EQ(kept("mean"), 0);
  EXPECT_EQ(kept("prod"), 4000);  // what was there
}

// In blocks, over batches that broadcast, and differentiated again.
TEST(GradientOfCdist, IsWhatDifferencesSay) {
  const auto numbers = [](const Shape& shape, double from) {
    return ((arange(shape.numel(), {.dtype = float64}) * 0.7 + from).sin() * 3)
        .reshape(shape)
        .requires_grad_();
  };
  for (const double p : {1., 1.5, 2., 3., std::numeric_limits<double>::infinity()}) {
    SCOPED_TRACE(p);
    const auto f = [p](const std::vector<Tensor>& x) { return cdist(x[0], x[1], {.p = p}); };
    expect_gradients(f, {numbers({3, 2}, 0.1), numbers({4, 2}, 0.5)});
    expect_gradients(f, {numbers({2, 1, 3, 2}, 0.1), numbers({3, 2, 2}, 0.5)});
  }
}

// With rows that are the same, and ties, as PyTorch gives them.
TEST(GradientOfCdist, IsPyTorchsAtCorners) {
  struct Case {
    double p;
    std::vector<std::vector<double>> a, b;
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (const Case& one : std::vector<Case>{
           {2,
            {{-0.3922322702763681, -1.9611613513818404},
             {1.3416407864998738, -1.3167184270002523},
             {7.7781745930520225, -0.707106781186547}},
            {{-4.877174692432612, -6.218815478932486}, {-3.8504084168429165, 10.203802038501125}}},
           {1, {{-2, -2}, {3, -1}, {11, -1}}, {{-8, -8}, {-4, 12}}},
           {0.5,
            {{-6.47213595499958, -2.894427190999916},
             {7.242640687119286, 1.1213203435596428},
             {22.0, -2.0000000000000018}},
            {{-17.242640687119284, -15.12132034355964}, {-5.52786404500042, 18.894427190999913}}},
           {0, {{0, 0}, {0, 0}, {0, 0}}, {{0, 0}, {0, 0}}},
           {3,
            {{-0.07957615769785055, -1.9894039424462637},
             {0.6933612743506347, -1.2265549025974614},
             {6.929565774421803, -0.6299605249474358}},
            {{-3.843163899087818, -5.923247722139722}, {-3.7001869919867687, 9.769167092130882}}},
           {inf, {{0, -2}, {0, -1}, {11, -1}}, {{-5, -8}, {-6, 12}}}}) {
    SCOPED_TRACE(one.p);
    const auto matrix = [](const std::vector<std::vector<double>>& rows) {
      std::vector<Tensor> made;
      for (const auto& row : rows) made.push_back(tensor(row));
      return stack(made);
    };
    const Tensor a = tensor({{0., 0.}, {1., 2.}, {3., 3.}}).to(float64).requires_grad_();
    const Tensor b = tensor({{0., 0.}, {1., 5.}}).to(float64).requires_grad_();
    const Tensor y = cdist(a, b, {.p = one.p});
    EXPECT_EQ(y.grad_fn()->name(), "CdistBackward0");
    (y * (arange(6, {.dtype = float64}) + 1).reshape({3, 2})).sum().backward();
    EXPECT_TRUE(allclose(a.grad(), matrix(one.a))) << a.grad();
    EXPECT_TRUE(allclose(b.grad(), matrix(one.b))) << b.grad();
  }
}

}  // namespace
}  // namespace tenon
