// Upsample, and what moves pixels.
#include "tenon/nn/upsampling.h"

#include "base/text.h"
#include "tenon/nn/pixel_shuffle.h"

namespace tenon::nn {

Upsample::Upsample(const Options& options)
    : size(options.size),
      scale_factor(options.scale_factor),
      mode(options.mode),
      align_corners(options.align_corners),
      recompute_scale_factor(options.recompute_scale_factor) {}

std::string Upsample::extra_repr() const {
  std::string text;
  if (!scale_factor.empty())
    text = concat("scale_factor=", scale_factor.repr());
  else if (size.size() == 1)
    text = concat("size=", size[0]);
  else
    text = concat("size=", size.empty() ? std::string("None") : size.repr());
  return concat(text, ", mode='", mode, "'");
}

Tensor Upsample::forward(const Tensor& input) {
  return interpolate(input, {.size = size,
                             .scale_factor = scale_factor,
                             .mode = mode,
                             .align_corners = align_corners,
                             .recompute_scale_factor = recompute_scale_factor});
}

std::string PixelShuffle::extra_repr() const { return concat("upscale_factor=", upscale_factor); }
Tensor PixelShuffle::forward(const Tensor& input) { return pixel_shuffle(input, upscale_factor); }

std::string PixelUnshuffle::extra_repr() const {
  return concat("downscale_factor=", downscale_factor);
}
Tensor PixelUnshuffle::forward(const Tensor& input) {
  return pixel_unshuffle(input, downscale_factor);
}

std::string ChannelShuffle::extra_repr() const { return concat("groups=", groups); }
Tensor ChannelShuffle::forward(const Tensor& input) { return channel_shuffle(input, groups); }

}  // namespace tenon::nn
