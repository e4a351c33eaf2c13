// Transformers: stacks of attention and feed-forward layers, that read (encoders) and write
// (decoders).
//
//   nn::TransformerEncoderLayer layer(512, 8, {.batch_first = true});
//   nn::TransformerEncoder encoder(layer, 6);          // six copies, all with the same values
//   Tensor y = encoder(x, {.mask = nn::Transformer::generate_square_subsequent_mask(x.size(1))});
//
// Sequences are (L, N, d_model), (N, L, d_model) with batch_first, or (L, d_model). In masks of
// bools true means: not looked at; masks of numbers are added to the scores.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/nn/containers.h"
#include "tenon/nn/dropout.h"
#include "tenon/nn/linear.h"
#include "tenon/nn/multihead_attention.h"
#include "tenon/nn/normalization.h"

namespace tenon::nn {

// "relu", "gelu", any function of a tensor, or a layer: .activation = nn::make<nn::PReLU>(), which
// becomes the child "activation" of what it is given to.
class TENON_API TransformerActivation {
 public:
  TransformerActivation(const char* name) : TransformerActivation(std::string(name)) {}
  // ValueError for another name.
  TransformerActivation(const std::string& name);
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, TransformerActivation> &&
             !std::derived_from<F, Module> && std::is_invocable_r_v<Tensor, F&, const Tensor&>)
  TransformerActivation(F function) : function_(std::move(function)) {}
  template <std::derived_from<Layer> M>
  TransformerActivation(std::shared_ptr<M> layer)
      : TransformerActivation(std::shared_ptr<Layer>(std::move(layer)), 0) {}
  template <std::derived_from<Layer> M>
  TransformerActivation(const M& layer) : TransformerActivation(clone(layer)) {}

  Tensor operator()(const Tensor& input) const { return function_(input); }
  const std::shared_ptr<Layer>& layer() const noexcept { return layer_; }  // null if it is none

 private:
  // ValueError for one that is null.
  TransformerActivation(std::shared_ptr<Layer> layer, int);

  std::function<Tensor(const Tensor&)> function_;
  std::shared_ptr<Layer> layer_;
};

