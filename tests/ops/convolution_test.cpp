// Convolutions: values and gradients beside PyTorch's, shapes, dtypes, layouts and what is refused.
#include <cmath>

#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/recorded.h"

namespace tenon {
namespace {

Tensor operand(const Shape& shape, double step, DType dtype) {
  return (arange(shape.numel(), {.dtype = float64}) * step + 0.1).sin().reshape(shape).to(dtype);
}
Tensor weights(std::int64_t n) { return (arange(n, {.dtype = float64}) * 0.37).cos(); }
double checksum(const Tensor& tensor) {
  return (tensor.detach().to(float64).reshape({-1}) * weights(tensor.numel())).sum().item<double>();
}

// A row of cases/convolution.cases.
struct Case {
  std::string line, name, padding;
  Shape input, weight, result;
  bool bias = false;
  Dims stride, dilation, output_padding;
  std::int64_t groups = 1;
  double out = 0, in_grad = 0, weight_grad = 0, bias_grad = 0;

  explicit Case(const recorded::Line& row)
      : line(recorded::joined(row)),
        name(row.at(0)),
        padding(row.at(5)),
        input(recorded::sizes(row.at(1))),
        weight(recorded::sizes(row.at(2))),
        result(recorded::sizes(row.at(9))),
        bias(*recorded::flag(row.at(3))),
        stride(recorded::sizes(row.at(4))),
        dilation(recorded::sizes(row.at(6))),
        output_padding(recorded::sizes(row.at(7))),
        groups(std::stoll(row.at(8))),
        out(recorded::real(row.at(10))),
        in_grad(recorded::real(row.at(11))),
        weight_grad(recorded::real(row.at(12))),
        bias_grad(recorded::real(row.at(13))) {}

  Tensor run(const Tensor& x, const Tensor& w, const Tensor& b) const {
    if (name.starts_with("conv_transpose")) {
      const ConvTransposeFunctionOptions options{.bias = b,
                                                 .stride = stride,
                                                 .padding = recorded::sizes(padding),
                                                 .output_padding = output_padding,
                                                 .groups = groups,
                                                 .dilation = dilation};
      return name.ends_with("1d")   ? conv_transpose1d(x, w, options)
             : name.ends_with("2d") ? conv_transpose2d(x, w, options)
                                    : conv_transpose3d(x, w, options);
    }
    const ConvFunctionOptions options{
        .bias = b,
        .stride = stride,
        .padding = padding == "same" ? ConvPadding("same") : ConvPadding(recorded::sizes(padding)),
        .dilation = dilation,
        .groups = groups};
    return name.ends_with("1d")   ? conv1d(x, w, options)
           : name.ends_with("2d") ? conv2d(x, w, options)
                                  : conv3d(x, w, options);
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const recorded::Line& row : recorded::rows("ops/cases/convolution", 200))
    all.emplace_back(row);
  return all;
}

// The result and the gradients of input, weight and, if there is one, bias.
std::vector<Tensor> run(const Case& one, const std::vector<Tensor>& operands, const Tensor& grad) {
  std::vector<Tensor> leaves;
  for (const Tensor& operand : operands) leaves.push_back(operand.detach().requires_grad_());
  const Tensor out = one.run(leaves[0], leaves[1], leaves.size() > 2 ? leaves[2] : Tensor());
  out.backward({.gradient = grad});
  std::vector<Tensor> all{out.detach()};
  for (const Tensor& leaf : leaves) all.push_back(leaf.grad());
  return all;
}
std::vector<Tensor> operands_of(const Case& one) {
  std::vector<Tensor> operands{operand(one.input, 0.7, float64), operand(one.weight, 0.3, float64)};
  const std::int64_t channels = one.result[one.input.size() == one.weight.size() ? 1 : 0];
  if (one.bias) operands.push_back(operand({channels}, 0.9, float64));
  return operands;
}

TEST(Convolution, HasPyTorchsValuesAndGradients) {
  const auto all = cases();
  ASSERT_GE(all.size(), 200u);
  for (const Case& one : all) {
    const Tensor grad = weights(one.result.numel()).reshape(one.result);
    const std::vector<Tensor> results = run(one, operands_of(one), grad);
    ASSERT_EQ(results[0].shape(), one.result) << one.line;
    const double expected[] = {one.out, one.in_grad, one.weight_grad, one.bias_grad};
    for (std::size_t i = 0; i < results.size(); ++i)
      EXPECT_NEAR(checksum(results[i]), expected[i], 1e-9) << i << " of " << one.line;
  }
}

// In another dtype, beside the same in doubles: a multiple of what is rounded of the largest sum of
// magnitudes. `change` makes other tensors of the same values.
template <class Change>
void expect_as_doubles(DType dtype, double tolerance, Change&& change) {
  for (const Case& one : cases()) {
    const Tensor grad = weights(one.result.numel()).reshape(one.result).to(dtype);
    std::vector<Tensor> narrow, wide, positive;
    for (const Tensor& operand : operands_of(one)) {
      narrow.push_back(change(operand.to(dtype)));
      wide.push_back(operand.to(dtype).to(float64));
      positive.push_back(wide.back().abs());
    }
    const auto actual = run(one, narrow, grad);
    const auto expected = run(one, wide, grad.to(float64));
    const auto largest = run(one, positive, grad.to(float64).abs());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].dtype(), dtype);
      EXPECT_LE((actual[i].to(float64) - expected[i]).abs().max().item<double>(),
                tolerance * largest[i].max().item<double>())
          << i << " of " << one.line;
    }
  }
}
Tensor as_it_is(const Tensor& tensor) { return tensor; }

