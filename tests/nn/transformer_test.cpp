// Attention layers and transformers beside PyTorch's.
#include "tenon/nn/transformer.h"

#include <sstream>

#include "nn/names.h"
#include "nn/recorded_layers.h"
#include "support/gradcheck.h"
#include "support/sha256.h"
#include "tenon/nn/rnn.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;

TEST_F(RecordedLayers, TransformerEncoderLayers) {
  TransformerEncoderLayer plain(8, 2, {.dim_feedforward = 16, .dropout = 0, .batch_first = true});
  check("tel", plain, [&](const auto& inputs) { return plain(inputs[0]); });
  TransformerEncoderLayer first(8, 2,
                                {.dim_feedforward = 16,
                                 .dropout = 0,
                                 .activation = "gelu",
                                 .batch_first = true,
                                 .norm_first = true});
  check("tel_prenorm", first, [&](const auto& inputs) { return first(inputs[0]); });
}

class MHA final : public Layer {
 public:
  Child<MultiheadAttention> m{this, "m", 8, 2, {.batch_first = true}};

 protected:
  Tensor forward(const Tensor& x) override { return std::get<0>(m(x, x, x)); }
};

TEST_F(RecordedLayers, MultiheadAttention) {
  MHA layer;
  check("mha", layer);
}

// The formulas of tests/record/transformer.py.
Tensor made(const Shape& shape, double seed, DType dtype) {
  return (sin(arange(shape.numel(), {.dtype = float64}) * 0.37 + seed) * 0.6)
      .reshape(shape)
      .to(dtype);
}
Tensor bools(const Shape& shape, double seed) { return made(shape, seed, float64) > 0.35; }
Tensor causal(std::int64_t length, DType dtype) {
  return Transformer::generate_square_subsequent_mask(length, {.dtype = dtype});
}

constexpr std::int64_t E = 6, H = 2, L = 4, S = 5, N = 3;
const Shape q{L, N, E}, k{S, N, E}, first{N, L, E}, other_first{N, S, E};

class RecordedTransformers : public testing::TestWithParam<DType> {
 protected:
  const StateDict recorded = recorded::value("nn/cases/transformer");
  const DType dtype = GetParam();

  void expect_near(const Tensor& actual, const std::string& key) const {
    ASSERT_TRUE(recorded.contains(key)) << key;
    EXPECT_EQ(actual.dtype(), dtype) << key;
    const double tolerance = dtype == float64 ? 1e-10 : dtype == float32 ? 5e-6 : 0.2;
    tenon::expect_near(actual, recorded.at(key).as_tensor(), key, tolerance, 0.1);
  }

  static std::vector<Tensor> flat(const Tensor& one) { return {one}; }
  static std::vector<Tensor> flat(const std::tuple<Tensor, Tensor>& both) {
    if (!std::get<1>(both).defined()) return {std::get<0>(both)};
    return {std::get<0>(both), std::get<1>(both)};
  }

