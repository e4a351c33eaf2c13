// First values for parameters. What is a number in Python is a double here, in the same order of
// operations, so that the bits of what is drawn agree. What warns, or is several operators, has
// arguments of its own (Note [Arguments of one's own]).
#include "tenon/nn/init.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/text.h"
#include "base/warn.h"
#include "ops/elementwise/operands.h"
#include "ops/linalg/qr.h"
#include "ops/support/own_arguments.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/random.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/where.h"

namespace tenon::nn::init {

namespace {

const Generator& chosen(const std::optional<Generator>& generator) {
  return generator ? *generator : default_generator();
}

// x ** 2 in Python is the C library's pow, whose last bit is not always that of x * x. The compiler
// must not know that it could be.
double squared(double x) {
  const volatile double two = 2;
  return std::pow(x, two);
}

[[noreturn]] void wrong_dimensions(const char* rule, const Tensor& tensor) {
  throw ShapeError(concat(rule, ", and this one has the shape ", bracketed(tensor.shape())));
}

struct Fans {
  std::int64_t in, out;
};
Fans fans_of(const Tensor& tensor) {
  if (tensor.dim() < 2) {
    wrong_dimensions(
        "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions", tensor);
  }
  std::int64_t kernel = 1;
  for (std::int64_t d = 2; d < tensor.dim(); ++d) kernel *= tensor.size(d);
  return {tensor.size(1) * kernel, tensor.size(0) * kernel};
}

double xavier_std(const Tensor& tensor, double gain) {
  const Fans fans = fans_of(tensor);
  const auto sum = static_cast<std::uint64_t>(fans.in) + static_cast<std::uint64_t>(fans.out);
  if (sum == 0) {
    throw ValueError(concat("xavier: a tensor of shape ", bracketed(tensor.shape()),
                            " has neither inputs nor outputs: there is no variance to choose"));
  }
  return gain * std::sqrt(2.0 / static_cast<double>(sum));
}

double kaiming_std(const Tensor& tensor, const KaimingOptions& options) {
  std::string mode(options.mode);
  for (char& c : mode) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (mode != "fan_in" && mode != "fan_out") {
    throw ValueError(
        concat("Mode ", mode, " not supported, please use one of ['fan_in', 'fan_out']"));
  }
  const Fans fans = fans_of(tensor);
  const double gain = calculate_gain(options.nonlinearity, {.param = options.a});
  return gain / std::sqrt(static_cast<double>(mode == "fan_in" ? fans.in : fans.out));
}

bool nothing_to_initialise(const Tensor& tensor) {
  if (tensor.numel() != 0) return false;
  warn("Initializing zero-element tensors is a no-op");
  return true;
}

}  // namespace

double calculate_gain(std::string_view nonlinearity, GainOptions options) {
  for (const std::string_view linear : {"linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
                                        "conv_transpose2d", "conv_transpose3d", "sigmoid"}) {
    if (nonlinearity == linear) return 1;
  }
  if (nonlinearity == "tanh") return 5.0 / 3;
  if (nonlinearity == "relu") return std::sqrt(2.0);
  if (nonlinearity == "leaky_relu")
    return std::sqrt(2.0 / (1 + squared(options.param.value_or(0.01))));
  if (nonlinearity == "selu") return 3.0 / 4;
  throw ValueError(concat("Unsupported nonlinearity ", nonlinearity));
}

const Tensor& uniform_(const Tensor& tensor, const UniformOptions& options) {
  const NoGradScope unrecorded;
  tensor.uniform_(options.a, options.b, chosen(options.generator));
  return tensor;
}

const Tensor& normal_(const Tensor& tensor, const NormalOptions& options) {
  const NoGradScope unrecorded;
  tensor.normal_(options.mean, options.std, chosen(options.generator));
  return tensor;
}

namespace {

// How likely a number of that distribution is in [a, b].
double probability_inside(const TruncNormalOptions& o) {
  const auto below = [&](double bound) {
    return (1.0 + std::erf((bound - o.mean) / o.std / std::sqrt(2.0))) / 2.0;
  };
  return below(o.b) - below(o.a);
}

// Most numbers are good: normal ones, and new ones for those that are not, until all are. New ones
// are drawn for the whole tensor each time.
void draw_normals_inside(const Tensor& tensor, const TruncNormalOptions& o,
                         const Generator& generator) {
  // Bounds as the tensor can hold them, or one that it rounds to might never be met.
  const auto held = [&](double bound) {
    return scalar_tensor(bound, {.dtype = tensor.dtype(), .device = Device::cpu()}).item();
  };
  const Scalar low = held(o.a), high = held(o.b);
  Tensor result = tensor.normal_(o.mean, o.std, generator);
  while (true) {
    const Tensor outside = (result < low) | (result > high);
    if (!any(outside).item<bool>()) break;
    result = where(outside, empty_like(result).normal_(o.mean, o.std, generator), result);
  }
  if (!result.is(tensor)) tensor.copy_(result);
}

// Few are: uniform numbers in [a, b], each accepted as often as the density there is smaller than
// at its peak, in logarithms.
class Accepting {
 public:
  Accepting(const TruncNormalOptions& options, const Generator& generator)
      : options_(options),
        generator_(generator),
        mode_(std::max(options.a, std::min(options.mean, options.b))),
        log_peak_(-0.5 * squared((mode_ - options.mean) / options.std)) {}

