// A block of Llama, with grouped heads and rotary positions, written from its Python source: the
// same names as Hugging Face's checkpoints have.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "tenon/tenon.h"

namespace llama {

using namespace tenon;

struct Config {
  std::int64_t hidden_size = 4096, intermediate_size = 14336, num_attention_heads = 32,
               num_key_value_heads = 8;
  double rms_norm_eps = 1e-5, rope_theta = 500000;
};

// Cosines and sines of the angles that positions turn each pair of features by.
inline std::pair<Tensor, Tensor> rotary(const Config& config, std::int64_t length) {
  const std::int64_t size = config.hidden_size / config.num_attention_heads;
  const Tensor frequencies =
      1.0 / pow(config.rope_theta, arange(0, size, 2).to(float32) / static_cast<double>(size));
  const Tensor angles = outer(arange(length).to(float32), frequencies);
  const Tensor both = cat({angles, angles}, -1);
  return {both.cos(), both.sin()};
}

inline Tensor rotate_half(const Tensor& x) {
  const auto halves = x.chunk(2, -1);
  return cat({-halves[1], halves[0]}, -1);
}

inline Tensor turned(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  return x * cos + rotate_half(x) * sin;
}

class Attention final
    : public nn::Callable<Tensor(const Tensor&, const Tensor& cos, const Tensor& sin)> {
 public:
  explicit Attention(const Config& config)
      : head_dim(config.hidden_size / config.num_attention_heads),
        q_proj(this, "q_proj", config.hidden_size, config.num_attention_heads * head_dim,
               {.bias = false}),
        k_proj(this, "k_proj", config.hidden_size, config.num_key_value_heads * head_dim,
               {.bias = false}),
        v_proj(this, "v_proj", config.hidden_size, config.num_key_value_heads * head_dim,
               {.bias = false}),
        o_proj(this, "o_proj", config.num_attention_heads * head_dim, config.hidden_size,
               {.bias = false}) {}
  std::int64_t head_dim;
  nn::Child<nn::Linear> q_proj, k_proj, v_proj, o_proj;

 protected:
  Tensor forward(const Tensor& x, const Tensor& cos, const Tensor& sin) override {
    const std::int64_t batch = x.size(0), length = x.size(1);
    const auto heads = [&](const Tensor& part) {
      return part.view({batch, length, -1, head_dim}).transpose(1, 2);
    };
    const Tensor y = scaled_dot_product_attention(
        turned(heads(q_proj(x)), cos, sin), turned(heads(k_proj(x)), cos, sin), heads(v_proj(x)),
        {.is_causal = true, .enable_gqa = true});
    return o_proj(y.transpose(1, 2).reshape({batch, length, -1}));
  }
};

class Mlp final : public nn::Layer {
 public:
  explicit Mlp(const Config& config)
      : gate_proj(this, "gate_proj", config.hidden_size, config.intermediate_size, {.bias = false}),
        up_proj(this, "up_proj", config.hidden_size, config.intermediate_size, {.bias = false}),
        down_proj(this, "down_proj", config.intermediate_size, config.hidden_size,
                  {.bias = false}) {}
  nn::Child<nn::Linear> gate_proj, up_proj, down_proj;
  nn::Child<nn::SiLU> act_fn{this, "act_fn"};

 protected:
  Tensor forward(const Tensor& x) override { return down_proj(act_fn(gate_proj(x)) * up_proj(x)); }
};

class DecoderLayer final
    : public nn::Callable<Tensor(const Tensor&, const Tensor& cos, const Tensor& sin)> {
 public:
  explicit DecoderLayer(const Config& config)
      : self_attn(this, "self_attn", config),
        mlp(this, "mlp", config),
        input_layernorm(this, "input_layernorm", config.hidden_size, {.eps = config.rms_norm_eps}),
        post_attention_layernorm(this, "post_attention_layernorm", config.hidden_size,
                                 {.eps = config.rms_norm_eps}) {}
  nn::Child<Attention> self_attn;
  nn::Child<Mlp> mlp;
  nn::Child<nn::RMSNorm> input_layernorm, post_attention_layernorm;

 protected:
  Tensor forward(const Tensor& input, const Tensor& cos, const Tensor& sin) override {
    const Tensor x = input + self_attn(input_layernorm(input), cos, sin);
    return x + mlp(post_attention_layernorm(x));
  }
};

}  // namespace llama
