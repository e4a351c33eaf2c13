// Every layer with tensors of its own, between a forward pass and its backward pass: what the pass
// has saved is not swapped, and the pass goes on as if nobody had tried.
#include "core/body_editor.h"
#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

struct Subject {
  std::string name;
  std::shared_ptr<Module> module;
  // The result for the inputs.
  std::function<Tensor()> forward;
  // Whether the pass saves a weight. The gradient of an embedding needs none of it, and an instance
  // norm saves what it has made of its weights, once for each item.
  bool saves = true;
  // The same if no input requires grad. PyTorch 2.14 does not refuse for RMSNorm, an InstanceNorm
  // of one item and recurrent cells; all others are the same there.
  bool saves_for_plain_inputs = false;
};

bool inputs_require_grad = true;

Tensor input(const Shape& shape) { return randn(shape).requires_grad_(inputs_require_grad); }

Tensor first(const Tensor& result) { return result; }
template <class... T>
Tensor first(const std::tuple<Tensor, T...>& results) {
  return std::get<0>(results);
}
template <class T>
Tensor first(const std::pair<Tensor, T>& results) {
  return results.first;
}

template <class M, class... T>
Subject subject(std::string name, std::shared_ptr<M> module, T... inputs) {
  return {std::move(name), module, [=] { return first((*module)(inputs...)); }};
}

// One that saves its weight for any input.
Subject kept(Subject one) {
  one.saves_for_plain_inputs = true;
  return one;
}

Subject evaluated(Subject one) {
  one.module->eval();
  one.name += " in evaluation";
  return one;
}

void add_dense(std::vector<Subject>& all) {
  all.push_back(subject("Linear", make<Linear>(4, 3), input({2, 4})));
  all.push_back(subject("Linear without bias", make<Linear>(4, 3, LinearOptions{.bias = false}),
                        input({2, 4})));
  all.push_back(subject("Linear of a sequence", make<Linear>(4, 3), input({2, 5, 4})));
  all.push_back(subject("Linear of one row", make<Linear>(4, 3), input({4})));
  all.push_back(subject("NonDynamicallyQuantizableLinear",
                        make<NonDynamicallyQuantizableLinear>(4, 3), input({2, 4})));
  all.push_back(subject("Bilinear", make<Bilinear>(4, 3, 2), input({2, 4}), input({2, 3})));
  all.push_back(kept(subject("PReLU", make<PReLU>(), input({2, 3}))));
  all.push_back(kept(subject("PReLU of channels", make<PReLU>(3), input({2, 3, 4}))));
  all.push_back(kept(subject("Conv1d", make<Conv1d>(2, 3, 3), input({1, 2, 8}))));
  all.push_back(kept(subject("Conv2d", make<Conv2d>(2, 3, 3), input({1, 2, 5, 5}))));
  all.push_back(kept(subject("Conv2d without a batch", make<Conv2d>(2, 3, 3), input({2, 5, 5}))));
  all.push_back(
      kept(subject("Conv2d that pads",
                   make<Conv2d>(2, 3, 3, ConvOptions{.padding = 1, .padding_mode = "circular"}),
                   input({1, 2, 5, 5}))));
  all.push_back(kept(subject("Conv3d", make<Conv3d>(2, 3, 2), input({1, 2, 4, 4, 4}))));
  const auto transposed = [&](const char* name, auto module, const Tensor& x) {
    all.push_back(kept({name, module, [=] { return (*module)(x, {}); }}));
  };
  transposed("ConvTranspose1d", make<ConvTranspose1d>(2, 3, 3), input({1, 2, 8}));
  transposed("ConvTranspose2d", make<ConvTranspose2d>(2, 3, 3), input({1, 2, 5, 5}));
  transposed("ConvTranspose3d", make<ConvTranspose3d>(2, 3, 2), input({1, 2, 4, 4, 4}));
}