  template <class M, class F>
  void check(const std::string& name, M&& layer, const std::vector<Shape>& shapes, F&& call) const {
    layer.to(dtype);
    int number = 0;
    for (const Tensor& parameter : layer.parameters()) {
      const NoGradScope unrecorded;
      parameter.copy_(made(parameter.shape(), number++, dtype));
    }
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < shapes.size(); ++i)
      inputs.push_back(made(shapes[i], 20.0 + static_cast<double>(i), dtype).requires_grad_());
    manual_seed(3);
    const std::vector<Tensor> results = flat(call(layer, inputs));
    Tensor total = zeros({}, {.dtype = dtype});
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::string place = std::to_string(i);
      expect_near(results[i], name + ".out" + place);
      total = total +
              (results[i] * made(results[i].shape(), 30.0 + static_cast<double>(i), dtype)).sum();
    }
    EXPECT_FALSE(recorded.contains(name + ".out" + std::to_string(results.size())));
    total.backward();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      expect_near(inputs[i].grad(), name + ".gin" + std::to_string(i));
    int compared = 0;
    for (const auto& [key, parameter] : layer.named_parameters()) {
      if (!recorded.contains(name + ".g." + key)) continue;
      expect_near(parameter.grad(), name + ".g." + key);
      ++compared;
    }
    EXPECT_GT(compared, 1);
  }

  template <class O>
  static auto each(const O& options) {
    return [options](auto& layer, const std::vector<Tensor>& in) {
      if constexpr (requires { layer(in[0], in[1], in[2], options); }) {
        return layer(in[0], in[1], in[2], options);
      } else if constexpr (requires { layer(in[0], in[1], options); }) {
        return layer(in[0], in[1], options);
      } else {
        return layer(in[0], options);
      }
    };
  }
  static auto same(const MultiheadAttentionCall& options) {
    return [options](MultiheadAttention& layer, const std::vector<Tensor>& in) {
      return layer(in[0], in[0], in[0], options);
    };
  }
  static auto pair(const MultiheadAttentionCall& options) {
    return [options](MultiheadAttention& layer, const std::vector<Tensor>& in) {
      return layer(in[0], in[1], in[1], options);
    };
  }
};

using Call = MultiheadAttentionCall;

TEST_P(RecordedTransformers, AttentionGivesWhatPyTorchsDoes) {
  const auto mha = [](const MultiheadAttentionOptions& options) {
    return MultiheadAttention(E, H, options);
  };
  check("mha", mha({}), {q, k, k}, each(Call{}));
  check("mha_self", mha({.batch_first = true}), {first}, same({.average_attn_weights = false}));
  check("mha_self_fast", mha({.batch_first = true}), {first}, same({.need_weights = false}));
  check("mha_pair", mha({.bias = false}), {q, k}, pair({.need_weights = false}));
  check("mha_unbatched", mha({.batch_first = true}), {{L, E}, {S, E}},
        pair({.key_padding_mask = bools({S}, 3)}));
  check("mha_unbatched_fast", mha({}), {{L, E}},
        same({.need_weights = false, .attn_mask = bools({H, L, L}, 3)}));
  check("mha_mask", mha({}), {q, k, k},
        each(Call{.key_padding_mask = bools({N, S}, 2), .attn_mask = bools({L, S}, 4)}));
  // Here a query looks at nothing.
  check("mha_mask_fast", mha({}), {q, k, k},
        each(Call{.key_padding_mask = bools({N, S}, 3),
                  .need_weights = false,
                  .attn_mask = bools({L, S}, 1)}));
  check("mha_mask3", mha({.batch_first = true}), {first, other_first},
        pair({.attn_mask = made({N * H, L, S}, 1, dtype)}));
  check("mha_mask3_fast", mha({.batch_first = true}), {first, other_first},
        pair({.need_weights = false, .attn_mask = made({N * H, L, S}, 1, dtype)}));
  check("mha_causal", mha({.batch_first = true}), {first},
        same({.need_weights = false, .attn_mask = causal(L, dtype), .is_causal = true}));
  check("mha_added", mha({.add_bias_kv = true, .add_zero_attn = true}), {q, k, k},
        each(Call{.key_padding_mask = bools({N, S}, 3), .attn_mask = bools({L, S}, 1)}));
  check("mha_added_fast", mha({.add_bias_kv = true, .add_zero_attn = true, .batch_first = true}),
        {first}, same({.need_weights = false}));
  check("mha_dims", mha({.kdim = 3, .vdim = 7}), {q, {S, N, 3}, {S, N, 7}}, each(Call{}));
}

TEST_P(RecordedTransformers, AttentionDrawsDropoutAsPyTorchDoes) {
  if (dtype != float64) return;
  check("mha_dropout", MultiheadAttention(E, H, {.dropout = 0.5}), {q, k, k}, each(Call{}));
  check("mha_dropout_fast", MultiheadAttention(E, H, {.dropout = 0.5}), {q, k, k},
        each(Call{.need_weights = false}));
  check("encoder_layer_dropout", TransformerEncoderLayer(E, H, {.dim_feedforward = 8}), {{L, E}},
        each(TransformerEncoderLayerCall{}));
  check("decoder_layer_dropout", TransformerDecoderLayer(E, H, {.dim_feedforward = 8}), {q, k},
        each(TransformerDecoderLayerCall{}));
}