  void draw(const Tensor& tensor) const {
    check_something_is_accepted(tensor.dtype());
    const Tensor candidates = empty_like(tensor), chances = empty_like(tensor);
    tensor.uniform_(options_.a, options_.b, generator_);
    candidates.copy_(tensor);
    Tensor pending = rejected(candidates, chances);
    if (!any(pending).item<bool>()) return;
    Tensor result = tensor;
    do {
      candidates.uniform_(options_.a, options_.b, generator_);
      result = where(pending, candidates, result);
      pending = where(pending, rejected(candidates, chances), pending);
    } while (any(pending).item<bool>());
    tensor.copy_(result);
  }

 private:
  // Turns candidates into the logarithms of their densities over the peak's.
  void to_log_ratio(const Tensor& candidates) const {
    candidates.sub_(options_.mean).div_(options_.std).pow_(2).mul_(-0.5).sub_(log_peak_);
  }
  Tensor rejected(const Tensor& candidates, const Tensor& chances) const {
    to_log_ratio(candidates);
    return chances.uniform_(0, 1, generator_).log_().gt(candidates);
  }
  // So far out that the dtype has no number for the density, a candidate is accepted only when its
  // chance rounds to zero: once in millions, and whatever it is.
  void check_something_is_accepted(DType dtype) const {
    const Tensor best = scalar_tensor(mode_, {.dtype = dtype, .device = Device::cpu()});
    to_log_ratio(best);
    if (best.item<double>() != -std::numeric_limits<double>::infinity()) return;
    throw ValueError(concat("trunc_normal_: [", options_.a, ", ", options_.b,
                            "] is too far from a mean of ", options_.mean, " with std ",
                            options_.std, " to be drawn in ", repr(dtype)));
  }