void add_norms(std::vector<Subject>& all) {
  all.push_back(kept(subject("LayerNorm", make<LayerNorm>(4), input({2, 4}))));
  all.push_back(kept(subject("RMSNorm", make<RMSNorm>(4), input({2, 4}))));
  all.push_back(kept(subject("GroupNorm", make<GroupNorm>(2, 4), input({2, 4, 3}))));
  for (const bool training : {true, false}) {
    const auto add = [&](Subject one) {
      all.push_back(training ? std::move(one) : evaluated(std::move(one)));
    };
    add(kept(subject("BatchNorm1d", make<BatchNorm1d>(3), input({4, 3}))));
    add(kept(subject("BatchNorm2d", make<BatchNorm2d>(3), input({2, 3, 4, 4}))));
    add(kept(subject("BatchNorm3d", make<BatchNorm3d>(3), input({2, 3, 2, 2, 2}))));
    const InstanceNormOptions options{.affine = true, .track_running_stats = true};
    const auto add_unsaved = [&](Subject one) {
      one.saves = false;
      add(std::move(one));
    };
    add_unsaved(subject("InstanceNorm1d", make<InstanceNorm1d>(3, options), input({2, 3, 4})));
    add_unsaved(subject("InstanceNorm2d", make<InstanceNorm2d>(3, options), input({2, 3, 4, 4})));
    add_unsaved(
        subject("InstanceNorm3d", make<InstanceNorm3d>(3, options), input({2, 3, 2, 2, 2})));
    add(kept(
        subject("InstanceNorm1d of one item", make<InstanceNorm1d>(3, options), input({1, 3, 4}))));
  }
}

void add_sequences(std::vector<Subject>& all) {
  const Tensor indices = tensor({1, 2, 2});
  all.push_back(subject("Embedding", make<Embedding>(5, 3), indices));
  all.back().saves = false;
  const auto bag = make<EmbeddingBag>(5, 3);
  all.push_back({"EmbeddingBag", bag, [=] { return (*bag)(indices, tensor({0, 2}), {}); }, false});
  const auto weighted = make<EmbeddingBag>(5, 3, EmbeddingBagOptions{.mode = "sum"});
  const Tensor weights = input({3});
  all.push_back({"EmbeddingBag with weights", weighted,
                 [=] { return (*weighted)(indices, tensor({0, 2}), weights); }});
  const Tensor sequence = input({5, 2, 4});
  const auto recurrent = [&](const std::string& name, auto made) {
    const auto module = made();
    all.push_back(kept({name, module, [=] { return first((*module)(sequence)); }}));
    const auto other = made();
    const Tensor alone = sequence.detach().select(1, 0).requires_grad_(inputs_require_grad);
    all.push_back(kept({name + " without a batch", other, [=] { return first((*other)(alone)); }}));
  };
  recurrent("RNN", [] { return make<RNN>(4, 3); });
  recurrent("GRU", [] { return make<GRU>(4, 3); });
  recurrent("LSTM", [] { return make<LSTM>(4, 3); });
  recurrent("RNN of two layers, both ways",
            [] { return make<RNN>(4, 3, RNNOptions{.num_layers = 2, .bidirectional = true}); });
  recurrent("GRU of two layers, both ways",
            [] { return make<GRU>(4, 3, GRUOptions{.num_layers = 2, .bidirectional = true}); });
  recurrent("LSTM of two layers, both ways, projected", [] {
    return make<LSTM>(4, 3, LSTMOptions{.num_layers = 2, .bidirectional = true, .proj_size = 2});
  });
  const Tensor step = input({2, 4});
  const auto cell = [&](const std::string& name, auto module) {
    all.push_back(kept({name, module, [=] { return first((*module)(step)); }}));
  };
  cell("RNNCell", make<RNNCell>(4, 3));
  cell("GRUCell", make<GRUCell>(4, 3));
  cell("LSTMCell", make<LSTMCell>(4, 3));
}

