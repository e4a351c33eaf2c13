// Attention of several heads, between projections of what goes in and what comes out.
#include <cmath>
#include <limits>

#include "base/text.h"
#include "base/warn.h"
#include "ops/nn/attention_mask.h"
#include "ops/support/own_arguments.h"
#include "tenon/error.h"
#include "tenon/ops/activation.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/attention.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/functional.h"
#include "tenon/ops/matmul.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/padding.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/where.h"

namespace tenon {

Tensor additive_mask(const Tensor& mask, const char* name, DType dtype) {
  if (!mask.defined() || is_floating_point(mask.dtype())) return mask;
  if (mask.dtype() != bool_) {
    throw DTypeError(concat("only bool and floating types of ", name, " are supported, but it is ",
                            "of ", repr(mask.dtype())));
  }
  const Tensor none = zeros(mask.shape(), {.dtype = dtype, .device = mask.device()});
  return masked_fill(none, mask, -std::numeric_limits<double>::infinity());
}

namespace {

void check_dims(const Tensor& query, const Tensor& key, const Tensor& value,
                const MultiHeadAttentionOptions& options, std::int64_t heads) {
  const std::int64_t dim = query.dim();
  if (dim != 2 && dim != 3) {
    throw ShapeError(concat("query should be unbatched 2D or batched 3D tensor but received ", dim,
                            "-D query tensor of shape ", bracketed(query.shape())));
  }
  const std::string form =
      concat("For ", dim == 3 ? "batched (3-D)" : "unbatched (2-D)", " `query`, expected ");
  if (key.dim() != dim || value.dim() != dim) {
    throw ShapeError(concat(form, "`key` and `value` to be ", dim, "-D but found ", key.dim(),
                            "-D and ", value.dim(), "-D tensors respectively"));
  }
  const Tensor& padding = options.key_padding_mask;
  if (padding.defined() && padding.dim() != dim - 1) {
    throw ShapeError(concat(form, "`key_padding_mask` to be `None` or ", dim - 1, "-D but found ",
                            padding.dim(), "-D tensor instead"));
  }
  const Tensor& mask = options.attn_mask;
  if (!mask.defined()) return;
  if (mask.dim() != 2 && mask.dim() != 3) {
    throw ShapeError(concat(form, "`attn_mask` to be `None`, 2-D or 3-D but found ", mask.dim(),
                            "-D tensor instead"));
  }
  const Shape expected{heads, query.size(0), key.size(0)};
  if (dim == 2 && mask.dim() == 3 && mask.shape() != expected) {
    throw ShapeError(concat("Expected `attn_mask` shape to be ", bracketed(expected), " but got ",
                            bracketed(mask.shape())));
  }
}

struct Projected {
  Tensor q, k, v;
};

Tensor part(const Tensor& of, std::int64_t number, std::int64_t size, std::int64_t count = 1) {
  return of.defined() ? of.narrow(0, number * size, count * size) : of;
}

// What is one tensor is projected in one product.
Projected projected(const Tensor& query, const Tensor& key, const Tensor& value,
                    const Tensor& weight, const Tensor& bias, std::int64_t size) {
  if (key.is(value) && query.is(key)) {
    const Tensor all = linear(query, weight, bias);
    return {all.narrow(-1, 0, size), all.narrow(-1, size, size), all.narrow(-1, 2 * size, size)};
  }
  const Tensor q = linear(query, part(weight, 0, size), part(bias, 0, size));
  if (key.is(value)) {
    const Tensor both = linear(key, part(weight, 1, size, 2), part(bias, 1, size, 2));
    return {q, both.narrow(-1, 0, size), both.narrow(-1, size, size)};
  }
  return {q, linear(key, part(weight, 1, size), part(bias, 1, size)),
          linear(value, part(weight, 2, size), part(bias, 2, size))};
}

void check_weight(const Tensor& weight, const char* name, bool apart) {
  if (weight.defined()) return;
  throw ValueError(concat("use_separate_proj_weight is ", apart, " but ", name, " is None"));
}

// One more key that no mask leaves out.
Tensor longer(const Tensor& mask) { return mask.defined() ? pad(mask, {0, 1}) : mask; }

void check_shape(const Tensor& tensor, const Shape& shape, const char* what) {
  if (tensor.shape() == shape) return;
  throw ShapeError(concat("The shape of the ", what, " is ", bracketed(tensor.shape()),
                          ", but should be ", bracketed(shape), "."));
}

// Heads apart: (N, heads, time, features of a head).
Tensor in_heads(const Tensor& tensor, std::int64_t heads, bool batch_first) {
  const Tensor apart = tensor.unflatten(-1, {heads, tensor.size(-1) / heads});
  return batch_first ? apart.permute({0, 2, 1, 3}) : apart.permute({1, 2, 0, 3});
}

std::tuple<Tensor, Tensor> attended(const Tensor& query, const Tensor& key, const Tensor& value,
                                    std::int64_t embed_dim_to_check, std::int64_t num_heads,
                                    const Tensor& in_proj_weight, const Tensor& in_proj_bias,
                                    const Tensor& bias_k, const Tensor& bias_v, bool add_zero_attn,
                                    double dropout_p, const Tensor& out_proj_weight,
                                    const Tensor& out_proj_bias,
                                    const MultiHeadAttentionOptions& options) {
  check_dims(query, key, value, options, num_heads);
  const bool unbatched = query.dim() == 2, apart = options.use_separate_proj_weight;
  const bool batch_first = options.batch_first || unbatched;
  const auto batched = [&](const Tensor& tensor) {
    return unbatched && tensor.defined() ? tensor.unsqueeze(0) : tensor;
  };
  // The same tensor stays the same.
  const Tensor q_in = batched(query);
  const Tensor k_in = key.is(query) ? q_in : batched(key);
  const Tensor v_in = value.is(query) ? q_in : value.is(key) ? k_in : batched(value);
  const std::int64_t time = batch_first ? 1 : 0;
  const std::int64_t batch = q_in.size(1 - time), queries = q_in.size(time), size = q_in.size(-1);
  const DType dtype = query.dtype();

  if (size != embed_dim_to_check) {
    throw ShapeError(concat("was expecting embedding dimension of ", embed_dim_to_check,
                            ", but got ", size, " in a query of shape ", bracketed(query.shape())));
  }
  if (num_heads <= 0 || size % num_heads != 0)
    throw ValueError(concat("embed_dim ", size, " not divisible by num_heads ", num_heads));
  if (k_in.size(0) != v_in.size(0) || k_in.size(1) != v_in.size(1) ||
      (!apart && key.shape() != value.shape())) {
    throw ShapeError(concat("key shape ", bracketed(key.shape()), " does not match value shape ",
                            bracketed(value.shape())));
  }
  if (k_in.size(1 - time) != batch) {
    throw ShapeError(concat("there are ", batch, " batches in a query of shape ",
                            bracketed(query.shape()), " but ", k_in.size(1 - time),
                            " in a key of shape ", bracketed(key.shape())));
  }

  // Masks, as numbers that are added to (N, heads, L, S).
  bool is_causal = options.is_causal;
  if (is_causal && !options.attn_mask.defined()) {
    throw ValueError(
        "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
        "method `generate_square_subsequent_mask` to create this mask.");
  }
  if (options.key_padding_mask.defined() && options.attn_mask.defined() &&
      options.key_padding_mask.dtype() != options.attn_mask.dtype()) {
    warn(
        "Support for mismatched key_padding_mask and attn_mask is deprecated. Use same type for "
        "both instead.");
  }
  Tensor padding = batched(additive_mask(options.key_padding_mask, "key_padding_mask", dtype));
  Tensor mask;
  if (is_causal && !padding.defined() && !options.need_weights) {
    // Keys that are added to those given are after all of them.
    is_causal = !bias_k.defined() && !add_zero_attn;
  } else {
    is_causal = false;
  }
  if (!is_causal) mask = additive_mask(options.attn_mask, "attn_mask", dtype);
  const std::int64_t given = k_in.size(time);
  if (mask.defined() && mask.dim() == 2) {
    check_shape(mask, {queries, given}, "2D attn_mask");
    mask = mask.unsqueeze(0).unsqueeze(0);
  } else if (mask.defined()) {
    check_shape(mask, {batch * num_heads, queries, given}, "3D attn_mask");
    mask = mask.unflatten(0, {batch, num_heads});
  }
  if (padding.defined()) check_shape(padding, {batch, given}, "key_padding_mask");

  Projected in;
  if (apart) {
    check_weight(options.q_proj_weight, "q_proj_weight", true);
    check_weight(options.k_proj_weight, "k_proj_weight", true);
    check_weight(options.v_proj_weight, "v_proj_weight", true);
    in = {linear(q_in, options.q_proj_weight, part(in_proj_bias, 0, size)),
          linear(k_in, options.k_proj_weight, part(in_proj_bias, 1, size)),
          linear(v_in, options.v_proj_weight, part(in_proj_bias, 2, size))};
  } else {
    check_weight(in_proj_weight, "in_proj_weight", false);
    in = projected(q_in, k_in, v_in, in_proj_weight, in_proj_bias, size);
  }

  // Keys and values that are always there.
  if (bias_k.defined() != bias_v.defined())
    throw ValueError("bias_k and bias_v are both set, or neither is");
  if (bias_k.defined()) {
    if (options.static_k.defined() || options.static_v.defined())
      throw ValueError("bias cannot be added to static key or static value.");
    const Shape one = batch_first ? Shape{batch, 1, size} : Shape{1, batch, size};
    in.k = cat({in.k, bias_k.expand(one)}, time);
    in.v = cat({in.v, bias_v.expand(one)}, time);
    mask = longer(mask);
    padding = longer(padding);
  }
  const std::int64_t features = size / num_heads;
  const auto fixed = [&](const Tensor& heads, const char* name) {
    check_shape(heads, {batch * num_heads, heads.dim() == 3 ? heads.size(1) : 0, features}, name);
    return heads.unflatten(0, {batch, num_heads});
  };
  const Tensor q = in_heads(in.q, num_heads, batch_first);
  Tensor k = options.static_k.defined() ? fixed(options.static_k, "static_k")
                                        : in_heads(in.k, num_heads, batch_first);
  Tensor v = options.static_v.defined() ? fixed(options.static_v, "static_v")
                                        : in_heads(in.v, num_heads, batch_first);
  if (add_zero_attn) {
    const Tensor zero =
        zeros({batch, num_heads, 1, features}, {.dtype = k.dtype(), .device = k.device()});
    k = cat({k, zero}, 2);
    v = cat({v, zero}, 2);
    mask = longer(mask);
    padding = longer(padding);
  }
  if (padding.defined()) {
    padding = padding.unsqueeze(1).unsqueeze(1);
    mask = mask.defined() ? mask + padding : padding;
  }

  const double p = options.training ? dropout_p : 0;
  Tensor heads, weights;
  if (options.need_weights) {
    const double scale = std::sqrt(1 / static_cast<double>(features));
    weights = matmul(q * scale, k.mT());
    if (mask.defined()) weights = weights + mask;
    weights = softmax(weights, -1);
    if (p > 0) weights = dropout(weights, {.p = p});
    heads = matmul(weights, v);
    if (options.average_attn_weights) weights = mean(weights, 1);
    if (unbatched) weights = weights.squeeze(0);
  } else {
    heads = scaled_dot_product_attention(
        q, k, v, {.attn_mask = mask, .dropout_p = p, .is_causal = is_causal});
  }
  // While training the sequence comes first in memory, as PyTorch's does: a dropout that follows
  // draws in that order.
  if (batch_first && !unbatched && options.training) {
    const Tensor steps = heads.permute({2, 0, 1, 3}).flatten(-2);
    return {linear(steps, out_proj_weight, out_proj_bias).transpose(0, 1), weights};
  }
  const Tensor together = batch_first ? heads.permute({0, 2, 1, 3}) : heads.permute({2, 0, 1, 3});
  const Tensor out = linear(together.flatten(-2), out_proj_weight, out_proj_bias);
  return {unbatched ? out.squeeze(0) : out, weights};
}

}  // namespace

std::tuple<Tensor, Tensor> multi_head_attention_forward(
    const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t embed_dim_to_check,
    std::int64_t num_heads, const Tensor& in_proj_weight, const Tensor& in_proj_bias,
    const Tensor& bias_k, const Tensor& bias_v, bool add_zero_attn, double dropout_p,
    const Tensor& out_proj_weight, const Tensor& out_proj_bias,
    const MultiHeadAttentionOptions& options) {
  // See Note [Arguments of one's own].
  return with_own(attended, query, key, value, embed_dim_to_check, num_heads, in_proj_weight,
                  in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight,
                  out_proj_bias, options);
}

}  // namespace tenon
