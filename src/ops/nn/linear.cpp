// linear and bilinear: products with a weight, and a bias.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "kernels/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/views/hidden_views.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/functional.h"
#include "tenon/ops/matmul.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::linear::info{"linear", kind};
constinit OpInfo op::bilinear::info{"bilinear", kind};

namespace {

std::string of_shape(const char* what, const Tensor& tensor) {
  return concat(what, " of shape ", bracketed(tensor.shape()));
}

// Both of one dtype and on one device.
void check_pair(const OpInfo& op, const char* one_name, const Tensor& one, const char* other_name,
                const Tensor& other) {
  const Tensor both[] = {one, other};
  same_device(op.name(), both);
  if (one.dtype() != other.dtype()) {
    // Of linear's factors first what PyTorch says, which is what people look for.
    const bool factors = &op == &op::linear::info && std::string_view(other_name) == "weight";
    const std::string words = factors ? concat("mat1 and mat2 must have the same dtype, but got ",
                                               info(one.dtype()).scalar_name, " and ",
                                               info(other.dtype()).scalar_name, ": ")
                                      : std::string();
    throw DTypeError(concat(words, op.name(), ": ", one_name, " is of dtype ", repr(one.dtype()),
                            " but ", other_name, " of ", repr(other.dtype()),
                            ": convert one with to()"));
  }
}

// A bias may have fewer dimensions than what it is added to, or ones in it, but not make it larger.
void check_bias(const OpInfo& op, const Shape& result, const Tensor& bias) {
  if (!broadcasts_to(bias.shape(), result)) {
    throw ShapeError(concat(op.name(), ": ", of_shape("bias", bias),
                            " cannot be added to a result of shape ", bracketed(result)));
  }
}

Tensor plus_bias(const Tensor& product, const std::optional<Tensor>& bias) {
  if (!bias) return product;
  const bool recorded = is_grad_enabled() && (product.requires_grad() || bias->requires_grad());
  if (recorded || product.body().is_wrapper() || bias->body().is_wrapper()) return product + *bias;
  // Nobody else has the product, and nobody is to see that it was written to.
  product.variable_data().add_(*bias);
  return product;
}

Shape without_last(const Tensor& tensor) {
  Shape shape = tensor.shape();
  shape.erase(shape.size() - 1);
  return shape;
}

}  // namespace

template <>
struct Rule<op::linear> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
  static Tensor compose(const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias) {
    if (input.dim() == 0 || weight.dim() == 0) {
      throw ShapeError(concat("both arguments to linear need to be at least 1D, but they are ",
                              input.dim(), "D and ", weight.dim(), "D"));
    }
    if (weight.dim() > 2) {
      throw ShapeError(concat("linear: ", of_shape("weight", weight), " has ", weight.dim(),
                              " dimensions, and should be (out, in) or (in)"));
    }
    if (input.size(-1) != weight.size(-1)) {
      // First what PyTorch says, which is what people look for.
      const std::int64_t features = std::max<std::int64_t>(input.size(-1), 1);
      throw ShapeError(concat(
          "mat1 and mat2 shapes cannot be multiplied (", input.numel() / features, "x",
          input.size(-1), " and ", weight.size(-1), "x", weight.dim() == 2 ? weight.size(0) : 1,
          "): linear: ", of_shape("input", input), " has ", input.size(-1), " features but ",
          of_shape("weight", weight), " expects ", weight.size(-1)));
    }
    check_pair(op::linear::info, "input", input, "weight", weight);
    Shape result = without_last(input);
    const std::int64_t rows = result.numel();
    if (weight.dim() == 2) result.push_back(weight.size(0));
    if (bias) {
      check_pair(op::linear::info, "input", input, "bias", *bias);
      check_bias(op::linear::info, result, *bias);
    }
    if (weight.dim() == 1) return plus_bias(matmul(input, weight), bias);
    if (!bias || bias->dim() > 1) return plus_bias(matmul(input, weight.t()), bias);
    if (input.dim() == 2) return addmm(*bias, input, weight.t());
    const Tensor tall = input.reshape({rows, input.size(-1)});
    return unsafe_view(addmm(*bias, tall, weight.t()), result);
  }
};

template <>
struct Rule<op::bilinear> {
  static constexpr AutocastPolicies autocast = {.cuda = AutocastPolicy::promote};
  static Tensor compose(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                        const std::optional<Tensor>& bias) {
    check(input1, input2, weight);
    check_pair(op::bilinear::info, "input1", input1, "input2", input2);
    check_pair(op::bilinear::info, "input1", input1, "weight", weight);
    Shape result = without_last(input1);
    const std::int64_t batch = result.numel(), out = weight.size(0), in1 = weight.size(1),
                       in2 = weight.size(2);
    result.push_back(out);
    if (bias) {
      check_pair(op::bilinear::info, "input1", input1, "bias", *bias);
      check_bias(op::bilinear::info, result, *bias);
    }
    // PyTorch has no products here that autocast would see.
    const detail::NoAutocastScope as_given;
    const DType wide = compute_dtype(input1.dtype());
    if (wide != input1.dtype()) {
      return bilinear(input1.to(wide), input2.to(wide), weight.to(wide),
                      bias ? bias->to(wide) : Tensor())
          .to(input1.dtype());
    }
    // All matrices times input2 are one product, which input1 then has one of its own with.
    const Tensor right = mm(input2.reshape({batch, in2}), weight.reshape({out * in1, in2}).t());
    const Tensor product = bmm(right.reshape({batch, out, in1}), input1.reshape({batch, in1, 1}));
    return plus_bias(unsafe_view(product, result), bias);
  }

 private:
  static void check(const Tensor& input1, const Tensor& input2, const Tensor& weight) {
    if (weight.dim() != 3) {
      throw ShapeError(concat("bilinear: ", of_shape("weight", weight), " has ", weight.dim(),
                              " dimensions, and should be (out, in1, in2)"));
    }
    if (input1.dim() == 0 || input1.dim() != input2.dim() ||
        without_last(input1) != without_last(input2)) {
      throw ShapeError(concat("bilinear: ", of_shape("input1", input1), " and ",
                              of_shape("input2", input2),
                              " should be the same in all dimensions but the last"));
    }
    check_features("input1", input1, weight, 1);
    check_features("input2", input2, weight, 2);
  }
  static void check_features(const char* name, const Tensor& input, const Tensor& weight,
                             std::int64_t dim) {
    if (input.size(-1) == weight.size(dim)) return;
    throw ShapeError(concat("bilinear: ", of_shape(name, input), " has ", input.size(-1),
                            " features but ", of_shape("weight", weight), " expects ",
                            weight.size(dim)));
  }
};

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return call<op::linear>(input, weight, bias);
}
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  return call<op::bilinear>(input1, input2, weight, bias);
}

}  // namespace tenon
