#include "tenon/ops/pooling.h"

#include <cmath>
#include <limits>

#include "ops/known_numbers.h"
#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/recorded.h"
#include "support/wrappers.h"

namespace tenon {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

Tensor on_meta(const Tensor& t) { return t.to(Device::meta()); }

using Pair = std::tuple<Tensor, Tensor>;

// A row of cases/pooling.cases. Inputs are known numbers; of results the shape and a weighted sum
// are kept, of which the weights differ between neighbours.
struct PoolCase {
  std::string kind;
  int n;
  Shape shape;
  Dims kernel, stride, padding, dilation;
  bool ceil_mode, count_include_pad;
  std::int64_t divisor;
  double norm;
  Shape out;
  double sum, indices, grad;

  explicit PoolCase(const recorded::Line& row)
      : kind(row.at(0)),
        n(std::stoi(row.at(1))),
        shape(recorded::sizes(row.at(2))),
        kernel(recorded::sizes(row.at(3))),
        stride(recorded::sizes(row.at(4))),
        padding(recorded::sizes(row.at(5))),
        dilation(recorded::sizes(row.at(6))),
        ceil_mode(*recorded::flag(row.at(7))),
        count_include_pad(*recorded::flag(row.at(8))),
        divisor(std::stoll(row.at(9))),
        norm(recorded::real(row.at(10))),
        out(recorded::sizes(row.at(11))),
        sum(recorded::real(row.at(12))),
        indices(recorded::real(row.at(13))),
        grad(recorded::real(row.at(14))) {}
};

Pair pooled_with_indices(const PoolCase& c, const Tensor& x) {
  const MaxPoolFunctionOptions options{
      .stride = c.stride, .padding = c.padding, .dilation = c.dilation, .ceil_mode = c.ceil_mode};
  if (c.kind == "adaptive_max") {
    if (c.n == 1) return adaptive_max_pool1d_with_indices(x, c.kernel);
    if (c.n == 2) return adaptive_max_pool2d_with_indices(x, c.kernel);
    return adaptive_max_pool3d_with_indices(x, c.kernel);
  }
  if (c.n == 1) return max_pool1d_with_indices(x, c.kernel, options);
  if (c.n == 2) return max_pool2d_with_indices(x, c.kernel, options);
  return max_pool3d_with_indices(x, c.kernel, options);
}

Tensor pooled(const PoolCase& c, const Tensor& x) {
  const std::string& kind = c.kind;
  if (kind == "max") {
    const MaxPoolFunctionOptions options{
        .stride = c.stride, .padding = c.padding, .dilation = c.dilation, .ceil_mode = c.ceil_mode};
    if (c.n == 1) return max_pool1d(x, c.kernel, options);
    return c.n == 2 ? max_pool2d(x, c.kernel, options) : max_pool3d(x, c.kernel, options);
  }
  if (kind == "avg") {
    AvgPoolFunctionOptions options{.stride = c.stride,
                                   .padding = c.padding,
                                   .ceil_mode = c.ceil_mode,
                                   .count_include_pad = c.count_include_pad};
    if (c.divisor != 0) options.divisor_override = c.divisor;
    if (c.n == 1) {
      return avg_pool1d(x, c.kernel,
                        {.stride = c.stride,
                         .padding = c.padding,
                         .ceil_mode = c.ceil_mode,
                         .count_include_pad = c.count_include_pad});
    }
    return c.n == 2 ? avg_pool2d(x, c.kernel, options) : avg_pool3d(x, c.kernel, options);
  }
  if (kind == "adaptive_avg") {
    if (c.n == 1) return adaptive_avg_pool1d(x, c.kernel);
    return c.n == 2 ? adaptive_avg_pool2d(x, c.kernel) : adaptive_avg_pool3d(x, c.kernel);
  }
  if (kind == "adaptive_max") {
    if (c.n == 1) return adaptive_max_pool1d(x, c.kernel);
    return c.n == 2 ? adaptive_max_pool2d(x, c.kernel) : adaptive_max_pool3d(x, c.kernel);
  }
  if (kind == "lp") {
    const LPPoolFunctionOptions options{.stride = c.stride, .ceil_mode = c.ceil_mode};
    if (c.n == 1) return lp_pool1d(x, c.norm, c.kernel, options);
    return c.n == 2 ? lp_pool2d(x, c.norm, c.kernel, options)
                    : lp_pool3d(x, c.norm, c.kernel, options);
  }
  const auto [values, indices] = pooled_with_indices(c, x);
  Dims size;
  for (int d = 0; d < c.n; ++d) size.push_back(x.size(d - c.n));
  const MaxUnpoolFunctionOptions options{
      .stride = c.stride, .padding = c.padding, .output_size = size};
  if (c.n == 1) return max_unpool1d(values, indices, c.kernel, options);
  return c.n == 2 ? max_unpool2d(values, indices, c.kernel, options)
                  : max_unpool3d(values, indices, c.kernel, options);
}

std::string text_of(const PoolCase& c) {
  return c.kind + std::to_string(c.n) + "d of " + c.shape.repr() + ", kernel " + c.kernel.repr() +
         ", stride " + c.stride.repr() + ", padding " + c.padding.repr();
}

TEST(Pools, AreWhatPyTorchGivesForRandomOptions) {
  for (const recorded::Line& row : recorded::rows("ops/cases/pooling", 100)) {
    const PoolCase c(row);
    SCOPED_TRACE(text_of(c));
    Tensor x = known_numbers(c.shape);
    if (c.kind == "lp") x = x.abs() + 0.5;
    x.requires_grad_();
    const Tensor y = pooled(c, x);
    ASSERT_EQ(y.shape(), c.out);
    expect_weighted_sum(y, c.sum);
    const std::string& kind = c.kind;
    if (kind == "max" || kind == "adaptive_max" || kind == "unpool") {
      const auto [values, indices] = pooled_with_indices(c, x);
      if (kind != "unpool") {
        EXPECT_TRUE(equal(values, y));
      }
      EXPECT_EQ(indices.dtype(), int64);
      expect_weighted_sum(indices, c.indices);
    }
    y.backward({.gradient = known_gradient(y.shape())});
    expect_weighted_sum(x.grad(), c.grad);
    // Without a gradient, on meta, in single precision, and in another order in memory.
    const NoGradScope unrecorded;
    EXPECT_TRUE(equal(pooled(c, x), y));
    if (kind != "unpool") {
      EXPECT_EQ(pooled(c, on_meta(x.detach())).shape(), c.out);
      const Tensor single = pooled(c, x.detach().to(float32));
      EXPECT_TRUE(allclose(single.to(float64), y, {.rtol = 1e-5, .atol = 1e-5}));
    }
    const Tensor turned = x.detach().transpose(0, -1).contiguous().transpose(0, -1);
    EXPECT_TRUE(equal(pooled(c, turned), y));
  }
}

TEST(Pools, HaveGradientsThatDifferencesConfirm) {
  manual_seed(3);
  const auto numbers = [](const Shape& shape) {
    // Far enough from each other that no step changes which is the largest.
    const std::int64_t n = shape.numel();
    return (randperm(n).to(float64) / static_cast<double>(n)).view(shape).requires_grad_();
  };
  using Args = const std::vector<Tensor>&;
  expect_gradients([](Args a) { return max_pool1d(a[0], 3, {.stride = 2, .padding = 1}); },
                   {numbers({2, 2, 7})});
  expect_gradients(
      [](Args a) { return max_pool2d(a[0], {2, 3}, {.stride = 1, .ceil_mode = true}); },
      {numbers({2, 2, 5, 4})});
  expect_gradients([](Args a) { return max_pool2d(a[0], 2, {.dilation = 2}); },
                   {numbers({3, 5, 5})});
  expect_gradients([](Args a) { return max_pool3d(a[0], 2, {.stride = 1}); },
                   {numbers({1, 1, 3, 3, 3})});
  expect_gradients([](Args a) { return avg_pool1d(a[0], 3, {.stride = 2, .padding = 1}); },
                   {numbers({2, 2, 6})});
  expect_gradients(
      [](Args a) {
        return avg_pool2d(
            a[0], {3, 2},
            {.stride = {2, 1}, .padding = 1, .ceil_mode = true, .count_include_pad = false});
      },
      {numbers({2, 1, 5, 4})});
  expect_gradients([](Args a) { return avg_pool3d(a[0], 2, {.divisor_override = 3}); },
                   {numbers({1, 2, 4, 2, 3})});
  expect_gradients([](Args a) { return adaptive_avg_pool1d(a[0], 3); }, {numbers({2, 2, 5})});
  expect_gradients([](Args a) { return adaptive_avg_pool2d(a[0], {3, 2}); },
                   {numbers({2, 1, 4, 5})});
  expect_gradients([](Args a) { return adaptive_avg_pool2d(a[0], 1); }, {numbers({2, 2, 3, 3})});
  expect_gradients([](Args a) { return adaptive_avg_pool3d(a[0], {2, None, 1}); },
                   {numbers({1, 3, 2, 3})});
  expect_gradients([](Args a) { return adaptive_max_pool1d(a[0], 2); }, {numbers({2, 2, 5})});
  expect_gradients([](Args a) { return adaptive_max_pool2d(a[0], {2, 3}); },
                   {numbers({1, 2, 4, 4})});
  expect_gradients([](Args a) { return adaptive_max_pool3d(a[0], 2); }, {numbers({1, 3, 3, 3})});
  expect_gradients([](Args a) { return lp_pool2d(a[0] + 1, 3, 2, {.stride = 1}); },
                   {numbers({1, 2, 3, 3})});
  const Tensor indices = std::get<1>(max_pool2d_with_indices(numbers({2, 2, 4, 4}), 2));
  expect_gradients([&](Args a) { return max_unpool2d(a[0], indices, 2); }, {numbers({2, 2, 2, 2})});
  // Of views: transposed, sliced and expanded ones.
  expect_gradient([](Args a) { return max_pool2d(a[0].transpose(2, 3), 2); },
                  {numbers({1, 2, 4, 5})});
  expect_gradient(
      [](Args a) { return avg_pool2d(a[0].slice(3, 1, {}, 2).expand({2, 2, 4, 3}), 2); },
      {numbers({1, 2, 4, 6})});
}

TEST(Pow, HasAGradientAsPreciseAsItsExponent) {
  const Tensor x = full({1}, 2., {.dtype = float64}).requires_grad_();
  x.pow(1 / 3.5).sum().backward();
  EXPECT_NEAR(x.grad().item<double>(), std::pow(2., 1 / 3.5 - 1) / 3.5, 1e-15);
}

TEST(MaxPool, TakesTheFirstOfEqualsAndTheLastNaN) {
  const auto [values, indices] =
      max_pool1d_with_indices(tensor({{1., 2., 2., 2., kNaN, 0., kNaN, 1.}}), 4);
  EXPECT_EQ(indices.repr(), "tensor([[1, 6]])");
  EXPECT_EQ(values.repr(), "tensor([[2., nan]])");
  EXPECT_EQ(max_pool1d(tensor({{kNaN, 0., 1., 2.}}), 2).repr(), "tensor([[nan, 2.]])");
  EXPECT_EQ(max_pool1d(tensor({{0., kNaN, 2., 1.}}), 2).repr(), "tensor([[nan, 2.]])");
}

TEST(MaxPool, IsPaddedWithWhatIsSmallerThanEverything) {
  const Tensor low = full({1, 1, 2, 2}, -kInfinity);
  const auto [values, indices] = max_pool2d_with_indices(low, 2, {.padding = 1});
  EXPECT_TRUE(equal(values, full({1, 1, 2, 2}, -kInfinity)));
  EXPECT_EQ(indices.repr(), "tensor([[[[0, 1],\n          [2, 3]]]])");
  EXPECT_TRUE(equal(max_pool2d(full({1, 2, 2}, -5, {.dtype = int32}), 2, {.padding = 1}),
                    full({1, 2, 2}, -5, {.dtype = int32})));
}

TEST(Pools, TakeBatchesOfNone) {
  EXPECT_EQ(max_pool2d(zeros({0, 3, 8, 8}), 2).shape(), Shape({0, 3, 4, 4}));
  EXPECT_EQ(max_pool1d(zeros({0, 3, 8}), 2).shape(), Shape({0, 3, 4}));
  EXPECT_EQ(avg_pool3d(zeros({0, 3, 4, 4, 4}), 2).shape(), Shape({0, 3, 2, 2, 2}));
  EXPECT_EQ(adaptive_avg_pool2d(zeros({0, 3, 8, 8}), 3).shape(), Shape({0, 3, 3, 3}));
  EXPECT_EQ(adaptive_avg_pool2d(zeros({0, 3, 8, 8}), 1).shape(), Shape({0, 3, 1, 1}));
  EXPECT_EQ(adaptive_max_pool2d(zeros({0, 3, 8, 8}), 1).shape(), Shape({0, 3, 1, 1}));
  EXPECT_EQ(adaptive_avg_pool2d(zeros({1, 3, 8, 8}), 0).shape(), Shape({1, 3, 0, 0}));
  const Tensor none = zeros({0, 3, 4, 4}).requires_grad_();
  max_pool2d(none, 2).sum().backward();
  EXPECT_EQ(none.grad().shape(), Shape({0, 3, 4, 4}));
}

TEST(Pools, RoundHalvesOnce) {
  manual_seed(1);
  for (const DType dtype : {float16, bfloat16}) {
    const Tensor x = randn({2, 3, 9, 9}).to(dtype), wide = x.to(float32);
    EXPECT_TRUE(equal(max_pool2d(x, 3), max_pool2d(wide, 3).to(dtype)));
    EXPECT_TRUE(equal(avg_pool2d(x, 3), avg_pool2d(wide, 3).to(dtype)));
    EXPECT_TRUE(equal(adaptive_avg_pool2d(x, 2), adaptive_avg_pool2d(wide, 2).to(dtype)));
    x.requires_grad_();
    avg_pool2d(x, 3, {.stride = 1}).sum().backward();
    EXPECT_EQ(x.grad().dtype(), dtype);
  }
}

TEST(Pools, OfWholeNumbers) {
  const Tensor x = arange(16).view({1, 4, 4});
  EXPECT_TRUE(equal(max_pool2d(x, 2), tensor({{{5, 7}, {13, 15}}})));
  EXPECT_TRUE(equal(avg_pool2d(x, 2), tensor({{{2, 4}, {10, 12}}})));
  expect_error<NotImplementedError>([&] { avg_pool2d(x.to(int32), 2); }, "avg_pool", "'Int'");
  expect_error<NotImplementedError>([&] { max_pool2d(x.to(bool_), 2); }, "max_pool", "'Bool'");
}

TEST(Pools, RecordThePyTorchNames) {
  const auto name = [](const Tensor& t) { return t.grad_fn()->name(); };
  const Tensor image = zeros({1, 2, 4, 4}).requires_grad_(),
               volume = zeros({1, 2, 4, 4, 4}).requires_grad_(),
               signal = zeros({1, 2, 4}).requires_grad_();
  EXPECT_EQ(name(max_pool2d(image, 2)), "MaxPool2DWithIndicesBackward0");
  EXPECT_EQ(name(max_pool3d(volume, 2)), "MaxPool3DWithIndicesBackward0");
  EXPECT_EQ(name(max_pool1d(signal, 2)), "SqueezeBackward1");
  EXPECT_EQ(name(avg_pool2d(image, 2)), "AvgPool2DBackward0");
  EXPECT_EQ(name(avg_pool3d(volume, 2)), "AvgPool3DBackward0");
  EXPECT_EQ(name(adaptive_avg_pool2d(image, 2)), "AdaptiveAvgPool2DBackward0");
  EXPECT_EQ(name(adaptive_avg_pool2d(image, 1)), "MeanBackward1");
  EXPECT_EQ(name(adaptive_max_pool2d(image, 2)), "AdaptiveMaxPool2DBackward0");
  EXPECT_EQ(name(adaptive_max_pool3d(volume, 2)), "AdaptiveMaxPool3DBackward0");
}

TEST(Pools, SayWhatDoesNotFit) {
  const Tensor x = zeros({1, 3, 5, 5});
  expect_error<ValueError>([&] { max_pool2d(x, 2, {.padding = 2}); },
                           "pad should be at most half of kernel size", "pad=2", "kernel_size=2");
  expect_error<ShapeError>([&] { max_pool2d(x, 7); }, "Given input size: (3x5x5)",
                           "Calculated output size: (3x0x0)", "(7, 7)");
  expect_error<ShapeError>([&] { max_pool2d(zeros({5, 5}), 2); }, "3D or 4D", "[5, 5]");
  expect_error<ShapeError>([&] { max_pool2d(zeros({2, 0, 5, 5}), 2); }, "[2, 0, 5, 5]");
  expect_error<ValueError>([&] { max_pool2d(x, {2, 2, 2}); }, "kernel_size", "(2, 2, 2)");
  expect_error<ValueError>([&] { max_pool2d(x, 2, {.stride = 0}); }, "stride", "zero");
  expect_error<ValueError>([&] { max_pool2d(x, 0); }, "kernel size");
  expect_error<ValueError>([&] { max_pool2d(x, 2, {.dilation = 0}); }, "dilation");
  expect_error<ValueError>([&] { max_pool2d(x, 2, {.return_indices = true}); },
                           "max_pool2d_with_indices");
  expect_error<ShapeError>([&] { max_pool1d(zeros({3}), 2); }, "2D or 3D", "[3]");
  expect_error<ValueError>([&] { avg_pool2d(x, 2, {.divisor_override = 0}); }, "not zero");
  expect_error<ShapeError>([&] { adaptive_avg_pool2d(zeros({5, 5}), 2); }, "3D or 4D", "[5, 5]");
  expect_error<ShapeError>([&] { adaptive_avg_pool2d(zeros({2, 3, 0, 5}), 2); }, "[2, 3, 0, 5]",
                           "dimension 2 being empty");
  expect_error<ValueError>([&] { adaptive_avg_pool2d(x, -1); }, "greater than or equal to 0");
  expect_error<ValueError>([&] { adaptive_avg_pool2d(x, {1, 2, 3}); }, "output_size", "(1, 2, 3)");
}

TEST(MaxPool, OfAWindowThatSeesNothingIsTheSmallest) {
  // The kernel's first place is in the padding before the input, and the second behind its end.
  const Tensor x = ones({1, 1, 3, 1000}).requires_grad_();
  const MaxPoolFunctionOptions options{.stride = 1, .padding = {1, 0}, .dilation = {4, 1}};
  const auto [values, indices] = max_pool2d_with_indices(x, {2, 1}, options);
  EXPECT_EQ(values.shape(), Shape({1, 1, 1, 1000}));
  EXPECT_TRUE(equal(values.detach(), full({1, 1, 1, 1000}, -kInfinity)));
  EXPECT_TRUE(equal(indices, full({1, 1, 1, 1000}, -1)));
  EXPECT_TRUE(equal(max_pool2d(x.detach(), {2, 1}, options), values.detach()));
  max_pool2d(x, {2, 1}, options).sum().backward({.create_graph = true});
  EXPECT_TRUE(equal(x.grad().detach(), zeros(x.shape())));
  const Tensor grad = ones({1, 1, 1, 1000}).requires_grad_();
  const Tensor first = autograd::grad({max_pool2d(x, {2, 1}, options)}, {x},
                                      {.grad_outputs = {grad}, .create_graph = true})[0];
  first.sum().backward();
  EXPECT_TRUE(equal(grad.grad(), zeros(grad.shape())));
}

TEST(Pools, ArePaddedByHalfOfTheKernelWhateverTheDilation) {
  const MaxPoolFunctionOptions options{.stride = 1, .padding = 2, .dilation = 4};
  expect_error<ValueError>([&] { max_pool1d(zeros({1, 1, 9}), 2, options); },
                           "at most half of kernel size", "pad=2", "kernel_size=2");
  expect_error<ValueError>([&] { max_pool2d(zeros({1, 1, 9, 9}), 2, options); }, "half");
  expect_error<ValueError>([&] { max_pool3d(zeros({1, 1, 9, 9, 9}), 2, options); }, "half");
}

TEST(Pools, RefuseNumbersThatOverflow) {
  const Tensor x = zeros({1, 1, 4, 4});
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  expect_error<ValueError>([&] { max_pool2d(x, 3, {.dilation = kHuge}); }, "too far");
  expect_error<ValueError>([&] { max_pool2d(x, 2, {.stride = kHuge, .ceil_mode = true}); }, "far");
  expect_error<ValueError>([&] { avg_pool2d(x, kHuge, {.padding = kHuge / 2}); }, "too far");
  constexpr std::int64_t kWide = std::int64_t{1} << 40;
  expect_error<ValueError>([&] { avg_pool2d(x, kWide, {.padding = kWide / 2}); }, "counted");
  const Tensor places = zeros({1, 1, 4, 4}, {.dtype = int64});
  expect_error<ValueError>([&] { max_unpool2d(x, places, 2, {.stride = kHuge}); }, "too large");
}

TEST(LpPool, OfAnInfiniteNormIsTheLargestOrTheSmallest) {
  const Tensor x = tensor({1.0f, -2.0f, 3.0f, -4.0f, 5.0f, -6.0f}).reshape({1, 1, 6});
  EXPECT_TRUE(equal(lp_pool1d(x, kInfinity, 2), tensor({2.0f, 4.0f, 6.0f}).reshape({1, 1, 3})));
  EXPECT_TRUE(equal(lp_pool1d(x, -kInfinity, 2), tensor({1.0f, 3.0f, 5.0f}).reshape({1, 1, 3})));
  EXPECT_TRUE(
      equal(lp_pool2d(x.unsqueeze(0), kInfinity, {1, 2}).flatten(), tensor({2.0f, 4.0f, 6.0f})));
  EXPECT_TRUE(equal(lp_pool3d(x.reshape({1, 1, 1, 6}), -kInfinity, {1, 1, 2}).flatten(),
                    tensor({1.0f, 3.0f, 5.0f})));
  expect_error<ValueError>([&] { lp_pool1d(x, 0, 2); }, "norm_type must be a non-zero value");
}

TEST(MaxUnpool, PutsElementsBack) {
  const Tensor x = arange(16.).view({1, 1, 4, 4});
  const auto [values, indices] = max_pool2d_with_indices(x, 2);
  const Tensor back = max_unpool2d(values, indices, 2);
  EXPECT_EQ(back.shape(), Shape({1, 1, 4, 4}));
  EXPECT_EQ(back.sum().item<double>(), values.sum().item<double>());
  EXPECT_TRUE(equal(max_pool2d(back, 2), values));
  EXPECT_EQ(max_unpool2d(values, indices, 2, {.output_size = Dims{5, 5}}).shape(),
            Shape({1, 1, 5, 5}));
  expect_error<ValueError>([&] { max_unpool2d(values, indices, 2, {.output_size = Dims{9, 9}}); },
                           "invalid output_size (9, 9)", "between 2 and 6");
  expect_error<IndexError>([&] { max_unpool2d(values, indices + 90, 2); }, "invalid max index: 95",
                           "4x4");
  expect_error<ShapeError>([&] { max_unpool2d(values, indices[0], 2); }, "[1, 1, 2, 2]",
                           "[1, 2, 2]");
  expect_error<DTypeError>([&] { max_unpool2d(values, indices.to(int32), 2); }, "int64");
  expect_error<DeviceError>([&] { max_unpool2d(values, on_meta(indices), 2); }, "meta");
}

TEST(Pools, AreTheSameOnAnyNumberOfThreads) {
  manual_seed(2);
  const Tensor x = randn({4, 64, 33, 31}).requires_grad_();
  const auto all = [&] {
    const Tensor a = max_pool2d(x, 3, {.stride = 2, .padding = 1}),
                 b = avg_pool2d(x, 3, {.stride = 2}), c = adaptive_avg_pool2d(x, {7, 5});
    const Tensor grad =
        autograd::grad({a.sum() + (b * b).sum() + (c * c).sum()}, std::vector<Tensor>{x})[0];
    return std::vector<Tensor>{a, b, c, grad};
  };
  const std::vector<Tensor> many = all();
  const int before = get_num_threads();
  set_num_threads(1);
  const std::vector<Tensor> one = all();
  set_num_threads(before);
  for (std::size_t i = 0; i < many.size(); ++i) EXPECT_TRUE(equal(many[i], one[i])) << i;
}

}  // namespace
}  // namespace tenon
