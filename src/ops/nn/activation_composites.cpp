// Activations that are made of other operators.
#include "base/text.h"
#include "core/element_copy.h"
#include "ops/elementwise/operands.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/activation.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/random.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/scatter.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::relu6::info{"relu6", kind};
constinit OpInfo op::rrelu::info{"rrelu", kind};
constinit OpInfo op::softsign::info{"softsign", kind};
constinit OpInfo op::tanhshrink::info{"tanhshrink", kind};
constinit OpInfo op::gumbel_softmax::info{"gumbel_softmax", kind};
constinit OpInfo op::normalize::info{"normalize", kind};
constinit OpInfo op::prelu::info{"prelu", kind};
constinit OpInfo op::glu::info{"glu", kind};

namespace op {
struct prelu_kernel {  // the weight broadcasts
  using Signature = Tensor(const Tensor& self, const Tensor& weight);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo prelu_kernel::info{"_prelu_kernel", kind};
struct rrelu_with_noise {
  using Signature = Tensor(const Tensor& self, const Tensor& noise);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo rrelu_with_noise::info{"rrelu_with_noise", kind};
}  // namespace op

namespace {

void check_floating(const char* name, const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (dtype != float32 && dtype != float64 && dtype != bfloat16 && dtype != float16)
    not_implemented(name, dtype);
}

}  // namespace

template <>
struct Rule<op::relu6> {
  static Tensor compose(const Tensor& self, bool inplace) {
    return hardtanh(self, {.min_val = 0, .max_val = 6, .inplace = inplace});
  }
};

template <>
struct Rule<op::rrelu_with_noise> {
  static constexpr std::string_view gradient = "RreluWithNoiseBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& noise) {
    g.set(0, grad * noise);
  }
  static Layout infer(const Tensor& self, const Tensor& /*noise*/) {
    check_floating("rrelu", self);
    return Layout::packed(self.shape(), self.dtype(), self.device());
  }
  static void run(Tensor& out, const Tensor& self, const Tensor& noise) {
    mul_out(out.variable_data(), self, noise);
  }
};

template <>
struct Rule<op::rrelu> {
  static Tensor compose(const Tensor& self, double lower, double upper, bool training,
                        bool inplace) {
    check_floating("rrelu", self);
    if (!(lower <= upper)) {
      throw ValueError(
          concat("Lower bound should be less than or equal to the upper bound: they are ", lower,
                 " and ", upper));
    }
    if (!training) {
      const double middle = (lower + upper) / 2;
      return leaky_relu(self, {.negative_slope = middle, .inplace = inplace});
    }
    const Tensor noise = drawn(self, lower, upper);
    return inplace ? self.mul_(noise) : call<op::rrelu_with_noise>(self, noise);
  }

 private:
  // One for every element that is above zero, and a slope of its own for every other.
  static Tensor drawn(const Tensor& self, double lower, double upper) {
    const NoGradScope unrecorded;
    const Tensor below = self <= 0;
    const Tensor noise = ones(self.shape(), {.dtype = self.dtype(), .device = self.device()});
    if (self.is_meta()) return noise;
    const Tensor slopes =
        empty({below.sum().item<std::int64_t>()}, {.dtype = float64, .device = below.device()});
    slopes.uniform_(lower, upper);
    const Tensor places = nonzero(below.reshape({-1})).reshape({-1});
    return noise.view({-1}).index_copy(0, places, slopes.to(self.dtype())).view(self.shape());
  }
};

template <>
struct Rule<op::softsign> {
  static Tensor compose(const Tensor& self) { return self / (self.abs() + 1); }
};
template <>
struct Rule<op::tanhshrink> {
  static Tensor compose(const Tensor& self) { return self - self.tanh(); }
};

template <>
struct Rule<op::prelu_kernel> {
  static constexpr std::string_view gradient = "PreluKernelBackward0";
  // Note [A weight that is kept]
  static bool saves(std::size_t place, const Wanted&) { return place < 2; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, const Tensor& weight) {
    const Tensor above = self > 0;
    if (g.wanted(0)) g.set(0, where(above, grad, weight * grad));
    if (g.wanted(1)) g.set(1, masked_fill(self * grad, above, 0));
  }
  static Layout infer(const Tensor& self, const Tensor& /*weight*/) {
    check_floating("prelu", self);
    return Layout::packed_like(self.layout());
  }
  static void run(Tensor& out, const Tensor& self, const Tensor& weight) {
    where_out(out.variable_data(), self > 0, self, weight * self);
  }
};

template <>
struct Rule<op::prelu> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
  static Tensor compose(const Tensor& self, const Tensor& weight) {
    const Tensor both[] = {self, weight};
    same_device("prelu", both);
    if (self.dtype() != weight.dtype()) {
      throw DTypeError(concat("prelu: Type promoting not supported. Got input of ",
                              repr(self.dtype()), " and weight of ", repr(weight.dtype()),
                              ": convert one with to()"));
    }
    if (weight.dim() > 1) {
      throw ShapeError(concat("prelu: Expected `weight` to be a scalar or 1D tensor, but got: ",
                              "ndim = ", weight.dim(), ", of shape ", bracketed(weight.shape())));
    }
    if (weight.numel() != 1) check_channels(self, weight);
    Shape shape = Shape(Dims::filled(static_cast<std::size_t>(self.dim()), 1));
    if (self.dim() > 0) shape[self.dim() > 1 ? 1 : 0] = weight.numel();
    return call<op::prelu_kernel>(self, weight.reshape(shape));
  }

