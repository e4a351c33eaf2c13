#include "tenon/ops/fold.h"

#include "ops/known_numbers.h"
#include "support/gradcheck.h"
#include "support/matchers.h"

namespace tenon {
namespace {

struct FoldCase {
  Dims kernel;
  FoldFunctionOptions options;
  Shape columns;
  double unfolded, unfolded_grad, folded, folded_grad;
};

TEST(Folding, IsWhatPyTorchGives) {
  const FoldCase cases[] = {
      {2, {}, {2, 12, 20}, 42.3671875, 179.4375, 33.2578125, 179.1875},
      {{3, 2}, {.padding = 1}, {2, 18, 35}, 69.1328125, 349.09375, 42.328125, 347.25},
      {2, {.dilation = 2, .stride = 2}, {2, 12, 4}, 14.3515625, 36.0, 12.6328125, 41.3125},
      {{2, 3},
       {.dilation = {1, 2}, .padding = {1, 0}, .stride = {2, 1}},
       {2, 18, 6},
       15.0390625,
       68.8125,
       12.21875,
       68.09375},
  };
  for (const FoldCase& c : cases) {
    SCOPED_TRACE(c.kernel.repr());
    const Tensor x = known_numbers({2, 3, 5, 6}).requires_grad_();
    const Tensor columns = unfold(x, c.kernel, c.options);
    ASSERT_EQ(columns.shape(), c.columns);
    EXPECT_EQ(columns.grad_fn()->name(), "Im2ColBackward0");
    expect_weighted_sum(columns, c.unfolded);
    columns.backward({.gradient = known_gradient(columns.shape())});
    expect_weighted_sum(x.grad(), c.unfolded_grad);
    const Tensor z = known_numbers(c.columns).requires_grad_();
    const Tensor image = fold(z, {5, 6}, c.kernel, c.options);
    ASSERT_EQ(image.shape(), Shape({2, 3, 5, 6}));
    EXPECT_EQ(image.grad_fn()->name(), "Col2ImBackward0");
    expect_weighted_sum(image, c.folded);
    image.backward({.gradient = known_gradient(image.shape())});
    expect_weighted_sum(z.grad(), c.folded_grad);
    EXPECT_TRUE(equal(unfold(x[1], c.kernel, c.options), columns[1]));
    EXPECT_TRUE(equal(fold(z[1], {5, 6}, c.kernel, c.options), image[1]));
    EXPECT_EQ(unfold(x.detach().to(Device::meta()), c.kernel, c.options).shape(), c.columns);
  }
}

TEST(Folding, HasGradientsThatDifferencesConfirm) {
  manual_seed(1);
  using Args = const std::vector<Tensor>&;
  expect_gradients([](Args a) { return unfold(a[0].transpose(2, 3), 2, {.padding = 1}); },
                   {randn({1, 2, 3, 4}, {.dtype = float64}).requires_grad_()});
  expect_gradients([](Args a) { return fold(a[0], {3, 4}, 2); },
                   {randn({2, 4, 6}, {.dtype = float64}).requires_grad_()});
}

TEST(Folding, OfNothingAndOfHalves) {
  EXPECT_EQ(unfold(zeros({0, 3, 5, 5}), 2).shape(), Shape({0, 12, 16}));
  EXPECT_EQ(fold(zeros({0, 12, 16}), 5, 2).shape(), Shape({0, 3, 5, 5}));
  const Tensor half = known_numbers({1, 4, 16}).to(bfloat16);
  EXPECT_TRUE(equal(fold(half, 5, 2), fold(half.to(float32), 5, 2).to(bfloat16)));
  EXPECT_TRUE(equal(unfold(arange(9).view({1, 3, 3}), 3), arange(9).view({9, 1})));
}

TEST(Folding, RefusesNumbersThatOverflow) {
  const Tensor image = ones({1, 1, 4, 4});
  expect_error<ShapeError>(
      [&] { unfold(image, {3, 6148914691236517206}, {.padding = {0, 3074457345618258603}}); },
      "too large");
  constexpr std::int64_t kHuge = std::int64_t{1} << 32;
  expect_error<ShapeError>(
      [&] { fold(ones({1, 2, 25}), {4, 4}, {kHuge, kHuge}, {.padding = kHuge / 2}); }, "too large");
  expect_error<ShapeError>([&] { unfold(image, 2, {.dilation = std::int64_t{1} << 62}); },
                           "too large");
  expect_error<ShapeError>([&] { unfold(image, 2, {.padding = std::int64_t{1} << 62}); },
                           "too large");
  expect_error<ShapeError>([&] { unfold(image, 2, {.padding = kHuge}); }, "too large");
  expect_error<ShapeError>([&] { fold(ones({1, 4, 9}), {std::int64_t{1} << 62, 4}, 2); },
                           "too large");
  expect_error<ShapeError>([&] { unfold(zeros({0, 1, 4, 4}), 2, {.padding = kHuge}); }, "large");
}

TEST(Folding, SaysWhatDoesNotFit) {
  expect_error<ShapeError>([] { unfold(zeros({5, 5}), 2); }, "3D or 4D", "[5, 5]");
  expect_error<ShapeError>([] { unfold(zeros({1, 3, 5, 5}), 7); }, "(5, 5)", "kernel_size=(7, 7)",
                           "(-1, -1)");
  expect_error<ValueError>([] { unfold(zeros({1, 3, 5, 5}), 2, {.stride = 0}); }, "stride");
  expect_error<ValueError>([] { unfold(zeros({1, 3, 5, 5}), {2, 2, 2}); }, "kernel_size");
  expect_error<ShapeError>([] { fold(zeros({1, 12, 8}), 6, 2, {.stride = 2}); }, "3 * 3 = 9",
                           "[1, 12, 8]");
  expect_error<ShapeError>([] { fold(zeros({1, 13, 9}), 6, 2, {.stride = 2}); }, "divisible",
                           "[1, 13, 9]");
}

}  // namespace
}  // namespace tenon
