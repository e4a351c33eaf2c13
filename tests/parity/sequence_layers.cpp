// Layers of sequences by name, and functions that are no layers.
#include "parity/layer_cases.h"

namespace tenon::parity {

namespace {

Made embedding(const Words& w, const Named&) {
  return layer(std::make_shared<nn::Embedding>(
      w.whole("num_embeddings", 0), w.whole("embedding_dim", 0),
      nn::EmbeddingOptions{.padding_idx = w.maybe_whole("padding_idx"),
                           .max_norm = w.maybe_real("max_norm", {}),
                           .norm_type = w.real("norm_type", 2),
                           .scale_grad_by_freq = w.flag("scale_grad_by_freq", false)}));
}

Made embedding_bag(const Words& w, const Named&) {
  const auto made = std::make_shared<nn::EmbeddingBag>(
      w.whole("num_embeddings", 0), w.whole("embedding_dim", 0),
      nn::EmbeddingBagOptions{.max_norm = w.maybe_real("max_norm", {}),
                              .norm_type = w.real("norm_type", 2),
                              .scale_grad_by_freq = w.flag("scale_grad_by_freq", false),
                              .mode = w.text("mode", "mean"),
                              .include_last_offset = w.flag("include_last_offset", false),
                              .padding_idx = w.maybe_whole("padding_idx")});
  return {made, [made](const Words&, const Named& t) {
            return Tensors{(*made)(t.at("0"), t.at("offsets"), t.at("per_sample_weights"))};
          }};
}

template <class O>
O recurrent_options(const Words& w) {
  O options;
  options.num_layers = w.whole("num_layers", 1);
  options.bias = w.flag("bias", true);
  options.batch_first = w.flag("batch_first", false);
  options.bidirectional = w.flag("bidirectional", false);
  if constexpr (requires { options.proj_size; }) options.proj_size = w.whole("proj_size", 0);
  if constexpr (requires { options.nonlinearity; })
    options.nonlinearity = w.text("nonlinearity", "tanh");
  return options;
}

nn::PackedSequence packed(const Words& words, const Tensor& input, bool batch_first) {
  const Dims lengths = words.dims("lengths", {});
  return nn::pack_padded_sequence(
      input, std::vector<std::int64_t>(lengths.begin(), lengths.end()),
      {.batch_first = batch_first, .enforce_sorted = words.flag("enforce_sorted", true)});
}

template <class L>
Made recurrent(const Words& w, const Named&) {
  const auto made = std::make_shared<L>(w.whole("input_size", 0), w.whole("hidden_size", 0),
                                        recurrent_options<typename L::Options>(w));
  return {made, [made](const Words& words, const Named& t) {
            Tensors outputs;
            const auto states = [&](const auto& h) {
              if constexpr (requires { std::get<1>(h); }) {
                outputs.push_back(std::get<0>(h));
                outputs.push_back(std::get<1>(h));
              } else {
                outputs.push_back(h);
              }
            };
            const auto run = [&](const auto& hx) {
              if (words.has("lengths")) {
                const auto [out, h] = (*made)(packed(words, t.at("0"), made->batch_first), hx);
                outputs = {out.data, out.batch_sizes};
                states(h);
              } else {
                const auto [out, h] = (*made)(t.at("0"), hx);
                outputs = {out};
                states(h);
              }
            };
            if constexpr (std::is_same_v<L, nn::LSTM>) {
              run(nn::LSTMState(t.at("h"), t.at("c")));
            } else {
              run(t.at("h"));
            }
            return outputs;
          }};
}

Made cell(const Words& w, const Named&) {
  const auto made = std::make_shared<nn::RNNCell>(
      w.whole("input_size", 0), w.whole("hidden_size", 0),
      nn::RNNCellOptions{.bias = w.flag("bias", true),
                         .nonlinearity = w.text("nonlinearity", "tanh")});
  return {made,
          [made](const Words&, const Named& t) { return Tensors{(*made)(t.at("0"), t.at("h"))}; }};
}
Made gru_cell(const Words& w, const Named&) {
  const auto made =
      std::make_shared<nn::GRUCell>(w.whole("input_size", 0), w.whole("hidden_size", 0),
                                    nn::GatedCellOptions{.bias = w.flag("bias", true)});
  return {made,
          [made](const Words&, const Named& t) { return Tensors{(*made)(t.at("0"), t.at("h"))}; }};
}
Made lstm_cell(const Words& w, const Named&) {
  const auto made =
      std::make_shared<nn::LSTMCell>(w.whole("input_size", 0), w.whole("hidden_size", 0),
                                     nn::GatedCellOptions{.bias = w.flag("bias", true)});
  return {made, [made](const Words&, const Named& t) {
            const auto [h, c] = (*made)(t.at("0"), nn::LSTMState(t.at("h"), t.at("c")));
            return Tensors{h, c};
          }};
}

Made multihead_attention(const Words& w, const Named&) {
  const auto made = std::make_shared<nn::MultiheadAttention>(
      w.whole("embed_dim", 0), w.whole("num_heads", 0),
      nn::MultiheadAttentionOptions{.bias = w.flag("bias", true),
                                    .add_bias_kv = w.flag("add_bias_kv", false),
                                    .add_zero_attn = w.flag("add_zero_attn", false),
                                    .kdim = w.maybe_whole("kdim"),
                                    .vdim = w.maybe_whole("vdim"),
                                    .batch_first = w.flag("batch_first", false)});
  return {made, [made](const Words& words, const Named& t) {
            const Tensor query = t.at("0");
            const auto other = [&](const char* name) {
              return t.at(name).defined() ? t.at(name) : query;
            };
            const auto [out, weights] =
                (*made)(query, other("1"), other("2"),
                        {.key_padding_mask = t.at("key_padding_mask"),
                         .need_weights = words.flag("need_weights", true),
                         .attn_mask = t.at("attn_mask"),
                         .average_attn_weights = words.flag("average_attn_weights", true),
                         .is_causal = words.flag("is_causal", false)});
            return weights.defined() ? Tensors{out, weights} : Tensors{out};
          }};
}

nn::TransformerLayerOptions transformer_options(const Words& w) {
  return {.dim_feedforward = w.whole("dim_feedforward", 2048),
          .dropout = w.real("dropout", 0.1),
          .activation = w.text("activation", "relu"),
          .layer_norm_eps = w.real("layer_norm_eps", 1e-5),
          .batch_first = w.flag("batch_first", false),
          .norm_first = w.flag("norm_first", false),
          .bias = w.flag("bias", true)};
}
Made encoder_layer(const Words& w, const Named&) {
  const auto made = std::make_shared<nn::TransformerEncoderLayer>(
      w.whole("d_model", 0), w.whole("nhead", 0), transformer_options(w));
  return {
      made, [made](const Words&, const Named& t) {
        return Tensors{(*made)(t.at("0"), {.src_mask = t.at("src_mask"),
                                           .src_key_padding_mask = t.at("src_key_padding_mask")})};
      }};
}
Made decoder_layer(const Words& w, const Named&) {
  const auto made = std::make_shared<nn::TransformerDecoderLayer>(
      w.whole("d_model", 0), w.whole("nhead", 0), transformer_options(w));
  return {made, [made](const Words&, const Named& t) {
            return Tensors{(*made)(t.at("0"), t.at("1"),
                                   {.tgt_mask = t.at("tgt_mask"),
                                    .memory_mask = t.at("memory_mask"),
                                    .tgt_key_padding_mask = t.at("tgt_key_padding_mask"),
                                    .memory_key_padding_mask = t.at("memory_key_padding_mask")})};
          }};
}

template <Tensor (*function)(const Tensor&, SoftmaxOptions)>
Tensors along(const Words& w, const Named& t) {
  SoftmaxOptions options{.dim = w.maybe_whole("dim")};
  if (w.has("to")) options.dtype = dtype(w.text("to", ""));
  return {function(t.at("0"), options)};
}

}  // namespace

const std::map<std::string, Factory>& sequence_layers() {
  static const std::map<std::string, Factory> all = {
      {"Embedding", embedding},
      {"EmbeddingBag", embedding_bag},
      {"RNN", recurrent<nn::RNN>},
      {"LSTM", recurrent<nn::LSTM>},
      {"GRU", recurrent<nn::GRU>},
      {"RNNCell", cell},
      {"LSTMCell", lstm_cell},
      {"GRUCell", gru_cell},
      {"MultiheadAttention", multihead_attention},
      {"TransformerEncoderLayer", encoder_layer},
      {"TransformerDecoderLayer", decoder_layer},
  };
  return all;
}

const std::map<std::string, Function>& layer_functions() {
  static const std::map<std::string, Function> all = {
      {"softmax", along<softmax>},
      {"log_softmax", along<log_softmax>},
      {"softmin", along<softmin>},
      {"pad",
       [](const Words& w, const Named& t) {
         return Tensors{
             pad(t.at("0"), w.dims("pad", {}),
                 {.mode = w.text("mode", "constant"), .value = w.maybe_real("value", {})})};
       }},
      {"interpolate",
       [](const Words& w, const Named& t) {
         return Tensors{interpolate(
             t.at("0"), {.size = w.dims("size", {}),
                         .scale_factor = w.reals("scale_factor"),
                         .mode = w.text("mode", "nearest"),
                         .align_corners = w.maybe_flag("align_corners"),
                         .recompute_scale_factor = w.maybe_flag("recompute_scale_factor"),
                         .antialias = w.flag("antialias", false)})};
       }},
      {"normalize",
       [](const Words& w, const Named& t) {
         return Tensors{normalize(
             t.at("0"),
             {.p = w.real("p", 2), .dim = w.dims("dim", 1), .eps = w.real("eps", 1e-12)})};
       }},
      {"cdist",
       [](const Words& w, const Named& t) {
         return Tensors{cdist(t.at("0"), t.at("1"), {.p = w.real("p", 2)})};
       }},
      {"scaled_dot_product_attention",
       [](const Words& w, const Named& t) {
         return Tensors{scaled_dot_product_attention(t.at("0"), t.at("1"), t.at("2"),
                                                     {.attn_mask = t.at("attn_mask"),
                                                      .is_causal = w.flag("is_causal", false),
                                                      .scale = w.maybe_real("scale", {}),
                                                      .enable_gqa = w.flag("enable_gqa", false)})};
       }},
      {"einsum",
       [](const Words& w, const Named& t) {
         Tensors operands;
         for (int i = 0; t.at(std::to_string(i)).defined(); ++i)
           operands.push_back(t.at(std::to_string(i)));
         const std::string equation = w.text("equation", "-");
         return Tensors{einsum(equation == "-" ? "" : equation, operands)};
       }},
  };
  return all;
}

}  // namespace tenon::parity
