// group_norm, batch_norm, instance_norm and local_response_norm: values, gradients and errors.
#include <cmath>

#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/threads.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

Tensor sample(const Shape& shape, double shift = 0) {
  return ((arange(shape.numel(), {.dtype = float64}) * 1.37 + 0.2 + shift).sin() * 2 + shift)
      .reshape(shape);
}
Tensor wanted(const Tensor& tensor) { return tensor.clone().detach().requires_grad_(); }
double furthest(const Tensor& a, const Tensor& b) {
  return (a.to(float64) - b.to(float64)).abs().max().item<double>();
}
Tensor normal(const Tensor& input, const Dims& dim, double eps = 1e-5) {
  Tensor x = input.to(float64);
  x = x - x.mean(dim, {.keepdim = true});
  return x * ((x * x).mean(dim, {.keepdim = true}) + eps).rsqrt();
}
Tensor by_channel(const Tensor& row, const Tensor& like) {
  Shape shape = {-1};
  for (std::int64_t d = 2; d < like.dim(); ++d) shape.push_back(1);
  return row.reshape(shape);
}

TEST(GroupNorm, IsItsDefinition) {
  for (const Shape& shape : {Shape({3, 6}), Shape({2, 6, 1}), Shape({2, 6, 5}),
                             Shape({2, 6, 9, 11}), Shape({1, 6, 2, 3, 4})}) {
    const Tensor x = sample(shape, 0.3), w = sample({6}, 1), b = sample({6}, 2);
    Shape grouped = {shape[0], 3, -1};
    const Tensor expected =
        normal(x.reshape(grouped), -1).reshape(shape) * by_channel(w, x) + by_channel(b, x);
    EXPECT_LE(furthest(group_norm(x, 3, {.weight = w, .bias = b}), expected), 1e-12);
    EXPECT_LE(
        furthest(group_norm(x.to(float32), 3, {.weight = w.to(float32), .bias = b.to(float32)}),
                 expected),
        3e-6);
  }
}

TEST(GroupNorm, HasTheGradientsDifferencesSay) {
  const auto f = [](const std::vector<Tensor>& a) {
    return group_norm(a[0], 2, {.weight = a[1], .bias = a[2], .eps = 1e-3});
  };
  expect_gradients(f, {wanted(sample({2, 4, 3})), wanted(sample({4}, 1)), wanted(sample({4}))});
  expect_gradients(
      f, {sample({2, 3, 4}).transpose(1, 2).requires_grad_(), sample({4}, 1), sample({4})});
  expect_gradients(f, {sample({2, 4}), wanted(sample({4}, 1)), wanted(sample({4}))});
  expect_gradients(f, {sample({2, 4, 2}), sample({4}, 1), wanted(sample({4}))});
  expect_gradients([](const auto& a) { return group_norm(a[0], 1); }, {wanted(sample({2, 2, 2}))});
}

TEST(BatchNorm, UsesTheStatisticsOfTheBatchWhileTraining) {
  for (const Shape& shape : {Shape({7, 3}), Shape({300, 3}), Shape({2, 3, 5}), Shape({2, 3, 70, 3}),
                             Shape({2, 3, 2, 2, 3})}) {
    const Tensor x = sample(shape, 0.3), w = sample({3}, 1), b = sample({3}, 2);
    Dims beside = {0};
    for (std::int64_t d = 2; d < x.dim(); ++d) beside.push_back(d);
    const Tensor expected = normal(x, beside) * by_channel(w, x) + by_channel(b, x);
    const Tensor mean = zeros({3}, {.dtype = float64}), var = ones({3}, {.dtype = float64});
    EXPECT_LE(furthest(batch_norm(x, mean, var,
                                  {.weight = w, .bias = b, .training = true, .momentum = 0.25}),
                       expected),
              1e-12);
    EXPECT_LE(furthest(mean, x.mean(beside) * 0.25), 1e-12);
    EXPECT_LE(furthest(var, x.var(beside) * 0.25 + 0.75), 1e-12);  // unbiased
    const Tensor narrow = batch_norm(x.to(float32), {}, {}, {.training = true});
    EXPECT_LE(furthest(narrow, normal(x, beside)), 3e-6);
    // And in evaluation the running ones.
    const Tensor evaluated = batch_norm(x, mean, var, {.weight = w, .bias = b});
    const Tensor by_hand =
        (x - by_channel(mean, x)) * by_channel((var + 1e-5).rsqrt() * w, x) + by_channel(b, x);
    EXPECT_LE(furthest(evaluated, by_hand), 1e-12);
  }
}

