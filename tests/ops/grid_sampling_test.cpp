// grid_sample and affine_grid beside what PyTorch gave, their gradients and errors.
#include <limits>

#include "support/gradcheck.h"
#include "support/matchers.h"
#include "support/recorded_input.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

TEST(GridSample, GivesWhatPyTorchGave) {
  const auto cases = recorded::rows("ops/cases/grid_sample", 100);
  EXPECT_GT(cases.size(), 150);
  for (const auto& words : cases) {
    const std::string line = recorded::joined(words);
    ASSERT_EQ(words.size(), 9) << line;
    const DType dtype = recorded::dtype(words[3]);
    const Tensor x = recorded_input(recorded::sizes(words[4]), dtype).requires_grad_();
    const Tensor grid = recorded_input(recorded::sizes(words[5]), dtype, 0.3).requires_grad_();
    const Tensor y = grid_sample(
        x, grid, {.mode = words[0], .padding_mode = words[1], .align_corners = words[2] == "1"});
    const double tolerance = dtype == float64 ? 1e-9 : 2e-4;
    EXPECT_NEAR(recorded_sum(y), std::stod(words[6]), tolerance) << line;
    y.backward({.gradient = recorded_input(y.shape(), dtype)});
    EXPECT_NEAR(recorded_sum(x.grad()), std::stod(words[7]), tolerance) << line;
    EXPECT_NEAR(recorded_sum(grid.grad()), std::stod(words[8]), tolerance) << line;
  }
}

TEST(GridSample, HasTheGradientsDifferencesSay) {
  const Tensor x = recorded_input({1, 2, 4, 5}).requires_grad_();
  const Tensor grid = (recorded_input({1, 3, 2, 2}, float64, 0.1) * 0.4).detach();
  grid.requires_grad_();
  for (const char* mode : {"bilinear", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      expect_gradient(
          [&](const auto& a) {
            return grid_sample(a[0], a[1],
                               {.mode = mode, .padding_mode = padding, .align_corners = false});
          },
          {x, grid});
    }
  }
}

TEST(GridSample, TakesAnyStridesSixteenBitsAndEmptyBatches) {
  const Tensor x = recorded_input({2, 4, 5, 3}, float32).permute({0, 3, 1, 2});
  const Tensor grid = recorded_input({2, 2, 6, 7}, float32).permute({0, 2, 3, 1}) * 0.5;
  const GridSampleOptions options{.align_corners = true};
  const Tensor y = grid_sample(x, grid, options);
  EXPECT_TRUE(equal(y, grid_sample(x.contiguous(), grid.contiguous(), options)));
  for (const DType dtype : {bfloat16, float16}) {
    const Tensor narrow = x.to(dtype), places = grid.to(dtype);
    EXPECT_TRUE(equal(grid_sample(narrow, places, options),
                      grid_sample(narrow.to(float32), places.to(float32), options).to(dtype)));
  }
  EXPECT_EQ(grid_sample(ones({0, 3, 4, 4}), ones({0, 2, 3, 2}), options).shape(),
            Shape({0, 3, 2, 3}));
  EXPECT_EQ(grid_sample(ones({2, 0, 4, 4}), ones({2, 2, 3, 2}), options).shape(),
            Shape({2, 0, 2, 3}));
  const Tensor meta = with_device(
      "meta", [&] { return grid_sample(ones({1, 2, 4, 4}), ones({1, 5, 6, 2}), options); });
  EXPECT_EQ(meta.shape(), Shape({1, 2, 5, 6}));
}

TEST(GridSample, ReadsNothingForPlacesThatAreNone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double place : {nan, infinity, -infinity, 1e30, -1e300}) {
    const Tensor grid = full({1, 1, 1, 2}, place, {.dtype = float64});
    const Tensor x = ones({1, 1, 2, 2}, {.dtype = float64});
    for (const char* mode : {"bilinear", "nearest"}) {
      EXPECT_EQ(grid_sample(x, grid, {.mode = mode, .align_corners = false}).item<double>(), 0);
      for (const char* padding : {"border", "reflection"}) {
        EXPECT_EQ(
            grid_sample(x, grid, {.mode = mode, .padding_mode = padding, .align_corners = false})
                .item<double>(),
            1)
            << place;
      }
    }
    // Whatever the number: no element outside is read.
    EXPECT_EQ(grid_sample(x, grid, {.mode = "bicubic", .align_corners = true}).numel(), 1);
  }
}

