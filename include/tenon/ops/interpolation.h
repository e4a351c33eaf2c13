// Images and their kin made larger or smaller, and channels turned into pixels:
// torch.nn.functional's interpolate, pixel_shuffle and theirs.
//
//   Tensor twice = interpolate(x, {.scale_factor = 2, .mode = "bilinear"});
//   Tensor small = interpolate(x, {.size = {32, 32}, .mode = "bilinear", .antialias = true});
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

// One factor for every dimension, or one for each; none where nothing is given.
class TENON_API ScaleFactor {
 public:
  // 2 and {2, 1.5}, and none: Note [Braces with names].
  template <class... N>
    requires(std::is_arithmetic_v<N> && ...)
  ScaleFactor(N... factors) : values_{static_cast<double>(factors)...} {}
  template <std::same_as<std::vector<double>> V>
  ScaleFactor(V factors) : values_(std::move(factors)) {}

  bool empty() const noexcept { return values_.empty(); }
  std::size_t size() const noexcept { return values_.size(); }
  const std::vector<double>& values() const noexcept { return values_; }
  // "2.0" for one, "(2.0, 1.5)" for several.
  std::string repr() const;

 private:
  std::vector<double> values_;
};

namespace op {

struct TENON_API interpolate {
  using Signature = Tensor(const Tensor& input, const Dims& size,
                           const std::vector<double>& scale_factor, const std::string& mode,
                           std::optional<bool> align_corners,
                           std::optional<bool> recompute_scale_factor, bool antialias);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};
struct TENON_API pixel_shuffle {
  using Signature = Tensor(const Tensor& self, std::int64_t upscale_factor);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API pixel_unshuffle {
  using Signature = Tensor(const Tensor& self, std::int64_t downscale_factor);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
struct TENON_API channel_shuffle {
  using Signature = Tensor(const Tensor& self, std::int64_t groups);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};

}  // namespace op

struct InterpolateOptions {
  Dims size = {};                 // of the result, one number for all dimensions or one for each
  ScaleFactor scale_factor = {};  // or how many times as large it is
  // "nearest" (PyTorch's, which rounds down), "nearest-exact", "area"; "linear" of 3 dimensions,
  // "bilinear" and "bicubic" of 4, "trilinear" of 5; "lanczos" of 4, with antialias.
  std::string mode = "nearest";
  // Whether the corners are the middles of the outermost pixels, and stay where they are.
  std::optional<bool> align_corners = {};
  // Whether positions follow from the size of the result, which is a whole number, and not from the
  // factor.
  std::optional<bool> recompute_scale_factor = {};
  bool antialias = false;  // of "bilinear" and "bicubic": all pixels take part in a smaller result
};
// Of (N, C, *), with one to three dimensions that are resized. ValueError for options that do not
// go together, NotImplementedError for a mode with another number of dimensions, ShapeError where
// nothing would be left.
TENON_API Tensor interpolate(const Tensor& input, const InterpolateOptions& options = {});

struct UpsampleFunctionOptions {
  Dims size = {};
  ScaleFactor scale_factor = {};
  std::string mode = "nearest";
  std::optional<bool> align_corners = {};
};
// interpolate, under its older name.
TENON_API Tensor upsample(const Tensor& input, const UpsampleFunctionOptions& options = {});

// (*, C r^2, H, W) as (*, C, H r, W r), and back. ShapeError if it cannot be.
TENON_API Tensor pixel_shuffle(const Tensor& input, std::int64_t upscale_factor);
TENON_API Tensor pixel_unshuffle(const Tensor& input, std::int64_t downscale_factor);
// Of (N, C, *), with channels in equal groups: the first of each group, then the second, ...
TENON_API Tensor channel_shuffle(const Tensor& input, std::int64_t groups);

}  // namespace tenon
