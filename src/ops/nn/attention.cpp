// Attention: what is checked, which form of it is calculated, and its gradients.
#include "tenon/ops/attention.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/text.h"
#include "core/element_copy.h"
#include "kernels/elementwise.h"
#include "ops/elementwise/operands.h"
#include "ops/nn/attention_kernels.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/functional.h"
#include "tenon/ops/matmul.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/where.h"

namespace tenon {

constinit OpInfo op::scaled_dot_product_attention::info{"scaled_dot_product_attention", kind};

// In blocks: the result, and the logarithms of the sums that softmax divided by. Sizes before the
// last two are the same for all.
namespace op {
struct attention_in_blocks {
  using Signature = std::tuple<Tensor, Tensor>(const Tensor& query, const Tensor& key,
                                               const Tensor& value,
                                               const std::optional<Tensor>& mask, bool is_causal,
                                               double scale);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo attention_in_blocks::info{"_scaled_dot_product_flash_attention_for_cpu", kind};

struct attention_in_blocks_backward {
  using Signature = std::tuple<Tensor, Tensor, Tensor>(const Tensor& grad, const Tensor& query,
                                                       const Tensor& key, const Tensor& value,
                                                       const std::optional<Tensor>& mask,
                                                       const Tensor& out, const Tensor& log_sum,
                                                       bool is_causal, double scale);
  static constexpr OpKind kind = OpKind::pure;
  static OpInfo info;
};
constinit OpInfo attention_in_blocks_backward::info{
    "_scaled_dot_product_flash_attention_for_cpu_backward", kind};
}  // namespace op

namespace {

Shape batch_of(const Tensor& tensor) {
  Shape shape = tensor.shape();
  shape.resize(shape.size() - 2);
  return shape;
}
Shape with(Shape batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

// The weights of all queries and keys, of operators. What may look at nothing has none.
Tensor weights_of(const Tensor& query, const Tensor& key, const std::optional<Tensor>& mask,
                  bool is_causal, double scale) {
  const std::int64_t queries = query.size(-2), keys = key.size(-2);
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  Tensor scores = matmul(query * scale, key.mT());
  if (mask && mask->dtype() == bool_) {
    scores = masked_fill(scores, logical_not(*mask), kNothing);
  } else if (mask) {
    scores = scores + mask->to(scores.dtype());
  }
  if (is_causal) {
    const TensorOptions like{.device = query.device()};
    const Tensor later = arange(queries, like).unsqueeze(1) < arange(keys, like);
    scores = masked_fill(scores, later, kNothing);
  }
  if (scores.numel() == 0) return scores;
  Tensor largest = amax(scores.detach(), -1, {.keepdim = true});
  largest = masked_fill(largest, largest == kNothing, 0);
  const Tensor parts = exp(scores - largest);
  const Tensor sums = sum(parts, -1, {.keepdim = true});
  return parts / masked_fill(sums, sums == 0, 1);
}

Tensor in_operators(const Tensor& query, const Tensor& key, const Tensor& value,
                    const std::optional<Tensor>& mask, double dropout_p, bool is_causal,
                    double scale) {
  const DType dtype = compute_dtype(query.dtype());
  Tensor weights = weights_of(query.to(dtype), key.to(dtype), mask, is_causal, scale);
  if (dropout_p > 0) weights = dropout(weights, {.p = dropout_p});
  return matmul(weights, value.to(dtype)).to(query.dtype());
}

}  // namespace

template <>
struct Rule<op::attention_in_blocks> {
  static constexpr std::string_view gradient = "ScaledDotProductFlashAttentionForCpuBackward0";
  static bool saves(std::size_t /*place*/, const Wanted&) { return true; }
  static void backward(Gradient& g, std::span<const Tensor> grads, const Tensor& query,
                       const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                       bool is_causal, double scale) {
    if (!grads[0].defined()) return;
    if (is_grad_enabled())
      return of_operators(g, grads[0], query, key, value, mask, is_causal, scale);
    const auto [of_query, of_key, of_value] = call<op::attention_in_blocks_backward>(
        grads[0], query, key, value, mask, g.result(0), g.result(1), is_causal, scale);
    if (g.wanted(0)) g.set(0, of_query);
    if (g.wanted(1)) g.set(1, of_key);
    if (g.wanted(2)) g.set(2, of_value);
  }
  static std::array<Layout, 2> infer(const Tensor& query, const Tensor& /*key*/,
                                     const Tensor& value, const std::optional<Tensor>& /*mask*/,
                                     bool /*is_causal*/, double /*scale*/) {
    const std::int64_t rows = query.size(-2), columns = value.size(-1);
    const Shape shape = with(batch_of(query), rows, columns);
    Layout out = Layout::packed(shape, query.dtype(), query.device());
    if (query.stride(-1) == 1 && columns > 1) {
      // Heads that lie between features and queries, as where they were split from, do so again.
      Layout like = query.layout();
      like.shape = shape;
      like = Layout::packed_like(like);
      if (like.strides.back() == 1) out = std::move(like);
    }
    Shape each = batch_of(query);
    each.push_back(rows);
    return {out, Layout::packed(each, compute_dtype(query.dtype()), query.device())};
  }
  static void cpu(std::array<Tensor, 2>& out, const Tensor& query, const Tensor& key,
                  const Tensor& value, const std::optional<Tensor>& mask, bool is_causal,
                  double scale) {
    attend(out[0], out[1], query, key, value, added(mask, compute_dtype(query.dtype())),
           {.is_causal = is_causal, .scale = scale});
  }
  // The mask as kernels take it: of bools, or of the dtype that is calculated in.
  static std::optional<Tensor> added(const std::optional<Tensor>& mask, DType dtype) {
    if (!mask || mask->dtype() == bool_) return mask;
    return mask->to(dtype);
  }