void add_attention(std::vector<Subject>& all) {
  const Tensor query = input({3, 2, 4}), other = input({5, 2, 4}), wide = input({5, 2, 6});
  const auto attention = [&](const char* name, MultiheadAttentionOptions options,
                             const Tensor& key) {
    const auto module = make<MultiheadAttention>(4, 2, options);
    all.push_back(kept({name, module, [=] { return first((*module)(query, key, key)); }}));
  };
  attention("MultiheadAttention", {}, other);
  attention("MultiheadAttention to itself", {}, query);
  attention("MultiheadAttention, one more key", {.add_bias_kv = true}, other);
  attention("MultiheadAttention of other sizes", {.kdim = 6, .vdim = 6}, wide);
  const TransformerLayerOptions options{.dim_feedforward = 8, .dropout = 0};
  const auto add = [&](Subject one) { all.push_back(kept(std::move(one))); };
  add(subject("TransformerEncoderLayer", make<TransformerEncoderLayer>(4, 2, options), query));
  add(evaluated(
      subject("TransformerEncoderLayer", make<TransformerEncoderLayer>(4, 2, options), query)));
  add(subject("TransformerDecoderLayer", make<TransformerDecoderLayer>(4, 2, options), query,
              other));
  add(subject("TransformerEncoder",
              make<TransformerEncoder>(make<TransformerEncoderLayer>(4, 2, options), 2), query));
  add(subject("TransformerDecoder",
              make<TransformerDecoder>(make<TransformerDecoderLayer>(4, 2, options), 2), query,
              other));
  const auto whole = make<Transformer>(TransformerOptions{.d_model = 4,
                                                          .nhead = 2,
                                                          .num_encoder_layers = 1,
                                                          .num_decoder_layers = 1,
                                                          .dim_feedforward = 8,
                                                          .dropout = 0});
  add(subject("Transformer", whole, query, other));
}

// Lazy layers that a first call has given their shapes: they are the plain ones.
void add_once_lazy(std::vector<Subject>& all) {
  const auto add = [&](Subject one) {
    one.forward();
    all.push_back(std::move(one));
  };
  const Tensor line = input({1, 2, 8}), image = input({1, 2, 5, 5}),
               volume = input({1, 2, 4, 4, 4});
  add(subject("LazyLinear", make<LazyLinear>(3), input({2, 4})));
  add(kept(subject("LazyConv1d", make<LazyConv1d>(3, 3), line)));
  add(kept(subject("LazyConv2d", make<LazyConv2d>(3, 3), image)));
  add(kept(subject("LazyConv3d", make<LazyConv3d>(3, 2), volume)));
  const auto transposed = [&](const char* name, auto module, const Tensor& x) {
    add(kept({name, module, [=] { return (*module)(x, {}); }}));
  };
  transposed("LazyConvTranspose1d", make<LazyConvTranspose1d>(3, 3), line);
  transposed("LazyConvTranspose2d", make<LazyConvTranspose2d>(3, 3), image);
  transposed("LazyConvTranspose3d", make<LazyConvTranspose3d>(3, 2), volume);
  const Tensor lines = input({2, 3, 4}), images = input({2, 3, 4, 4}),
               volumes = input({2, 3, 2, 2, 2});
  add(kept(subject("LazyBatchNorm1d", make<LazyBatchNorm1d>(), input({4, 3}))));
  add(kept(subject("LazyBatchNorm2d", make<LazyBatchNorm2d>(), images)));
  add(kept(subject("LazyBatchNorm3d", make<LazyBatchNorm3d>(), volumes)));
  const auto add_unsaved = [&](Subject one) {
    one.saves = false;
    add(std::move(one));
  };
  const BatchNormOptions options{.affine = true, .track_running_stats = true};
  add_unsaved(subject("LazyInstanceNorm1d", make<LazyInstanceNorm1d>(options), lines));
  add_unsaved(subject("LazyInstanceNorm2d", make<LazyInstanceNorm2d>(options), images));
  add_unsaved(subject("LazyInstanceNorm3d", make<LazyInstanceNorm3d>(options), volumes));
}

std::vector<Subject> all_layers(bool require_grad = true) {
  manual_seed(7);
  inputs_require_grad = require_grad;
  std::vector<Subject> all;
  add_dense(all);
  add_norms(all);
  add_sequences(all);
  add_attention(all);
  add_once_lazy(all);
  return all;
}

std::map<std::string, Tensor> gradients_of(Module& module) {
  std::map<std::string, Tensor> grads;
  for (const auto& [name, parameter] : module.named_parameters())
    grads[name] = parameter.grad().defined() ? parameter.grad().clone() : Tensor();
  module.zero_grad();
  return grads;
}

void expect_same(const std::map<std::string, Tensor>& now,
                 const std::map<std::string, Tensor>& before) {
  for (const auto& [name, grad] : before) {
    ASSERT_EQ(now.at(name).defined(), grad.defined()) << name;
    if (!grad.defined()) continue;
    EXPECT_TRUE(equal(now.at(name), grad)) << name;
  }
}

