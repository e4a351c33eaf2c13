// What layers calculate, in terms of other operators.
#include "tenon/functional.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/elementwise.h"
#include "kernels/pick.h"
#include "ops/embedding_rows.h"
#include "ops/gradients.h"
#include "ops/hidden_views.h"
#include "ops/operands.h"
#include "tenon/arithmetic.h"
#include "tenon/autograd.h"
#include "tenon/custom_op.h"
#include "tenon/error.h"
#include "tenon/factories.h"
#include "tenon/matmul.h"
#include "tenon/ops.h"
#include "tenon/picking.h"
#include "tenon/reductions.h"
#include "tenon/selection.h"

namespace tenon {

constinit OpInfo op::linear::info{"linear", kind};
constinit OpInfo op::bilinear::info{"bilinear", kind};
constinit OpInfo op::embedding::info{"embedding", kind};
constinit OpInfo op::dropout::info{"dropout", kind};

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

namespace {

void check_embedding(const Tensor& input, const Tensor& weight,
                     std::optional<std::int64_t> padding_idx) {
  if (weight.dim() != 2) {
    throw ShapeError(
        concat("embedding: 'weight' must be 2-D, but its shape is ", bracketed(weight.shape())));
  }
  if (input.dtype() != int64 && input.dtype() != int32) {
    throw DTypeError(concat("Expected tensor for argument #1 'indices' to have one of the ",
                            "following scalar types: Long, Int; but got torch.",
                            info(input.dtype()).scalar_name,
                            "Tensor instead (while checking arguments for embedding): convert ",
                            repr(input.dtype()), " with to(int64)"));
  }
  const Tensor both[] = {input, weight};
  same_device("embedding", both);
  const std::int64_t rows = weight.size(0);
  if (padding_idx && (*padding_idx >= rows || *padding_idx < -rows)) {
    throw ValueError(concat("Padding_idx must be within num_embeddings: it is ", *padding_idx,
                            ", and the weight has ", rows, " rows"));
  }
}

}  // namespace

// Here, and not where rows are read, so that nothing has been changed and the message is ours.
void check_rows_exist(const Tensor& positions, const Tensor& weight) {
  const std::int64_t rows = weight.size(0);
  const auto bad = find_bad_position(positions.shape(), operand(positions), 0, rows);
  if (!bad) return;
  throw IndexError(concat("index out of range in self: embedding: index ", bad->value,
                          " is out of range for a weight of ", rows, " rows (it stands at ",
                          bracketed(bad->place), " of an input of shape ",
                          bracketed(positions.shape()), ")"));
}

void shorten_rows(const Tensor& weight, const Tensor& positions, double max_norm,
                  double norm_type) {
  const NoGradScope unrecorded;
  const Tensor packed = positions.contiguous();
  const std::int64_t* first = packed.data<std::int64_t>();
  std::vector<std::int64_t> rows(first, first + packed.numel());
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  for (const std::int64_t i : rows) {
    const Tensor row = weight.select(0, i);
    const double length = norm(row, norm_type).item<double>();
    // PyTorch's constant, which keeps the result just below the bound.
    if (length > max_norm) row.mul_(max_norm / (length + 1e-7));
  }
}

// The rows themselves. A padding of -1 is none.
namespace op {
struct embedding_lookup {
  using Signature = Tensor(const Tensor& weight, const Tensor& indices, std::int64_t padding,
                           bool scale_grad_by_freq);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo embedding_lookup::info{"_embedding_lookup", kind};
}  // namespace op

template <>
struct Rule<op::embedding_lookup> {
  static constexpr std::string_view gradient = "EmbeddingBackward0";
  static bool saves(std::size_t place, const Wanted&) { return place == 1; }
  static void backward(Gradient& g, const Tensor& grad, const Tensor& /*weight*/,
                       const Tensor& indices, std::int64_t padding, bool scale_grad_by_freq) {
    const Shape& shape = g.shape(0);
    const TensorOptions like{.dtype = grad.dtype(), .device = grad.device()};
    const Tensor rows = indices.to(int64).reshape({-1});
    Tensor of_rows = grad.reshape({rows.numel(), shape[1]});
    if (padding >= 0) of_rows = masked_fill(of_rows, (rows == padding).unsqueeze(1), 0);
    if (scale_grad_by_freq) {
      const Tensor times = slices_gradient(ones({rows.numel()}, like), {shape[0]}, rows, 0);
      of_rows = of_rows / index_select(times, 0, rows).unsqueeze(1);
    }
    g.set(0, slices_gradient(of_rows, shape, rows, 0));
  }
  static Layout infer(const Tensor& weight, const Tensor& indices, std::int64_t /*padding*/,
                      bool /*scale_grad_by_freq*/) {
    Shape shape = indices.shape();
    shape.push_back(weight.size(1));
    return Layout::packed(shape, weight.dtype(), weight.device());
  }
  static void run(Tensor& out, const Tensor& weight, const Tensor& indices,
                  std::int64_t /*padding*/, bool /*scale_grad_by_freq*/) {
    // Nobody is to see that the result was written to.
    index_select_out(out.variable_data().view({indices.numel(), weight.size(1)}), weight, 0,
                     indices.reshape({-1}));
  }
};

template <>
struct Rule<op::embedding> {
  static Tensor compose(const Tensor& input, const Tensor& weight,
                        std::optional<std::int64_t> padding_idx, std::optional<double> max_norm,
                        double norm_type, bool scale_grad_by_freq, bool sparse) {
    check_embedding(input, weight, padding_idx);
    if (sparse) {
      throw NotImplementedError(
          "embedding: gradients are never sparse here: leave out sparse = true");
    }
    if (input.is_cpu() && !input.body().is_wrapper()) {
      const Tensor positions = input.to(int64);
      check_rows_exist(positions, weight);
      if (max_norm) shorten_rows(weight, positions, *max_norm, norm_type);
    } else if (max_norm && !input.is_meta()) {
      throw NotImplementedError(concat("embedding: max_norm is for indices on the CPU, and these ",
                                       "are on ", input.device(), " or user-defined"));
    }
    const std::int64_t padding = padding_idx ? wrap_dim(*padding_idx, weight.size(0)) : -1;
    return call<op::embedding_lookup>(weight, input, padding, scale_grad_by_freq);
  }
};

template <>
struct Rule<op::dropout> {
  static Tensor compose(const Tensor& input, double p, bool training, bool inplace) {
    if (!(p >= 0 && p <= 1)) {
      throw ValueError(concat("dropout probability has to be between 0 and 1, but got ", p));
    }
    if (p == 0 || !training || input.numel() == 0) return input;
    const Tensor factors = factors_for(input, p);
    return inplace ? input.mul_(factors) : input * factors;
  }

 private:
  static Tensor factors_for(const Tensor& input, double p) {
    const NoGradScope unrecorded;
    if (p == 1) return zeros({}, {.dtype = input.dtype(), .device = input.device()});
    return empty_like(input).bernoulli_(1 - p).div_(1 - p);
  }
};

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return call<op::linear>(input, weight, bias);
}
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  return call<op::bilinear>(input1, input2, weight, bias);
}
Tensor embedding(const Tensor& input, const Tensor& weight,
                 const EmbeddingFunctionOptions& options) {
  return call<op::embedding>(input, weight, options.padding_idx, options.max_norm,
                             options.norm_type, options.scale_grad_by_freq, options.sparse);
}
Tensor dropout(const Tensor& input, DropoutFunctionOptions options) {
  return call<op::dropout>(input, options.p, options.training, options.inplace);
}

}  // namespace tenon