TEST(BatchNorm, KeepsChannelsLast) {
  const Tensor x = sample({2, 3, 5, 4}, 0.4).to(float32), w = sample({3}, 1).to(float32);
  const auto run = [&](const Tensor& input) {
    const Tensor a = input.detach().requires_grad_(), v = wanted(w), mean = zeros({3}),
                 var = ones({3});
    const Tensor y = batch_norm(a, mean, var, {.weight = v, .training = true});
    y.backward({.gradient = sample({2, 3, 5, 4}, 2).to(float32)});
    return std::vector<Tensor>{y.detach(), a.grad(), v.grad(),
                               mean,       var,      batch_norm(a, mean, var).detach()};
  };
  const auto plain = run(x), last = run(x.contiguous(MemoryFormat::channels_last));
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_LE(furthest(plain[i], last[i]), 1e-5) << i;
  EXPECT_TRUE(last[0].is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(last[5].is_contiguous(MemoryFormat::channels_last));
}

TEST(BatchNorm, HasTheGradientsDifferencesSay) {
  for (const bool training : {true, false}) {
    const auto f = [=](const std::vector<Tensor>& a) {
      return batch_norm(a[0], sample({3}, 0.2), sample({3}).abs() + 1,
                        {.weight = a[1], .bias = a[2], .training = training, .eps = 1e-3});
    };
    expect_gradients(f, {wanted(sample({4, 3})), wanted(sample({3}, 1)), wanted(sample({3}))});
    expect_gradients(f, {wanted(sample({2, 3, 4})), wanted(sample({3}, 1)), wanted(sample({3}))});
    expect_gradients(f, {sample({2, 2, 2, 3}).permute({0, 3, 1, 2}).requires_grad_(),
                         sample({3}, 1), sample({3})});
    expect_gradients(f, {sample({2, 3, 2}), wanted(sample({3}, 1)), sample({3})});
    expect_gradients(f, {sample({2, 3, 2}), sample({3}, 1), wanted(sample({3}))});
  }
  expect_gradients([](const auto& a) { return batch_norm(a[0], {}, {}, {.training = true}); },
                   {wanted(sample({3, 2, 2}))});
}

TEST(BatchNorm, IsTheSameOnAnyNumberOfThreads) {
  for (const Shape& shape : {Shape({900, 40}), Shape({6, 20, 30, 10})}) {
    const Tensor x = sample(shape).to(float32);
    expect_same_on_any_threads([&] {
      const Tensor a = wanted(x), v = wanted(ones({shape[1]}));
      const Tensor y = batch_norm(a, {}, {}, {.weight = v, .training = true});
      y.backward({.gradient = y.detach().sin()});
      return std::vector<Tensor>{y.detach(), a.grad(), v.grad()};
    });
  }
}

TEST(Normalization, RoundsSixteenBitsOnce) {
  const Tensor x = sample({3, 4, 5}).to(bfloat16), w = sample({4}, 1).to(bfloat16);
  const Tensor wide = x.to(float32), v = w.to(float32), mean = zeros({4}), var = ones({4});
  EXPECT_TRUE(
      equal(group_norm(x, 2, {.weight = w}), group_norm(wide, 2, {.weight = v}).to(bfloat16)));
  EXPECT_TRUE(
      equal(group_norm(x, 2, {.weight = v}), group_norm(wide, 2, {.weight = v}).to(bfloat16)));
  EXPECT_TRUE(equal(batch_norm(x, mean, var, {.weight = v}),
                    batch_norm(wide, mean, var, {.weight = v}).to(bfloat16)));
  EXPECT_TRUE(equal(batch_norm(x, {}, {}, {.weight = w, .training = true}),
                    batch_norm(wide, {}, {}, {.weight = v, .training = true}).to(bfloat16)));
  EXPECT_TRUE(equal(instance_norm(x), instance_norm(wide).to(bfloat16)));
}

TEST(InstanceNorm, NormalizesEachChannelOfEachItem) {
  const Tensor x = sample({2, 3, 4, 5}, 0.5), w = sample({3}, 1), b = sample({3}, 2);
  const Tensor mean = zeros({3}, {.dtype = float64}), var = ones({3}, {.dtype = float64});
  EXPECT_LE(
      furthest(
          instance_norm(
              x,
              {.running_mean = mean, .running_var = var, .weight = w, .bias = b, .momentum = 0.25}),
          normal(x, {2, 3}) * by_channel(w, x) + by_channel(b, x)),
      1e-12);
  EXPECT_LE(furthest(mean, x.mean({0, 2, 3}) * 0.25), 1e-12);
  EXPECT_LE(furthest(var, x.var({2, 3}).mean(0) * 0.25 + 0.75), 1e-12);
  EXPECT_LE(furthest(instance_norm(
                         x, {.running_mean = mean, .running_var = var, .use_input_stats = false}),
                     batch_norm(x, mean, var)),
            1e-12);
  // One item: its statistics are not mistaken for the running ones.
  const Tensor one = sample({1, 3, 4}), before = mean.clone();
  instance_norm(one, {.running_mean = mean, .running_var = var, .use_input_stats = false});
  EXPECT_TRUE(equal(mean, before));
  expect_gradients(
      [](const auto& a) {
        return instance_norm(a[0], {.weight = a[1], .bias = a[2], .eps = 1e-3});
      },
      {wanted(sample({2, 2, 3})), wanted(sample({2}, 1)), wanted(sample({2}))});
}

TEST(LocalResponseNorm, DividesByNeighbouringChannels) {
  const Tensor x = sample({2, 5, 3});
  const Tensor y = local_response_norm(x, 3, {.alpha = 0.5, .beta = 0.6, .k = 2});
  for (std::int64_t c = 0; c < 5; ++c) {
    Tensor sum = zeros({2, 3}, {.dtype = float64});
    for (std::int64_t d = std::max<std::int64_t>(0, c - 1); d <= std::min<std::int64_t>(4, c + 1);
         ++d)
      sum = sum + x.select(1, d).square();
    EXPECT_LE(furthest(y.select(1, c), x.select(1, c) / (sum / 3 * 0.5 + 2).pow(0.6)), 1e-12);
  }
  // An even size reaches one further back.
  const Tensor even = local_response_norm(tensor({{{1.}, {1.}, {0.}}}), 2, {.alpha = 2, .beta = 1});
  EXPECT_TRUE(allclose(even.reshape({-1}), tensor({0.5, 1.0 / 3, 0.0})));
  EXPECT_EQ(local_response_norm(ones({2, 3, 2, 2, 2}), 9).shape(), Shape({2, 3, 2, 2, 2}));
  expect_gradients([](const auto& a) { return local_response_norm(a[0], 2, {.alpha = 0.5}); },
                   {wanted(sample({2, 3, 2}))});
  expect_error<ShapeError>([] { local_response_norm(ones({3, 3}), 2); },
                           "Expected 3D or higher dimensionality", "[3, 3]");
  expect_error<ValueError>([] { local_response_norm(ones({3, 3, 3}), 0); }, "0");
}

TEST(Normalization, TakesWhatHasNoElementsAndMeta) {
  const Tensor w = ones({5}).requires_grad_(), mean = ones({5}), var = ones({5});
  const Tensor y = batch_norm(zeros({0, 5}).requires_grad_(), mean, var,
                              {.weight = w, .bias = w, .training = true});
  EXPECT_EQ(y.shape(), Shape({0, 5}));
  EXPECT_TRUE(equal(mean, ones({5})));
  EXPECT_TRUE(equal(var, ones({5})));
  y.sum().backward();
  EXPECT_TRUE(equal(w.grad(), zeros({5})));
  EXPECT_EQ(batch_norm(zeros({2, 5, 0}), mean, var).shape(), Shape({2, 5, 0}));
  EXPECT_EQ(group_norm(zeros({0, 6, 3}), 2).shape(), Shape({0, 6, 3}));
  EXPECT_EQ(instance_norm(zeros({0, 5, 3})).shape(), Shape({0, 5, 3}));
  EXPECT_EQ(instance_norm(zeros({2, 5, 0})).shape(), Shape({2, 5, 0}));
  const Device meta("meta");
  const Tensor x = empty({2, 4, 3}, {.device = meta}).requires_grad_();
  const Tensor running = empty({4}, {.device = meta});
  batch_norm(x, running, running, {.training = true}).sum().backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_EQ(group_norm(x, 2).shape(), x.shape());
  EXPECT_EQ(instance_norm(x).shape(), x.shape());
}

TEST(Normalization, RecordsPyTorchsNodes) {
  const Tensor x = ones({2, 4, 3}).requires_grad_();
  EXPECT_EQ(group_norm(x, 2).grad_fn()->name(), "NativeGroupNormBackward0");
  EXPECT_EQ(batch_norm(x, {}, {}, {.training = true}).grad_fn()->name(),
            "NativeBatchNormBackward0");
  EXPECT_EQ(instance_norm(x).grad_fn()->name(), "ViewBackward0");
}

TEST(Normalization, SaysWhatDoesNotFit) {
  const Tensor x = ones({2, 5}), y = ones({2, 6, 3}), five = ones({5}), four = ones({4});
  EXPECT_EQ(
      message_of<ValueError>([&] { batch_norm(ones({1, 5}), {}, {}, {.training = true}); }),
      "Expected more than 1 value per channel when training, got input size torch.Size([1, 5])");
  expect_error<ValueError>([&] { batch_norm(x, {}, {}); },
                           "running_mean must be defined in evaluation mode");
  expect_error<ValueError>([&] { batch_norm(x, five, {}); },
                           "running_var must be defined in evaluation mode");
  expect_error<ShapeError>([&] { batch_norm(x, four, four); },
                           "running_mean should contain 5 elements not 4", "[4]", "[2, 5]");
  expect_error<ShapeError>([&] { batch_norm(x, five, four); },
                           "running_var should contain 5 elements not 4");
  expect_error<ShapeError>([&] { batch_norm(x, five, five, {.weight = four}); },
                           "weight should contain 5 elements not 4");
  expect_error<ShapeError>([&] { batch_norm(x, five, five, {.bias = four}); },
                           "bias should contain 5 elements not 4");
  expect_error<ShapeError>([&] { batch_norm(five, five, five); }, "[5]");
  expect_error<ValueError>([&] { batch_norm(x, five, five, {.training = true, .eps = 0}); },
                           "batch_norm eps must be positive during training, but got 0.0");
  expect_error<ValueError>([&] { batch_norm(x, five, five, {.eps = -1}); },
                           "batch_norm eps must be non-negative, but got -1.0");
  EXPECT_EQ(instance_norm(rand({2, 3, 4}), {.eps = 0}).shape(), Shape({2, 3, 4}));
  expect_error<DTypeError>([&] { batch_norm(x, five.to(float64), five.to(float64)); },
                           "torch.float64");
  expect_error<NotImplementedError>([&] { batch_norm(x.to(int64), five, five); }, "'Long'");
  expect_error<AutogradError>(
      [&] { batch_norm(x, ones({5}).requires_grad_(), five, {.training = true}); }, "running_mean");
  expect_error<DeviceError>([&] { batch_norm(x, five, ones({5}, {.device = Device("meta")})); },
                            "meta");
  expect_error<ShapeError>([&] { group_norm(y, 4); }, "divisible by num_groups", "[2, 6, 3]", "4");
  expect_error<ShapeError>([&] { group_norm(y, 2, {.weight = five}); },
                           "Expected weight to be a vector of size equal to the number of channels",
                           "[5]", "[2, 6, 3]");
  expect_error<ValueError>([&] { group_norm(y, 0); }, "greater than 0, got 0");
  expect_error<ShapeError>([&] { group_norm(five, 5); }, "at least 2 dimensions", "1");
  expect_error<ShapeError>([&] { group_norm(ones({2, 6, 0}), 2); }, "HxW");
  expect_error<ValueError>([&] { group_norm(ones({1, 6}), 6); },
                           "Expected more than 1 value per channel when training", "[1, 6]");
  expect_error<ValueError>([&] { instance_norm(ones({2, 5, 1})); },
                           "Expected more than 1 spatial element when training", "[2, 5, 1]");
  expect_error<ValueError>([&] { instance_norm(y, {.use_input_stats = false}); },
                           "Expected running_mean and running_var to be defined");
  expect_error<ShapeError>([&] { instance_norm(y, {.weight = five}); },
                           "weight should contain 6 elements not 5");
}

}  // namespace
}  // namespace tenon