TEST(Convolution, OfFloatsIsThatOfDoubles) { expect_as_doubles(float32, 1e-6, as_it_is); }
TEST(Convolution, OfBfloat16IsThatOfDoubles) { expect_as_doubles(bfloat16, 5e-3, as_it_is); }
TEST(Convolution, OfFloat16IsThatOfDoubles) { expect_as_doubles(float16, 6e-4, as_it_is); }
TEST(Convolution, TakesChannelsThatAreLast) {
  expect_as_doubles(float32, 1e-6, [](const Tensor& tensor) {
    return tensor.dim() == 4 ? tensor.clone(MemoryFormat::channels_last) : tensor;
  });
}
TEST(Convolution, TakesAnyStrides) {
  expect_as_doubles(float32, 1e-6, [](const Tensor& tensor) {
    Shape larger = tensor.shape();
    for (std::int64_t& size : larger) ++size;
    Tensor part = full(larger, 99.0F).transpose(0, -1).contiguous().transpose(0, -1);
    for (std::int64_t d = 0; d < tensor.dim(); ++d) part = part.narrow(d, 1, tensor.size(d));
    part.copy_(tensor);
    return part.detach();
  });
}
TEST(Convolution, TakesInputsAndGradientsThatRepeatElements) {
  const Tensor x = operand({1, 1, 5, 6}, 0.7, float32).expand({3, 4, 5, 6});
  const Tensor w = operand({1, 4, 3, 3}, 0.3, float32).expand({8, 4, 3, 3});
  EXPECT_TRUE(equal(conv2d(x, w), conv2d(x.contiguous(), w.contiguous())));
  const Tensor leaf = x.contiguous().requires_grad_();
  conv2d(leaf, w).sum().backward();
  const Tensor other = x.contiguous().requires_grad_();
  conv2d(other, w).backward({.gradient = ones({3, 8, 3, 4})});
  EXPECT_TRUE(equal(leaf.grad(), other.grad()));
}