TEST_P(RecordedTransformers, LayersGiveWhatPyTorchsDo) {
  check("encoder_layer", TransformerEncoderLayer(E, H, {.dim_feedforward = 8, .dropout = 0}), {q},
        each(TransformerEncoderLayerCall{.src_mask = causal(L, dtype), .is_causal = true}));
  check("encoder_layer_first",
        TransformerEncoderLayer(E, H,
                                {.dim_feedforward = 8,
                                 .dropout = 0,
                                 .activation = [](const Tensor& x) { return gelu(x); },
                                 .batch_first = true,
                                 .norm_first = true,
                                 .bias = false}),
        {first}, each(TransformerEncoderLayerCall{.src_key_padding_mask = bools({N, L}, 3)}));
  check("decoder_layer", TransformerDecoderLayer(E, H, {.dim_feedforward = 8, .dropout = 0}),
        {q, k},
        each(TransformerDecoderLayerCall{.tgt_mask = bools({L, L}, 1),
                                         .memory_key_padding_mask = bools({N, S}, 3)}));
  check("decoder_layer_first",
        TransformerDecoderLayer(
            E, H, {.dim_feedforward = 8, .dropout = 0, .batch_first = true, .norm_first = true}),
        {first, other_first}, each(TransformerDecoderLayerCall{}));
}

TEST_P(RecordedTransformers, StacksGiveWhatPyTorchsDo) {
  const TransformerLayerOptions options{.dim_feedforward = 8, .dropout = 0};
  check("encoder",
        TransformerEncoder(TransformerEncoderLayer(E, H, options), 2, {.norm = make<LayerNorm>(E)}),
        {q}, each(TransformerEncoderCall{.mask = causal(L, dtype)}));
  TransformerLayerOptions batch_first = options;
  batch_first.batch_first = true;
  check("encoder_plain", TransformerEncoder(make<TransformerEncoderLayer>(E, H, batch_first), 2),
        {first}, each(TransformerEncoderCall{.src_key_padding_mask = bools({N, L}, 3)}));
  check(
      "decoder",
      TransformerDecoder(TransformerDecoderLayer(E, H, options), 2, {.norm = make<LayerNorm>(E)}),
      {q, k},
      each(TransformerDecoderCall{.tgt_mask = causal(L, dtype), .memory_mask = bools({L, S}, 1)}));
  check("transformer",
        Transformer(
            E, H,
            {.num_encoder_layers = 2, .num_decoder_layers = 2, .dim_feedforward = 8, .dropout = 0}),
        {k, q},
        each(TransformerCall{.tgt_mask = causal(L, dtype),
                             .src_key_padding_mask = bools({N, S}, 3)}));
}

INSTANTIATE_TEST_SUITE_P(Transformers, RecordedTransformers,
                         testing::Values(float64, float32, bfloat16));

std::string digest(const std::vector<Tensor>& tensors) {
  std::vector<std::byte> bytes;
  for (const Tensor& tensor : tensors) {
    const Tensor packed = tensor.detach().contiguous();
    const auto* begin = static_cast<const std::byte*>(packed.data_ptr());
    bytes.insert(bytes.end(), begin, begin + packed.numel() * packed.element_size());
  }
  return sha256(bytes);
}

using Digests = std::vector<std::tuple<const char*, const char*, const char*>>;
template <class F>
void expect_first_values(F&& make_one, const Digests& recorded) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{11}}) {
    manual_seed(seed);
    const auto layer = make_one();
    EXPECT_EQ(layer->state_dict().size(), recorded.size());
    for (const auto& [name, at_0, at_11] : recorded)
      EXPECT_EQ(digest({layer->get_parameter(name)}), seed == 0 ? at_0 : at_11) << name;
  }
}

