// Larger and smaller images.
#include "tenon/ops/interpolation.h"

#include <array>
#include <limits>
#include <span>
#include <string_view>

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/gather_lines.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/resampling.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::interpolate::info{"interpolate", kind};

namespace op {

// The last dimensions, all but two of them, resized. Scales are those asked for, or none.
struct upsample {
  using Signature = Tensor(const Tensor& self, const Dims& size, const std::vector<double>& scales,
                           Resampling how, bool align_corners, bool antialias);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct upsample_backward {
  using Signature = Tensor(const Tensor& grad, const Shape& shape,
                           const std::vector<double>& scales, Resampling how, bool align_corners,
                           bool antialias);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo upsample::info{"_upsample", kind};
constinit OpInfo upsample_backward::info{"_upsample_backward", kind};

}  // namespace op

namespace {

bool is_nearest(Resampling how) {
  return how == Resampling::nearest || how == Resampling::nearest_exact;
}

std::vector<ResizedDim> resized_dims(const Shape& from, const Shape& to,
                                     const std::vector<double>& scales) {
  std::vector<ResizedDim> dims;
  for (std::size_t d = 2; d < from.size(); ++d) {
    dims.push_back(
        {from[d], to[d], scales.empty() ? std::optional<double>() : std::optional(scales[d - 2])});
  }
  return dims;
}

LineMap line_map(const std::vector<ResizedDim>& dims, Resampling how) {
  LineMap map;
  for (const ResizedDim& dim : dims) {
    map.sizes.push_back(dim.from);
    map.from.push_back(nearest_positions(how, dim));
  }
  return map;
}

std::string_view node_name(std::int64_t dims, Resampling how, bool antialias) {
  using Names = std::array<std::string_view, 3>;
  const auto of = [&](const Names& names) { return names[static_cast<std::size_t>(dims - 3)]; };
  switch (how) {
    case Resampling::nearest:
      return of({"UpsampleNearest1DBackward0", "UpsampleNearest2DBackward0",
                 "UpsampleNearest3DBackward0"});
    case Resampling::nearest_exact:
      return of({"UpsampleNearestExact1DBackward0", "UpsampleNearestExact2DBackward0",
                 "UpsampleNearestExact3DBackward0"});
    case Resampling::area:
      return of({"SqueezeBackward1", "AdaptiveAvgPool2DBackward0", "AdaptiveAvgPool3DBackward0"});
    case Resampling::linear:
      if (antialias) return "UpsampleBilinear2DAaBackward0";
      return of({"UpsampleLinear1DBackward0", "UpsampleBilinear2DBackward0",
                 "UpsampleTrilinear3DBackward0"});
    case Resampling::cubic:
      return antialias ? "UpsampleBicubic2DAaBackward0" : "UpsampleBicubic2DBackward0";
    default: return "UpsampleLanczos2DAaBackward0";
  }
}

// What sums of that dtype are calculated in.
DType wide_dtype(DType dtype) { return dtype == float64 ? float64 : float32; }

Tensor packed_in(const Tensor& tensor, DType dtype) { return tensor.to(dtype).contiguous(); }

std::int64_t product(const Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t n = 1;
  for (std::size_t d = first; d < last; ++d) n *= shape[d];
  return n;
}

// One dimension after another, the last one first; backwards the other way round. The last step
// writes the result, if that is of T.
template <class T>
void resampled(Tensor x, const Tensor& result, const std::vector<ResizedDim>& dims, Resampling how,
               bool align_corners, bool antialias, bool back) {
  for (std::size_t step = 0; step < dims.size(); ++step) {
    const std::size_t place = back ? step : dims.size() - 1 - step, d = place + 2;
    const ResizedDim& dim = dims[place];
    const Taps<T> taps = resampling_taps<T>(how, dim, align_corners, antialias);
    Shape shape = x.shape();
    shape[d] = result.shape()[d];
    const ResampleSizes sizes{product(shape, 0, d), dim.from, dim.to,
                              product(shape, d + 1, shape.size())};
    const bool last = step + 1 == dims.size() && result.dtype() == dtype_of<T>;
    const Tensor out =
        last ? result : empty(shape, {.dtype = dtype_of<T>, .device = Device::cpu()});
    if (back) {
      out.variable_data().zero_();
      resample_back(sizes, taps, x.data<T>(), out.data<T>());
    } else {
      resample(sizes, taps, x.data<T>(), out.data<T>());
    }
    x = out;
  }
  if (!x.is(result)) copy_tensor(result, x);
}

void resampled_in(DType wide, const Tensor& from, const Tensor& result,
                  const std::vector<ResizedDim>& dims, Resampling how, bool align_corners,
                  bool antialias, bool back) {
  const Tensor x = packed_in(from, wide);
  if (wide == float64)
    resampled<double>(x, result, dims, how, align_corners, antialias, back);
  else
    resampled<float>(x, result, dims, how, align_corners, antialias, back);
}

}  // namespace

template <>
struct Rule<op::upsample> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::fp32};
  static std::string_view gradient_name(const Tensor& self, const Dims&, const std::vector<double>&,
                                        Resampling how, bool, bool antialias) {
    return node_name(self.dim(), how, antialias);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Dims& /*size*/, const std::vector<double>& scales, Resampling how,
                       bool align_corners, bool antialias) {
    g.set(0, call<op::upsample_backward>(grad, g.shape(0), scales, how, align_corners, antialias));
  }
  static Layout infer(const Tensor& self, const Dims& size, const std::vector<double>& /*scales*/,
                      Resampling how, bool /*align_corners*/, bool /*antialias*/) {
    const DType dtype = self.dtype();
    const bool floating =
        dtype == float32 || dtype == float64 || dtype == float16 || dtype == bfloat16;
    if (!floating && !is_nearest(how)) not_implemented("interpolate", dtype);
    Shape shape = self.shape();
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (d >= 2) shape[d] = size[d - 2];
      if (d == 0 || (shape[d] > 0 && self.shape()[d] > 0)) continue;
      throw ShapeError(concat("Input and output sizes should be greater than 0, but got input of ",
                              "shape ", bracketed(self.shape()), " and output size ",
                              bracketed(size)));
    }
    return Layout::packed(shape, dtype, self.device());
  }
  static void cpu(Tensor& out, const Tensor& self, const Dims& /*size*/,
                  const std::vector<double>& scales, Resampling how, bool align_corners,
                  bool antialias) {
    if (out.numel() == 0) return;
    const auto dims = resized_dims(self.shape(), out.shape(), scales);
    if (is_nearest(how)) {
      const Tensor from = self.contiguous();
      return gather_lines(line_map(dims, how), self.size(0) * self.size(1), from.data_ptr(),
                          out.data_ptr(), self.element_size());
    }
    resampled_in(wide_dtype(self.dtype()), self, out, dims, how, align_corners, antialias, false);
  }
};

