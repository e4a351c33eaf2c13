#include "tenon/nn/multihead_attention.h"

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/attention.h"
#include "tenon/ops/factories.h"

namespace tenon::nn {

namespace {

std::int64_t checked(std::int64_t embed_dim, std::int64_t num_heads) {
  if (embed_dim <= 0 || num_heads <= 0) {
    throw ValueError(concat("embed_dim and num_heads must be greater than 0, got embed_dim=",
                            embed_dim, " and num_heads=", num_heads, " instead"));
  }
  if (embed_dim % num_heads != 0) {
    throw ValueError(concat("embed_dim must be divisible by num_heads, got embed_dim=", embed_dim,
                            " and num_heads=", num_heads));
  }
  return embed_dim;
}

}  // namespace

MultiheadAttention::MultiheadAttention(std::int64_t size, std::int64_t heads,
                                       const Options& options)
    : embed_dim(checked(size, heads)),
      kdim(options.kdim.value_or(size)),
      vdim(options.vdim.value_or(size)),
      num_heads(heads),
      head_dim(size / heads),
      dropout(options.dropout),
      batch_first(options.batch_first),
      add_zero_attn(options.add_zero_attn),
      out_proj(this, "out_proj", size, size,
               {.bias = options.bias, .device = options.device, .dtype = options.dtype}) {
  const EmptyOptions like{.dtype = options.dtype, .device = options.device};
  const auto made = [&](const Shape& shape) { return make_parameter(empty(shape, like)); };
  const bool same = kdim == embed_dim && vdim == embed_dim;
  if (same) {
    in_proj_weight = made({3 * embed_dim, embed_dim});
    for (Parameter* apart : {&q_proj_weight, &k_proj_weight, &v_proj_weight}) *apart = Tensor();
  } else {
    q_proj_weight = made({embed_dim, embed_dim});
    k_proj_weight = made({embed_dim, kdim});
    v_proj_weight = made({embed_dim, vdim});
    in_proj_weight = Tensor();
  }
  in_proj_bias = options.bias ? made({3 * embed_dim}) : Tensor();
  if (options.add_bias_kv) {
    bias_k = made({1, 1, embed_dim});
    bias_v = made({1, 1, embed_dim});
  }
  if (!out_proj->weight->is_meta()) reset_parameters();
}

void MultiheadAttention::reset_parameters() {
  const detail::Guard guard(*this, "reset_parameters() was running");
  for (const Parameter* weight :
       {&in_proj_weight, &q_proj_weight, &k_proj_weight, &v_proj_weight}) {
    if (weight->defined()) init::xavier_uniform_(*weight);
  }
  if (in_proj_bias.defined()) {
    init::zeros_(in_proj_bias);
    init::zeros_(out_proj->bias);
  }
  for (const Parameter* bias : {&bias_k, &bias_v}) {
    if (bias->defined()) init::xavier_normal_(*bias);
  }
}

std::tuple<Tensor, Tensor> MultiheadAttention::forward(const Tensor& query, const Tensor& key,
                                                       const Tensor& value,
                                                       const MultiheadAttentionCall& options) {
  // One function of many operators: what user code in one of them assigns to a parameter is for the
  // next call.
  const Tensor weight = in_proj_weight, bias = in_proj_bias, more_k = bias_k, more_v = bias_v,
               out_weight = out_proj->weight, out_bias = out_proj->bias;
  return multi_head_attention_forward(query, key, value, embed_dim, num_heads, weight, bias, more_k,
                                      more_v, add_zero_attn, dropout, out_weight, out_bias,
                                      {.training = training(),
                                       .key_padding_mask = options.key_padding_mask,
                                       .need_weights = options.need_weights,
                                       .attn_mask = options.attn_mask,
                                       .use_separate_proj_weight = !weight.defined(),
                                       .q_proj_weight = q_proj_weight,
                                       .k_proj_weight = k_proj_weight,
                                       .v_proj_weight = v_proj_weight,
                                       .average_attn_weights = options.average_attn_weights,
                                       .is_causal = options.is_causal,
                                       .batch_first = batch_first});
}

}  // namespace tenon::nn
