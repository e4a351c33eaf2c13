// GPT-2 as Hugging Face's checkpoints have it, written from its Python source: the same names, so
// that the files fit.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tenon/tenon.h"

namespace gpt2 {

using namespace tenon;

struct Config {
  std::int64_t vocab_size = 50257, n_positions = 1024, n_embd = 768, n_layer = 12, n_head = 12;
};

// Keys and values of what a model has read so far, so that a new token costs one token's work.
// Memory for all positions is there from the beginning; `length` of them are in use.
struct KeyValueCache {
  KeyValueCache(const Config& config, std::int64_t batch) {
    for (std::int64_t i = 0; i < config.n_layer; ++i) {
      const Shape shape{batch, config.n_head, config.n_positions, config.n_embd / config.n_head};
      keys.push_back(zeros(shape));
      values.push_back(zeros(shape));
    }
  }
  std::vector<Tensor> keys, values;  // of each layer
  std::int64_t length = 0;
};

// A linear layer whose weight is transposed.
class Conv1D final : public nn::Layer {
 public:
  Conv1D(std::int64_t out, std::int64_t in) {
    weight = nn::make_parameter(empty({in, out}));
    bias = nn::make_parameter(zeros({out}));
    if (!weight->is_meta()) nn::init::normal_(weight, {.std = 0.02});
  }
  nn::Parameter weight{this, "weight"};
  nn::Parameter bias{this, "bias"};

 protected:
  Tensor forward(const Tensor& x) override {
    Shape shape = x.shape();
    shape.back() = bias->size(0);
    return addmm(bias, x.reshape({-1, x.size(-1)}), weight).view(shape);
  }
};

class Attention final : public nn::Callable<Tensor(const Tensor&, KeyValueCache*, std::int64_t)> {
 public:
  explicit Attention(const Config& config)
      : heads(config.n_head),
        c_attn(this, "c_attn", 3 * config.n_embd, config.n_embd),
        c_proj(this, "c_proj", config.n_embd, config.n_embd) {}

  std::int64_t heads;
  nn::Child<Conv1D> c_attn, c_proj;
  nn::Child<nn::Dropout> resid_dropout{this, "resid_dropout", 0.1};

 protected:
  Tensor forward(const Tensor& x, KeyValueCache* cache, std::int64_t layer) override {
    const std::int64_t batch = x.size(0), length = x.size(1), size = x.size(2);
    const auto split = [&](const Tensor& part) {
      return part.view({batch, length, heads, size / heads}).transpose(1, 2);
    };
    const auto qkv = c_attn(x).split(size, 2);
    const Tensor q = split(qkv[0]);
    Tensor k = split(qkv[1]), v = split(qkv[2]);
    if (cache != nullptr) {
      const auto at = static_cast<std::size_t>(layer);
      cache->keys[at].narrow(2, cache->length, length).copy_(k);
      cache->values[at].narrow(2, cache->length, length).copy_(v);
      k = cache->keys[at].narrow(2, 0, cache->length + length);
      v = cache->values[at].narrow(2, 0, cache->length + length);
    }
    // One new token sees everything; several see those before them.
    const bool first = cache == nullptr || cache->length == 0;
    Tensor mask;
    if (!first && length > 1) {
      mask = ones({length, k.size(2)}, {.dtype = bool_}).tril({.diagonal = cache->length});
    }
    const Tensor y = scaled_dot_product_attention(
        q, k, v, {.attn_mask = mask, .is_causal = first && length > 1});
    return resid_dropout(c_proj(y.transpose(1, 2).reshape({batch, length, size})));
  }
};

class Mlp final : public nn::Layer {
 public:
  explicit Mlp(const Config& config)
      : c_fc(this, "c_fc", 4 * config.n_embd, config.n_embd),
        c_proj(this, "c_proj", config.n_embd, 4 * config.n_embd) {}
  nn::Child<Conv1D> c_fc, c_proj;
  nn::Child<nn::GELU> act{this, "act", {.approximate = "tanh"}};
  nn::Child<nn::Dropout> dropout{this, "dropout", 0.1};

 protected:
  Tensor forward(const Tensor& x) override { return dropout(c_proj(act(c_fc(x)))); }
};

class Block final : public nn::Callable<Tensor(const Tensor&, KeyValueCache*, std::int64_t)> {
 public:
  explicit Block(const Config& config)
      : ln_1(this, "ln_1", config.n_embd),
        attn(this, "attn", config),
        ln_2(this, "ln_2", config.n_embd),
        mlp(this, "mlp", config) {}
  nn::Child<nn::LayerNorm> ln_1;
  nn::Child<Attention> attn;
  nn::Child<nn::LayerNorm> ln_2;
  nn::Child<Mlp> mlp;

 protected:
  Tensor forward(const Tensor& input, KeyValueCache* cache, std::int64_t layer) override {
    const Tensor x = input + attn(ln_1(input), cache, layer);
    return x + mlp(ln_2(x));
  }
};

class Model final : public nn::Callable<Tensor(const Tensor&, KeyValueCache*)> {
 public:
  explicit Model(const Config& config)
      : wte(this, "wte", config.vocab_size, config.n_embd),
        wpe(this, "wpe", config.n_positions, config.n_embd),
        ln_f(this, "ln_f", config.n_embd) {
    for (std::int64_t i = 0; i < config.n_layer; ++i) h->append(nn::make<Block>(config));
  }
  nn::Child<nn::Embedding> wte, wpe;
  nn::Child<nn::Dropout> drop{this, "drop", 0.1};
  nn::Child<nn::ModuleList<Block>> h{this, "h"};
  nn::Child<nn::LayerNorm> ln_f;

 protected:
  Tensor forward(const Tensor& tokens, KeyValueCache* cache) override {
    const std::int64_t length = tokens.size(-1), before = cache == nullptr ? 0 : cache->length;
    Tensor x = drop(wte(tokens) + wpe(arange(before, before + length)));
    std::int64_t layer = 0;
    for (Block& block : *h) x = block(x, cache, layer++);
    if (cache != nullptr) cache->length += length;
    return ln_f(x);
  }
};

class LMHeadModel final : public nn::Callable<Tensor(const Tensor&, KeyValueCache*)> {
 public:
  explicit LMHeadModel(const Config& config_)
      : config(config_),
        transformer(this, "transformer", config),
        lm_head(this, "lm_head", config.n_embd, config.vocab_size, {.bias = false}) {
    lm_head->weight = transformer->wte->weight;
  }
  Config config;
  nn::Child<Model> transformer;
  nn::Child<nn::Linear> lm_head;

 protected:
  // The scores of every word after each token: (batch, tokens) to (batch, tokens, words).
  Tensor forward(const Tensor& tokens, KeyValueCache* cache) override {
    return lm_head(transformer(tokens, cache));
  }
};

}  // namespace gpt2
