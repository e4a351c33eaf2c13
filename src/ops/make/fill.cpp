// Writing one value everywhere.
#include <array>
#include <cstring>

#include "base/element_cast.h"
#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/copy.h"
#include "kernels/fill.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"

namespace tenon {

constinit OpInfo op::fill_::info{"fill_", kind};
constinit OpInfo op::fill_tensor_::info{"fill_", kind};
constinit OpInfo op::zero_::info{"zero_", kind};

namespace {

using Element = std::array<std::byte, 16>;

// The value as an element of the tensor. ValueError if the dtype cannot hold it.
Element element_of(const Scalar& value, const Layout& layout) {
  Element element{};
  visit(layout.dtype, [&]<class T>() {
    const T converted = value.to<T>();
    std::memcpy(element.data(), &converted, sizeof converted);
  });
  // Written so that what is read is the value.
  if (layout.conj || layout.neg) {
    Element plain = element;
    const std::int64_t size = layout.itemsize();
    copy_elements({}, {element.data(), {}, size}, layout.dtype, {plain.data(), {}, size},
                  layout.dtype, {layout.conj, layout.neg});
  }
  return element;
}

}  // namespace

template <>
struct Rule<op::fill_> {
  static constexpr std::string_view gradient = "FillBackward2";
  static constexpr bool overwrites = true;
  static constexpr bool math_bits = true;
  static void check(const Tensor& self, const Scalar& value) { element_of(value, self.layout()); }
  static void cpu(const Tensor& self, const Scalar& value) {
    fill_elements(self.shape(), operand(self), element_of(value, self.layout()).data());
  }
};

template <>
struct Rule<op::fill_tensor_> {
  static constexpr std::string_view gradient = "FillBackward3";
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*self*/,
                       const Tensor& /*value*/) {
    if (g.wanted(0)) g.set(0, zeros_like(grad));
    if (g.wanted(1)) g.set(1, grad.sum());
  }
  static constexpr bool math_bits = true;
  static void check(const Tensor& self, const Tensor& value) {
    if (value.dim() != 0) {
      throw ShapeError(concat("fill_ only supports 0-dimension value tensor but got tensor with ",
                              value.dim(), " dimensions."));
    }
    check_copy_out_of_meta("fill_", value.device(), self.device());
    check_value_dtypes(value, self.dtype());
  }
  static void run(const Tensor& self, const Tensor& value) {
    self.variable_data().fill_(value.item());  // this write is counted once, by the dispatcher
  }
};

template <>
struct Rule<op::zero_> {
  static constexpr std::string_view gradient = "ZeroBackward0";
  static constexpr bool overwrites = true;
  static constexpr bool math_bits = true;
  static void check(const Tensor& /*self*/) {}
  static void cpu(const Tensor& self) {
    // All bytes zero: the number zero in every dtype that has one, and the lowest code in those
    // that have not.
    const bool plain = !self.is_conj() && !self.is_neg();
    fill_elements(self.shape(), operand(self),
                  (plain ? Element{} : element_of(0, self.layout())).data());
  }
};

const Tensor& Tensor::fill_(const Scalar& value) const {
  call<op::fill_>(*this, value);
  return *this;
}

const Tensor& Tensor::fill_(const Tensor& value) const {
  call<op::fill_tensor_>(*this, value);
  return *this;
}

const Tensor& Tensor::zero_() const {
  call<op::zero_>(*this);
  return *this;
}

}  // namespace tenon
