// Numbers as classes.
#include "tenon/ops/one_hot.h"

#include <algorithm>

#include "base/text.h"
#include "ops/elementwise/operands.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/scatter.h"

namespace tenon {

constinit OpInfo op::one_hot::info{"one_hot", kind};
constinit OpInfo op::bincount::info{"bincount", kind};

template <>
struct Rule<op::one_hot> {
  static Tensor compose(const Tensor& tensor, std::int64_t num_classes) {
    if (tensor.dtype() != int64) {
      throw DTypeError(
          concat("one_hot is only applicable to index tensor of type LongTensor: this ", "is of ",
                 repr(tensor.dtype())));
    }
    if (num_classes < -1 || (num_classes == 0 && tensor.numel() > 0)) {
      throw ValueError(concat("one_hot: num_classes should be positive, but it is ", num_classes));
    }
    if (tensor.numel() == 0 && num_classes <= 0)
      throw ValueError("one_hot: Can not infer total number of classes from empty tensor.");
    Shape shape = tensor.shape();
    if (tensor.is_meta()) {
      if (num_classes == -1) {
        throw NotImplementedError(
            "one_hot: numbers on meta do not say how many classes there are: give num_classes");
      }
    } else if (tensor.numel() > 0) {
      const auto least = min(tensor).item<std::int64_t>(), most = max(tensor).item<std::int64_t>();
      if (least < 0) {
        throw ValueError(concat("one_hot: Class values must be non-negative, and one is ", least));
      }
      if (num_classes == -1) num_classes = most + 1;
      if (most >= num_classes) {
        throw ValueError(concat("one_hot: Class values must be smaller than num_classes: one is ",
                                most, ", and num_classes is ", num_classes));
      }
    }
    shape.push_back(num_classes);
    return zeros(shape, {.dtype = int64, .device = tensor.device()})
        .scatter_(-1, tensor.unsqueeze(-1), 1);
  }
};

template <>
struct Rule<op::bincount> {
  static Tensor compose(const Tensor& self, const std::optional<Tensor>& weights,
                        std::int64_t minlength) {
    if (self.dim() != 1 || !is_integral(self.dtype())) {
      throw ValueError(
          concat("bincount only supports 1-d non-negative integral inputs, and this is ",
                 bracketed(self.shape()), " of ", repr(self.dtype())));
    }
    if (minlength < 0)
      throw ValueError(concat("bincount: minlength should be >= 0, but it is ", minlength));
    if (weights && weights->shape() != self.shape()) {
      throw ShapeError(concat("bincount: weights should be 1-d and have the same length as input: ",
                              bracketed(weights->shape()), " and ", bracketed(self.shape())));
    }
    DType dtype = int64;
    if (weights) {
      dtype = weights->dtype() == float32 ? float32 : float64;
      check_convertible(weights->dtype(), dtype);
    }
    if (self.is_meta()) {
      throw NotImplementedError(
          "bincount: numbers on meta do not say how many there are of the largest");
    }
    std::int64_t length = minlength;
    const Tensor places = self.to(int64);
    if (self.numel() > 0) {
      if (min(places).item<std::int64_t>() < 0) {
        throw ValueError(
            concat("bincount only supports 1-d non-negative integral inputs, and there is a ",
                   min(places).item<std::int64_t>()));
      }
      length = std::max(length, max(places).item<std::int64_t>() + 1);
    }
    const Tensor counts = zeros({length}, {.dtype = dtype, .device = self.device()});
    const Tensor each = weights ? weights->detach().to(dtype)
                                : ones({self.numel()}, {.dtype = int64, .device = self.device()});
    return counts.index_add_(0, places, each);
  }
};

Tensor one_hot(const Tensor& tensor, OneHotOptions options) {
  return call<op::one_hot>(tensor, options.num_classes);
}
Tensor bincount(const Tensor& input, const BincountOptions& options) {
  return call<op::bincount>(input, options.weights, options.minlength);
}

}  // namespace tenon
