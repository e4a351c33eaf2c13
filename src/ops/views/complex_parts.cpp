// Complex numbers made of real ones.
#include "base/text.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::complex::info{"complex", kind};
constinit OpInfo op::polar::info{"polar", kind};

namespace {

Layout infer_complex(std::string_view op, const Tensor& a, const Tensor& b) {
  const Tensor both[] = {a, b};
  const Device device = same_device(op, both);
  if (a.dtype() != float32 && a.dtype() != float64) {
    throw DTypeError(concat(op, ": Expected both inputs to be Float or Double tensors but got ",
                            repr(a.dtype()), " and ", repr(b.dtype())));
  }
  if (a.dtype() != b.dtype()) {
    throw DTypeError(concat(op, ": Expected object of ", repr(a.dtype()), " but got ",
                            repr(b.dtype()), " for second argument"));
  }
  return Layout::packed(broadcast_shapes(a.shape(), b.shape()),
                        a.dtype() == float64 ? complex128 : complex64, device);
}

void write_parts(const Tensor& out, const Tensor& real, const Tensor& imag) {
  const Tensor parts = view_as_real(out.variable_data());
  parts.select(-1, 0).copy_(real);
  parts.select(-1, 1).copy_(imag);
}

}  // namespace

template <>
struct Rule<op::complex> {
  static constexpr std::string_view gradient = "ComplexBackward0";
  static void backward(Gradient& g, const Tensor& grad, const Tensor&, const Tensor&) {
    if (g.wanted(0)) g.set(0, real(grad));
    if (g.wanted(1)) g.set(1, imag(grad));
  }
  static Layout infer(const Tensor& real, const Tensor& imag) {
    return infer_complex("complex", real, imag);
  }
  static void run(Tensor& out, const Tensor& real, const Tensor& imag) {
    write_parts(out, real, imag);
  }
};

template <>
struct Rule<op::polar> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::fp32};
  static constexpr std::string_view gradient = "PolarBackward0";
  static bool saves(std::size_t place, const Wanted& wanted) {
    return place == 1 || (place == 0 && wanted[1]);
  }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& abs, const Tensor& angle) {
    const Tensor along = real(grad), across = imag(grad), c = angle.cos(), s = angle.sin();
    if (g.wanted(0)) g.set(0, along * c + across * s);
    if (g.wanted(1)) g.set(1, abs * (across * c - along * s));
  }
  static Layout infer(const Tensor& abs, const Tensor& angle) {
    return infer_complex("polar", abs, angle);
  }
  static void run(Tensor& out, const Tensor& abs, const Tensor& angle) {
    write_parts(out, abs * angle.cos(), abs * angle.sin());
  }
};

Tensor complex(const Tensor& real, const Tensor& imag) { return call<op::complex>(real, imag); }
Tensor polar(const Tensor& abs, const Tensor& angle) { return call<op::polar>(abs, angle); }

}  // namespace tenon
