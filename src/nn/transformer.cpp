#include "tenon/nn/transformer.h"

#include <limits>

#include "base/text.h"
#include "ops/nn/attention_mask.h"
#include "tenon/error.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/init.h"
#include "tenon/ops/activation.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/where.h"

namespace tenon::nn {

TransformerActivation::TransformerActivation(const std::string& name) {
  if (name == "relu") {
    function_ = [](const Tensor& input) { return relu(input); };
  } else if (name == "gelu") {
    function_ = [](const Tensor& input) { return gelu(input); };
  } else {
    throw ValueError(concat("activation should be relu/gelu, not ", name));
  }
}

void detail::throw_no_layer() { throw ValueError("there is no layer to copy: it is null"); }

namespace {

MultiheadAttentionOptions attention_of(const TransformerLayerOptions& options) {
  return {.dropout = options.dropout,
          .bias = options.bias,
          .batch_first = options.batch_first,
          .device = options.device,
          .dtype = options.dtype};
}
LinearOptions linear_of(const TransformerLayerOptions& options) {
  return {.bias = options.bias, .device = options.device, .dtype = options.dtype};
}
LayerNormOptions norm_of(const TransformerLayerOptions& options) {
  return {.eps = options.layer_norm_eps,
          .bias = options.bias,
          .device = options.device,
          .dtype = options.dtype};
}

Tensor attended(const Child<MultiheadAttention>& attention, const Tensor& query, const Tensor& key,
                const Tensor& mask, const Tensor& padding, bool is_causal) {
  return std::get<0>(attention(query, key, key,
                               MultiheadAttentionCall{.key_padding_mask = padding,
                                                      .need_weights = false,
                                                      .attn_mask = mask,
                                                      .is_causal = is_causal}));
}

// Whether the mask is that of a sequence whose positions do not look ahead, unless that was said.
bool detects_causal(const Tensor& mask, std::optional<bool> said, const Tensor& input,
                    bool batch_first) {
  if (said) return *said;
  if (!mask.defined() || mask.is_meta()) return false;
  const std::int64_t length = input.dim() == 3 && batch_first ? input.size(1) : input.size(0);
  if (mask.shape() != Shape({length, length})) return false;
  const Tensor causal = Transformer::generate_square_subsequent_mask(
      length, {.device = mask.device(), .dtype = mask.dtype()});
  return equal(mask, causal);
}

// The activation becomes a child if it is a layer; else there is no such child.
template <class M>
void take_layer(M& of) {
  if (of.activation.layer()) {
    of.activation_layer = of.activation.layer();
  } else {
    of.remove("activation");
  }
}
// The child's result, because a clone has a child of its own.
template <class M>
Tensor activated(M& of, const Tensor& x) {
  if (of.activation_layer) return of.activation_layer(x);
  // Somebody's function, which may destroy the layer, and itself with it.
  const detail::Guard guard(of, "its activation was calculated");
  const TransformerActivation activation = of.activation;
  Tensor out = activation(x);
  guard.check_return();
  return out;
}

constexpr const char* kForward = "forward() was running";

// What a layer makes of x with its two linear ones. A guard is on the layer.
template <class M>
Tensor fed(M& of, const detail::Guard& guard, const Tensor& x, const Child<Dropout>& last) {
  Tensor out = of.linear1(x);
  guard.check();
  out = activated(of, out);
  guard.check();
  out = of.dropout(out);
  guard.check();
  out = of.linear2(out);
  guard.check();
  out = last(out);
  guard.check();
  return out;
}

// Calls f with one layer after another, each of which may change the list: the rules of
// tenon/nn/module.h.
template <class M, class F>
void for_each_layer(const ModuleList<M>& list, F f) {
  detail::Guard guard(list, kForward);
  for (std::size_t i = 0; i < list.size(); ++i) {
    {
      M& layer = list[static_cast<std::int64_t>(i)];
      const detail::Guard kept(layer, guard.during());
      f(layer);
    }  // a layer that was taken out goes here, by its destructor, which may be somebody's
    guard.check(detail::Guard::kChildren);
  }
}

template <class M>
void fill_with_clones(ModuleList<M>& list, const M& layer, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) list.append(clone(layer));
}

}  // namespace