TEST(Transformers, HaveTheFirstValuesOfPyTorch) {
  expect_first_values(
      [] { return make<MultiheadAttention>(8, 2); },
      {{"in_proj_weight", "71edc406516cc063cf8bbc2919fe277fd0c69d404257082b84e069c5bfc963d2",
        "a450ea9588c20d7fefee71ace2aef5bf4f256be5376562ccfad9b655583ea0a1"},
       {"in_proj_bias", "2ea9ab9198d1638007400cd2c3bef1cc745b864b76011a0e1bc52180ac6452d4",
        "2ea9ab9198d1638007400cd2c3bef1cc745b864b76011a0e1bc52180ac6452d4"},
       {"out_proj.weight", "41e6e383e94a71c9c1d7f9c60759da8213c5c6acf13f2b005f24f78825d7d77d",
        "2035f91f28912e3aab38668602183a09fd01205d687a1fc17c4c7f5f1a0d9db7"},
       {"out_proj.bias", "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925",
        "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"}});
  expect_first_values(
      [] { return make<TransformerEncoderLayer>(8, 2, {.dim_feedforward = 16}); },
      {{"self_attn.in_proj_weight",
        "71edc406516cc063cf8bbc2919fe277fd0c69d404257082b84e069c5bfc963d2",
        "a450ea9588c20d7fefee71ace2aef5bf4f256be5376562ccfad9b655583ea0a1"},
       {"self_attn.in_proj_bias",
        "2ea9ab9198d1638007400cd2c3bef1cc745b864b76011a0e1bc52180ac6452d4",
        "2ea9ab9198d1638007400cd2c3bef1cc745b864b76011a0e1bc52180ac6452d4"},
       {"self_attn.out_proj.weight",
        "41e6e383e94a71c9c1d7f9c60759da8213c5c6acf13f2b005f24f78825d7d77d",
        "2035f91f28912e3aab38668602183a09fd01205d687a1fc17c4c7f5f1a0d9db7"},
       {"self_attn.out_proj.bias",
        "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925",
        "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"},
       {"linear1.weight", "19c7d1a0bb989ca45a5418936396254feccb0c9e71bb7f5e5787089fd454f78a",
        "8173cc125f34efb2f6acce2c64a6c011485538d674840de4813204f318608fbe"},
       {"linear1.bias", "fb696c8594cb079c2320713dc648285f946474a180eb49458692eefbaa47b127",
        "c9481199e6bafc8cf34bed53203d6a8b876df4ad5f6a7682034a42d2ed30c6a4"},
       {"linear2.weight", "31b394cedeb0e9043b6591c59030e53bf1f181efae6f09e7a2bb1b4889a87646",
        "f8ba2194db4e580f406b6b079a5ec84301499ebde9ed6223e93d87cdb86b7e59"},
       {"linear2.bias", "428a82909d9a088ccd4de0fb974465909b5ba7fe43cf7aa2bc1d2b6f4014f0f1",
        "a781dde55c8ebcd67338693a19bfdec20d93c3f1b36a72398b3505c8317c53d3"},
       {"norm1.weight", "4f05df05f8da9356bd66425351f166a5f7305b7c805e6900d9ec0f50790c9886",
        "4f05df05f8da9356bd66425351f166a5f7305b7c805e6900d9ec0f50790c9886"},
       {"norm1.bias", "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925",
        "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"},
       {"norm2.weight", "4f05df05f8da9356bd66425351f166a5f7305b7c805e6900d9ec0f50790c9886",
        "4f05df05f8da9356bd66425351f166a5f7305b7c805e6900d9ec0f50790c9886"},
       {"norm2.bias", "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925",
        "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"}});
  manual_seed(5);
  const Transformer both(8, 2,
                         {.num_encoder_layers = 2, .num_decoder_layers = 2, .dim_feedforward = 16});
  EXPECT_EQ(digest(both.parameters()),
            "34fc5f07d2c7978a7597d852dfb227a7ed702531c769b08be50d50b66c6776c1");
  manual_seed(5);
  const MultiheadAttention apart(8, 2, {.add_bias_kv = true, .kdim = 3, .vdim = 5});
  EXPECT_EQ(digest(apart.parameters()),
            "361942d8a25e5fc9c374b4a9369ec9331752f816ca1624b4c18d86cff8845919");
}