TEST(SwappedLayers, AreRefusedWhileTheirWeightsAreSavedAndGoBackwardsStill) {
  for (const Subject& one : all_layers()) {
    SCOPED_TRACE(one.name);
    one.forward().sum().backward();
    const auto expected = gradients_of(*one.module);
    {
      const Tensor result = one.forward();
      const SwapOnConversionScope swap;
      if (one.saves) {
        expect_error<SwapError>([&] { one.module->double_(); }, "Couldn't swap", "backward pass");
        for (const Tensor& parameter : one.module->parameters())
          EXPECT_EQ(parameter.dtype(), float32);
        result.sum().backward();
        expect_same(gradients_of(*one.module), expected);
      } else {
        one.module->double_();
        expect_error<SwapError>([&] { result.sum().backward(); }, "poisoned by swap_tensors");
        one.module->float_();
      }
    }
    const SwapOnConversionScope swap;
    one.module->double_();
    for (const Tensor& parameter : one.module->parameters()) EXPECT_EQ(parameter.dtype(), float64);
  }
}

// What only the gradient of an input needs is not saved, but for the weights that PyTorch saves all
// the same. A weight that is not saved may be swapped, and the pass is refused instead.
TEST(SwappedLayers, OfPlainInputsAreRefusedOrTheirPassIs) {
  for (const Subject& one : all_layers(false)) {
    SCOPED_TRACE(one.name);
    one.forward().sum().backward();
    const auto expected = gradients_of(*one.module);
    const Tensor result = one.forward();
    const SwapOnConversionScope swap;
    if (one.saves_for_plain_inputs) {
      expect_error<SwapError>([&] { one.module->double_(); }, "Couldn't swap", "backward pass");
      result.sum().backward();
      expect_same(gradients_of(*one.module), expected);
    } else {
      one.module->double_();
      expect_error<SwapError>([&] { result.sum().backward(); }, "poisoned by swap_tensors");
    }
  }
}

// One after another, buffers too: either it is saved and refused, or the pass that would need it
// where it is says so. Never is there a gradient that is wrong.
void expect_no_wrong_gradient(bool inputs_with_grad) {
  for (const Subject& one : all_layers(inputs_with_grad)) {
    SCOPED_TRACE(one.name);
    one.forward().sum().backward();
    const auto expected = gradients_of(*one.module);
    std::vector<Tensor> tensors = one.module->parameters();
    for (const Tensor& buffer : one.module->buffers()) tensors.push_back(buffer);
    for (const Tensor& tensor : tensors) {
      const Tensor result = one.forward(), other = tensor.detach().clone();
      const bool saved = tensor.body().live_saves() != 0;
      if (tensor.is_parameter()) other.requires_grad_();
      if (saved) {
        expect_error<SwapError>([&] { swap_tensors(tensor, other); }, "backward pass");
        result.sum().backward();
        expect_same(gradients_of(*one.module), expected);
        continue;
      }
      swap_tensors(tensor, other);
      if (tensor.requires_grad()) {
        expect_error<SwapError>([&] { result.sum().backward(); }, "poisoned by swap_tensors");
        one.module->zero_grad();
      } else {
        result.sum().backward();
        expect_same(gradients_of(*one.module), expected);
      }
    }
  }
}

// A layer keeps what goes into it, and its result only where the gradient is calculated from that.
TEST(SwappedLayers, KeepNoResultThatTheirGradientDoesNotNeed) {
  for (const Subject& one : all_layers()) {
    if (one.name.find("PReLU") == std::string::npos && one.name.find("Conv") == std::string::npos &&
        one.name.find("Norm") == std::string::npos)
      continue;
    SCOPED_TRACE(one.name);
    const Tensor result = one.forward();
    EXPECT_EQ(result.body().live_saves(), 0U);
  }
}

TEST(SwappedLayers, GiveNoWrongGradientWhicheverTensorIsSwapped) {
  for (const bool inputs_with_grad : {true, false}) expect_no_wrong_gradient(inputs_with_grad);
}

}  // namespace
}  // namespace tenon::nn
