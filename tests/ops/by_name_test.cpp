// What PyTorch has a default for can be given by its name, and braces of numbers stay lists.
#include <limits>

#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

Tensor sample() { return arange(24, {.dtype = float32}).view({2, 3, 4}).sin(); }

TEST(ByName, SumsTakeTheirDimensions) {
  const Tensor x = sample();
  EXPECT_TRUE(equal(sum(x, {.dim = -1, .keepdim = true}), x.sum(-1, {.keepdim = true})));
  EXPECT_TRUE(equal(x.sum({.dim = {0, 2}}), sum(x, {0, 2})));
  EXPECT_TRUE(equal(x.sum({.keepdim = true}), x.sum().view({1, 1, 1})));
  EXPECT_EQ(mean(x, {.dim = 1, .dtype = float64}).dtype(), float64);
  // A name alone is never a dimension.
  EXPECT_EQ(sum(x, {.keepdim = true}).shape(), Shape({1, 1, 1}));
  EXPECT_EQ(x.any({.keepdim = true}).shape(), Shape({1, 1, 1}));
  EXPECT_EQ(x.var({.unbiased = false}).dim(), 0);
  EXPECT_EQ(x.std({.correction = 1}).dim(), 0);
  EXPECT_EQ(x.argmax({.keepdim = true}).shape(), Shape({1, 1, 1}));
  EXPECT_EQ(x.norm({.p = 1}).dim(), 0);
  EXPECT_EQ(x.mean({.dim = {-1, -2}, .keepdim = true}).shape(), Shape({2, 1, 1}));
  EXPECT_TRUE(equal(prod(x, {.dim = 1}), x.prod(1)));
  // Lists as before, and nothing for all of them.
  EXPECT_EQ(x.sum({1, 2}).shape(), Shape({2}));
  EXPECT_EQ(x.sum({1}).shape(), Shape({2, 4}));
  EXPECT_EQ(x.sum({}).dim(), 0);
  EXPECT_EQ(sum(x, {}).dim(), 0);
  EXPECT_EQ(sum(x, {}, {.keepdim = true}).dim(), 3);
}

TEST(ByName, ExtremesAndTruthsTakeTheirDimensions) {
  const Tensor x = sample();
  EXPECT_TRUE(equal(amax(x, {.dim = {1, 2}}), x.amax({1, 2})));
  EXPECT_TRUE(equal(x.amin({.dim = -1, .keepdim = true}), amin(x, -1, {.keepdim = true})));
  EXPECT_TRUE(equal((x > 0).all({.dim = 2}), all(x > 0, 2)));
  EXPECT_TRUE(equal(any(x > 0.9, {.dim = {0, 1}, .keepdim = true}),
                    (x > 0.9).any({0, 1}, {.keepdim = true})));
  EXPECT_TRUE(equal(x.argmax({.dim = 1, .keepdim = true}), argmax(x, 1, {.keepdim = true})));
  const auto [values, indices] = x.max({.dim = 1, .keepdim = true});
  const auto [same_values, same_indices] = max(x, 1, {.keepdim = true});
  EXPECT_TRUE(equal(values, same_values));
  EXPECT_TRUE(equal(indices, same_indices));
  EXPECT_TRUE(equal(std::get<0>(min(x, {.dim = 0})), std::get<0>(x.min(0))));
  EXPECT_TRUE(equal(max(x, -x), maximum(x, -x)));
  EXPECT_TRUE(equal(x.min(-x), minimum(x, -x)));
}