TEST(Convolution, IsTheSameOnAnyNumberOfThreads) {
  const int before = get_num_threads();
  struct Sizes {
    Shape input, weight;
    std::int64_t stride, groups;
  };
  for (const Sizes& s :
       {Sizes{{4, 64, 28, 28}, {64, 64, 3, 3}, 1, 1}, Sizes{{1, 3, 96, 96}, {64, 3, 7, 7}, 2, 1},
        Sizes{{1, 256, 7, 7}, {512, 256, 3, 3}, 1, 1},
        Sizes{{2, 64, 30, 30}, {256, 64, 1, 1}, 1, 1},
        Sizes{{1, 64, 40, 40}, {64, 1, 3, 3}, 1, 64}}) {
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 5}) {
      set_num_threads(threads);
      const Tensor x = operand(s.input, 0.7, float32).requires_grad_();
      const Tensor w = operand(s.weight, 0.3, float32).requires_grad_();
      const Tensor y = conv2d(x, w, {.stride = s.stride, .padding = 1, .groups = s.groups});
      y.backward({.gradient = operand(y.shape(), 0.2, float32)});
      const std::vector<Tensor> all{y.detach(), x.grad(), w.grad()};
      if (threads == 1) first = all;
      for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_TRUE(equal(all[i], first[i])) << i << " of " << s.weight.repr();
    }
  }
  set_num_threads(before);
}

// In doubles it is another kernel: ours.
void expect_large_as_doubles(bool last) {
  struct Sizes {
    Shape input, weight;
    Dims stride, padding, dilation;
    std::int64_t groups;
  };
  for (const Sizes& s : {Sizes{{2, 64, 57, 55}, {64, 64, 3, 3}, 1, 1, 1, 1},
                         Sizes{{2, 3, 225, 224}, {64, 3, 7, 7}, 2, 3, 1, 1},
                         Sizes{{3, 64, 56, 56}, {256, 64, 1, 1}, 1, 0, 1, 1},
                         Sizes{{2, 64, 56, 57}, {128, 64, 1, 1}, 2, 0, 1, 1},
                         Sizes{{1, 512, 7, 7}, {512, 512, 3, 3}, 1, 1, 1, 1},
                         Sizes{{1, 96, 60, 60}, {96, 1, 5, 5}, 1, 2, 1, 96},
                         Sizes{{1, 128, 40, 41}, {256, 4, 3, 3}, {2, 1}, 1, 1, 32},
                         Sizes{{1, 32, 64, 64}, {32, 32, 3, 3}, 1, 4, 4, 1},
                         Sizes{{1, 16, 40, 40}, {16, 16, 3, 3}, 1, 6, 1, 1},
                         Sizes{{2, 64, 4000}, {48, 64, 5}, 2, 2, 1, 1},
                         Sizes{{1, 256, 1, 300}, {64, 256, 1, 3}, 1, {0, 1}, 1, 1},
                         Sizes{{1, 16, 20, 24, 25}, {32, 16, 3, 3, 3}, {1, 2, 1}, 1, 1, 1}}) {
    std::vector<Tensor> results[2];
    for (const DType dtype : {float32, float64}) {
      manual_seed(3);
      const MemoryFormat format =
          last && s.input.size() == 4 ? MemoryFormat::channels_last : MemoryFormat::contiguous;
      const Tensor x = randn(s.input).to(dtype).clone(format).requires_grad_();
      const Tensor w = randn(s.weight).to(dtype).requires_grad_();
      const Tensor y = convolution(
          x, w,
          {.stride = s.stride, .padding = s.padding, .dilation = s.dilation, .groups = s.groups});
      y.backward({.gradient = randn(y.shape()).to(dtype)});
      results[dtype == float64] = {y.detach(), x.grad(), w.grad()};
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const double largest = results[1][i].abs().max().item<double>();
      EXPECT_LE((results[0][i].to(float64) - results[1][i]).abs().max().item<double>(),
                1e-5 * largest)
          << i << " of " << s.input.repr() << s.weight.repr();
    }
  }
}
TEST(Convolution, OfLargePicturesIsThatOfDoubles) { expect_large_as_doubles(false); }
TEST(Convolution, OfLargePicturesWithChannelsLastIsThatOfDoubles) { expect_large_as_doubles(true); }

