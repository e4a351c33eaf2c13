// Operators whose answer is no tensor.
#include <cstring>

#include "base/element_cast.h"
#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/compare.h"
#include "ops/elementwise/operands.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::equal::info{"equal", kind};
constinit OpInfo op::item::info{"item", kind};

template <>
struct Rule<op::equal> {
  static bool meta(const Tensor& self, const Tensor& other) {
    if (self.shape() == other.shape()) dtype_of_both(self, other);
    detail::no_kernel(op::equal::info, self.device());
  }
  static bool cpu(const Tensor& self, const Tensor& other) {
    const Tensor both[] = {self, other};
    same_device("equal", both);
    if (self.shape() != other.shape()) return false;
    const DType dtype = dtype_of_both(self, other);
    const Tensor a = self.to(dtype), b = other.to(dtype);
    return all_equal(a.shape(), operand(a), operand(b), dtype);
  }

 private:
  static DType dtype_of_both(const Tensor& self, const Tensor& other) {
    const Tensor both[] = {self, other};
    const DType dtype = common_dtype(both);
    for (const Tensor& one : both) check_convertible(one.dtype(), dtype);
    return dtype;
  }
};

template <>
struct Rule<op::item> {
  static void check(const Tensor& self) {
    if (self.numel() != 1) {
      throw Error(concat("a Tensor with ", self.numel(),
                         " elements cannot be converted to Scalar (its shape is ",
                         bracketed(self.shape()), ")"));
    }
  }
  static Scalar meta(const Tensor& self) {
    check(self);
    if (is_opaque(self.dtype())) no_item(self.dtype());
    throw NotImplementedError("Tensor.item() cannot be called on meta tensors: they have no data");
  }
  static Scalar run(const Tensor& self) {
    check(self);
    const Tensor here = self.cpu();
    return visit(here.dtype(), [&]<class T>() -> Scalar {
      if constexpr (is_opaque_type<T>) {
        no_item(here.dtype());
      } else if constexpr (std::same_as<T, bool>) {
        return *static_cast<const std::uint8_t*>(here.data_ptr()) != 0;
      } else {
        T value;
        std::memcpy(&value, here.data_ptr(), sizeof value);
        if constexpr (is_complex_type<T>) {
          return convert<std::complex<double>>(value);
        } else {
          return value;
        }
      }
    });
  }
};

bool equal(const Tensor& a, const Tensor& b) { return call<op::equal>(a, b); }
Scalar Tensor::item() const { return call<op::item>(*this); }

}  // namespace tenon