// The numbers are PyTorch's.
TEST(ByName, VariancesAndNorms) {
  const Tensor x = sample();
  EXPECT_NEAR(x.std().item<double>(), 0.7124143242835999, 1e-6);
  EXPECT_TRUE(allclose(x.std({.dim = {0, 2}, .unbiased = false}),
                       tensor({0.4955405592918396, 0.5390661954879761, 0.7602263689041138})));
  EXPECT_TRUE(equal(x.std({0, 2}, {.correction = 0}), x.std({.dim = {0, 2}, .unbiased = false})));
  EXPECT_TRUE(equal(x.std(1), tenon::std(x, {.dim = 1, .unbiased = true})));
  EXPECT_EQ(x.var({.dim = 1, .keepdim = true}).shape(), Shape({2, 1, 4}));
  EXPECT_TRUE(allclose(norm(x, {.p = 3, .dim = -1}),
                       tensor({{1.1053351163864136, 1.174608826637268, 1.3004705905914307},
                               {1.138508677482605, 1.1023035049438477, 1.2498739957809448}})));
  EXPECT_TRUE(allclose(
      x.norm({.p = 1, .dim = {0, 1}, .keepdim = true, .dtype = float64}),
      tensor({{{3.4835822582244873, 4.430733859539032, 3.4831799464300275, 3.4444822669029236}}},
             {.dtype = float64})));
  const auto [variance, middle] = var_mean(x, {.dim = {0, 1}, .correction = 0});
  EXPECT_TRUE(allclose(variance, tensor({0.45644524693489075, 0.590039074420929, 0.4549179673194885,
                                         0.4337845742702484})));
  EXPECT_TRUE(allclose(middle, tensor({0.05350412800908089, 0.09834838658571243,
                                       0.05277160555124283, -0.04132315516471863})));
  const auto [deviation, same] = std_mean(x, {0, 1}, {.unbiased = false});
  EXPECT_TRUE(allclose(deviation.square(), variance));
  EXPECT_TRUE(equal(same, middle));
  EXPECT_THROW(x.var({.unbiased = true, .correction = 1}), ValueError);
}

TEST(ByName, AlongADimension) {
  const Tensor x = sample();
  EXPECT_TRUE(allclose(
      x.logsumexp({.dim = {0, 1}}),
      tensor({2.0775530338287354, 2.1313581466674805, 2.0763330459594727, 1.9394944906234741})));
  EXPECT_TRUE(
      equal(logsumexp(x, {.dim = -1, .keepdim = true}), x.logsumexp(-1, {.keepdim = true})));
  EXPECT_TRUE(equal(x.softmax({.dim = -1}), softmax(x, {.dim = -1})));
  EXPECT_EQ(x.log_softmax({.dim = 0, .dtype = float64}).dtype(), float64);
  EXPECT_TRUE(allclose(
      cumsum(x, {.dim = 0, .dtype = float64})[1][2],
      tensor({1.9023035168647766, 1.2487741112709045, -0.5528724389150739, -1.8462105989456177},
             {.dtype = float64})));
  EXPECT_TRUE(equal(x.cumprod({.dim = 1}), cumprod(x, 1)));
  const Tensor order = x.argsort({.dim = 1});
  EXPECT_TRUE(equal(x.take_along_dim(order, {.dim = 1}), std::get<0>(x.sort({.dim = 1}))));
}

TEST(ByName, ProductsOverDimensions) {
  const Tensor x = sample();
  const Tensor expected =
      tensor({{6.001411437988281, 4.893239974975586}, {4.893239974975586, 5.711874961853027}});
  EXPECT_TRUE(allclose(tensordot(x, x, {.dims = {{1, 2}, {1, 2}}}), expected));
  EXPECT_TRUE(allclose(tensordot(x, x.permute({1, 2, 0}), {.dims = 2}), expected));
  EXPECT_TRUE(equal(tensordot(x, x.permute({1, 2, 0})), tensordot(x, x.permute({1, 2, 0}), 2)));
  EXPECT_EQ(tensordot(x, x, {.dims = {{1}, {1}}}).shape(), Shape({2, 4, 2, 4}));
}