TEST(Convolution, HasTheGradientThatDifferencesSay) {
  const auto leaf = [](const Shape& shape, double step) {
    return operand(shape, step, float64).requires_grad_();
  };
  expect_gradients(
      [](const auto& a) { return conv1d(a[0], a[1], {.bias = a[2], .stride = 2, .padding = 1}); },
      {leaf({2, 3, 7}, 0.7), leaf({4, 3, 3}, 0.3), leaf({4}, 0.9)});
  expect_gradients(
      [](const auto& a) {
        return conv2d(a[0], a[1], {.padding = {1, 0}, .dilation = {1, 2}, .groups = 2});
      },
      {leaf({2, 4, 4, 5}, 0.7), leaf({4, 2, 2, 3}, 0.3)});
  expect_gradients([](const auto& a) { return conv2d(a[0], a[1], {.padding = "same"}); },
                   {leaf({2, 3, 4}, 0.7), leaf({3, 2, 2, 3}, 0.3)});
  // Rows of the input that no window reaches.
  expect_gradients([](const auto& a) { return conv2d(a[0], a[1], {.stride = 3}); },
                   {leaf({1, 2, 6, 7}, 0.7), leaf({2, 2, 2, 2}, 0.3)});
  expect_gradients(
      [](const auto& a) {
        return conv_transpose2d(
            a[0], a[1],
            {.bias = a[2], .stride = 2, .padding = 1, .output_padding = 1, .groups = 2});
      },
      {leaf({1, 4, 3, 2}, 0.7), leaf({4, 2, 3, 3}, 0.3), leaf({4}, 0.9)});
  // An output_padding that is larger than the stride.
  expect_gradients(
      [](const auto& a) {
        return conv_transpose1d(a[0], a[1], {.stride = 1, .output_padding = 2, .dilation = 3});
      },
      {leaf({1, 2, 4}, 0.7), leaf({2, 3, 2}, 0.3)});
  expect_gradient([](const auto& a) { return conv3d(a[0], a[1], {.stride = {1, 2, 1}}); },
                  {leaf({1, 2, 3, 4, 3}, 0.7), leaf({2, 2, 2, 2, 2}, 0.3)});
  // Transposed, sliced and expanded.
  expect_gradient(
      [](const auto& a) {
        return conv2d(a[0].transpose(0, 3).narrow(2, 0, 3), a[1].expand({2, 3, 2, 2}));
      },
      {leaf({5, 3, 4, 2}, 0.7), leaf({2, 1, 2, 2}, 0.3)});
}

TEST(Convolution, IsRecordedUnderPyTorchsName) {
  const Tensor x = ones({2, 4, 5, 5}).requires_grad_(), w = ones({6, 4, 3, 3});
  EXPECT_EQ(conv2d(x, w).grad_fn()->name(), "ConvolutionBackward0");
  EXPECT_EQ(conv2d(x, w, {.padding = "same"}).grad_fn()->name(), "ConvolutionBackward0");
  EXPECT_EQ(conv_transpose2d(x, ones({4, 2, 3, 3})).grad_fn()->name(), "ConvolutionBackward0");
}

TEST(Convolution, GivesItsGradientsOneByOne) {
  const Tensor x = operand({2, 4, 5, 5}, 0.7, float32), w = operand({6, 4, 3, 3}, 0.3, float32);
  const Tensor grad = operand({2, 6, 3, 3}, 0.2, float32);
  const auto backward = [&](std::array<bool, 3> mask) {
    return convolution_backward(grad, x, w, {.output_mask = mask});
  };
  const auto [in, weight, bias] = backward({true, true, true});
  const Tensor leaf = x.clone().requires_grad_(), other = w.clone().requires_grad_();
  conv2d(leaf, other).backward({.gradient = grad});
  EXPECT_TRUE(equal(in, leaf.grad()));
  EXPECT_TRUE(equal(weight, other.grad()));
  EXPECT_TRUE(allclose(bias, grad.sum({0, 2, 3})));
  const auto [no, still, neither] = backward({false, true, false});
  EXPECT_FALSE(no.defined());
  EXPECT_TRUE(equal(still, weight));
  EXPECT_FALSE(neither.defined());
  EXPECT_THROW(convolution_backward(grad, x, w, {.padding = 1}), ShapeError);
}