TEST(Transformers, AreMadeOfLayersOfClassesOfOnesOwn) {
  class Louder final : public TransformerEncoderLayer {
   public:
    using TransformerEncoderLayer::TransformerEncoderLayer;
    double volume = 1;

   protected:
    Tensor forward(const Tensor& src, const TransformerEncoderLayerCall& options) override {
      return TransformerEncoderLayer::forward(src, options) * volume;
    }
  };
  class Quiet final : public TransformerDecoderLayer {
   public:
    using TransformerDecoderLayer::TransformerDecoderLayer;
  };
  Louder layer(8, 2, {.dim_feedforward = 16, .dropout = 0});  // on the stack, never named before
  layer.volume = 3;
  TransformerEncoder encoder(layer, 2);
  const Tensor x = (arange(24) * 0.7).sin().reshape({3, 1, 8});
  EXPECT_TRUE(equal(encoder(x), layer(layer(x))));
  for (TransformerEncoderLayer& one : *encoder.layers)
    EXPECT_EQ(dynamic_cast<Louder&>(one).volume, 3);
  const Quiet quiet(8, 2, {.dim_feedforward = 16});
  EXPECT_EQ(TransformerDecoder(quiet, 2).layers->size(), 2);
}

TEST(Transformers, HaveTheNamesOfPyTorch) {
  EXPECT_THAT(
      names(
          MultiheadAttention(8, 2, {.add_bias_kv = true, .kdim = 3, .vdim = 5}).named_parameters()),
      ElementsAre("q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k",
                  "bias_v", "out_proj.weight", "out_proj.bias"));
  EXPECT_THAT(names(MultiheadAttention(8, 2, {.bias = false}).named_parameters()),
              ElementsAre("in_proj_weight", "out_proj.weight"));
}

TEST(Transformers, SayWhatTheyAre) {
  const std::string layers = R"(  (layers): ModuleList(
    (0-1): 2 x TransformerEncoderLayer(
      (self_attn): MultiheadAttention(
        (out_proj): NonDynamicallyQuantizableLinear(in_features=8, out_features=8, bias=True)
      )
      (linear1): Linear(in_features=8, out_features=16, bias=True)
      (dropout): Dropout(p=0.1, inplace=False)
      (linear2): Linear(in_features=16, out_features=8, bias=True)
      (norm1): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
      (norm2): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
      (dropout1): Dropout(p=0.1, inplace=False)
      (dropout2): Dropout(p=0.1, inplace=False)
    )
  )
)";
  EXPECT_EQ(TransformerEncoder(TransformerEncoderLayer(8, 2, {.dim_feedforward = 16}), 2).repr(),
            "TransformerEncoder(\n" + layers + ")");
  // Inside of a transformer the same, two columns further to the right.
  std::string inside;
  std::istringstream lines(layers);
  for (std::string line; std::getline(lines, line);) inside += "  " + line + "\n";
  EXPECT_EQ(
      Transformer(8, 2, {.num_encoder_layers = 2, .num_decoder_layers = 2, .dim_feedforward = 16})
          .repr(),
      "Transformer(\n  (encoder): TransformerEncoder(\n" + inside +
          R"(    (norm): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
  )
  (decoder): TransformerDecoder(
    (layers): ModuleList(
      (0-1): 2 x TransformerDecoderLayer(
        (self_attn): MultiheadAttention(
          (out_proj): NonDynamicallyQuantizableLinear(in_features=8, out_features=8, bias=True)
        )
        (multihead_attn): MultiheadAttention(
          (out_proj): NonDynamicallyQuantizableLinear(in_features=8, out_features=8, bias=True)
        )
        (linear1): Linear(in_features=8, out_features=16, bias=True)
        (dropout): Dropout(p=0.1, inplace=False)
        (linear2): Linear(in_features=16, out_features=8, bias=True)
        (norm1): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
        (norm2): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
        (norm3): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
        (dropout1): Dropout(p=0.1, inplace=False)
        (dropout2): Dropout(p=0.1, inplace=False)
        (dropout3): Dropout(p=0.1, inplace=False)
      )
    )
    (norm): LayerNorm((8,), eps=1e-05, elementwise_affine=True, bias=True)
  )
))");
}

