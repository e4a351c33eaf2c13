// Attention: for each query, values weighted by how well their keys match.
//
//   Tensor y = scaled_dot_product_attention(q, k, v, {.is_causal = true});
//
// On the CPU it is calculated in blocks with a running softmax: the weights of all queries and keys
// are never there at once, and blocks that a causal mask leaves out are not calculated. With
// dropout, or where the mask itself has a gradient, they are.
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "tenon/detail/api.h"
#include "tenon/extend/op_info.h"
#include "tenon/tensor.h"

namespace tenon {

namespace op {

struct TENON_API scaled_dot_product_attention {
  using Signature = Tensor(const Tensor& query, const Tensor& key, const Tensor& value,
                           const std::optional<Tensor>& attn_mask, double dropout_p, bool is_causal,
                           std::optional<double> scale, bool enable_gqa);
  static constexpr OpKind kind = OpKind::composite;
  static OpInfo info;
};

}  // namespace op

struct AttentionOptions {
  // Broadcasts to (*, L, S). Bools say which keys a query looks at; numbers are added to the
  // scores.
  Tensor attn_mask = {};
  double dropout_p = 0;              // of the weights; there is no training mode to turn it off
  bool is_causal = false;            // query i looks at keys 0 to i; not together with a mask
  std::optional<double> scale = {};  // of the scores: one over the root of E if not given
  // Query heads (dimension -3) share those of keys and values, which there are fewer of.
  bool enable_gqa = false;
};

// softmax(query key^T scale + mask) value: of a query (*, L, E), a key (*, S, E) and a value
// (*, S, Ev) the result is (*, L, Ev), where * are dimensions that broadcast. A query that may look
// at nothing gives zeros. ShapeError, DTypeError, DeviceError or ValueError if they do not fit.
TENON_API Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                              const Tensor& value,
                                              const AttentionOptions& options = {});

struct MultiHeadAttentionOptions {
  bool training = true;          // dropout is applied
  Tensor key_padding_mask = {};  // (N, S), or (S): bools of keys to leave out, or numbers to add
  bool need_weights = true;
  Tensor attn_mask = {};  // (L, S) or (N * heads, L, S): bools of what to leave out, or numbers
  bool use_separate_proj_weight = false;  // the three below instead of in_proj_weight
  Tensor q_proj_weight = {};
  Tensor k_proj_weight = {};
  Tensor v_proj_weight = {};
  Tensor static_k = {};  // (N * heads, S, features of a head), instead of what key gives
  Tensor static_v = {};
  bool average_attn_weights = true;  // over heads
  bool is_causal = false;            // a hint: that is what the mask says
  bool batch_first = false;          // ours: tensors are (N, L, E), and nothing is transposed
};
// What nn::MultiheadAttention does, of a query (L, N, E) or (L, E): its result, and the weights,
// (N, L, S) or, not averaged, (N, heads, L, S), which are undefined unless they are needed.
// in_proj_weight, in_proj_bias, bias_k, bias_v and out_proj_bias may be undefined. ShapeError,
// DTypeError or ValueError if they do not fit.
TENON_API std::tuple<Tensor, Tensor> multi_head_attention_forward(
    const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t embed_dim_to_check,
    std::int64_t num_heads, const Tensor& in_proj_weight, const Tensor& in_proj_bias,
    const Tensor& bias_k, const Tensor& bias_v, bool add_zero_attn, double dropout_p,
    const Tensor& out_proj_weight, const Tensor& out_proj_bias,
    const MultiHeadAttentionOptions& options = {});

}  // namespace tenon
