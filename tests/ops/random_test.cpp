#include "tenon/ops/random.h"

#include <cmath>
#include <functional>

#include "support/matchers.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();

// The golden values of the specification.
TEST(Random, SeedZeroGivesTheKnownNumbers) {
  manual_seed(0);
  EXPECT_TRUE(
      equal(rand({4}), tensor({0x1.fc2ab0p-2, 0x1.89545ep-1, 0x1.6a6750p-4, 0x1.0e6600p-3})));
  manual_seed(0);
  EXPECT_TRUE(equal(randn({3}), tensor({0x1.8a7eb8p+0, -0x1.2c78a0p-2, -0x1.16e292p+1})));
  manual_seed(0);
  EXPECT_TRUE(equal(randn({16}).narrow(0, 0, 4),
                    tensor({-0x1.20370ap+0, -0x1.270114p+0, -0x1.0097acp-2, -0x1.bc4abap-2})));
  manual_seed(0);
  const Tensor eighteen = randn({18});
  EXPECT_TRUE(equal(eighteen.narrow(0, 2, 2), tensor({0x1.222008p-1, 0x1.9646bap-1})));
  EXPECT_EQ(eighteen[17].item<float>(), 0x1.424e6ep+0f);
  manual_seed(0);
  EXPECT_TRUE(equal(randperm(10), tensor({4, 1, 7, 5, 3, 9, 0, 8, 6, 2})));
  manual_seed(0);
  EXPECT_TRUE(equal(randn({2}, {.dtype = float64}),
                    tensor({0x1.8a7eb8902be3ap+0, -0x1.2c78a087c6feap-2}, {.dtype = float64})));
  manual_seed(42);
  EXPECT_TRUE(equal(rand({2}), tensor({0x1.c3b8ccp-1, 0x1.d47b66p-1})));
  manual_seed(42);
  EXPECT_TRUE(equal(randn({3}), tensor({0x1.58c55cp-2, 0x1.07cd3ap-3, 0x1.e02dcep-3})));
  manual_seed(42);
  EXPECT_TRUE(equal(randperm(10), tensor({2, 6, 1, 8, 4, 5, 0, 9, 3, 7})));
}

TEST(Random, ElementsAreDrawnInTheOrderTheyHaveInMemory) {
  manual_seed(1);
  const Tensor packed = rand({6});
  manual_seed(1);
  const Tensor turned = empty({3, 2}).t().uniform_();
  EXPECT_TRUE(equal(turned.t().flatten(), packed));
}

TEST(Random, NewTensorsFollowTheOptionsAndDefaults) {
  const Tensor a = rand({2, 3}, {.dtype = float64, .requires_grad = true});
  EXPECT_EQ(a.dtype(), float64);
  EXPECT_TRUE(a.requires_grad());
  EXPECT_TRUE(a.is_leaf());
  EXPECT_EQ(a.version(), 0);
  EXPECT_EQ(randint(5, {2}).dtype(), int64);
  EXPECT_EQ(randperm(3, {.dtype = int8}).dtype(), int8);
  EXPECT_EQ(randint_like(zeros({2, 3}).t(), 2, 5).stride(), Dims({1, 3}));
  const DTypeScope half(bfloat16);
  EXPECT_EQ(randn({2}).dtype(), bfloat16);
  EXPECT_EQ(normal(1, 2, {3}).dtype(), bfloat16);
}

TEST(Random, OnMetaNothingIsDrawn) {
  manual_seed(3);
  const Tensor state = get_rng_state();
  const DeviceScope meta("meta");
  EXPECT_TRUE(rand({1000000, 1000000}).is_meta());
  EXPECT_TRUE(randn({2}).normal_().is_meta());
  EXPECT_TRUE(randint(3, {2}).is_meta());
  EXPECT_TRUE(randperm(std::int64_t{1} << 40).is_meta());
  EXPECT_TRUE(bernoulli(rand({3})).is_meta());
  EXPECT_TRUE(equal(get_rng_state(), state));
}

TEST(Random, WritesAreCountedAndLeavesProtected) {
  const Tensor x = zeros({2});
  x.uniform_();
  EXPECT_EQ(x.version(), 1);
  const Tensor leaf = zeros({2}).requires_grad_();
  EXPECT_THROW(leaf.normal_(), AutogradError);
  const NoGradScope off;
  leaf.normal_();
}

TEST(Random, UserDefinedTensorsAreAsked) {
  std::vector<std::string> log;
  const Tensor t = make_tensor<LoggingTensor>(zeros({2}), log);
  manual_seed(2);
  t.uniform_();
  EXPECT_THAT(log, testing::ElementsAre("uniform_"));
  manual_seed(2);
  EXPECT_TRUE(equal(t.as<LoggingTensor>()->elem, rand({2})));
}