TEST(Convolution, TakesPaddingInEveryForm) {
  const Tensor x = ones({1, 1, 5, 6}), w = ones({1, 1, 3, 3});
  const std::string text = "same";
  const Dims list{1, 2};
  EXPECT_EQ(conv2d(x, w, {.padding = 0}).shape(), Shape({1, 1, 3, 4}));
  EXPECT_EQ(conv2d(x, w, {.padding = 1}).shape(), Shape({1, 1, 5, 6}));
  EXPECT_EQ(conv2d(x, w, {.padding = {1, 2}}).shape(), Shape({1, 1, 5, 8}));
  EXPECT_EQ(conv2d(x, w, {.padding = list}).shape(), Shape({1, 1, 5, 8}));
  EXPECT_EQ(conv2d(x, w, {.padding = "same"}).shape(), Shape({1, 1, 5, 6}));
  EXPECT_EQ(conv2d(x, w, {.padding = text}).shape(), Shape({1, 1, 5, 6}));
  EXPECT_EQ(conv2d(x, w, {.padding = "valid"}).shape(), Shape({1, 1, 3, 4}));
  EXPECT_EQ(conv2d(x, w, {.stride = {2, 1}, .padding = 1}).shape(), Shape({1, 1, 3, 6}));
}

TEST(Convolution, TakesItsBiasByPlaceOrByName) {
  const Tensor x = operand({1, 2, 5, 6}, 0.7, float32), w = operand({2, 2, 3, 3}, 0.3, float32);
  const Tensor b = operand({2}, 0.9, float32);
  EXPECT_TRUE(equal(conv2d(x, w, b), conv2d(x, w, {.bias = b})));
  EXPECT_TRUE(equal(conv2d(x, w, b, {.stride = 2}), conv2d(x, w, {.bias = b, .stride = 2})));
  EXPECT_TRUE(equal(conv_transpose2d(x, w, b), conv_transpose2d(x, w, {.bias = b})));
  EXPECT_TRUE(allclose(conv2d(x, w, b), conv2d(x, w) + b.reshape({2, 1, 1})));
  EXPECT_TRUE(equal(conv2d(x, w, Tensor()), conv2d(x, w)));
}

TEST(Convolution, OfWholeNumbersIsExact) {
  const Tensor x = arange(2 * 3 * 4 * 4).reshape({2, 3, 4, 4});
  const Tensor w = arange(2 * 3 * 2 * 2).reshape({2, 3, 2, 2}) - 7;
  const Tensor y = conv2d(x, w, {.bias = tensor({5, -5})});
  EXPECT_EQ(y.dtype(), int64);
  EXPECT_TRUE(equal(y.to(float64), conv2d(x.to(float64), w.to(float64),
                                          {.bias = tensor({5.0, -5.0}).to(float64)})));
  expect_error<NotImplementedError>(
      [&] { conv2d(ones({1, 1, 2, 2}, {.dtype = bool_}), ones({1, 1, 1, 1}, {.dtype = bool_})); },
      "convolution");
}

TEST(Convolution, KeepsChannelsLast) {
  const Tensor x = ones({2, 4, 5, 5}).clone(MemoryFormat::channels_last);
  const Tensor w = ones({6, 4, 3, 3});
  EXPECT_EQ(conv2d(x, w).stride(), Dims({54, 1, 18, 6}));
  EXPECT_EQ(conv2d(ones({2, 4, 5, 5}), w.clone(MemoryFormat::channels_last)).stride(),
            Dims({54, 1, 18, 6}));
  EXPECT_EQ(conv_transpose2d(x, ones({4, 6, 3, 3})).stride(), Dims({294, 1, 42, 6}));
  EXPECT_EQ(conv2d(x.to(float64), w.to(float64)).stride(), Dims({54, 1, 18, 6}));
  const Tensor deep = ones({2, 4, 5, 5, 5}).clone(MemoryFormat::channels_last_3d);
  EXPECT_EQ(conv3d(deep, ones({6, 4, 3, 3, 3})).stride(), Dims({162, 1, 54, 18, 6}));
}

