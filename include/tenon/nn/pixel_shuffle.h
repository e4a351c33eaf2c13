// Layers that turn channels into pixels, and into other channels (tenon/ops/interpolation.h).
#pragma once

#include <cstdint>
#include <string>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"

namespace tenon::nn {

// (*, C r^2, H, W) to (*, C, H r, W r).
class TENON_API PixelShuffle : public Layer {
 public:
  explicit PixelShuffle(std::int64_t factor) : upscale_factor(factor) {}
  std::string extra_repr() const override;

  std::int64_t upscale_factor;

 protected:
  Tensor forward(const Tensor& input) override;
};

// (*, C, H r, W r) to (*, C r^2, H, W).
class TENON_API PixelUnshuffle : public Layer {
 public:
  explicit PixelUnshuffle(std::int64_t factor) : downscale_factor(factor) {}
  std::string extra_repr() const override;

  std::int64_t downscale_factor;

 protected:
  Tensor forward(const Tensor& input) override;
};

// Of channels in equal groups, the first of each, then the second of each, ...
class TENON_API ChannelShuffle : public Layer {
 public:
  explicit ChannelShuffle(std::int64_t count) : groups(count) {}
  std::string extra_repr() const override;

  std::int64_t groups;

 protected:
  Tensor forward(const Tensor& input) override;
};

}  // namespace tenon::nn