template <>
struct Rule<op::upsample_backward> {
  static constexpr std::string_view gradient = "UpsampleBackwardBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*grad*/,
                       const Shape& /*shape*/, const std::vector<double>& scales, Resampling how,
                       bool align_corners, bool antialias) {
    Dims size;
    for (std::size_t d = 2; d < g.shape(0).size(); ++d) size.push_back(g.shape(0)[d]);
    g.set(0, call<op::upsample>(grad, size, scales, how, align_corners, antialias));
  }
  static Layout infer(const Tensor& grad, const Shape& shape, const std::vector<double>& /*scales*/,
                      Resampling /*how*/, bool /*align_corners*/, bool /*antialias*/) {
    return Layout::packed(shape, grad.dtype(), grad.device());
  }
  static void cpu(Tensor& out, const Tensor& grad, const Shape& shape,
                  const std::vector<double>& scales, Resampling how, bool align_corners,
                  bool antialias) {
    if (out.numel() == 0) return;
    const auto dims = resized_dims(shape, grad.shape(), scales);
    const DType wide = wide_dtype(grad.dtype());
    if (is_nearest(how)) {
      const Tensor from = packed_in(grad, wide);
      const Tensor to = zeros(shape, {.dtype = wide, .device = Device::cpu()});
      add_lines(line_map(dims, how), shape[0] * shape[1], from.data_ptr(), to.data_ptr(), wide);
      return copy_tensor(out, to);
    }
    resampled_in(wide, grad, out, dims, how, align_corners, antialias, true);
  }
};