TEST(Convolution, OfNothingIsWhatPyTorchMakesOfIt) {
  const Tensor w = ones({6, 4, 3, 3}).requires_grad_();
  const Tensor none = ones({0, 4, 5, 5}).requires_grad_();
  const Tensor y = conv2d(none, w, {.bias = ones({6})});
  EXPECT_EQ(y.shape(), Shape({0, 6, 3, 3}));
  y.sum().backward();
  EXPECT_EQ(none.grad().shape(), Shape({0, 4, 5, 5}));
  EXPECT_TRUE(equal(w.grad(), zeros({6, 4, 3, 3})));
  EXPECT_EQ(conv2d(ones({1, 0, 5, 5}), ones({6, 0, 3, 3})).shape(), Shape({1, 0, 3, 3}));
  EXPECT_EQ(conv_transpose2d(ones({0, 4, 5, 5}), ones({4, 3, 3, 3})).shape(), Shape({0, 3, 7, 7}));
  expect_error<ShapeError>([&] { conv2d(ones({2, 4, 0, 5}), w, {.padding = 2}); },
                           "Only zero batch or zero channel inputs are supported");
  expect_error<ShapeError>([&] { conv_transpose2d(ones({2, 4, 0, 5}), ones({4, 3, 3, 3})); },
                           "Only zero batch or zero channel inputs are supported");
}

TEST(Convolution, HasShapesOnMeta) {
  const Tensor x = empty({2, 4, 9, 9}, {.device = Device("meta")}).requires_grad_();
  const Tensor w = empty({6, 4, 3, 3}, {.device = Device("meta")}).requires_grad_();
  const Tensor y = conv2d(x, w, {.stride = 2, .padding = "valid"});
  EXPECT_TRUE(y.is_meta());
  EXPECT_EQ(y.shape(), Shape({2, 6, 4, 4}));
  y.sum().backward();
  EXPECT_EQ(w.grad().shape(), w.shape());
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_THROW(conv2d(x, ones({6, 4, 3, 3})), DeviceError);
}

TEST(Convolution, SaysWhatDoesNotFit) {
  const Tensor w = ones({6, 4, 3, 3});
  expect_error<ShapeError>(
      [&] { conv1d(ones({2, 5, 9}), ones({6, 4, 3})); },
      "Given groups=1, weight of size [6, 4, 3], expected input[2, 5, 9] to have 4 "
      "channels, but got 5 channels instead");
  expect_error<ShapeError>(
      [&] { conv_transpose1d(ones({2, 5, 9}), ones({4, 6, 3})); },
      "Given transposed=1, weight of size [4, 6, 3], expected input[2, 5, 9] to have 4 "
      "channels, but got 5 channels instead");
  expect_error<ShapeError>([&] { conv2d(ones({5, 9}), w); },
                           "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got "
                           "input of size: [5, 9]");
  expect_error<ShapeError>([&] { conv_transpose3d(ones({5, 9}), ones({1, 1, 1, 1, 1})); },
                           "input to conv_transpose3d, but got input of size: [5, 9]");
  expect_error<ShapeError>([&] { conv2d(ones({1, 4, 5, 5}), ones({6, 4, 3})); },
                           "weight of size [6, 4, 3]");
  expect_error<ShapeError>(
      [&] { conv2d(ones({1, 4, 2, 2}), w, {.padding = {1, 0}}); },
      "Calculated padded input size per channel: (4 x 2). Kernel size: (3 x 3). Kernel "
      "size can't be greater than actual input size");
  expect_error<ShapeError>([&] { conv2d(ones({1, 4, 5, 5}), w, {.bias = ones({5})}); },
                           "Given weight of size [6, 4, 3, 3], expected bias to be "
                           "1-dimensional with 6 elements, but got bias of size [5]");
  expect_error<ShapeError>([&] { conv2d(ones({1, 4, 5, 5}), w, {.groups = 4}); },
                           "Given groups=4, expected weight to be divisible by 4");
  expect_error<ShapeError>([&] { conv2d(ones({1, 4, 5, 5}), ones({1, 1, 3, 3}), {.groups = 4}); },
                           "expected weight to be at least 4 at dimension 0");
  expect_error<DTypeError>([&] { conv2d(ones({1, 4, 5, 5}), w.to(float64)); },
                           "Input type (torch.float32) and weight type (torch.float64)");
  expect_error<DTypeError>([&] { conv2d(ones({1, 4, 5, 5}), w, {.bias = ones({6}).to(float64)}); },
                           "bias type (torch.float64) should be the same");
  expect_error<ShapeError>(
      [&] { conv_transpose2d(ones({2, 4, 1, 1}), ones({4, 3, 3, 3}), {.padding = 2}); },
      "Output size is too small");
}