 private:
  static void check_channels(const Tensor& self, const Tensor& weight) {
    if (self.dim() == 0) {
      throw ShapeError(concat("prelu: Not allow zero-dim input tensor with a weight of ",
                              weight.numel(), " numbers"));
    }
    const std::int64_t channels = self.dim() > 1 ? self.size(1) : 1;
    if (channels == weight.numel()) return;
    throw ShapeError(
        concat("prelu: Mismatch of parameter numbers and input channel size. Found parameter "
               "numbers = ",
               weight.numel(), " and channel size = ", channels, ", in an input of shape ",
               bracketed(self.shape())));
  }
};

template <>
struct Rule<op::glu> {
  static constexpr std::string_view gradient = "GluBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 0; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self, std::int64_t dim) {
    const auto [first, second] = halves(self, dim);
    const Tensor gate = second.sigmoid(), through = grad * gate;
    const Tensor parts[] = {through, through * first * (1 - gate)};
    g.set(0, cat(parts, dim));
  }
  static Layout infer(const Tensor& self, std::int64_t dim) {
    if (self.dim() == 0) throw ShapeError("glu does not support 0-dimensional tensors");
    const std::int64_t along = wrap_dim(dim, self.dim());
    Shape shape = self.shape();
    std::int64_t& size = shape[static_cast<std::size_t>(along)];
    if (size % 2 != 0) {
      throw ShapeError(concat("Halving dimension must be even, but dimension ", along, " is size ",
                              size, " in an input of shape ", bracketed(self.shape())));
    }
    check_floating("glu", self);
    size /= 2;
    return Layout::packed(shape, self.dtype(), self.device());
  }
  static void run(Tensor& out, const Tensor& self, std::int64_t dim) {
    const auto [first, second] = halves(self, dim);
    const Tensor place = out.variable_data();
    // 16-bit floats are rounded once.
    const DType wide = self.dtype() == float64 ? float64 : float32;
    mul_out(place, first, second.to(wide).sigmoid());
  }

 private:
  static std::pair<Tensor, Tensor> halves(const Tensor& self, std::int64_t dim) {
    const std::int64_t half = self.size(dim) / 2;
    return {self.narrow(dim, 0, half), self.narrow(dim, half, half)};
  }
};

template <>
struct Rule<op::gumbel_softmax> {
  static Tensor compose(const Tensor& logits, double tau, bool hard, double /*eps*/,
                        std::int64_t dim) {
    check_floating("gumbel_softmax", logits);
    const Tensor noise = drawn(logits);
    const Tensor soft = softmax((logits + noise) / tau, dim);
    if (!hard) return soft;
    const Tensor index = argmax(soft, dim, {.keepdim = true});
    const Tensor one_hot = zeros_like(logits).scatter(dim, index, 1.0);
    return one_hot - soft.detach() + soft;
  }

 private:
  static Tensor drawn(const Tensor& logits) {
    const NoGradScope unrecorded;
    const Tensor noise =
        empty(logits.shape(), {.dtype = logits.dtype(), .device = logits.device()});
    return -noise.exponential_().log();
  }
};

template <>
struct Rule<op::normalize> {
  static Tensor compose(const Tensor& self, double p, const Dims& dim, double eps) {
    const Tensor length = norm(self, p, dim, {.keepdim = true});
    return self / clamp(length, ClampOptions{.min = eps}).expand_as(self);
  }
};

Tensor relu(const Tensor& input, InplaceOptions options) {
  if (!options.inplace) return relu(input);
  const Tensor own = input;  // see Note [Arguments of one's own]
  return own.relu_();
}
const Tensor& relu_(const Tensor& input) { return input.relu_(); }
Tensor relu6(const Tensor& input, InplaceOptions options) {
  return call<op::relu6>(input, options.inplace);
}
Tensor rrelu(const Tensor& input, RreluFunctionOptions options) {
  return call<op::rrelu>(input, options.lower, options.upper, options.training, options.inplace);
}
const Tensor& rrelu_(const Tensor& input, RreluFunctionOptions options) {
  call<op::rrelu>(input, options.lower, options.upper, options.training, true);
  return input;
}
Tensor prelu(const Tensor& input, const Tensor& weight) { return call<op::prelu>(input, weight); }
Tensor tanhshrink(const Tensor& input) { return call<op::tanhshrink>(input); }
Tensor softsign(const Tensor& input) { return call<op::softsign>(input); }
Tensor glu(const Tensor& input, GluOptions options) { return call<op::glu>(input, options.dim); }
Tensor gumbel_softmax(const Tensor& logits, GumbelSoftmaxOptions options) {
  return call<op::gumbel_softmax>(logits, options.tau, options.hard, options.eps, options.dim);
}
Tensor normalize(const Tensor& input, const NormalizeOptions& options) {
  return call<op::normalize>(input, options.p, options.dim, options.eps);
}

}  // namespace tenon
