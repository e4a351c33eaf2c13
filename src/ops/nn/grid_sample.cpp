// Images read at the places of a grid.
#include "tenon/ops/grid_sample.h"

#include <array>

#include "base/text.h"
#include "base/warn.h"
#include "core/element_copy.h"
#include "kernels/grid_sample.h"
#include "ops/elementwise/operands.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/matmul.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::grid_sampler::info{"grid_sampler", kind};
constinit OpInfo op::grid_sampler_backward::info{"grid_sampler_backward", kind};

namespace {

using op::GridInterpolation;
using op::GridPadding;

void check(const Tensor& input, const Tensor& grid, GridInterpolation how) {
  const auto fail = [&](const auto&... words) {
    throw ShapeError(concat("grid_sampler(): expected ", words..., ", but got input with sizes ",
                            bracketed(input.shape()), " and grid with sizes ",
                            bracketed(grid.shape())));
  };
  const Tensor both[] = {input, grid};
  same_device("grid_sampler", both);
  if (input.dtype() != grid.dtype()) {
    throw DTypeError(concat("grid_sampler(): expected input and grid to have the same dtype, but ",
                            "got input of ", repr(input.dtype()), " and grid of ",
                            repr(grid.dtype())));
  }
  if (!is_floating_point(input.dtype()) || itemsize(input.dtype()) == 1)
    not_implemented("grid_sampler", input.dtype());
  if (input.dim() == 0 || grid.dim() == 0 || input.size(0) != grid.size(0))
    fail("grid and input to have same batch size");
  if ((input.dim() != 4 && input.dim() != 5) || input.dim() != grid.dim())
    fail("4D or 5D input and grid with same number of dimensions");
  if (grid.size(-1) != input.dim() - 2)
    fail("grid to have size ", input.dim() - 2, " in last dimension");
  for (std::int64_t d = 2; d < input.dim(); ++d) {
    if (input.size(d) > 0) continue;
    throw ShapeError(concat("grid_sampler(): expected input to have non-empty spatial dimensions, ",
                            "but input has sizes ", bracketed(input.shape()), " with dimension ", d,
                            " being empty"));
  }
  if (how == GridInterpolation::bicubic && input.dim() == 5)
    throw ShapeError("grid_sampler(): bicubic interpolation only supports 4D input");
}

GridSizes sizes_of(const Tensor& input, const Tensor& grid, GridInterpolation how,
                   GridPadding padding, bool align_corners) {
  GridSizes sizes{.dims = static_cast<int>(input.dim() - 2),
                  .batch = input.size(0),
                  .channels = input.size(1),
                  .from = {1, 1, 1},
                  .to = {1, 1, 1},
                  .between = static_cast<GridBetween>(how),
                  .beyond = static_cast<GridBeyond>(padding),
                  .align_corners = align_corners};
  for (int d = 0; d < sizes.dims; ++d) {
    sizes.from[static_cast<std::size_t>(d)] = input.size(-1 - d);
    sizes.to[static_cast<std::size_t>(d)] = grid.size(-2 - d);
  }
  return sizes;
}

DType calculated_in(DType dtype) { return dtype == float64 ? float64 : float32; }

// Packed, and of a dtype that is calculated in.
Tensor ready(const Tensor& tensor) { return tensor.to(calculated_in(tensor.dtype())).contiguous(); }

template <class F>
void with_type(DType dtype, F&& work) {
  if (dtype == float64) {
    work.template operator()<double>();
  } else {
    work.template operator()<float>();
  }
}

}  // namespace