TransformerActivation::TransformerActivation(std::shared_ptr<Layer> layer, int)
    : function_([at = layer.get()](const Tensor& input) { return (*at)(input); }),
      layer_(std::move(layer)) {
  if (!layer_) throw ValueError("a layer that is null cannot be an activation");
}

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 const Options& options)
    : self_attn(this, "self_attn", d_model, nhead, attention_of(options)),
      linear1(this, "linear1", d_model, options.dim_feedforward, linear_of(options)),
      dropout(this, "dropout", options.dropout),
      linear2(this, "linear2", options.dim_feedforward, d_model, linear_of(options)),
      norm_first(options.norm_first),
      norm1(this, "norm1", d_model, norm_of(options)),
      norm2(this, "norm2", d_model, norm_of(options)),
      dropout1(this, "dropout1", options.dropout),
      dropout2(this, "dropout2", options.dropout),
      activation(options.activation) {
  take_layer(*this);
}

// Note [Memory that goes between two children]
//
// Children have hooks, which may destroy what the caller has, as operators of user-defined tensors
// may: see Note [Arguments of one's own]. A call looks at its end whether its callers are still
// there. What it was given and what it has made go later: arguments, results that others replace,
// a child that was replaced. Their memory may have a deleter or lie on a device, whose code may
// destroy the module whose forward runs. So there is a guard on that module, and it is checked
// after each child, before the next member is read.

Tensor TransformerEncoderLayer::forward(const Tensor& given,
                                        const TransformerEncoderLayerCall& given_options) {
  const Tensor src = given;
  const TransformerEncoderLayerCall options = given_options;
  const detail::Guard guard(*this, kForward);  // see Note [Memory that goes between two children]
  const auto attend = [&](const Tensor& x) {
    Tensor out = attended(self_attn, x, x, options.src_mask, options.src_key_padding_mask,
                          options.is_causal);
    guard.check();
    out = dropout1(out);
    guard.check();
    return out;
  };
  const auto feed = [&](const Tensor& x) { return fed(*this, guard, x, dropout2); };
  if (norm_first) {
    Tensor x = norm1(src);
    guard.check();
    x = src + attend(x);
    guard.check();
    const Tensor normed = norm2(x);
    guard.check();
    return x + feed(normed);
  }
  Tensor x = src + attend(src);
  guard.check();
  x = norm1(x);
  guard.check();
  x = x + feed(x);
  guard.check();
  return norm2(x);
}

TransformerDecoderLayer::TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead,
                                                 const Options& options)
    : self_attn(this, "self_attn", d_model, nhead, attention_of(options)),
      multihead_attn(this, "multihead_attn", d_model, nhead, attention_of(options)),
      linear1(this, "linear1", d_model, options.dim_feedforward, linear_of(options)),
      dropout(this, "dropout", options.dropout),
      linear2(this, "linear2", options.dim_feedforward, d_model, linear_of(options)),
      norm_first(options.norm_first),
      norm1(this, "norm1", d_model, norm_of(options)),
      norm2(this, "norm2", d_model, norm_of(options)),
      norm3(this, "norm3", d_model, norm_of(options)),
      dropout1(this, "dropout1", options.dropout),
      dropout2(this, "dropout2", options.dropout),
      dropout3(this, "dropout3", options.dropout),
      activation(options.activation) {
  take_layer(*this);
}