struct TransformerLayerOptions {
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  TransformerActivation activation = "relu";
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;  // each part normalises what it is given, and not what it gives
  bool bias = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
using TransformerEncoderLayerOptions = TransformerLayerOptions;
using TransformerDecoderLayerOptions = TransformerLayerOptions;

struct TransformerEncoderLayerCall {
  Tensor src_mask = {};
  Tensor src_key_padding_mask = {};
  bool is_causal = false;  // a hint that src_mask is the causal one
};

class TENON_API TransformerEncoderLayer
    : public Callable<Tensor(const Tensor& src, const TransformerEncoderLayerCall& options)> {
 public:
  using Options = TransformerEncoderLayerOptions;
  TransformerEncoderLayer(std::int64_t d_model, std::int64_t nhead, const Options& options = {});

  Child<MultiheadAttention> self_attn;
  Child<Linear> linear1;
  Child<Dropout> dropout;
  Child<Linear> linear2;
  bool norm_first;
  Child<LayerNorm> norm1, norm2;
  Child<Dropout> dropout1, dropout2;
  TransformerActivation activation;
  Child<Layer> activation_layer{this, "activation", nullptr};  // if it is a layer

 protected:
  Tensor forward(const Tensor& src, const TransformerEncoderLayerCall& options) override;
};

struct TransformerDecoderLayerCall {
  Tensor tgt_mask = {};
  Tensor memory_mask = {};
  Tensor tgt_key_padding_mask = {};
  Tensor memory_key_padding_mask = {};
  bool tgt_is_causal = false;
  bool memory_is_causal = false;
};

class TENON_API TransformerDecoderLayer
    : public Callable<Tensor(const Tensor& tgt, const Tensor& memory,
                             const TransformerDecoderLayerCall& options)> {
 public:
  using Options = TransformerDecoderLayerOptions;
  TransformerDecoderLayer(std::int64_t d_model, std::int64_t nhead, const Options& options = {});

  Child<MultiheadAttention> self_attn, multihead_attn;
  Child<Linear> linear1;
  Child<Dropout> dropout;
  Child<Linear> linear2;
  bool norm_first;
  Child<LayerNorm> norm1, norm2, norm3;
  Child<Dropout> dropout1, dropout2, dropout3;
  TransformerActivation activation;
  Child<Layer> activation_layer{this, "activation", nullptr};  // if it is a layer

 protected:
  Tensor forward(const Tensor& tgt, const Tensor& memory,
                 const TransformerDecoderLayerCall& options) override;
};

namespace detail {
[[noreturn]] TENON_API void throw_no_layer();
template <class M>
const M& given(const M* layer) {
  if (layer == nullptr) throw_no_layer();
  return *layer;
}
// A layer of a class of its own, which may be copied now that its class has been named.
template <class Base, class L>
const Base& known(const L& layer) {
  note_exact_type_of(const_cast<L&>(layer));
  return layer;
}
}  // namespace detail

struct TransformerEncoderOptions {
  std::shared_ptr<Layer> norm = nullptr;  // of what the last layer gives
  // Accepted, and of no effect: there are no nested tensors, and padding is calculated like the
  // rest.
  bool enable_nested_tensor = true;
  bool mask_check = true;
};
struct TransformerEncoderCall {
  Tensor mask = {};
  Tensor src_key_padding_mask = {};
  std::optional<bool> is_causal = {};  // whether the mask is the causal one; looked at if not said
};

// Copies of a layer, one after another.
class TENON_API TransformerEncoder
    : public Callable<Tensor(const Tensor& src, const TransformerEncoderCall& options)> {
 public:
  using Options = TransformerEncoderOptions;
  TransformerEncoder(const TransformerEncoderLayer& encoder_layer, std::int64_t num_layers,
                     const Options& options = {});
  template <std::derived_from<TransformerEncoderLayer> L>
  TransformerEncoder(const L& encoder_layer, std::int64_t num_layers_, const Options& options = {})
      : TransformerEncoder(detail::known<TransformerEncoderLayer>(encoder_layer), num_layers_,
                           options) {}
  TransformerEncoder(const std::shared_ptr<TransformerEncoderLayer>& encoder_layer,
                     std::int64_t num_layers_, const Options& options = {})
      : TransformerEncoder(detail::given(encoder_layer.get()), num_layers_, options) {}

  Child<ModuleList<TransformerEncoderLayer>> layers{this, "layers"};
  std::int64_t num_layers;
  Child<Layer> norm{this, "norm", nullptr};
  bool enable_nested_tensor, mask_check;

 protected:
  Tensor forward(const Tensor& src, const TransformerEncoderCall& options) override;
};

struct TransformerDecoderOptions {
  std::shared_ptr<Layer> norm = nullptr;
};
struct TransformerDecoderCall {
  Tensor tgt_mask = {};
  Tensor memory_mask = {};
  Tensor tgt_key_padding_mask = {};
  Tensor memory_key_padding_mask = {};
  std::optional<bool> tgt_is_causal = {};
  bool memory_is_causal = false;
};

class TENON_API TransformerDecoder
    : public Callable<Tensor(const Tensor& tgt, const Tensor& memory,
                             const TransformerDecoderCall& options)> {
 public:
  using Options = TransformerDecoderOptions;
  TransformerDecoder(const TransformerDecoderLayer& decoder_layer, std::int64_t num_layers,
                     const Options& options = {});
  template <std::derived_from<TransformerDecoderLayer> L>
  TransformerDecoder(const L& decoder_layer, std::int64_t num_layers_, const Options& options = {})
      : TransformerDecoder(detail::known<TransformerDecoderLayer>(decoder_layer), num_layers_,
                           options) {}
  TransformerDecoder(const std::shared_ptr<TransformerDecoderLayer>& decoder_layer,
                     std::int64_t num_layers_, const Options& options = {})
      : TransformerDecoder(detail::given(decoder_layer.get()), num_layers_, options) {}

  Child<ModuleList<TransformerDecoderLayer>> layers{this, "layers"};
  std::int64_t num_layers;
  Child<Layer> norm{this, "norm", nullptr};

 protected:
  Tensor forward(const Tensor& tgt, const Tensor& memory,
                 const TransformerDecoderCall& options) override;
};

struct TransformerOptions {
  std::int64_t d_model = 512;
  std::int64_t nhead = 8;
  std::int64_t num_encoder_layers = 6;
  std::int64_t num_decoder_layers = 6;
  std::int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  TransformerActivation activation = "relu";
  std::shared_ptr<TransformerEncoder> custom_encoder = nullptr;
  std::shared_ptr<TransformerDecoder> custom_decoder = nullptr;
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};
struct TransformerCall {
  Tensor src_mask = {};
  Tensor tgt_mask = {};
  Tensor memory_mask = {};
  Tensor src_key_padding_mask = {};
  Tensor tgt_key_padding_mask = {};
  Tensor memory_key_padding_mask = {};
  std::optional<bool> src_is_causal = {};
  std::optional<bool> tgt_is_causal = {};
  bool memory_is_causal = false;
};
struct SubsequentMaskOptions {
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};
};

// An encoder of the source and a decoder of the target.
class TENON_API Transformer : public Callable<Tensor(const Tensor& src, const Tensor& tgt,
                                                     const TransformerCall& options)> {
 public:
  using Options = TransformerOptions;
  explicit Transformer(const Options& options = {});
  Transformer(std::int64_t d_model, std::int64_t nhead, const Options& options = {});

  // (sz, sz): 0 where a position may be looked at, itself and those before, and -inf where not.
  static Tensor generate_square_subsequent_mask(std::int64_t sz,
                                                const SubsequentMaskOptions& options = {});

  Child<TransformerEncoder> encoder;
  Child<TransformerDecoder> decoder;
  std::int64_t d_model, nhead;
  bool batch_first;

 protected:
  Tensor forward(const Tensor& src, const Tensor& tgt, const TransformerCall& options) override;
};

}  // namespace tenon::nn