TEST(Random, ComplexNumbersArePairs) {
  manual_seed(6);
  const Tensor pairs = rand({3, 2});
  manual_seed(6);
  EXPECT_TRUE(equal(view_as_real(rand({3}, {.dtype = complex64})), pairs));
  const Tensor conjugated = zeros({3}, {.dtype = complex64}).conj();
  manual_seed(6);
  conjugated.uniform_();
  EXPECT_TRUE(equal(view_as_real(conjugated.resolve_conj()), pairs));
}

TEST(Random, BernoulliFollowsTheProbabilities) {
  const Tensor p = tensor({0.0, 1.0});
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(equal(bernoulli(p), p));
    EXPECT_TRUE(equal(bernoulli(zeros({3}), 1.0), ones({3})));
  }
  expect_error<ValueError>([] { bernoulli(tensor({0.5, 1.5})); }, "[0, 1]");
  expect_error<ShapeError>([] { zeros({2}).bernoulli_(zeros({3, 2})); }, "[3, 2]", "[2]");
  expect_error<NotImplementedError>([] { bernoulli(tensor({1})); }, "int64");
}

TEST(Random, ProbabilitiesAreLookedAtBeforeAnythingIsDrawn) {
  const Tensor x = full({3}, 7.0), state = default_generator().get_state();
  expect_error<ValueError>([&] { x.bernoulli_(tensor({0.5, 1.5, 0.5})); }, "[0, 1]", "1.5");
  EXPECT_TRUE(equal(x, full({3}, 7.0)));
  EXPECT_TRUE(equal(default_generator().get_state(), state));
  // Probabilities that lie where the results go.
  const Tensor p = cat({zeros({1}), ones({4})});
  p.slice(0, 1).bernoulli_(p.slice(0, 0, 4));
  EXPECT_TRUE(equal(p, tensor({0.0, 0.0, 1.0, 1.0, 1.0})));
}

// As in PyTorch: what is overwritten has a gradient of zeros, and so have the probabilities.
TEST(Random, WhatIsDrawnPassesZerosBack) {
  using Fill = std::pair<const char*, std::function<void(const Tensor&)>>;
  for (const auto& [name, fill] : std::vector<Fill>{
           {"UniformBackward0", [](const Tensor& x) { x.uniform_(); }},
           {"NormalBackward0", [](const Tensor& x) { x.normal_(); }},
           {"ExponentialBackward0", [](const Tensor& x) { x.exponential_(); }},
           {"CauchyBackward0", [](const Tensor& x) { x.cauchy_(); }},
           {"LogNormalBackward0", [](const Tensor& x) { x.log_normal_(); }},
           {"GeometricBackward0", [](const Tensor& x) { x.geometric_(0.5); }},
           {"BernoulliBackward2", [](const Tensor& x) { x.bernoulli_(0.5); }},
           {"BernoulliBackward1", [](const Tensor& x) { x.bernoulli_(full({3}, 0.5)); }},
           {"RandomBackward2", [](const Tensor& x) { x.random_(); }},
           {"RandomBackward1", [](const Tensor& x) { x.random_(5); }},
           {"RandomBackward0", [](const Tensor& x) { x.random_(1, 5); }}}) {
    const Tensor leaf = ones({3}).requires_grad_(), x = leaf * 2;
    fill(x);
    EXPECT_EQ(x.grad_fn()->name(), name);
    const Tensor grad = autograd::grad({x.sum()}, {leaf}, {.create_graph = true})[0];
    EXPECT_TRUE(equal(grad.detach(), zeros({3}))) << name;
  }
  for (const DType dtype : {float32, float64}) {
    const Tensor p = full({3}, 0.5, {.dtype = dtype}).requires_grad_();
    const Tensor leaf = ones({2, 3}).requires_grad_(), x = leaf * 2, plain = ones({2, 3});
    x.bernoulli_(p);
    plain.bernoulli_(p);
    EXPECT_EQ(plain.grad_fn()->name(), "BernoulliBackward1");
    (x + plain).sum().backward();
    EXPECT_TRUE(equal(p.grad(), zeros({3}, {.dtype = dtype})));
    EXPECT_TRUE(equal(leaf.grad(), zeros({2, 3})));
  }
  const Tensor p = full({3}, 0.5).requires_grad_(), drawn = bernoulli(p);
  EXPECT_EQ(drawn.grad_fn()->name(), "BernoulliBackward0");
  drawn.sum().backward();
  EXPECT_TRUE(equal(p.grad(), zeros({3})));
}

// The same numbers whatever lies around the weights, and however they are spread.
TEST(Random, MultinomialLooksAtItsWeightsAlone) {
  const Tensor weights = tensor({{0.1, 0.7, 0.2}, {0.3, 0.3, 0.4}});
  const Tensor around = full({4, 8}, std::nan(""));
  const Tensor spread = around.slice(0, 1, 3).slice(1, 1, 7, 2);
  spread.copy_(weights);
  for (const bool replacement : {false, true}) {
    for (const std::int64_t count : {1, 3}) {
      manual_seed(5);
      const Tensor expected = multinomial(weights, count, {.replacement = replacement});
      manual_seed(5);
      EXPECT_TRUE(equal(multinomial(spread, count, {.replacement = replacement}), expected));
    }
  }
}

