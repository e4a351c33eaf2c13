// Choosing between elements.
#include "tenon/ops/where.h"

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/select.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/elementwise/ternary.h"
#include "ops/support/gradients.h"
#include "ops/support/into.h"
#include "ops/support/itself.h"
#include "ops/support/own_arguments.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/indexing.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/scatter.h"

namespace tenon {

constinit OpInfo op::where::info{"where", kind};
constinit OpInfo op::masked_fill_::info{"masked_fill_", kind};
constinit OpInfo op::masked_fill::info{"masked_fill", kind};
constinit OpInfo op::clamp::info{"clamp", kind};
constinit OpInfo op::clamp_::info{"clamp_", kind};

namespace {

Operand spread(const Tensor& tensor, const Dims& strides) {
  Operand place = operand(tensor);
  place.strides = strides;
  return place;
}

void check_mask(const char* op, const Tensor& mask) {
  if (mask.dtype() == bool_) return;
  throw DTypeError(concat(op, " expected a tensor of bools to choose by, but got one of ",
                          repr(mask.dtype()),
                          ": compare it with something first, as in mask != 0"));
}

}  // namespace

template <>
struct Rule<op::where> {
  static constexpr std::string_view gradient = "WhereBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 0; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& condition,
                       const Tensor& /*self*/, const Tensor& /*other*/) {
    const Tensor zero = zeros({}, {.dtype = grad.dtype(), .device = grad.device()});
    if (g.wanted(1)) g.set(1, where(condition, grad, zero));
    if (g.wanted(2)) g.set(2, where(condition, zero, grad));
  }
  static Layout infer(const Tensor& condition, const Tensor& self, const Tensor& other) {
    if (condition.dtype() != uint8) check_mask("where", condition);
    const Device device = promoted_device("where", {&condition, &self, &other});
    const DType dtype = result_type(self, other);
    check_number_fits(self, dtype);
    check_number_fits(other, dtype);
    const Shape shape =
        broadcast_shapes(broadcast_shapes(condition.shape(), self.shape()), other.shape());
    const Layout* operands[] = {&condition.layout(), &self.layout(), &other.layout()};
    return result_layout(shape, dtype, device, operands);
  }
  static void cpu(Tensor& out, const Tensor& condition, const Tensor& self, const Tensor& other) {
    const Tensor a = self.to(out.dtype()), b = other.to(out.dtype());
    select_elements(out.shape(), operand(out),
                    spread(condition, broadcast_strides(condition.layout(), out.shape())),
                    spread(a, broadcast_strides(a.layout(), out.shape())),
                    spread(b, broadcast_strides(b.layout(), out.shape())));
  }
};

template <>
struct Rule<op::masked_fill_> {
  static std::string_view gradient_name(const Tensor&, const Tensor&, const Tensor& value) {
    return value.body().is_wrapped_number() ? "MaskedFillBackward0" : "MaskedFillBackward1";
  }
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/, const Tensor& mask,
                       const Tensor& /*value*/) {
    if (g.wanted(0)) g.set(0, masked_fill(grad, mask, 0));
    if (g.wanted(2)) g.set(2, masked_fill(grad, mask.logical_not(), 0).sum());
  }
  static void check(const Tensor& self, const Tensor& mask, const Tensor& value) {
    check_mask("masked_fill_", mask);
    const Tensor both[] = {self, mask};
    same_device("masked_fill_", both);
    promoted_device("masked_fill_", {&self, &value});
    if (value.dim() != 0) {
      throw ShapeError(
          concat("masked_fill_ only supports a 0-dimensional value tensor, but got "
                 "tensor with ",
                 value.dim(), " dimensions."));
    }
    if (broadcast_shapes(self.shape(), mask.shape()) != self.shape()) {
      throw ShapeError(concat("masked_fill_: a mask of shape ", bracketed(mask.shape()),
                              " does not broadcast to the shape ", bracketed(self.shape())));
    }
    check_written_once(self.layout());
    check_value_dtypes(value, self.dtype());
    if (value.is_cpu()) check_value_fits(value.item(), self.dtype());
  }
  static void cpu(const Tensor& self, const Tensor& mask, const Tensor& value) {
    const Tensor chosen = shares_memory_partly(self, mask) ? mask.clone() : mask;
    const Tensor one = full({}, value.item(), {.dtype = self.dtype(), .device = Device::cpu()});
    select_elements(self.shape(), operand(self),
                    spread(chosen, broadcast_strides(chosen.layout(), self.shape())),
                    spread(one, broadcast_strides(one.layout(), self.shape())), operand(self));
  }
};