TEST(ByName, JoiningMakingAndRounding) {
  const Tensor x = sample();
  EXPECT_TRUE(equal(concat({x, x}, {.dim = 1}), cat({x, x}, 1)));
  EXPECT_TRUE(equal(arange(0, 10, {.step = 3}), tensor({0, 3, 6, 9})));
  EXPECT_EQ(arange(0, 10, {.dtype = float64}).size(0), 10);
  EXPECT_TRUE(equal(eye(2, {.m = 3}), eye(2, 3)));
  EXPECT_EQ(eye(2, {.dtype = int64}).dtype(), int64);
  EXPECT_TRUE(equal(x.div(0.3, {.rounding_mode = "floor"}), x.floor_divide(0.3)));
  EXPECT_TRUE(equal(x.round({.decimals = 2}), round(x, {.decimals = 2})));
  EXPECT_TRUE(equal(x.rot90({.k = 3, .dims = {1, 2}}), rot90(x, 3, {1, 2})));
  EXPECT_TRUE(equal(x[0].diag({.diagonal = 1}), diag(x[0], 1)));
  const auto grid = meshgrid(arange(2), arange(3), {.indexing = "xy"});
  EXPECT_EQ(grid[0].shape(), Shape({3, 2}));
  EXPECT_TRUE(equal(x.hardshrink({.lambd = 0.9}), hardshrink(x, 0.9)));
}

// Methods and functions a port needs.

TEST(PythonNames, Splits) {
  const auto pieces = tensor_split(arange(8), 3);
  ASSERT_EQ(pieces.size(), 3);
  EXPECT_TRUE(equal(pieces[1], tensor({3, 4, 5})));
  EXPECT_TRUE(equal(pieces[2], tensor({6, 7})));
  const auto between = arange(14).view({2, 7}).tensor_split({3, 1, 20, -2}, {.dim = 1});
  ASSERT_EQ(between.size(), 5);
  EXPECT_TRUE(equal(between[0], tensor({{0, 1, 2}, {7, 8, 9}})));
  EXPECT_EQ(between[1].shape(), Shape({2, 0}));
  EXPECT_TRUE(equal(between[2], tensor({{1, 2, 3, 4, 5, 6}, {8, 9, 10, 11, 12, 13}})));
  EXPECT_EQ(between[3].shape(), Shape({2, 0}));
  EXPECT_TRUE(equal(between[4], tensor({{5, 6}, {12, 13}})));
  expect_error<ValueError>([&] { tensor_split(arange(3), 0); },
                           "number of sections must be larger than 0, got 0");
  EXPECT_THROW(tensor_split(tensor(3), 2), ShapeError);
}

TEST(PythonNames, Choosing) {
  const auto places = where(tensor({{0, 1}, {2, 0}}));
  ASSERT_EQ(places.size(), 2);
  EXPECT_TRUE(equal(places[0], tensor({0, 1})));
  EXPECT_TRUE(equal(places[1], tensor({1, 0})));
  const Tensor x = sample();
  EXPECT_TRUE(equal(x.clip({.min = -0.5, .max = 0.5}), clamp(x, {.min = -0.5, .max = 0.5})));
  EXPECT_TRUE(equal(clip(x, {.min = -x}), x.clamp({.min = -x})));
  const Tensor written = x.clone();
  EXPECT_TRUE(written.clip_({.max = 0}).is(written));
  EXPECT_TRUE(equal(written, clamp_max(x, 0)));
  const Tensor mask = tensor({true, false, true}), source = arange(1, 9, {.dtype = float32});
  EXPECT_TRUE(equal(zeros({2, 3}).masked_scatter(mask, source),
                    tensor({{1.0, 0.0, 2.0}, {3.0, 0.0, 4.0}})));
  EXPECT_TRUE(
      equal(masked_scatter(zeros({3}), tensor({{true, false, true}, {false, true, true}}), source),
            tensor({{1.0, 0.0, 2.0}, {0.0, 3.0, 4.0}})));
  EXPECT_THROW(zeros({2, 3}).masked_scatter(mask, source.slice(0, 0, 3)), ShapeError);
  EXPECT_THROW(zeros({2, 3}).masked_scatter(mask, source.long_()), DTypeError);
  const Tensor leaf = ones({4}).requires_grad_();
  zeros({2, 3}).masked_scatter(mask, leaf).sum().backward();
  EXPECT_TRUE(equal(leaf.grad(), ones({4})));
}