TEST(Random, BoundsThatMakeNoSenseAreNamed) {
  const Tensor x = zeros({3});
  expect_error<ValueError>([&] { x.uniform_(1, 0); }, "from=1", "to=0");
  expect_error<ValueError>([&] { x.uniform_(-3e38, 3e38); }, "3e+38", "exceed");
  expect_error<ValueError>([&] { x.uniform_(0, 1e39); }, "to = 1e+39", "torch.float32");
  expect_error<ValueError>([&] { x.uniform_(std::nan(""), 1); }, "from = nan");
  expect_error<ValueError>([] { zeros({1}, {.dtype = float16}).uniform_(0, 1e5); }, "65504");
  expect_error<ValueError>([&] { x.normal_(0, -1); }, "std -1");
  expect_error<ValueError>([&] { x.bernoulli_(1.5); }, "p=1.5");
  expect_error<ValueError>([&] { x.exponential_(0); }, "lambda=0");
  expect_error<ValueError>([&] { x.cauchy_(0, 0); }, "sigma=0");
  expect_error<ValueError>([&] { x.log_normal_(0, -1); }, "std=-1");
  expect_error<ValueError>([&] { x.geometric_(1); }, "p=1");
  expect_error<Error>([] { zeros({1}).expand({3}).uniform_(); }, "single memory location");
  EXPECT_TRUE(equal(x, zeros({3})));
}

TEST(Random, WholeNumbersThatTheDtypeDoesNotHoldAreNamed) {
  expect_error<ValueError>([] { randint(5, 5, {2}); }, "from=5", "to=5");
  expect_error<ValueError>([] { randint(0, 300, {2}, {.dtype = uint8}); }, "299", "torch.uint8",
                           "255");
  expect_error<ValueError>([] { randint(-1, 3, {2}, {.dtype = uint16}); }, "from = -1");
  expect_error<ValueError>([] { randint(0, kMost, {2}, {.dtype = float16}); }, "torch.float16");
  expect_error<ValueError>([] { zeros({2}, {.dtype = int8}).random_(kLeast, std::nullopt); },
                           "-128");
  expect_error<NotImplementedError>([] { randint(3, {2}, {.dtype = complex64}); }, "ComplexFloat");
  expect_error<ValueError>([] { randperm(300, {.dtype = uint8}); }, "299", "256");
  expect_error<ValueError>([] { randperm(2050, {.dtype = float16}); }, "2049", "torch.float16");
  expect_error<ValueError>([] { randperm(-1); }, "-1");
  // The whole of int64, whose size int64 does not hold.
  EXPECT_EQ(randint(kLeast, kMost, {100}).numel(), 100);
  EXPECT_EQ(zeros({3}, {.dtype = int64}).random_(kLeast, std::nullopt).numel(), 3);
  // From the last one on, which PyTorch never returns from if they are floats.
  EXPECT_EQ(zeros({3}, {.dtype = int64}).random_(kMost, std::nullopt).numel(), 3);
  for (const DType dtype : {float64, float32, bfloat16}) {
    expect_error<ValueError>([&] { zeros({3}, {.dtype = dtype}).random_(kMost, std::nullopt); },
                             "from = 9223372036854775807");
  }
}

TEST(Random, DtypesThatCannotAreNamed) {
  expect_error<NotImplementedError>([] { rand({2}, {.dtype = int64}); }, "uniform_", "Long");
  expect_error<NotImplementedError>([] { randn({2}, {.dtype = bool_}); }, "normal_", "Bool");
  expect_error<NotImplementedError>([] { rand({2}, {.dtype = float8_e4m3fn}); }, "Float8_e4m3fn");
  expect_error<NotImplementedError>([] { zeros({2}, {.dtype = int32}).exponential_(); }, "Int");
  expect_error<NotImplementedError>([] { zeros({2}, {.dtype = uint32}).random_(); }, "UInt32");
}

TEST(Random, BoundsBeyondWhatAFloatCountsExactlyWarn) {
  std::string said;
  const auto before = set_warning_handler([&](const std::string& text) { said = text; });
  zeros({1}).random_(0, std::int64_t{1} << 30);
  set_warning_handler(before);
  EXPECT_THAT(said, testing::HasSubstr("2^24"));
}

TEST(Random, EmptyTensorsDrawNothing) {
  manual_seed(3);
  const Tensor state = get_rng_state();
  rand({0});
  randn({0, 5});
  randperm(0);
  randint(3, {0});
  EXPECT_TRUE(equal(get_rng_state(), state));
}

}  // namespace
}  // namespace tenon
