// Layers that resize images (tenon/ops/interpolation.h).
#pragma once

#include <optional>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/ops/interpolation.h"

namespace tenon::nn {

struct UpsampleOptions {
  Dims size = {};
  ScaleFactor scale_factor = {};
  std::string mode = "nearest";
  std::optional<bool> align_corners = {};
  std::optional<bool> recompute_scale_factor = {};
};

class TENON_API Upsample : public Layer {
 public:
  using Options = UpsampleOptions;
  explicit Upsample(const Options& options = {});

  std::string extra_repr() const override;

  Dims size;
  ScaleFactor scale_factor;
  std::string mode;
  std::optional<bool> align_corners, recompute_scale_factor;

 protected:
  Tensor forward(const Tensor& input) override;
};

struct Upsampling2dOptions {
  Dims size = {};
  ScaleFactor scale_factor = {};
};

// Upsample with mode "nearest", of images.
class TENON_API UpsamplingNearest2d : public Upsample {
 public:
  using Options = Upsampling2dOptions;
  explicit UpsamplingNearest2d(const Options& options = {})
      : Upsample({.size = options.size, .scale_factor = options.scale_factor}) {}
};

// Upsample with mode "bilinear" and align_corners.
class TENON_API UpsamplingBilinear2d : public Upsample {
 public:
  using Options = Upsampling2dOptions;
  explicit UpsamplingBilinear2d(const Options& options = {})
      : Upsample({.size = options.size,
                  .scale_factor = options.scale_factor,
                  .mode = "bilinear",
                  .align_corners = true}) {}
};

}  // namespace tenon::nn