template <>
struct Rule<op::grid_sampler> {
  static constexpr AutocastPolicies autocast = {AutocastPolicy::fp32, AutocastPolicy::promote};
  static std::string_view gradient_name(const Tensor& input, const Tensor&, GridInterpolation,
                                        GridPadding, bool) {
    return input.dim() == 5 ? "GridSampler3DBackward0" : "GridSampler2DBackward0";
  }
  static bool saves(std::size_t place, const Wanted&) { return place < kResult; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& input, const Tensor& grid,
                       GridInterpolation how, GridPadding padding, bool align_corners) {
    const auto [of_input, of_grid] =
        call<op::grid_sampler_backward>(grad, input, grid, how, padding, align_corners);
    if (g.wanted(0)) g.set(0, of_input);
    if (g.wanted(1)) g.set(1, of_grid);
  }
  static Layout infer(const Tensor& input, const Tensor& grid, GridInterpolation how, GridPadding,
                      bool) {
    check(input, grid, how);
    Shape shape{input.size(0), input.size(1)};
    for (std::int64_t d = 1; d + 1 < grid.dim(); ++d) shape.push_back(grid.size(d));
    return Layout::packed(shape, input.dtype(), input.device());
  }
  static void cpu(Tensor& out, const Tensor& input, const Tensor& grid, GridInterpolation how,
                  GridPadding padding, bool align_corners) {
    if (out.numel() == 0) return;
    const DType dtype = calculated_in(out.dtype());
    const Tensor exact = dtype == out.dtype() ? out : empty_like(out, {.dtype = dtype});
    const Tensor image = ready(input), places = ready(grid);
    const GridSizes sizes = sizes_of(input, grid, how, padding, align_corners);
    with_type(dtype, [&]<class T>() {
      grid_sample(sizes, static_cast<const T*>(image.data_ptr()),
                  static_cast<const T*>(places.data_ptr()), static_cast<T*>(exact.data_ptr()));
    });
    if (!exact.is(out)) copy_tensor(out, exact);
  }
};

template <>
struct Rule<op::grid_sampler_backward> {
  static constexpr std::string_view gradient = no_gradient;
  static std::array<Layout, 2> infer(const Tensor& /*grad*/, const Tensor& input,
                                     const Tensor& grid, GridInterpolation, GridPadding, bool) {
    return {Layout::packed(input.shape(), input.dtype(), input.device()),
            Layout::packed(grid.shape(), grid.dtype(), grid.device())};
  }
  static void cpu(std::array<Tensor, 2>& out, const Tensor& grad, const Tensor& input,
                  const Tensor& grid, GridInterpolation how, GridPadding padding,
                  bool align_corners) {
    const DType dtype = calculated_in(input.dtype());
    const Tensor of_input = zeros(input.shape(), {.dtype = dtype, .device = Device::cpu()});
    const Tensor of_grid = zeros(grid.shape(), {.dtype = dtype, .device = Device::cpu()});
    const Tensor image = ready(input), places = ready(grid), g = ready(grad);
    const GridSizes sizes = sizes_of(input, grid, how, padding, align_corners);
    if (grad.numel() > 0) {
      with_type(dtype, [&]<class T>() {
        grid_sample_back(sizes, static_cast<const T*>(g.data_ptr()),
                         static_cast<const T*>(image.data_ptr()),
                         static_cast<const T*>(places.data_ptr()),
                         static_cast<T*>(of_input.data_ptr()), static_cast<T*>(of_grid.data_ptr()));
      });
    }
    copy_tensor(out[0], of_input);
    copy_tensor(out[1], of_grid);
  }
};