Tensor TransformerDecoderLayer::forward(const Tensor& given_tgt, const Tensor& given_memory,
                                        const TransformerDecoderLayerCall& given_options) {
  const Tensor tgt = given_tgt, memory = given_memory;
  const TransformerDecoderLayerCall options = given_options;
  const detail::Guard guard(*this, kForward);  // see Note [Memory that goes between two children]
  const auto attend = [&](const Tensor& x) {
    Tensor out = attended(self_attn, x, x, options.tgt_mask, options.tgt_key_padding_mask,
                          options.tgt_is_causal);
    guard.check();
    out = dropout1(out);
    guard.check();
    return out;
  };
  const auto read = [&](const Tensor& x) {
    Tensor out = attended(multihead_attn, x, memory, options.memory_mask,
                          options.memory_key_padding_mask, options.memory_is_causal);
    guard.check();
    out = dropout2(out);
    guard.check();
    return out;
  };
  const auto feed = [&](const Tensor& x) { return fed(*this, guard, x, dropout3); };
  if (norm_first) {
    Tensor x = norm1(tgt);
    guard.check();
    x = tgt + attend(x);
    guard.check();
    Tensor normed = norm2(x);
    guard.check();
    x = x + read(normed);
    guard.check();
    normed = norm3(x);
    guard.check();
    return x + feed(normed);
  }
  Tensor x = tgt + attend(tgt);
  guard.check();
  x = norm1(x);
  guard.check();
  x = x + read(x);
  guard.check();
  x = norm2(x);
  guard.check();
  x = x + feed(x);
  guard.check();
  return norm3(x);
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& layer, std::int64_t count,
                                       const Options& options)
    : num_layers(count),
      enable_nested_tensor(options.enable_nested_tensor),
      mask_check(options.mask_check) {
  fill_with_clones(*layers, layer, count);
  if (options.norm) {
    norm = options.norm;
  } else {
    remove("norm");  // none at all, and not one that is null
  }
}

Tensor TransformerEncoder::forward(const Tensor& given,
                                   const TransformerEncoderCall& given_options) {
  const Tensor src = given;
  const TransformerEncoderCall options = given_options;
  const detail::Guard guard(*this, kForward);  // see Note [Memory that goes between two children]
  const Tensor mask = additive_mask(options.mask, "mask", src.dtype());
  const Tensor padding =
      additive_mask(options.src_key_padding_mask, "src_key_padding_mask", src.dtype());
  guard.check();
  const bool batch_first = layers->size() > 0 && layers[0].self_attn->batch_first;
  const bool is_causal = detects_causal(mask, options.is_causal, src, batch_first);
  guard.check();
  Tensor out = src;
  for_each_layer(*layers, [&](TransformerEncoderLayer& layer) {
    out = layer(out, {.src_mask = mask, .src_key_padding_mask = padding, .is_causal = is_causal});
  });
  guard.check();
  return norm ? norm(out) : out;
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& layer, std::int64_t count,
                                       const Options& options)
    : num_layers(count) {
  fill_with_clones(*layers, layer, count);
  if (options.norm) {
    norm = options.norm;
  } else {
    remove("norm");
  }
}

Tensor TransformerDecoder::forward(const Tensor& given_tgt, const Tensor& given_memory,
                                   const TransformerDecoderCall& given_options) {
  const Tensor tgt = given_tgt, memory = given_memory;
  const TransformerDecoderCall options = given_options;
  const detail::Guard guard(*this, kForward);  // see Note [Memory that goes between two children]
  const bool batch_first = layers->size() > 0 && layers[0].self_attn->batch_first;
  const Tensor mask = additive_mask(options.tgt_mask, "tgt_mask", tgt.dtype());
  const bool is_causal = detects_causal(mask, options.tgt_is_causal, tgt, batch_first);
  guard.check();
  Tensor out = tgt;
  for_each_layer(*layers, [&](TransformerDecoderLayer& layer) {
    out = layer(out, memory,
                {.tgt_mask = mask,
                 .memory_mask = options.memory_mask,
                 .tgt_key_padding_mask = options.tgt_key_padding_mask,
                 .memory_key_padding_mask = options.memory_key_padding_mask,
                 .tgt_is_causal = is_causal,
                 .memory_is_causal = options.memory_is_causal});
  });
  guard.check();
  return norm ? norm(out) : out;
}

