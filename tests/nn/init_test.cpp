#include "tenon/nn/init.h"

#include <cmath>
#include <functional>
#include <limits>

#include "support/matchers.h"
#include "support/warnings.h"

namespace tenon::nn {
namespace {

TEST(InitGain, IsPyTorchsForEveryFunction) {
  for (const char* name : {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
                           "conv_transpose2d", "conv_transpose3d", "sigmoid"})
    EXPECT_EQ(init::calculate_gain(name), 1) << name;
  EXPECT_EQ(init::calculate_gain("tanh"), 5.0 / 3);
  EXPECT_EQ(init::calculate_gain("relu"), std::sqrt(2.0));
  EXPECT_EQ(init::calculate_gain("selu"), 0.75);
  EXPECT_EQ(init::calculate_gain("leaky_relu"), 1.4141428569978354);
  EXPECT_EQ(init::calculate_gain("leaky_relu", {.param = 0.2}), std::sqrt(2.0 / 1.04));
  // The square of the root of five is not five.
  EXPECT_EQ(init::calculate_gain("leaky_relu", {.param = std::sqrt(5.0)}),
            std::sqrt(2.0 / 6.000000000000001));
  expect_error<ValueError>([] { init::calculate_gain("gelu"); }, "Unsupported nonlinearity gelu");
}

TEST(Init, DrawsFromTheBoundsThatFansAndGainsSay) {
  const Tensor w = empty({3, 4, 2, 5}), same = empty({3, 4, 2, 5});
  const auto seeded = [&](const std::function<void()>& f) {
    manual_seed(7);
    f();
  };
  const auto expect_uniform = [&](double bound, const char* about) {
    seeded([&] { same.uniform_(-bound, bound); });
    EXPECT_TRUE(equal(w, same)) << about;
  };
  const auto expect_normal = [&](double std, const char* about) {
    seeded([&] { same.normal_(0, std); });
    EXPECT_TRUE(equal(w, same)) << about;
  };
  seeded([&] { init::xavier_uniform_(w, {.gain = 2}); });
  expect_uniform(std::sqrt(3.0) * (2 * std::sqrt(2.0 / 70)), "xavier_uniform_");
  seeded([&] { init::xavier_normal_(w); });
  expect_normal(std::sqrt(2.0 / 70), "xavier_normal_");
  seeded([&] { init::kaiming_uniform_(w, {.a = 1}); });
  expect_uniform(std::sqrt(3.0) * (1 / std::sqrt(40.0)), "fan_in");
  seeded([&] { init::kaiming_uniform_(w, {.mode = "fan_out", .nonlinearity = "linear"}); });
  expect_uniform(std::sqrt(3.0) * (1 / std::sqrt(30.0)), "fan_out");
  seeded([&] { init::kaiming_normal_(w, {.nonlinearity = "relu"}); });
  expect_normal(std::sqrt(2.0) / std::sqrt(40.0), "kaiming_normal_");
  seeded([&] { init::uniform_(w, {.a = -3, .b = 2}); });
  seeded([&] { same.uniform_(-3, 2); });
  EXPECT_TRUE(equal(w, same));
  seeded([&] { init::normal_(w, {.mean = 1, .std = 3}); });
  seeded([&] { same.normal_(1, 3); });
  EXPECT_TRUE(equal(w, same));
}

TEST(Init, DrawsFromTheGeneratorThatIsNamed) {
  const Tensor before = get_rng_state();
  Generator own;
  own.manual_seed(3);
  const Tensor a = init::trunc_normal_(empty({20}), {.generator = own}).clone();
  EXPECT_TRUE(equal(get_rng_state(), before));
  own.manual_seed(3);
  EXPECT_TRUE(equal(init::trunc_normal_(empty({20}), {.generator = own}), a));
}

TEST(Init, ReturnsTheTensorAndRecordsNothing) {
  const Tensor p = make_parameter(empty({4, 6})), q = make_parameter(empty({4, 6, 3}));
  EXPECT_TRUE(init::uniform_(p).is(p));
  EXPECT_TRUE(init::normal_(p).is(p));
  EXPECT_TRUE(init::trunc_normal_(p).is(p));
  EXPECT_TRUE(init::constant_(p, 0.5).is(p));
  EXPECT_TRUE(init::ones_(p).is(p));
  EXPECT_TRUE(init::zeros_(p).is(p));
  EXPECT_TRUE(init::eye_(p).is(p));
  EXPECT_TRUE(init::dirac_(q).is(q));
  EXPECT_TRUE(init::xavier_uniform_(p).is(p));
  EXPECT_TRUE(init::xavier_normal_(p).is(p));
  EXPECT_TRUE(init::kaiming_uniform_(p).is(p));
  EXPECT_TRUE(init::kaiming_normal_(p).is(p));
  EXPECT_TRUE(init::orthogonal_(q).is(q));
  EXPECT_TRUE(init::sparse_(p, 0.5).is(p));
  EXPECT_TRUE(p.is_leaf());
  EXPECT_TRUE(p.requires_grad());
  EXPECT_TRUE(q.is_leaf());
  EXPECT_GT(p.version(), 0);
  EXPECT_TRUE(is_grad_enabled());
}

TEST(Init, OnMetaDrawsNothingAndStillRefuses) {
  manual_seed(1);
  const Tensor before = get_rng_state();
  const Tensor w = empty({4, 6, 3}, {.device = Device::meta()}), matrix = w[0];
  init::uniform_(w);
  init::normal_(w);
  init::trunc_normal_(w);
  init::trunc_normal_(w, {.a = 1, .b = 2});
  init::constant_(w, 2);
  init::ones_(w);
  init::zeros_(w);
  init::eye_(matrix);
  init::dirac_(w, {.groups = 2});
  init::xavier_uniform_(w);
  init::xavier_normal_(w);
  init::kaiming_uniform_(w);
  init::kaiming_normal_(w);
  init::orthogonal_(w);
  init::sparse_(matrix, 0.3);
  EXPECT_TRUE(equal(get_rng_state(), before));
  EXPECT_TRUE(w.is_meta());
  expect_error<ShapeError>([&] { init::xavier_uniform_(matrix[0]); }, "fewer than 2 dimensions");
  expect_error<ValueError>([&] { init::dirac_(w, {.groups = 3}); }, "divisible");
  // Also where the default device is, as when a model is built without memory.
  with_device("meta", [&] { EXPECT_TRUE(init::orthogonal_(empty({3, 3})).is_meta()); });
}

TEST(Init, OnTheCpuWorksWhileTheDefaultDeviceIsAnother) {
  const Tensor w = empty({6, 5}), same = empty({6, 5});
  for (const auto& f :
       {std::function<void(const Tensor&)>([](const Tensor& t) { init::orthogonal_(t); }),
        std::function<void(const Tensor&)>(
            [](const Tensor& t) { init::trunc_normal_(t, {.a = 1, .b = 1.5}); }),
        std::function<void(const Tensor&)>([](const Tensor& t) { init::sparse_(t, 0.5); })}) {
    manual_seed(4);
    f(w);
    manual_seed(4);
    with_device("meta", [&] { f(same); });
    EXPECT_TRUE(equal(w, same));
  }
}

TEST(Init, OfTensorsWithoutElementsWarnsOrDoesNothing) {
  const Warnings warnings;
  manual_seed(1);
  const Tensor before = get_rng_state();
  init::kaiming_uniform_(empty({0, 3}));
  init::kaiming_normal_(empty({0}), {.mode = "nonsense"});
  EXPECT_THAT(warnings.said, testing::ElementsAre("Initializing zero-element tensors is a no-op",
                                                  "Initializing zero-element tensors is a no-op"));
  init::orthogonal_(empty({3, 0}));
  init::xavier_normal_(empty({0, 3}));
  init::dirac_(empty({2, 3, 0}));
  init::sparse_(empty({0, 0}), 0.5);
  init::trunc_normal_(empty({0}));
  EXPECT_EQ(warnings.said.size(), 2U);
  EXPECT_TRUE(equal(get_rng_state(), before));
  expect_error<ValueError>([] { init::xavier_uniform_(empty({0, 0})); }, "[0, 0]", "neither");
}

TEST(Init, RefusesWithPyTorchsWords) {
  const Tensor vector = empty({3}), matrix = empty({4, 4});
  const char* fans =
      "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions";
  expect_error<ShapeError>([&] { init::xavier_uniform_(vector); }, fans, "[3]");
  expect_error<ShapeError>([&] { init::xavier_normal_(vector); }, fans);
  expect_error<ShapeError>([&] { init::kaiming_uniform_(vector); }, fans);
  expect_error<ShapeError>([&] { init::kaiming_normal_(vector); }, fans);
  expect_error<ValueError>([&] { init::kaiming_normal_(matrix, {.mode = "Fan"}); },
                           "Mode fan not supported, please use one of ['fan_in', 'fan_out']");
  EXPECT_NO_THROW(init::kaiming_normal_(matrix, {.mode = "FAN_OUT"}));
  expect_error<ValueError>([&] { init::kaiming_normal_(matrix, {.nonlinearity = "gelu"}); },
                           "Unsupported nonlinearity gelu");
  const char* two = "Only tensors with 2 dimensions are supported";
  expect_error<ShapeError>([&] { init::eye_(vector); }, two, "[3]");
  expect_error<ShapeError>([&] { init::sparse_(vector, 0.1); }, two);
  expect_error<ShapeError>([&] { init::orthogonal_(vector); },
                           "Only tensors with 2 or more dimensions are supported");
  expect_error<ShapeError>([&] { init::dirac_(matrix); },
                           "Only tensors with 3, 4, or 5 dimensions are supported", "[4, 4]");
  expect_error<ValueError>([&] { init::dirac_(empty({4, 2, 3}), {.groups = 3}); },
                           "dim 0 must be divisible by groups", "4", "3");
  expect_error<ValueError>([&] { init::dirac_(empty({4, 2, 3}), {.groups = 0}); }, "at least 1");
  expect_error<NotImplementedError>([&] { init::orthogonal_(empty({3, 3}, {.dtype = bfloat16})); },
                                    "orthogonal_");
  expect_error<ValueError>([&] { init::sparse_(matrix, std::nan("")); }, "nan");
  expect_error<Error>([&] { init::orthogonal_(empty({2, 3, 4}).transpose(1, 2)); }, "view");
}

TEST(InitEye, HasOnesOnItsDiagonal) {
  EXPECT_TRUE(equal(init::eye_(full({2, 3}, 7.)), tensor({{1., 0., 0.}, {0., 1., 0.}})));
}

TEST(InitDirac, PutsAOneInTheMiddleOfEachChannelsKernel) {
  const Tensor w = init::dirac_(full({4, 3, 4}, 7.), {.groups = 2});
  EXPECT_EQ(w.sum().item<double>(), 4);
  for (const auto& [out, in] : {std::pair(0, 0), std::pair(1, 1), std::pair(2, 0), std::pair(3, 1)})
    EXPECT_EQ(w[out][in][2].item<double>(), 1);
  // More outputs than inputs: the others stay zero.
  const Tensor tall = init::dirac_(full({5, 2, 3, 3, 2}, 7.));
  EXPECT_EQ(tall.sum().item<double>(), 2);
  EXPECT_EQ(tall[1][1][1][1][1].item<double>(), 1);
}

TEST(InitDirac, MakesAConvolutionThatReturnsTheChannelsOfEachGroup) {
  manual_seed(2);
  for (const std::int64_t groups : {1, 2, 3}) {
    const Tensor x = randn({2, groups * 3, 7}), image = randn({2, groups * 3, 7, 5});
    const Tensor volume = randn({2, groups * 3, 4, 3, 5});
    const auto weight = [&](Dims kernel) {
      Dims shape{groups * 4, 3};
      for (const std::int64_t size : kernel) shape.push_back(size);
      return init::dirac_(full(shape, 7.), {.groups = groups});
    };
    for (const auto& [in, out] :
         {std::pair(x, conv1d(x, weight({3}), {.padding = 1, .groups = groups})),
          {image, conv2d(image, weight({3, 3}), {.padding = 1, .groups = groups})},
          {volume, conv3d(volume, weight({3, 3, 3}), {.padding = 1, .groups = groups})}}) {
      for (std::int64_t g = 0; g < groups; ++g) {
        EXPECT_TRUE(equal(out.narrow(1, g * 4, 3), in.narrow(1, g * 3, 3)))
            << g << " of " << groups;
        EXPECT_EQ(out.select(1, g * 4 + 3).abs().sum().item<double>(), 0) << g << " of " << groups;
      }
    }
  }
}

TEST(InitTruncNormal, StaysInsideItsBounds) {
  manual_seed(1);
  for (const DType dtype : {float32, float64, float16, bfloat16}) {
    for (const auto& [a, b] : {std::pair(-2., 2.), std::pair(-0.3, 0.1), std::pair(1., 1.5)}) {
      const Tensor t = init::trunc_normal_(empty({500}, {.dtype = dtype}), {.a = a, .b = b});
      const Tensor low = tensor(a, {.dtype = dtype}), high = tensor(b, {.dtype = dtype});
      EXPECT_TRUE(all((t >= low) & (t <= high)).item<bool>()) << a << " " << b;
    }
  }
}

TEST(InitTruncNormal, WarnsOfAMeanFarOutside) {
  const Warnings warnings;
  init::trunc_normal_(empty({3}), {.mean = 3.9});
  EXPECT_TRUE(warnings.said.empty());
  init::trunc_normal_(empty({3}), {.mean = 4.1});
  ASSERT_EQ(warnings.said.size(), 1U);
  EXPECT_THAT(warnings.said[0],
              testing::HasSubstr("mean is more than 2 std from [a, b] in nn.init.trunc_normal_"));
}

TEST(InitTruncNormal, RefusesWhatCouldHardlyBeDrawn) {
  expect_error<ValueError>([] { init::trunc_normal_(empty({3}), {.std = 0}); }, "std is 0");
  expect_error<ValueError>([] { init::trunc_normal_(empty({3}), {.a = 2, .b = 1}); }, "from=2",
                           "to=1");
  // The square of 300 is more than a half can hold: next to nothing would be accepted.
  expect_error<ValueError>(
      [] { init::trunc_normal_(empty({3}, {.dtype = float16}), {.a = 300, .b = 301}); }, "too far",
      "[300.0, 301.0]", "torch.float16");
  EXPECT_NO_THROW(init::trunc_normal_(empty({3}), {.a = 1000, .b = 1000.001}));
}

TEST(InitOrthogonal, HasOrthonormalRowsOrColumnsTimesTheGain) {
  manual_seed(8);
  for (const Shape& shape : {Shape({5, 5}), Shape({3, 50}), Shape({50, 3}), Shape({6, 2, 5})}) {
    const Tensor w = init::orthogonal_(empty(shape), {.gain = 3});
    const Tensor matrix = w.view({w.size(0), -1});
    const Tensor wide = matrix.size(0) < matrix.size(1) ? matrix : matrix.t();
    EXPECT_TRUE(allclose(mm(wide, wide.t()), eye(wide.size(0)) * 9, {.rtol = 0, .atol = 1e-5}))
        << shape.repr();
  }
  EXPECT_EQ(std::abs(init::orthogonal_(empty({1, 1})).item<double>()), 1);
}

TEST(InitSparse, LeavesThatFractionOfEachColumnZero) {
  manual_seed(8);
  const Tensor w = init::sparse_(empty({10, 7}), 0.31, {.std = 5});
  EXPECT_TRUE(equal((w == 0).sum(0), full({7}, 4)));
  EXPECT_GT(w.abs().amax().item<double>(), 1);
  EXPECT_TRUE(equal(init::sparse_(empty({3, 3}), 1), zeros({3, 3})));
  EXPECT_TRUE(all(init::sparse_(empty({3, 3}), 0) != 0).item<bool>());
}

}  // namespace
}  // namespace tenon::nn