namespace {

// Whether, if nothing is said.
bool aligned_by_default() {
  warn(
      "Default grid_sample and affine_grid behavior has changed to align_corners = false since "
      "1.3.0. Please specify {.align_corners = true} if the old behavior is desired.");
  return false;
}

// The middles of so many elements from -1 to 1, or the edges of the outermost there.
Tensor middles(std::int64_t count, bool align_corners, const Tensor& like) {
  const TensorOptions options{.dtype = like.dtype(), .device = like.device()};
  if (count <= 1) return zeros({count}, options);
  const Tensor edges = linspace(-1, 1, count, options);
  return align_corners ? edges
                       : edges * (static_cast<double>(count - 1) / static_cast<double>(count));
}

}  // namespace

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleOptions& options) {
  GridInterpolation how = GridInterpolation::bilinear;
  if (options.mode == "nearest") {
    how = GridInterpolation::nearest;
  } else if (options.mode == "bicubic") {
    how = GridInterpolation::bicubic;
  } else if (options.mode != "bilinear") {
    throw ValueError(concat("nn.functional.grid_sample(): expected mode to be 'bilinear', ",
                            "'nearest' or 'bicubic', but got: '", options.mode, "'"));
  }
  GridPadding padding = GridPadding::zeros;
  if (options.padding_mode == "border") {
    padding = GridPadding::border;
  } else if (options.padding_mode == "reflection") {
    padding = GridPadding::reflection;
  } else if (options.padding_mode != "zeros") {
    throw ValueError(concat("nn.functional.grid_sample(): expected padding_mode to be 'zeros', ",
                            "'border', or 'reflection', but got: '", options.padding_mode, "'"));
  }
  if (options.align_corners)
    return call<op::grid_sampler>(input, grid, how, padding, *options.align_corners);
  const Tensor own_input = input, own_grid = grid;  // see Note [Arguments of one's own]
  return call<op::grid_sampler>(own_input, own_grid, how, padding, aligned_by_default());
}

Tensor affine_grid(const Tensor& given_theta, const Shape& given_size,
                   const AffineGridOptions& options) {
  // See Note [Arguments of one's own].
  const Tensor theta = given_theta;
  const Shape size = given_size;
  if (!is_floating_point(theta.dtype())) {
    throw DTypeError(
        concat("Expected theta to have floating point type, but got ", repr(theta.dtype())));
  }
  if (size.size() != 4 && size.size() != 5) {
    throw ShapeError(concat("affine_grid only supports 4D and 5D sizes, for 2D and 3D affine ",
                            "transforms, respectively. Got size ", Dims(size), "."));
  }
  const auto dims = static_cast<std::int64_t>(size.size()) - 2;
  if (theta.dim() != 3 || theta.size(1) != dims || theta.size(2) != dims + 1) {
    throw ShapeError(concat("Expected a batch of ", dims, "D affine matrices of shape Nx", dims,
                            "x", dims + 1, " for size ", Dims(size), ". Got ", theta.shape().repr(),
                            "."));
  }
  for (const std::int64_t one : size) {
    if (one > 0) continue;
    throw ShapeError(concat("Expected non-zero, positive output size. Got ", Dims(size)));
  }
  if (theta.size(0) != size[0]) {
    throw ShapeError(concat("affine_grid: ", theta.size(0), " matrices in theta of shape ",
                            bracketed(theta.shape()), " for a batch of ", size[0], " in size ",
                            Dims(size)));
  }
  const bool align_corners = options.align_corners ? *options.align_corners : aligned_by_default();
  // (x, y, [z,] 1) at every place, x along the last dimension.
  Shape places;
  for (std::size_t d = 2; d < size.size(); ++d) places.push_back(size[d]);
  std::vector<Tensor> parts;
  for (std::int64_t d = 0; d < dims; ++d) {
    const std::int64_t count = size[size.size() - 1 - static_cast<std::size_t>(d)];
    Shape along(Dims::filled(static_cast<std::size_t>(dims), 1));
    along[static_cast<std::size_t>(dims - 1 - d)] = count;
    parts.push_back(middles(count, align_corners, theta).view(along).expand(places));
  }
  parts.push_back(ones(places, {.dtype = theta.dtype(), .device = theta.device()}));
  const Tensor base = stack(parts, -1).view({1, -1, dims + 1});
  const Tensor grid = matmul(base, theta.transpose(1, 2));
  places.insert(0, size[0]);
  places.push_back(dims);
  return grid.view(places);
}

}  // namespace tenon