 private:
  // What can be run backwards again.
  static void of_operators(Gradient& g, const Tensor& grad, const Tensor& query, const Tensor& key,
                           const Tensor& value, const std::optional<Tensor>& mask, bool is_causal,
                           double scale) {
    const DType dtype = compute_dtype(query.dtype());
    const Tensor q = query.to(dtype), k = key.to(dtype), v = value.to(dtype), of = grad.to(dtype);
    const Tensor weights = weights_of(q, k, mask, is_causal, scale);
    if (g.wanted(2)) g.set(2, matmul(weights.mT(), of));
    if (!g.wanted(0) && !g.wanted(1)) return;
    const Tensor of_weights = matmul(of, v.mT());
    const Tensor mean = sum(of_weights * weights, -1, {.keepdim = true});
    const Tensor of_scores = weights * (of_weights - mean) * scale;
    if (g.wanted(0)) g.set(0, matmul(of_scores, k));
    if (g.wanted(1)) g.set(1, matmul(of_scores.mT(), q));
  }
};

template <>
struct Rule<op::attention_in_blocks_backward> {
  static constexpr std::string_view gradient = no_gradient;
  static std::array<Layout, 3> infer(const Tensor& /*grad*/, const Tensor& query, const Tensor& key,
                                     const Tensor& value, const std::optional<Tensor>& /*mask*/,
                                     const Tensor& /*out*/, const Tensor& /*log_sum*/,
                                     bool /*is_causal*/, double /*scale*/) {
    const auto packed = [](const Tensor& tensor) {
      return Layout::packed(tensor.shape(), tensor.dtype(), tensor.device());
    };
    return {packed(query), packed(key), packed(value)};
  }
  static void cpu(std::array<Tensor, 3>& grads, const Tensor& grad, const Tensor& query,
                  const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                  const Tensor& out, const Tensor& log_sum, bool is_causal, double scale) {
    const DType dtype = compute_dtype(query.dtype());
    const bool rounded = dtype != query.dtype();
    std::array<Tensor, 3> exact = grads;
    if (rounded) {
      for (Tensor& one : exact) one = empty_like(one, {.dtype = dtype});
    }
    attend_backward(exact[0], exact[1], exact[2], grad.to(dtype), query.to(dtype), key.to(dtype),
                    value.to(dtype), Rule<op::attention_in_blocks>::added(mask, dtype),
                    out.to(dtype), log_sum,
                    {.is_causal = is_causal, .scale = scale, .is_rounded = rounded});
    if (!rounded) return;
    for (std::size_t i = 0; i < exact.size(); ++i) copy_tensor(grads[i], exact[i]);
  }
};

namespace {

void check(const Tensor& query, const Tensor& key, const Tensor& value,
           const std::optional<Tensor>& mask, double dropout_p, bool is_causal) {
  if (query.dim() < 2 || key.dim() < 2 || value.dim() < 2) {
    throw ShapeError(concat("scaled_dot_product_attention: Expected query, key, and value to all ",
                            "be at least 2 dimensional, but got query ", bracketed(query.shape()),
                            ", key ", bracketed(key.shape()), " and value ",
                            bracketed(value.shape())));
  }
  if (query.dtype() != key.dtype() || query.dtype() != value.dtype()) {
    throw DTypeError(concat("scaled_dot_product_attention: Expected query, key, and value to have ",
                            "the same dtype, but got query of ", repr(query.dtype()), ", key of ",
                            repr(key.dtype()), " and value of ", repr(value.dtype())));
  }
  if (compute_dtype(query.dtype()) != float32 && query.dtype() != float64)
    not_implemented("scaled_dot_product_attention", query.dtype());
  const Tensor all[] = {query, key, value, mask ? *mask : query};
  same_device("scaled_dot_product_attention", all);
  if (query.size(-1) != key.size(-1)) {
    throw ShapeError(concat("scaled_dot_product_attention: query of shape ",
                            bracketed(query.shape()), " has ", query.size(-1),
                            " features but key of shape ", bracketed(key.shape()), " has ",
                            key.size(-1)));
  }
  if (key.size(-2) != value.size(-2)) {
    throw ShapeError(concat("scaled_dot_product_attention: there are ", key.size(-2),
                            " keys in a key of shape ", bracketed(key.shape()), " but ",
                            value.size(-2), " values in a value of shape ",
                            bracketed(value.shape())));
  }
  if (is_causal && mask) {
    throw ValueError(
        "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  }
  if (mask && mask->dtype() != bool_ && mask->dtype() != float32 &&
      mask->dtype() != query.dtype()) {
    throw DTypeError(concat("scaled_dot_product_attention: Expected attn_mask dtype to be bool or ",
                            "float or to match query dtype, but got attn_mask of ",
                            repr(mask->dtype()), " and query of ", repr(query.dtype())));
  }
  if (!(dropout_p >= 0 && dropout_p <= 1)) {
    throw ValueError(concat("scaled_dot_product_attention: dropout probability has to be between ",
                            "0 and 1, but got ", dropout_p));
  }
}

// Heads that several query heads look at get a dimension of their own for them.
struct Grouped {
  Tensor query, key, value;
  std::optional<Tensor> mask;
  bool split = false;
};
Grouped grouped(const Tensor& query, const Tensor& key, const Tensor& value,
                const std::optional<Tensor>& mask) {
  if (query.dim() < 3 || key.dim() < 3 || value.dim() < 3) {
    throw ShapeError(concat("scaled_dot_product_attention: enable_gqa asks for heads, which are ",
                            "dimension -3, but got query ", bracketed(query.shape()), ", key ",
                            bracketed(key.shape()), " and value ", bracketed(value.shape())));
  }
  const std::int64_t heads = query.size(-3);
  const auto fits = [&](const Tensor& tensor) {
    return tensor.size(-3) > 0 && heads % tensor.size(-3) == 0;
  };
  if (!fits(key) || !fits(value)) {
    throw ShapeError(concat("scaled_dot_product_attention: Number of heads in key and value must ",
                            "divide the number of heads in query, but there are ", key.size(-3),
                            " and ", value.size(-3), " for ", heads));
  }
  if (key.size(-3) != value.size(-3)) {
    const auto repeated = [&](const Tensor& tensor) {
      Shape shape = tensor.unsqueeze(-3).shape();
      shape[shape.size() - 3] = heads / tensor.size(-3);
      return tensor.unsqueeze(-3).expand(shape).flatten(-4, -3);
    };
    return {query, repeated(key), repeated(value), mask};
  }
  const Shape split{key.size(-3), heads / key.size(-3)};
  Grouped parts{query.unflatten(-3, split), key.unsqueeze(-3), value.unsqueeze(-3), mask, true};
  if (mask && mask->dim() >= 3)
    parts.mask = mask->size(-3) == 1 ? mask->unsqueeze(-3) : mask->unflatten(-3, split);
  return parts;
}

}  // namespace

template <>
struct Rule<op::scaled_dot_product_attention> {
  static constexpr AutocastPolicies autocast = kLowerPrecision;
  static Tensor compose(const Tensor& query, const Tensor& key, const Tensor& value,
                        const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                        std::optional<double> scale, bool enable_gqa) {
    check(query, key, value, attn_mask, dropout_p, is_causal);
    const double factor =
        scale ? *scale
              : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, query.size(-1))));
    if (!enable_gqa) return expanded(query, key, value, attn_mask, dropout_p, is_causal, factor);
    if (attn_mask) check_mask(query, key, *attn_mask);
    const Grouped parts = grouped(query, key, value, attn_mask);
    const Tensor out =
        expanded(parts.query, parts.key, parts.value, parts.mask, dropout_p, is_causal, factor);
    return parts.split ? out.flatten(-4, -3) : out;
  }

