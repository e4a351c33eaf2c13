// Choosing between elements.
#include "tenon/selection.h"

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/select.h"
#include "ops/elementwise.h"
#include "ops/operands.h"
#include "tenon/custom_op.h"
#include "tenon/error.h"
#include "tenon/ops.h"

namespace tenon {

constinit OpInfo op::where::info{"where", kind};
constinit OpInfo op::masked_fill_::info{"masked_fill_", kind};
constinit OpInfo op::masked_fill::info{"masked_fill", kind};
constinit OpInfo op::clamp::info{"clamp", kind};

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

// A number or tensor without dimensions on the CPU may take part on any device.
void check_devices(const char* op, const Tensor& first, const Tensor& other) {
  if (first.device() == other.device() || (other.is_cpu() && other.dim() == 0)) return;
  const Tensor both[] = {first, other};
  same_device(op, both);
}

}  // namespace

template <>
struct Rule<op::where> {
  static constexpr std::string_view gradient = "WhereBackward0";
  static Layout infer(const Tensor& condition, const Tensor& self, const Tensor& other) {
    check_mask("where", condition);
    check_devices("where", condition, self);
    check_devices("where", condition, other);
    const Shape shape =
        broadcast_shapes(broadcast_shapes(condition.shape(), self.shape()), other.shape());
    const Layout* operands[] = {&condition.layout(), &self.layout(), &other.layout()};
    return result_layout(shape, result_type(self, other), condition.device(), operands);
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
  static constexpr std::string_view gradient = "MaskedFillBackward0";
  static void check(const Tensor& self, const Tensor& mask, const Tensor& value) {
    check_mask("masked_fill_", mask);
    check_devices("masked_fill_", self, mask);
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
    if (!can_cast(value.dtype(), self.dtype())) {
      throw DTypeError(concat("value cannot be converted to type ", info(self.dtype()).name,
                              " without overflow: it is of ", repr(value.dtype())));
    }
    check_written_once(self.layout());
  }
  static void cpu(const Tensor& self, const Tensor& mask, const Tensor& value) {
    const Tensor chosen = shares_memory_partly(self, mask) ? mask.clone() : mask;
    const Tensor filling = value.to(self.dtype());
    select_elements(self.shape(), operand(self),
                    spread(chosen, broadcast_strides(chosen.layout(), self.shape())),
                    spread(filling, broadcast_strides(filling.layout(), self.shape())),
                    operand(self));
  }
};

template <>
struct Rule<op::masked_fill> {
  static Tensor compose(const Tensor& self, const Tensor& mask, const Tensor& value) {
    const Shape shape = broadcast_shapes(self.shape(), mask.shape());
    const Tensor copy = self.shape() == shape ? self.clone() : self.expand(shape).clone();
    return call<op::masked_fill_>(copy, mask, value);
  }
};

template <>
struct Rule<op::clamp> {
  static Tensor compose(const Tensor& self, const std::optional<Tensor>& min,
                        const std::optional<Tensor>& max) {
    if (!min && !max) throw ValueError("clamp: at least one of 'min' or 'max' must not be None");
    const Tensor raised = min ? maximum(self, *min) : self;
    return max ? minimum(raised, *max) : raised;
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

Tensor clamp(const Tensor& self, const ClampOptions& options) {
  const auto bound = [](const std::optional<Scalar>& value) {
    return value ? std::optional(wrapped_number(*value)) : std::nullopt;
  };
  return call<op::clamp>(self, bound(options.min), bound(options.max));
}
Tensor clamp(const Tensor& self, const ClampTensorOptions& options) {
  return call<op::clamp>(self, std::optional(options.min), std::optional(options.max));
}

}  // namespace tenon