template <>
struct Rule<op::masked_fill> {
  static Tensor compose(const Tensor& self, const Tensor& mask, const Tensor& value) {
    const Shape shape = broadcast_shapes(self.shape(), mask.shape());
    const Tensor copy = self.expand(shape).clone({.memory_format = MemoryFormat::contiguous});
    return call<op::masked_fill_>(copy, mask, value);
  }
};

namespace {

// The bound that is missing is the element itself, which changes nothing.
Ternary clamp_of(const Tensor& self, const std::optional<Tensor>& min,
                 const std::optional<Tensor>& max) {
  if (!min && !max) throw ValueError("clamp: at least one of 'min' or 'max' must not be None");
  const Tensor &low = min ? *min : self, &high = max ? *max : self;
  const DType dtype = promoted_dtype({&self, &low, &high});
  if (is_complex(dtype)) throw NotImplementedError("clamp is not supported for complex types");
  check_number_fits(low, dtype);
  check_number_fits(high, dtype);
  const TernaryFunction function = !min   ? TernaryFunction::clamp_max
                                   : !max ? TernaryFunction::clamp_min
                                          : TernaryFunction::clamp;
  return {op::clamp::info, function, dtype, self, low, high};
}

constexpr std::string_view kClampNumbers = "ClampBackward1";

std::string_view clamp_node(const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  const auto number = [](const std::optional<Tensor>& bound) {
    return !bound || bound->body().is_wrapped_number();
  };
  return number(min) && number(max) ? kClampNumbers : "ClampBackward0";
}

// Numbers have the gradient to themselves where the element is within them, and nowhere else.
// Tensors share it with the element where both are the same; the upper one counts where they cross.
void clamp_backward(Gradient& g, const Tensor& grad, const Tensor& self,
                    const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
  if (clamp_node(min, max) == kClampNumbers) {
    Tensor kept = grad;
    if (min) kept = masked_fill(kept, (self > *min).logical_not(), 0);
    if (max) kept = masked_fill(kept, (self < *max).logical_not(), 0);
    return g.set(0, kept);
  }
  const auto only = [](const Tensor& value, const Tensor& mask) {
    return masked_fill(value, mask.logical_not(), 0);
  };
  Tensor shared;  // where it is the same as a bound
  if (min) shared = self == *min;
  if (max) shared = min ? shared.logical_or(self == *max) : self == *max;
  if (min && max) shared = shared.logical_and(*min < *max);
  const Tensor halved = where(shared, grad / 2, grad);
  if (g.wanted(0)) {
    Tensor kept = halved;
    if (min) kept = masked_fill(kept, self < *min, 0);
    if (max) kept = masked_fill(kept, self > *max, 0);
    g.set(0, kept);
  }
  if (g.wanted(1)) {
    g.set(1, !max ? masked_fill(halved, self > *min, 0)
                  : only(halved, (self < *min)
                                     .logical_and(*min <= *max)
                                     .logical_or((self == *min).logical_and(*min < *max))));
  }
  if (g.wanted(2)) {
    g.set(2, !min ? masked_fill(halved, self < *max, 0)
                  : only(halved, (self > *max)
                                     .logical_or(*min > *max)
                                     .logical_or((self == *max).logical_and(*min < *max))));
  }
}

}  // namespace

template <>
struct Rule<op::clamp> {
  static std::string_view gradient_name(const Tensor&, const std::optional<Tensor>& min,
                                        const std::optional<Tensor>& max) {
    return clamp_node(min, max);
  }
  static bool saves(std::size_t place, const Wanted&) { return place < kResult; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self,
                       const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
    clamp_backward(g, grad, self, min, max);
  }
  static Layout infer(const Tensor& self, const std::optional<Tensor>& min,
                      const std::optional<Tensor>& max) {
    return infer_ternary(clamp_of(self, min, max));
  }
  static void cpu(Tensor& out, const Tensor& self, const std::optional<Tensor>& min,
                  const std::optional<Tensor>& max) {
    run_ternary(clamp_of(self, min, max), out, 0);
  }
};
template <>
struct Rule<op::clamp_> {
  static std::string_view gradient_name(const Tensor&, const std::optional<Tensor>& min,
                                        const std::optional<Tensor>& max) {
    return clamp_node(min, max);
  }
  static bool saves(std::size_t place, const Wanted&) { return place < kResult; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& self,
                       const std::optional<Tensor>& min, const std::optional<Tensor>& max) {
    clamp_backward(g, grad, self, min, max);
  }
  static void check(const Tensor& self, const std::optional<Tensor>& min,
                    const std::optional<Tensor>& max) {
    check_ternary(clamp_of(self, min, max));
  }
  static void cpu(const Tensor& self, const std::optional<Tensor>& min,
                  const std::optional<Tensor>& max) {
    run_ternary(clamp_of(self, min, max), self, 0);
  }
};