TEST(Convolution, OfHugeNumbersIsRefusedOrExact) {
  const Tensor x = ones({1, 1, 4, 4}), w = ones({1, 1, 3, 3});
  constexpr std::int64_t kHuge = std::int64_t{1} << 62, kWide = std::int64_t{1} << 32;
  expect_error<ShapeError>([&] { conv2d(x, w, {.stride = kHuge}); }, "too large");
  expect_error<ShapeError>([&] { conv2d(x, w, {.padding = kHuge}); }, "too large");
  expect_error<ShapeError>([&] { conv2d(x, w, {.dilation = kHuge}); }, "too large");
  expect_error<ShapeError>([&] { conv2d(x, w, {.padding = "same", .dilation = kHuge}); }, "large");
  expect_error<ShapeError>([&] { conv_transpose2d(x, w, {.stride = kHuge}); }, "too large");
  expect_error<ShapeError>([&] { conv_transpose2d(x, w, {.dilation = kHuge}); }, "too large");
  // What oneDNN has no numbers for.
  const Tensor one = conv2d(x, w, {.stride = kWide});
  EXPECT_TRUE(equal(one, full({1, 1, 1, 1}, 9.0f)));
  const Tensor middle = conv2d(x, w, {.padding = kWide, .dilation = kWide});
  EXPECT_TRUE(equal(middle, ones({1, 1, 4, 4})));
}

TEST(Convolution, SaysWhichOptionsCannotBe) {
  const Tensor x = ones({1, 4, 5, 5}), w = ones({6, 4, 3, 3});
  const auto refused = [&](const ConvFunctionOptions& options, const char* message) {
    expect_error<ValueError>([&] { conv2d(x, w, options); }, message);
  };
  refused({.stride = 0}, "non-positive stride is not supported");
  refused({.stride = {1, 2, 3}},
          "expected stride to be a single integer value or a list of 2 values to match the "
          "convolution dimensions, but got stride=[1, 2, 3]");
  refused({.padding = -1}, "negative padding is not supported");
  refused({.padding = {1, 1, 1}}, "but got padding=[1, 1, 1]");
  refused({.dilation = 0}, "dilation should be greater than zero");
  refused({.dilation = {1, 1, 1}}, "but got dilation=[1, 1, 1]");
  refused({.groups = 0}, "non-positive groups is not supported");
  refused({.padding = "foo"}, "Invalid padding string: 'foo'");
  refused({.stride = 2, .padding = "same"},
          "padding='same' is not supported for strided convolutions");
  const Tensor t = ones({4, 6, 3, 3});
  expect_error<ValueError>([&] { conv_transpose2d(x, t, {.stride = 2, .output_padding = 2}); },
                           "output padding must be smaller than either stride or dilation");
  expect_error<ValueError>([&] { conv_transpose2d(x, t, {.output_padding = -1}); },
                           "negative output_padding is not supported");
}

}  // namespace
}  // namespace tenon