namespace {

struct Mode {
  const char* name;
  Resampling how;
  std::int64_t dims;  // the only number of dimensions it is for; 0: any
};
constexpr Mode kModes[] = {
    {"nearest", Resampling::nearest, 0},  {"nearest-exact", Resampling::nearest_exact, 0},
    {"area", Resampling::area, 0},        {"linear", Resampling::linear, 3},
    {"bilinear", Resampling::linear, 4},  {"bicubic", Resampling::cubic, 4},
    {"trilinear", Resampling::linear, 5}, {"lanczos", Resampling::lanczos, 4},
};

const Mode& checked_mode(const std::string& name, const Tensor& input) {
  const auto words = [&] {
    return concat(
        "Input Error: Only 3D, 4D and 5D input Tensors supported (got ", input.dim(), "D of shape ",
        bracketed(input.shape()),
        ") for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | ",
        "nearest-exact (got ", name, ")");
  };
  for (const Mode& mode : kModes) {
    if (name != mode.name) continue;
    if (input.dim() < 3 || input.dim() > 5) throw ShapeError(words());
    if (mode.dims == 0 || mode.dims == input.dim()) return mode;
    throw ShapeError(concat("Got ", input.dim(), "D input, but ", name, " mode needs ", mode.dims,
                            "D input: its shape is ", bracketed(input.shape())));
  }
  throw NotImplementedError(words());
}

Dims scaled_size(const Tensor& input, const std::vector<double>& factors) {
  Dims size;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double exact =
        static_cast<double>(input.size(static_cast<std::int64_t>(i) + 2)) * factors[i];
    if (!(exact >= 0 && exact < 0x1p62)) {
      throw ValueError(concat("interpolate: a scale_factor of ", factors[i],
                              " for an input of shape ", bracketed(input.shape())));
    }
    size.push_back(static_cast<std::int64_t>(exact));
  }
  return size;
}

}  // namespace

template <>
struct Rule<op::interpolate> {
  static Tensor compose(const Tensor& input, const Dims& size,
                        const std::vector<double>& scale_factor, const std::string& name,
                        std::optional<bool> align_corners,
                        std::optional<bool> recompute_scale_factor, bool antialias) {
    const bool interpolates = name != "nearest" && name != "nearest-exact" && name != "area";
    if (align_corners && !interpolates) {
      throw ValueError(
          "align_corners option can only be set with the interpolating modes: linear | bilinear | "
          "bicubic | trilinear");
    }
    if (!size.empty() && !scale_factor.empty())
      throw ValueError("only one of size or scale_factor should be defined");
    if (size.empty() && scale_factor.empty())
      throw ValueError("either size or scale_factor should be defined");
    if (recompute_scale_factor.value_or(false) && !size.empty())
      throw ValueError("recompute_scale_factor is not meaningful with an explicit size.");
    if (antialias &&
        !((name == "bilinear" || name == "bicubic" || name == "lanczos") && input.dim() == 4)) {
      throw ValueError(
          concat("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and ",
                 "requires a 4-D tensor as input, but got mode ", name, " and an input of shape ",
                 bracketed(input.shape())));
    }
    const Mode& mode = checked_mode(name, input);
    if (mode.how == Resampling::lanczos) {
      if (align_corners.value_or(false))
        throw ValueError("Lanczos mode does not support {.align_corners = true}");
      if (!antialias) throw ValueError("Lanczos mode requires {.antialias = true}");
    }
    const auto dims = static_cast<std::size_t>(input.dim() - 2);
    check_count("output size", size.repr(), size.size(), dims, input);
    check_count("scale_factor", ScaleFactor(scale_factor).repr(), scale_factor.size(), dims, input);
    std::vector<double> factors = scale_factor;
    if (factors.size() == 1) factors.assign(dims, factors[0]);
    const Dims result = size.size() == 1  ? Dims::filled(dims, size[0])
                        : factors.empty() ? size
                                          : scaled_size(input, factors);
    if (recompute_scale_factor.value_or(false) || mode.how == Resampling::area) factors.clear();
    return call<op::upsample>(input, result, factors, mode.how, align_corners.value_or(false),
                              antialias);
  }

 private:
  static void check_count(const char* what, const std::string& text, std::size_t given,
                          std::size_t dims, const Tensor& input) {
    if (given <= 1 || given == dims) return;
    const std::span<const std::int64_t> own(input.shape().begin() + 2, dims);
    throw ShapeError(
        concat("Input and ", what, " must have the same number of spatial dimensions, ",
               "but got input with spatial dimensions of ", bracketed(own), " and ", what, " of ",
               text, ". Please provide input tensor in (N, C, d1, d2, ...,dK) format and ", what,
               " with one number for each of d1, d2, ...,dK."));
  }
};

std::string ScaleFactor::repr() const {
  if (values_.size() == 1) return concat(values_[0]);
  std::string text = "(";
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (i > 0) text += ", ";
    append(text, values_[i]);
  }
  return text + ")";
}

Tensor interpolate(const Tensor& input, const InterpolateOptions& options) {
  return call<op::interpolate>(input, options.size, options.scale_factor.values(), options.mode,
                               options.align_corners, options.recompute_scale_factor,
                               options.antialias);
}
Tensor upsample(const Tensor& input, const UpsampleFunctionOptions& options) {
  return interpolate(input, {.size = options.size,
                             .scale_factor = options.scale_factor,
                             .mode = options.mode,
                             .align_corners = options.align_corners});
}

}  // namespace tenon