Tensor where(const Tensor& condition, const Tensor& self, const Tensor& other) {
  return call<op::where>(condition, self, other);
}
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  return call<op::masked_fill>(self, mask, value);
}
const Tensor& Tensor::masked_fill_(const Tensor& mask, const Tensor& value) const {
  call<op::masked_fill_>(*this, mask, value);
  return *this;
}
const Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) const {
  return masked_fill_(mask, wrapped_number(value));
}

std::vector<Tensor> where(const Tensor& condition) { return nonzero_as_tuple(condition); }

namespace {

void scatter_masked(const Tensor& self, const Tensor& mask, const Tensor& source) {
  if (self.dtype() != source.dtype()) {
    throw DTypeError(
        concat("masked_scatter_: expected self and source to have same dtypes but got ",
               info(self.dtype()).scalar_name, " and ", info(source.dtype()).scalar_name));
  }
  if (mask.dtype() != tenon::bool_) {
    throw DTypeError(concat("masked_scatter_ only supports boolean masks, but got mask with dtype ",
                            info(mask.dtype()).scalar_name));
  }
  const Tensor whole = mask.expand(self.shape());
  const std::int64_t wanted = tenon::count_nonzero(whole).item<std::int64_t>();
  if (source.numel() < wanted) {
    throw ShapeError(concat(
        "masked_scatter_: Number of elements of source < number of ones in mask: ", source.numel(),
        " < ", wanted));
  }
  self.index_put_({whole}, source.flatten().narrow(0, 0, wanted));
}

}  // namespace

const Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& source) const {
  with_own(scatter_masked, *this, mask, source);  // see Note [Arguments of one's own]
  return *this;
}
Tensor TensorMethods::masked_scatter(const Tensor& mask, const Tensor& source) const {
  const auto scattered = [](const Tensor& self, const Tensor& own_mask, const Tensor& own_source) {
    Tensor out = self.expand(broadcast_shapes(self.shape(), own_mask.shape())).clone();
    scatter_masked(out, own_mask, own_source);
    return out;
  };
  return with_own(scattered, itself(*this), mask, source);
}

const Tensor& where_out(const Tensor& out, const Tensor& condition, const Tensor& self,
                        const Tensor& other) {
  return into<op::where>(out, condition, self, other);
}

namespace {

std::optional<Tensor> bound(const std::optional<Scalar>& value) {
  return value ? std::optional(wrapped_number(*value)) : std::nullopt;
}
std::optional<Tensor> bound(const Tensor& value) {
  return value.defined() ? std::optional(value) : std::nullopt;
}

}  // namespace

Tensor clamp(const Tensor& self, const ClampOptions& options) {
  return call<op::clamp>(self, bound(options.min), bound(options.max));
}
Tensor clamp(const Tensor& self, const ClampTensorOptions& options) {
  return call<op::clamp>(self, bound(options.min), bound(options.max));
}
const Tensor& clamp_(const Tensor& self, const ClampOptions& options) {
  return call<op::clamp_>(self, bound(options.min), bound(options.max));
}
const Tensor& clamp_(const Tensor& self, const ClampTensorOptions& options) {
  return call<op::clamp_>(self, bound(options.min), bound(options.max));
}
const Tensor& clamp_out(const Tensor& out, const Tensor& self, const ClampOptions& options) {
  return into<op::clamp>(out, self, bound(options.min), bound(options.max));
}
const Tensor& clamp_out(const Tensor& out, const Tensor& self, const ClampTensorOptions& options) {
  return into<op::clamp>(out, self, bound(options.min), bound(options.max));
}

}  // namespace tenon
