#include "ops/elementwise/ternary.h"

#include "base/text.h"
#include "core/element_copy.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/where.h"

namespace tenon {

namespace {

void check_implemented(const Ternary& t) {
  if (!is_complex(t.dtype) && !has_ternary(t.function, t.dtype))
    not_implemented(t.info.name(), t.dtype);
}

Shape shape_of(const Ternary& t) {
  return broadcast_shapes(broadcast_shapes(t.a.shape(), t.b.shape()), t.c.shape());
}

// Complex numbers take the long way: nothing is fused in PyTorch either.
Tensor of_complex(const Ternary& t, const Scalar& value) {
  const Tensor a = t.a.to(t.dtype), b = t.b.to(t.dtype), c = t.c.to(t.dtype);
  switch (t.function) {
    case TernaryFunction::add_scaled: return a + b * value;
    case TernaryFunction::addcmul: return a + b * value * c;
    case TernaryFunction::addcdiv: return a + b * value / c;
    default: break;
  }
  const Tensor distance = b - a;
  return where(abs(c) < 0.5, a + c * distance, b - distance * (1 - c));
}

}  // namespace

Layout infer_ternary(const Ternary& t) {
  check_implemented(t);
  const Device device = promoted_device(t.info.name(), {&t.a, &t.b, &t.c});
  const Layout* operands[] = {&t.a.layout(), &t.b.layout(), &t.c.layout()};
  return result_layout(shape_of(t), t.dtype, device, operands);
}

void check_ternary(const Ternary& t) {
  check_implemented(t);
  check_result_shape(t.a, shape_of(t));
  check_destination(t.info.name(), t.a, t.dtype,
                    promoted_device(t.info.name(), {&t.a, &t.b, &t.c}));
}

void run_ternary(const Ternary& t, const Tensor& out, const Scalar& value) {
  if (out.numel() == 0) return;
  if (is_complex(t.dtype)) return copy_tensor(out, of_complex(t, value));
  // A single number among 16-bit floats is a float, as in Note [Numbers among 16-bit floats].
  const auto as_operand = [&](const Tensor& tensor, Dims& strides, Tensor& kept) -> TypedOperand {
    const Tensor own = apart(out, tensor);
    const bool number = own.body().is_wrapped_number();
    kept = own.dtype() == t.dtype ? own : own.to(number ? compute_dtype(t.dtype) : t.dtype);
    strides = broadcast_strides(kept.layout(), out.shape());
    Operand place = operand(kept);
    place.strides = strides;
    return {place, kept.dtype()};
  };
  Dims strides[3];
  Tensor kept[3];
  const TypedOperand a = as_operand(t.a, strides[0], kept[0]),
                     b = as_operand(t.b, strides[1], kept[1]),
                     c = as_operand(t.c, strides[2], kept[2]);
  apply(t.function, t.dtype, out.shape(), {operand(out), out.dtype()}, a, b, c, value);
}

}  // namespace tenon