TEST(Transformers, HaveCopiesOfOneLayer) {
  const auto layer = make<TransformerEncoderLayer>(8, 2, {.dim_feedforward = 16});
  TransformerEncoder encoder(layer, 3);
  for (auto& one : encoder.layers) {
    EXPECT_TRUE(equal(one.linear1->weight, layer->linear1->weight));
    EXPECT_FALSE(one.linear1->weight->is(layer->linear1->weight));
  }
  EXPECT_EQ(encoder.parameters().size(), 36U);
  EXPECT_FALSE(encoder.norm.defined());
  const auto copy = clone(encoder);
  copy->eval();
  encoder.eval();
  const Tensor x = made({4, 2, 8}, 0, float32);
  EXPECT_TRUE(equal((*copy)(x), encoder(x)));
}

TEST(Transformers, FindOutThatAMaskIsCausal) {
  TransformerEncoder encoder(TransformerEncoderLayer(8, 2, {.dim_feedforward = 16, .dropout = 0}),
                             1);
  std::vector<bool> seen;
  encoder.layers[0].register_forward_pre_hook(
      [&](Module&, auto& args) { seen.push_back(std::get<1>(args).is_causal); });
  const Tensor x = made({4, 2, 8}, 0, float32);
  const Tensor mask = causal(4, float32);
  const Tensor found = encoder(x, {.mask = mask});
  const Tensor told = encoder(x, {.mask = mask, .is_causal = false});
  encoder(x, {.mask = zeros({4, 4})});
  const Tensor of_bools = encoder(x, {.mask = mask < 0});
  encoder(x);
  EXPECT_THAT(seen, ElementsAre(true, false, false, true, false));
  EXPECT_TRUE(allclose(found, told, {.rtol = 1e-5, .atol = 1e-6}));
  EXPECT_TRUE(equal(found, of_bools));
}

class Reader final : public Callable<Tensor(const Tensor&, const Tensor&)> {
 public:
  Child<TransformerEncoder> encoder{this,
                                    "encoder",
                                    make<TransformerEncoderLayer>(8, 2, {.dim_feedforward = 4}),
                                    2,
                                    {.norm = make<LayerNorm>(8)}};
  Child<MultiheadAttention> attention{this, "attention", 8, 2, {.dropout = 0.1}};
  Child<LSTM> lstm{this, "lstm", 8, 8, {.num_layers = 2}};

 protected:
  Tensor forward(const Tensor& x, const Tensor& mask) override {
    const Tensor read = encoder(x, {.mask = mask});
    const auto [seen, weights] = attention(read, x, x, {.need_weights = false, .attn_mask = mask});
    const Tensor zero = zeros({2, x.size(1), 8});
    const auto [out, state] = lstm(seen, {zero, zero});
    return out;
  }
};

TEST(Transformers, AreCalledWithOptionsInBracesWhereTheyAreChildren) {
  Reader reader;
  const Tensor x = made({4, 3, 8}, 0, float32);
  EXPECT_EQ(reader(x, causal(4, float32)).shape(), Shape({4, 3, 8}));
  EXPECT_EQ(reader.encoder->repr().find("(norm): LayerNorm") == std::string::npos, false);
  const auto copy = clone(reader);
  copy->eval();
  reader.eval();
  EXPECT_TRUE(equal((*copy)(x, causal(4, float32)), reader(x, causal(4, float32))));
}

