// Images read at places that a grid says: what spatial transformers and warps are made of.
//
//   Tensor grid = affine_grid(theta, x.size(), {.align_corners = false});
//   Tensor y = grid_sample(x, grid, {.padding_mode = "border", .align_corners = false});
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

// Between elements: of those around a place, the one next to it, or of 16.
enum class GridInterpolation : std::uint8_t { bilinear, nearest, bicubic };
// Beyond the edge: zeros, the edge, or the image in a mirror.
enum class GridPadding : std::uint8_t { zeros, border, reflection };

struct TENON_API grid_sampler {
  using Signature = Tensor(const Tensor& input, const Tensor& grid, GridInterpolation interpolation,
                           GridPadding padding, bool align_corners);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
// The gradients of the input and of the grid.
struct TENON_API grid_sampler_backward {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& grad, const Tensor& input,
                                               const Tensor& grid, GridInterpolation interpolation,
                                               GridPadding padding, bool align_corners);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};

}  // namespace op

struct GridSampleOptions {
  std::string_view mode = "bilinear";       // or "nearest", or, of images, "bicubic"
  std::string_view padding_mode = "zeros";  // or "border", "reflection"
  // Whether -1 and 1 are the middles of the outermost elements, and not their outer edges. Not said
  // means false.
  std::optional<bool> align_corners = {};
};
// Of an input (N, C, H, W) and a grid (N, h, w, 2) of places (x, y), -1 to 1 from edge to edge, the
// result is (N, C, h, w); of (N, C, D, H, W) and (N, d, h, w, 3) it is (N, C, d, h, w), where
// "bilinear" is between eight. A place that is NaN, or too far away to count, is outside.
// ShapeError or DTypeError if they do not fit.
TENON_API Tensor grid_sample(const Tensor& input, const Tensor& grid,
                             const GridSampleOptions& options = {});

struct AffineGridOptions {
  std::optional<bool> align_corners = {};  // as for grid_sample
};
// The grid that moves, turns and scales an image of the size (N, C, H, W) by the matrices theta
// (N, 2, 3), or one of (N, C, D, H, W) by (N, 3, 4).
TENON_API Tensor affine_grid(const Tensor& theta, const Shape& size,
                             const AffineGridOptions& options = {});

}  // namespace tenon
