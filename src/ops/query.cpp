// Operators whose answer is no tensor.
#include <cstring>

#include "base/convert.h"
#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/compare.h"
#include "ops/operands.h"
#include "tenon/custom_op.h"
#include "tenon/error.h"
#include "tenon/ops.h"

namespace tenon {

constinit OpInfo op::equal::info{"equal", kind};
constinit OpInfo op::item::info{"item", kind};

template <>
struct Rule<op::equal> {
  static bool cpu(const Tensor& self, const Tensor& other) {
    const Tensor both[] = {self, other};
    same_device("equal", both);
    if (self.shape() != other.shape()) return false;
    const DType dtype = common_dtype(both);
    const Tensor a = self.to(dtype), b = other.to(dtype);
    return all_equal(a.shape(), operand(a), operand(b), dtype);
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
