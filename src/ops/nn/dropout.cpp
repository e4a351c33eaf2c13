// Dropout of elements and of channels, and dropout that keeps mean and variance.
#include <cmath>

#include "base/text.h"
#include "base/warn.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/functional.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::dropout::info{"dropout", kind};
constinit OpInfo op::feature_dropout::info{"feature_dropout", kind};
constinit OpInfo op::alpha_dropout::info{"alpha_dropout", kind};
constinit OpInfo op::feature_alpha_dropout::info{"feature_alpha_dropout", kind};

namespace {

void check_probability(double p) {
  if (p >= 0 && p <= 1) return;
  throw ValueError(concat("dropout probability has to be between 0 and 1, but got ", p));
}

// One number for each element, or for each channel.
Tensor place_for_noise(const Tensor& input, bool of_channels) {
  if (!of_channels) return empty_like(input);
  if (input.dim() < 2) {
    throw ShapeError(concat("Feature dropout requires at least 2 dimensions in the input, and it ",
                            "is of shape ", bracketed(input.shape())));
  }
  Shape shape(Dims::filled(static_cast<std::size_t>(input.dim()), 1));
  shape[0] = input.size(0);
  shape[1] = input.size(1);
  return empty(shape, {.dtype = input.dtype(), .device = input.device()});
}

Tensor multiplied(const Tensor& input, const Tensor& factors, bool inplace) {
  return inplace ? input.mul_(factors) : input * factors;
}

Tensor dropped(const Tensor& input, double p, bool training, bool inplace, bool of_channels,
               bool alpha) {
  check_probability(p);
  if (p == 0 || !training || input.numel() == 0) return input;
  if (p == 1) {
    const Tensor nothing = zeros({}, {.dtype = input.dtype(), .device = input.device()});
    return multiplied(input, nothing, inplace);
  }
  Tensor noise, shift;
  {
    const NoGradScope unrecorded;
    noise = place_for_noise(input, of_channels);
    noise.bernoulli_(1 - p);
    if (alpha) {
      constexpr double kLeast = 1.7580993408473766;  // of selu, without its sign
      const double a = 1 / std::sqrt((kLeast * kLeast * p + 1) * (1 - p));
      shift = (noise - 1).mul_(kLeast * a).add_(kLeast * a * p);
      noise.mul_(a);
    } else {
      noise.div_(1 - p);
    }
  }
  const Tensor kept = multiplied(input, noise, inplace);
  if (!alpha) return kept;
  return inplace ? kept.add_(shift) : kept + shift;
}

// One sample is a batch of one. In place it is written through the view.
Tensor channels_of(const Tensor& input, DropoutFunctionOptions options, bool batched) {
  if (batched)
    return call<op::feature_dropout>(input, options.p, options.training, options.inplace);
  const Tensor own = input;  // see Note [Arguments of one's own]
  const Tensor one =
      call<op::feature_dropout>(own.unsqueeze(0), options.p, options.training, options.inplace);
  return options.inplace ? own : one.squeeze(0);
}

void warn_of_dims(const char* name, const Tensor& input, const char* expected) {
  warn(concat(name, ": Received a ", input.dim(), "-D input to ", name,
              ", which is deprecated and will result in an error in a future release. To retain ",
              "the behavior and silence this warning, please use dropout instead. Note that ", name,
              " exists to provide channel-wise dropout on inputs with ", expected));
}

}  // namespace

template <>
struct Rule<op::dropout> {
  static Tensor compose(const Tensor& input, double p, bool training, bool inplace) {
    check_probability(p);
    if (p == 0 || !training || input.numel() == 0) return input;
    const Tensor factors = factors_for(input, p);
    return inplace ? input.mul_(factors) : input * factors;
  }

 private:
  static Tensor factors_for(const Tensor& input, double p) {
    const NoGradScope unrecorded;
    if (p == 1) return zeros({}, {.dtype = input.dtype(), .device = input.device()});
    return empty_like(input).bernoulli_(1 - p).div_(1 - p);
  }
};

template <>
struct Rule<op::feature_dropout> {
  static Tensor compose(const Tensor& input, double p, bool training, bool inplace) {
    return dropped(input, p, training, inplace, true, false);
  }
};
template <>
struct Rule<op::alpha_dropout> {
  static Tensor compose(const Tensor& input, double p, bool training, bool inplace) {
    return dropped(input, p, training, inplace, false, true);
  }
};
template <>
struct Rule<op::feature_alpha_dropout> {
  static Tensor compose(const Tensor& input, double p, bool training, bool inplace) {
    return dropped(input, p, training, inplace, true, true);
  }
};

Tensor dropout(const Tensor& input, DropoutFunctionOptions options) {
  return call<op::dropout>(input, options.p, options.training, options.inplace);
}
Tensor dropout1d(const Tensor& input, DropoutFunctionOptions options) {
  check_probability(options.p);
  if (input.dim() != 2 && input.dim() != 3) {
    throw ShapeError(concat(
        "dropout1d: Expected 2D or 3D input, but received a ", input.dim(),
        "D input. Note that dropout1d exists to provide channel-wise dropout on inputs with 1 ",
        "spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D ",
        "inputs)."));
  }
  return channels_of(input, options, input.dim() == 3);
}
Tensor dropout2d(const Tensor& input, DropoutFunctionOptions options) {
  check_probability(options.p);
  if (input.dim() == 4) return channels_of(input, options, true);
  const Tensor own = input;  // see Note [Arguments of one's own]
  if (own.dim() != 3) {
    warn_of_dims("dropout2d", own,
                 "2 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. "
                 "3D or 4D inputs).");
  } else {
    warn(
        "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout "
        "behavior is desired - input is interpreted as shape (N, C, L), where C is the channel "
        "dim. This behavior will change in a future release to interpret the input as one without "
        "a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout "
        "behavior, please switch to using dropout1d instead.");
  }
  return channels_of(own, options, true);
}
Tensor dropout3d(const Tensor& input, DropoutFunctionOptions options) {
  check_probability(options.p);
  if (input.dim() == 4 || input.dim() == 5) return channels_of(input, options, input.dim() == 5);
  const Tensor own = input;  // see Note [Arguments of one's own]
  warn_of_dims("dropout3d", own,
               "3 spatial dimensions, a channel dimension, and an optional batch dimension (i.e. "
               "4D or 5D inputs).");
  return channels_of(own, options, false);
}
Tensor alpha_dropout(const Tensor& input, AlphaDropoutFunctionOptions options) {
  return call<op::alpha_dropout>(input, options.p, options.training, options.inplace);
}
Tensor feature_alpha_dropout(const Tensor& input, AlphaDropoutFunctionOptions options) {
  return call<op::feature_alpha_dropout>(input, options.p, options.training, options.inplace);
}

}  // namespace tenon