namespace {

TransformerLayerOptions layer_of(const TransformerOptions& options) {
  return {.dim_feedforward = options.dim_feedforward,
          .dropout = options.dropout,
          .activation = options.activation,
          .layer_norm_eps = options.layer_norm_eps,
          .batch_first = options.batch_first,
          .norm_first = options.norm_first,
          .bias = options.bias,
          .device = options.device,
          .dtype = options.dtype};
}

std::shared_ptr<TransformerEncoder> encoder_of(const TransformerOptions& options) {
  if (options.custom_encoder) return options.custom_encoder;
  const auto own = layer_of(options);
  const auto layer = make<TransformerEncoderLayer>(options.d_model, options.nhead, own);
  return make<TransformerEncoder>(
      layer, options.num_encoder_layers,
      TransformerEncoderOptions{.norm = make<LayerNorm>(options.d_model, norm_of(own))});
}
std::shared_ptr<TransformerDecoder> decoder_of(const TransformerOptions& options) {
  if (options.custom_decoder) return options.custom_decoder;
  const auto own = layer_of(options);
  const auto layer = make<TransformerDecoderLayer>(options.d_model, options.nhead, own);
  return make<TransformerDecoder>(
      layer, options.num_decoder_layers,
      TransformerDecoderOptions{.norm = make<LayerNorm>(options.d_model, norm_of(own))});
}

TransformerOptions with(TransformerOptions options, std::int64_t d_model, std::int64_t nhead) {
  options.d_model = d_model;
  options.nhead = nhead;
  return options;
}

}  // namespace

Transformer::Transformer(std::int64_t size, std::int64_t heads, const Options& options)
    : Transformer(with(options, size, heads)) {}

Transformer::Transformer(const Options& options)
    : encoder(this, "encoder", encoder_of(options)),
      decoder(this, "decoder", decoder_of(options)),
      d_model(options.d_model),
      nhead(options.nhead),
      batch_first(options.batch_first) {
  for (const Tensor& parameter : parameters()) {
    if (parameter.dim() > 1 && !parameter.is_meta()) init::xavier_uniform_(parameter);
  }
}

Tensor Transformer::generate_square_subsequent_mask(std::int64_t sz,
                                                    const SubsequentMaskOptions& options) {
  const TensorOptions like{.dtype = options.dtype, .device = options.device};
  const Tensor positions = arange(sz, {.device = options.device});
  return masked_fill(zeros({sz, sz}, like), positions.unsqueeze(1) < positions,
                     -std::numeric_limits<double>::infinity());
}

Tensor Transformer::forward(const Tensor& src, const Tensor& given_tgt,
                            const TransformerCall& given_options) {
  const Tensor tgt = given_tgt;
  const TransformerCall options = given_options;
  const detail::Guard guard(*this, kForward);  // see Note [Memory that goes between two children]
  const bool batched = src.dim() == 3;
  const std::int64_t batch = batch_first ? 0 : 1;
  if (batched && tgt.dim() == 3 && src.size(batch) != tgt.size(batch)) {
    throw ShapeError(concat("the batch number of src and tgt must be equal, but their shapes are ",
                            bracketed(src.shape()), " and ", bracketed(tgt.shape())));
  }
  if (src.dim() == 0 || tgt.dim() == 0 || src.size(-1) != d_model || tgt.size(-1) != d_model) {
    throw ShapeError(concat("the feature number of src and tgt must be equal to d_model, which is ",
                            d_model, ", but their shapes are ", bracketed(src.shape()), " and ",
                            bracketed(tgt.shape())));
  }
  const Tensor memory =
      encoder(src, TransformerEncoderCall{.mask = options.src_mask,
                                          .src_key_padding_mask = options.src_key_padding_mask,
                                          .is_causal = options.src_is_causal});
  guard.check();
  return decoder(tgt, memory,
                 TransformerDecoderCall{.tgt_mask = options.tgt_mask,
                                        .memory_mask = options.memory_mask,
                                        .tgt_key_padding_mask = options.tgt_key_padding_mask,
                                        .memory_key_padding_mask = options.memory_key_padding_mask,
                                        .tgt_is_causal = options.tgt_is_causal,
                                        .memory_is_causal = options.memory_is_causal});
}

}  // namespace tenon::nn
