// MultiheadAttention: queries look at keys and values with several heads at once.
//
//   nn::MultiheadAttention attention(512, 8, {.batch_first = true});
//   auto [out, weights] = attention(x, x, x);
//   auto [fast, none] = attention(x, x, x, {.need_weights = false});
#pragma once

#include <cstdint>
#include <optional>
#include <tuple>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/nn/linear.h"

namespace tenon::nn {

struct MultiheadAttentionOptions {
  double dropout = 0;  // of the weights, while training
  bool bias = true;
  bool add_bias_kv = false;               // a key and a value of their own, that are trained
  bool add_zero_attn = false;             // a key and a value that are zero
  std::optional<std::int64_t> kdim = {};  // features of keys and values, if others than embed_dim
  std::optional<std::int64_t> vdim = {};
  bool batch_first = false;  // tensors are (N, L, E) and not (L, N, E)
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};

// Of one call.
struct MultiheadAttentionCall {
  Tensor key_padding_mask = {};  // (N, S), or (S): bools of keys to leave out, or numbers to add
  // Weights take memory of L times S; without them it is scaled_dot_product_attention.
  bool need_weights = true;
  Tensor attn_mask = {};  // (L, S) or (N * heads, L, S): bools of what to leave out, or numbers
  bool average_attn_weights = true;  // over heads
  bool is_causal = false;            // a hint that the mask, which must be there, is the causal one
};

// A Linear by the name PyTorch has for it here.
class TENON_API NonDynamicallyQuantizableLinear : public Linear {
 public:
  using Linear::Linear;
};

// The result, and the weights, undefined unless needed. Tensors are (L, N, E), (N, L, E) with
// batch_first, or (L, E).
class TENON_API MultiheadAttention
    : public Callable<std::tuple<Tensor, Tensor>(const Tensor& query, const Tensor& key,
                                                 const Tensor& value,
                                                 const MultiheadAttentionCall& options)> {
 public:
  using Options = MultiheadAttentionOptions;
  // ValueError unless there are heads, and they divide embed_dim.
  MultiheadAttention(std::int64_t embed_dim, std::int64_t num_heads, const Options& options = {});

  // Draws new values, of all but out_proj's weight.
  void reset_parameters();

  std::int64_t embed_dim, kdim, vdim, num_heads, head_dim;
  double dropout;
  bool batch_first, add_zero_attn;
  // One for all three, or three where keys or values have other features.
  Parameter q_proj_weight{this, "q_proj_weight"};
  Parameter k_proj_weight{this, "k_proj_weight"};
  Parameter v_proj_weight{this, "v_proj_weight"};
  Parameter in_proj_weight{this, "in_proj_weight"};
  Parameter in_proj_bias{this, "in_proj_bias"};
  Child<NonDynamicallyQuantizableLinear> out_proj;
  Parameter bias_k{this, "bias_k"};
  Parameter bias_v{this, "bias_v"};

 protected:
  std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                     const MultiheadAttentionCall& options) override;
};

}  // namespace tenon::nn