TEST(GridSample, SaysWhatDoesNotFit) {
  const Tensor x = ones({2, 3, 4, 5}), grid = ones({2, 6, 7, 2});
  const GridSampleOptions plain{.align_corners = false};
  expect_error<ValueError>(
      [&] { grid_sample(x, grid, {.mode = "x", .align_corners = false}); },
      "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or "
      "'bicubic', but got: 'x'");
  expect_error<ValueError>(
      [&] { grid_sample(x, grid, {.padding_mode = "x", .align_corners = false}); },
      "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', "
      "or 'reflection', but got: 'x'");
  expect_error<ShapeError>(
      [&] { grid_sample(x, ones({1, 6, 7, 2}), plain); },
      "grid_sampler(): expected grid and input to have same batch size, but got "
      "input with sizes [2, 3, 4, 5] and grid with sizes [1, 6, 7, 2]");
  expect_error<ShapeError>(
      [&] { grid_sample(x, ones({2, 6, 7, 1}), plain); },
      "grid_sampler(): expected grid to have size 2 in last dimension, but got "
      "input with sizes [2, 3, 4, 5] and grid with sizes [2, 6, 7, 1]");
  expect_error<ShapeError>(
      [&] { grid_sample(ones({2, 3, 0, 5}), grid, plain); },
      "grid_sampler(): expected input to have non-empty spatial dimensions, but "
      "input has sizes [2, 3, 0, 5] with dimension 2 being empty");
  EXPECT_THROW(grid_sample(x, ones({2, 6, 2}), plain), ShapeError);
  EXPECT_THROW(grid_sample(x, grid.to(float64), plain), DTypeError);
  EXPECT_THROW(grid_sample(x.to(int32), grid.to(int32), plain), NotImplementedError);
  EXPECT_THROW(grid_sample(ones({1, 1, 2, 2, 2}), ones({1, 1, 1, 1, 3}),
                           {.mode = "bicubic", .align_corners = false}),
               ShapeError);
}

TEST(AffineGrid, GivesWhatPyTorchGave) {
  const Tensor theta = tensor({{{1, 0.5, 0.25}, {-0.5, 2, 0}}}, {.dtype = float32});
  const Tensor edges = tensor(
      {-0.6666666865348816, -0.6666666269302368, 0.0, -1.0, 0.6666666865348816, -1.3333333730697632,
       -0.1666666865348816, 1.3333333730697632, 0.5, 1.0, 1.1666667461395264, 0.6666666269302368});
  EXPECT_TRUE(allclose(affine_grid(theta, {1, 1, 2, 3}, {.align_corners = false}),
                       edges.view({1, 2, 3, 2})));
  const Tensor middles =
      tensor({-1.25, -1.5, -0.25, -2.0, 0.75, -2.5, -0.25, 2.5, 0.75, 2.0, 1.75, 1.5});
  EXPECT_TRUE(allclose(affine_grid(theta, {1, 1, 2, 3}, {.align_corners = true}),
                       middles.view({1, 2, 3, 2})));
  const Tensor theta3 =
      tensor({{{1, 0.5, 0.25, 0}, {-0.5, 2, 0, 1}, {0, 0, 1, 0.5}}}, {.dtype = float32});
  const Tensor deep =
      tensor({-0.625, 1.25, 0.0, 0.375, 0.75, 0.0, -0.375, 1.25, 1.0, 0.625, 0.75, 1.0});
  EXPECT_TRUE(allclose(affine_grid(theta3, {1, 1, 2, 1, 2}, {.align_corners = false}),
                       deep.view({1, 2, 1, 2, 3})));
}

TEST(AffineGrid, LeavesImagesAloneThatAreNotMoved) {
  const Tensor x = recorded_input({2, 3, 4, 5}, float32);
  const Tensor same = tensor({{{1, 0, 0}, {0, 1, 0}}}, {.dtype = float32}).expand({2, 2, 3});
  for (const bool align : {false, true}) {
    const Tensor grid = affine_grid(same, x.size(), {.align_corners = align});
    EXPECT_TRUE(allclose(grid_sample(x, grid, {.align_corners = align}), x, {.atol = 1e-5}));
  }
}

TEST(AffineGrid, HasGradientsAndSaysWhatDoesNotFit) {
  expect_gradient(
      [](const auto& a) { return affine_grid(a[0], {2, 1, 3, 4}, {.align_corners = false}); },
      {recorded_input({2, 2, 3}).requires_grad_()});
  const Tensor theta = ones({2, 2, 3});
  const AffineGridOptions plain{.align_corners = false};
  expect_error<ShapeError>(
      [&] { affine_grid(theta, {2, 3, 4}, plain); },
      "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
      "respectively. Got size (2, 3, 4).");
  expect_error<ShapeError>(
      [&] { affine_grid(theta, {2, 3, 4, 5, 6}, plain); },
      "Expected a batch of 3D affine matrices of shape Nx3x4 for size (2, 3, 4, 5, "
      "6). Got torch.Size([2, 2, 3]).");
  expect_error<DTypeError>([&] { affine_grid(theta.to(int32), {2, 3, 4, 5}, plain); },
                           "Expected theta to have floating point type, but got torch.int32");
  EXPECT_THROW(affine_grid(theta, {1, 3, 4, 5}, plain), ShapeError);
  EXPECT_THROW(affine_grid(theta, {2, 3, 0, 5}, plain), ShapeError);
}

}  // namespace
}  // namespace tenon