TEST(Transformers, WorkOnMeta) {
  const Tensor before = default_generator().get_state();
  Transformer both(
      8, 2,
      {.num_encoder_layers = 1, .num_decoder_layers = 1, .dim_feedforward = 16, .device = "meta"});
  EXPECT_TRUE(equal(before, default_generator().get_state()));
  const Tensor src = empty({5, 2, 8}, {.device = "meta"}),
               tgt = empty({4, 2, 8}, {.device = "meta"});
  EXPECT_EQ(both(src, tgt).shape(), Shape({4, 2, 8}));
  EXPECT_TRUE(both(src, tgt).is_meta());
}

TEST(Transformers, TakeEmptyBatches) {
  MultiheadAttention mha(8, 2, {.batch_first = true});
  const auto [out, weights] = mha(zeros({0, 4, 8}), zeros({0, 5, 8}), zeros({0, 5, 8}));
  EXPECT_EQ(out.shape(), Shape({0, 4, 8}));
  EXPECT_EQ(weights.shape(), Shape({0, 4, 5}));
  const Tensor none = zeros({0, 4, 8});
  EXPECT_EQ(std::get<0>(mha(none, none, none, {.need_weights = false})).shape(), none.shape());
}

TEST(Transformers, HaveTheGradientsThatDifferencesSay) {
  MultiheadAttention mha(4, 2, {.add_bias_kv = true, .dtype = float64});
  std::vector<Tensor> inputs{made({3, 2, 4}, 0, float64).requires_grad_(),
                             made({2, 2, 4}, 1, float64).requires_grad_()};
  for (const Tensor& parameter : mha.parameters()) inputs.push_back(parameter);
  for (const bool need_weights : {true, false}) {
    expect_gradients(
        [&](const std::vector<Tensor>& at) {
          return std::get<0>(mha(at[0], at[1], at[1], {.need_weights = need_weights}));
        },
        inputs, {.atol = 1e-5});
  }
}

TEST(Transformers, SayWhatDoesNotFit) {
  MultiheadAttention mha(8, 2);
  const Tensor x = zeros({4, 3, 8}), y = zeros({5, 3, 8});
  const auto call = [&](const Tensor& a, const Tensor& b, const Tensor& c,
                        const MultiheadAttentionCall& options = {}) {
    return [&mha, a, b, c, options] { mha(a, b, c, options); };
  };
  expect_error<ShapeError>(call(zeros({8}), x, x), "received 1-D query tensor",
                           "(in MultiheadAttention)");
  expect_error<ShapeError>(call(x, zeros({5, 8}), y), "but found 2-D and 3-D tensors");
  expect_error<ShapeError>(call(x, y, zeros({4, 3, 8})),
                           "key shape [5, 3, 8] does not match value shape [4, 3, 8]");
  expect_error<ShapeError>(call(zeros({4, 3, 6}), y, y),
                           "was expecting embedding dimension of 8, but got 6");
  expect_error<ShapeError>(call(x, zeros({5, 2, 8}), zeros({5, 2, 8})), "3 batches");
  expect_error<ShapeError>(call(x, y, y, {.attn_mask = zeros({4, 4})}),
                           "The shape of the 2D attn_mask is [4, 4], but should be [4, 5].");
  expect_error<ShapeError>(call(x, y, y, {.attn_mask = zeros({3, 4, 5})}), "should be [6, 4, 5].");
  expect_error<ShapeError>(call(x, y, y, {.key_padding_mask = zeros({5})}), "but found 1-D");
  expect_error<ShapeError>(call(x, y, y, {.key_padding_mask = zeros({3, 4})}), "[3, 5]");
  expect_error<DTypeError>(call(x, y, y, {.attn_mask = zeros({4, 5}, {.dtype = int64})}),
                           "only bool and floating types of attn_mask are supported");
  expect_error<ValueError>(call(x, y, y, {.is_causal = true}), "Need attn_mask");
  expect_error<DTypeError>(call(x.to(float64), y, y), "float64");
  expect_error<ValueError>([] { MultiheadAttention(8, 3); },
                           "embed_dim must be divisible by num_heads");
  expect_error<ValueError>([] { MultiheadAttention(8, 0); }, "got embed_dim=8 and num_heads=0");
  expect_error<ValueError>([] { TransformerEncoderLayer(8, 2, {.activation = "selu"}); },
                           "activation should be relu/gelu, not selu");
  expect_error<ValueError>(
      [] { TransformerEncoder(std::shared_ptr<TransformerEncoderLayer>(), 2); }, "null");
  Transformer both(8, 2, {.num_encoder_layers = 1, .num_decoder_layers = 1, .dim_feedforward = 4});
  expect_error<ShapeError>([&] { both(zeros({5, 2, 8}), x); }, "batch number", "[5, 2, 8]");
  expect_error<ShapeError>([&] { both(zeros({5, 3, 6}), x); }, "must be equal to d_model",
                           "[5, 3, 6]");
}