 private:
  static void check_mask(const Tensor& query, const Tensor& key, const Tensor& mask) {
    const Shape scores = with(batch_of(query), query.size(-2), key.size(-2));
    if (broadcasts_to(mask.shape(), scores)) return;
    throw ShapeError(concat("scaled_dot_product_attention: attn_mask of shape ",
                            bracketed(mask.shape()), " cannot be added to scores of shape ",
                            bracketed(scores)));
  }
  static Tensor expanded(const Tensor& query, const Tensor& key, const Tensor& value,
                         const std::optional<Tensor>& mask, double dropout_p, bool is_causal,
                         double scale) {
    const Shape batch =
        broadcast_shapes(broadcast_shapes(batch_of(query), batch_of(key)), batch_of(value));
    const auto all = [&](const Tensor& tensor) {
      const Shape shape = with(batch, tensor.size(-2), tensor.size(-1));
      return tensor.shape() == shape ? tensor : tensor.expand(shape);
    };
    const Tensor q = all(query), k = all(key), v = all(value);
    std::optional<Tensor> m = mask;
    if (m) {
      check_mask(q, k, *m);
      m = m->expand(with(batch, q.size(-2), k.size(-2)));
    }
    const bool trained_mask = m && is_grad_enabled() && m->requires_grad();
    if (dropout_p > 0 || trained_mask || !(q.is_cpu() || q.is_meta()))
      return in_operators(q, k, v, m, dropout_p, is_causal, scale);
    return std::get<0>(call<op::attention_in_blocks>(q, k, v, m, is_causal, scale));
  }
};

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  return call<op::scaled_dot_product_attention>(query, key, value, options.attn_mask,
                                                options.dropout_p, options.is_causal, options.scale,
                                                options.enable_gqa);
}

}  // namespace tenon