TEST(PythonNames, ShapesAndConversions) {
  const Tensor x = sample();
  EXPECT_EQ(x.size(), x.shape());
  EXPECT_EQ(x.size().repr(), "torch.Size([2, 3, 4])");
  EXPECT_EQ(x.reshape_as(ones({6, 4})).shape(), Shape({6, 4}));
  EXPECT_EQ(x.ravel().dim(), 1);
  EXPECT_EQ(x.moveaxis(0, -1).shape(), Shape({3, 4, 2}));
  EXPECT_EQ(x.bool_().dtype(), bool_);
  EXPECT_EQ(x.bfloat16().dtype(), bfloat16);
  EXPECT_EQ(x.half().new_tensor({1, 2}).dtype(), float16);
  EXPECT_TRUE(equal(tensor({1, 2}).new_tensor({1.5, 2}), tensor({1, 2})));
  EXPECT_TRUE(x.equal(x));
  EXPECT_TRUE(x.allclose(x + 1e-9));
  EXPECT_TRUE(x.isclose(x + 0.5, {.atol = 1}).all().item<bool>());
  EXPECT_TRUE(
      equal(x[0].addmm(ones({3, 2}), ones({2, 4}), {.beta = 0, .alpha = 3}), full({3, 4}, 6.0)));
  const auto both = broadcast_tensors({ones({3, 1}), ones({4})});
  EXPECT_EQ(both[1].shape(), Shape({3, 4}));
}

TEST(PythonNames, WhatNumbersAreThere) {
  const Tensor x = sample();
  EXPECT_EQ(x.masked_fill(x > 0, finfo(x.dtype()).min).min().item<float>(),
            std::numeric_limits<float>::lowest());
  EXPECT_EQ(finfo(float64).max, std::numeric_limits<double>::max());
  EXPECT_EQ(finfo(float64).tiny, std::numeric_limits<double>::min());
  EXPECT_EQ(finfo(complex64).bits, 32);
  EXPECT_EQ(finfo().dtype, float32);
  EXPECT_EQ(finfo(float64).repr(),
            "finfo(resolution=1e-15, min=-1.79769e+308, max=1.79769e+308, eps=2.22045e-16, "
            "smallest_normal=2.22507e-308, tiny=2.22507e-308, dtype=float64)");
  EXPECT_EQ(finfo(float32).repr(),
            "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
            "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)");
  EXPECT_EQ(finfo(float16).repr(),
            "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, "
            "smallest_normal=6.10352e-05, tiny=6.10352e-05, dtype=float16)");
  EXPECT_EQ(finfo(bfloat16).repr(),
            "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
            "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)");
  EXPECT_EQ(finfo(float8_e4m3fn).repr(),
            "finfo(resolution=1, min=-448, max=448, eps=0.125, smallest_normal=0.015625, "
            "tiny=0.015625, dtype=float8_e4m3fn)");
  EXPECT_EQ(finfo(float8_e5m2).repr(),
            "finfo(resolution=1, min=-57344, max=57344, eps=0.25, smallest_normal=6.10352e-05, "
            "tiny=6.10352e-05, dtype=float8_e5m2)");
  EXPECT_EQ(finfo(float8_e4m3fnuz).repr(),
            "finfo(resolution=1, min=-240, max=240, eps=0.125, smallest_normal=0.0078125, "
            "tiny=0.0078125, dtype=float8_e4m3fnuz)");
  EXPECT_EQ(finfo(float8_e5m2fnuz).repr(),
            "finfo(resolution=1, min=-57344, max=57344, eps=0.125, smallest_normal=3.05176e-05, "
            "tiny=3.05176e-05, dtype=float8_e5m2fnuz)");
  EXPECT_EQ(finfo(float8_e8m0fnu).repr(),
            "finfo(resolution=1, min=5.87747e-39, max=1.70141e+38, eps=1, "
            "smallest_normal=5.87747e-39, tiny=5.87747e-39, dtype=float8_e8m0fnu)");
  EXPECT_EQ(iinfo(int64).repr(), "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)");
  EXPECT_EQ(iinfo(int8).repr(), "iinfo(min=-128, max=127, dtype=int8)");
  EXPECT_EQ(iinfo(uint64).max, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(iinfo(int64).min, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(iinfo(uint16).bits, 16);
  EXPECT_THROW(finfo{int32}, DTypeError);
  EXPECT_THROW(iinfo{bool_}, DTypeError);
  EXPECT_THROW(iinfo{float32}, DTypeError);
}

}  // namespace
}  // namespace tenon
