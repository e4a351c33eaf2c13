// embedding: rows of a weight.
#include <algorithm>
#include <vector>

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/pick.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/embedding_rows.h"
#include "ops/support/gradients.h"
#include "ops/views/hidden_views.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/functional.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/scatter.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::embedding::info{"embedding", kind};

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

Tensor embedding(const Tensor& input, const Tensor& weight,
                 const EmbeddingFunctionOptions& options) {
  return call<op::embedding>(input, weight, options.padding_idx, options.max_norm,
                             options.norm_type, options.scale_grad_by_freq, options.sparse);
}

}  // namespace tenon
