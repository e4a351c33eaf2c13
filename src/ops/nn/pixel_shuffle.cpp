// Channels turned into pixels, and other channels.
#include "base/text.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/interpolation.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::pixel_shuffle::info{"pixel_shuffle", kind};
constinit OpInfo op::pixel_unshuffle::info{"pixel_unshuffle", kind};
constinit OpInfo op::channel_shuffle::info{"channel_shuffle", kind};

namespace {

void check(const char* op, const Tensor& self, const char* name, std::int64_t factor) {
  if (self.dim() < 3) {
    throw ShapeError(concat(op, " expects input to have at least 3 dimensions, but got input with ",
                            self.dim(), " dimension(s): its shape is ", bracketed(self.shape())));
  }
  if (factor <= 0) throw ValueError(concat(op, " expects a positive ", name, ", but got ", factor));
}

// The dimensions before the last three, and then these.
Shape batch_with(const Tensor& self, std::initializer_list<std::int64_t> rest) {
  Shape shape;
  for (std::int64_t d = 0; d < self.dim() - 3; ++d) shape.push_back(self.size(d));
  for (const std::int64_t size : rest) shape.push_back(size);
  return shape;
}
// The dimensions before the last five as they are, the last five in that order.
Dims batch_then(std::int64_t batch, std::initializer_list<std::int64_t> order) {
  Dims dims;
  for (std::int64_t d = 0; d < batch; ++d) dims.push_back(d);
  for (const std::int64_t d : order) dims.push_back(batch + d);
  return dims;
}

}  // namespace

template <>
struct Rule<op::pixel_shuffle> {
  static constexpr std::string_view gradient = "PixelShuffleBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t r) {
    g.set(0, pixel_unshuffle(grad, r));
  }
  static Layout infer(const Tensor& self, std::int64_t r) {
    check("pixel_shuffle", self, "upscale_factor", r);
    const std::int64_t channels = self.size(-3), height = self.size(-2), width = self.size(-1);
    std::int64_t square = 0;
    if (__builtin_mul_overflow(r, r, &square) || channels % square != 0) {
      throw ShapeError(concat(
          "pixel_shuffle expects its input's 'channel' dimension to be ",
          "divisible by the square of upscale_factor, but input.size(-3)=", channels,
          " is not divisible by the square of ", r, ": the shape is ", bracketed(self.shape())));
    }
    return Layout::packed(batch_with(self, {channels / square, height * r, width * r}),
                          self.dtype(), self.device());
  }
  static void run(Tensor& out, const Tensor& self, std::int64_t r) {
    const std::int64_t left = out.size(-3), height = self.size(-2), width = self.size(-1);
    // Nobody is to see that the result was written to.
    out.variable_data()
        .view(batch_with(self, {left, height, r, width, r}))
        .copy_(self.reshape(batch_with(self, {left, r, r, height, width}))
                   .permute(batch_then(self.dim() - 3, {0, 3, 1, 4, 2})));
  }
};

template <>
struct Rule<op::pixel_unshuffle> {
  static constexpr std::string_view gradient = "PixelUnshuffleBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, std::int64_t r) {
    g.set(0, pixel_shuffle(grad, r));
  }
  static Layout infer(const Tensor& self, std::int64_t r) {
    check("pixel_unshuffle", self, "downscale_factor", r);
    const std::int64_t channels = self.size(-3), height = self.size(-2), width = self.size(-1);
    const auto check_size = [&](const char* what, std::int64_t dim, std::int64_t size) {
      if (size % r == 0) return;
      throw ShapeError(concat("pixel_unshuffle expects ", what, " to be divisible by ",
                              "downscale_factor, but input.size(", dim, ")=", size,
                              " is not divisible by ", r, ": the shape is ",
                              bracketed(self.shape())));
    };
    check_size("height", -2, height);
    check_size("width", -1, width);
    return Layout::packed(batch_with(self, {channels * r * r, height / r, width / r}), self.dtype(),
                          self.device());
  }
  static void run(Tensor& out, const Tensor& self, std::int64_t r) {
    const std::int64_t channels = self.size(-3), height = out.size(-2), width = out.size(-1);
    out.variable_data()
        .view(batch_with(self, {channels, r, r, height, width}))
        .copy_(self.reshape(batch_with(self, {channels, height, r, width, r}))
                   .permute(batch_then(self.dim() - 3, {0, 2, 4, 1, 3})));
  }
};

template <>
struct Rule<op::channel_shuffle> {
  static constexpr std::string_view gradient = "ChannelShuffleBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       std::int64_t groups) {
    // Without channels there are no groups of them to shuffle.
    const std::int64_t each = grad.size(1) / groups;
    g.set(0, each == 0 ? grad : channel_shuffle(grad, each));
  }
  static Layout infer(const Tensor& self, std::int64_t groups) {
    check("channel_shuffle", self, "number of groups to divide channels in", groups);
    const std::int64_t channels = self.size(1);
    if (channels % groups != 0) {
      throw ShapeError(concat("Number of channels must be divisible by groups. Got ", channels,
                              " channels and ", groups, " groups: the shape is ",
                              bracketed(self.shape())));
    }
    return Layout::packed(self.shape(), self.dtype(), self.device());
  }
  static void run(Tensor& out, const Tensor& self, std::int64_t groups) {
    if (self.numel() == 0) return;
    const std::int64_t each = self.size(1) / groups;
    out.variable_data()
        .view({self.size(0), each, groups, -1})
        .copy_(self.reshape({self.size(0), groups, each, -1}).transpose(1, 2));
  }
};

Tensor pixel_shuffle(const Tensor& input, std::int64_t upscale_factor) {
  return call<op::pixel_shuffle>(input, upscale_factor);
}
Tensor pixel_unshuffle(const Tensor& input, std::int64_t downscale_factor) {
  return call<op::pixel_unshuffle>(input, downscale_factor);
}
Tensor channel_shuffle(const Tensor& input, std::int64_t groups) {
  return call<op::channel_shuffle>(input, groups);
}

}  // namespace tenon