  const TruncNormalOptions& options_;
  const Generator& generator_;
  double mode_;  // where in [a, b] the density is largest
  double log_peak_;
};

}  // namespace

namespace {

void draw_inside(const Tensor& tensor, const TruncNormalOptions& options) {
  if (tensor.is_meta()) return;
  if (options.std == 0)
    throw ValueError("trunc_normal_: std is 0, and is divided by: use constant_ for one value");
  const double far = 2 * options.std;
  if (options.mean < options.a - far || options.mean > options.b + far) {
    warn(
        "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values "
        "may be incorrect.");
  }
  const NoGradScope unrecorded;
  const Generator& generator = chosen(options.generator);
  if (probability_inside(options) > 0.3) {
    draw_normals_inside(tensor, options, generator);
  } else {
    Accepting(options, generator).draw(tensor);
  }
}

}  // namespace

const Tensor& trunc_normal_(const Tensor& tensor, const TruncNormalOptions& options) {
  with_own(draw_inside, tensor, options);
  return tensor;
}

const Tensor& constant_(const Tensor& tensor, const Scalar& val) {
  const NoGradScope unrecorded;
  tensor.fill_(val);
  return tensor;
}
const Tensor& ones_(const Tensor& tensor) { return constant_(tensor, 1); }
const Tensor& zeros_(const Tensor& tensor) {
  const NoGradScope unrecorded;
  tensor.zero_();
  return tensor;
}

const Tensor& eye_(const Tensor& tensor) {
  if (tensor.dim() != 2) wrong_dimensions("Only tensors with 2 dimensions are supported", tensor);
  const NoGradScope unrecorded;
  const Tensor own = tensor;
  own.zero_();
  own.diagonal().fill_(1);
  return tensor;
}

const Tensor& dirac_(const Tensor& tensor, DiracOptions options) {
  if (tensor.dim() < 3 || tensor.dim() > 5)
    wrong_dimensions("Only tensors with 3, 4, or 5 dimensions are supported", tensor);
  if (options.groups < 1)
    throw ValueError(concat("dirac_: groups is ", options.groups, ", and must be at least 1"));
  if (tensor.size(0) % options.groups != 0) {
    throw ValueError(concat("dim 0 must be divisible by groups: it is ", tensor.size(0),
                            ", and groups is ", options.groups));
  }
  const NoGradScope unrecorded;
  const Tensor own = tensor;
  own.zero_();
  if (own.numel() == 0) return tensor;
  Tensor middle = own;
  while (middle.dim() > 2) middle = middle.select(2, middle.size(2) / 2);
  const std::int64_t channels = own.size(0) / options.groups;
  for (std::int64_t g = 0; g < options.groups; ++g)
    middle.narrow(0, g * channels, channels).diagonal().fill_(1);
  return tensor;
}

const Tensor& xavier_uniform_(const Tensor& tensor, const XavierOptions& options) {
  const double bound = std::sqrt(3.0) * xavier_std(tensor, options.gain);
  return uniform_(tensor, {.a = -bound, .b = bound, .generator = options.generator});
}
const Tensor& xavier_normal_(const Tensor& tensor, const XavierOptions& options) {
  const double std = xavier_std(tensor, options.gain);
  return normal_(tensor, {.mean = 0, .std = std, .generator = options.generator});
}

const Tensor& kaiming_uniform_(const Tensor& tensor, const KaimingOptions& options) {
  if (nothing_to_initialise(tensor)) return tensor;
  const double bound = std::sqrt(3.0) * kaiming_std(tensor, options);
  return uniform_(tensor, {.a = -bound, .b = bound, .generator = options.generator});
}
const Tensor& kaiming_normal_(const Tensor& tensor, const KaimingOptions& options) {
  if (nothing_to_initialise(tensor)) return tensor;
  const double std = kaiming_std(tensor, options);
  return normal_(tensor, {.mean = 0, .std = std, .generator = options.generator});
}

const Tensor& orthogonal_(const Tensor& tensor, const OrthogonalOptions& options) {
  if (tensor.dim() < 2)
    wrong_dimensions("Only tensors with 2 or more dimensions are supported", tensor);
  if (tensor.numel() == 0 || tensor.is_meta()) return tensor;
  if (tensor.dtype() != float32 && tensor.dtype() != float64)
    not_implemented("orthogonal_", tensor.dtype());
  const NoGradScope unrecorded;
  const Tensor own = tensor;
  const double gain = options.gain;
  const std::int64_t rows = own.size(0), columns = own.numel() / rows;
  const Tensor random = empty({rows, columns}, {.dtype = own.dtype(), .device = Device::cpu()})
                            .normal_(0, 1, chosen(options.generator));
  const Tensor matrix = own.view({rows, columns});
  matrix.copy_(rows < columns ? orthonormal_columns(random.t()).t() : orthonormal_columns(random));
  own.mul_(gain);
  return tensor;
}

const Tensor& sparse_(const Tensor& given, double sparsity, const SparseOptions& options) {
  const Tensor tensor = given;
  if (tensor.dim() != 2) wrong_dimensions("Only tensors with 2 dimensions are supported", tensor);
  if (!std::isfinite(sparsity))
    throw ValueError(concat("sparse_: sparsity is ", sparsity, ", and should be in [0, 1]"));
  if (tensor.is_meta()) return given;
  const NoGradScope unrecorded;
  const std::int64_t rows = tensor.size(0);
  const auto limit = static_cast<double>(rows);
  const auto zeros =
      static_cast<std::int64_t>(std::clamp(std::ceil(sparsity * limit), -limit, limit));
  tensor.normal_(0, options.std, chosen(options.generator));
  for (std::int64_t column = 0; column < tensor.size(1); ++column) {
    const Tensor order = randperm(rows, {.device = Device::cpu()});
    // A negative number counts from the end: so many are left.
    const Tensor chosen_rows = order.slice(0, 0, zeros).to(tensor.device());
    tensor.select(1, column).index_fill_(0, chosen_rows, 0);
  }
  return given;
}

}  // namespace tenon::nn::init