TEST(Transformer, TakesALayerAsItsActivation) {
  const auto prelu = make<PReLU>();
  TransformerEncoderLayer layer(8, 2, {.dim_feedforward = 16, .dropout = 0, .activation = prelu});
  EXPECT_TRUE(layer.activation_layer);
  EXPECT_EQ(layer.state_dict().size(), 13);
  EXPECT_TRUE(layer.state_dict().contains("activation.weight"));
  EXPECT_THAT(layer.repr(), testing::EndsWith("  (activation): PReLU(num_parameters=1)\n)"));
  // Clones have their own.
  TransformerEncoder encoder(layer, 2);
  const Tensor x = ones({3, 2, 8});
  const Tensor before = encoder(x);
  {
    const NoGradScope scope;
    prelu->weight->fill_(2);
  }
  EXPECT_TRUE(equal(encoder(x), before));
  EXPECT_FALSE(equal(layer(x), encoder.layers[0](x)));
  {
    const NoGradScope scope;
    encoder.layers[0].activation_layer->parameters()[0].fill_(2);
  }
  EXPECT_TRUE(equal(encoder.layers[0](x), layer(x)));

  // A layer by value, a function, and a name are one thing; the last two are no children.
  const auto with = [&](const TransformerActivation& activation) {
    manual_seed(5);
    TransformerDecoderLayer made(8, 2,
                                 {.dim_feedforward = 16, .dropout = 0, .activation = activation});
    return std::pair(made(x, x), made.repr().find("(activation): GELU") != std::string::npos);
  };
  const auto [by_layer, is_child] = with(GELU());
  const auto [by_name, is_named_child] = with("gelu");
  const auto [by_function, is_other_child] = with([](const Tensor& t) { return gelu(t); });
  EXPECT_TRUE(is_child);
  EXPECT_FALSE(is_named_child || is_other_child);
  EXPECT_TRUE(equal(by_layer, by_name));
  EXPECT_TRUE(equal(by_layer, by_function));
  expect_error<ValueError>(
      [] { TransformerEncoderLayer(8, 2, {.activation = std::shared_ptr<GELU>()}); }, "null");
}

// PyTorch gives this with enable_nested_tensor=False, and in training; without gradients its
// encoder writes zeros where the padding is (docs/divergences.md).
TEST(Transformer, CalculatesPaddingLikeTheRestInEveryMode) {
  TransformerEncoder encoder(
      TransformerEncoderLayer(8, 2, {.dim_feedforward = 16, .dropout = 0, .batch_first = true}), 2);
  const Tensor x = arange(64, {.dtype = float32}).sin().view({2, 4, 8});
  const Tensor padding = tensor({{false, false, false, true}, {false, false, true, true}});
  const Tensor trained = encoder(x, {.src_key_padding_mask = padding});
  encoder.eval();
  const NoGradScope scope;
  const Tensor evaluated = encoder(x, {.src_key_padding_mask = padding});
  EXPECT_TRUE(allclose(evaluated, trained));
  EXPECT_TRUE((evaluated.abs().sum(-1) > 0).all().item<bool>());
}

}  // namespace
}  // namespace tenon::nn
