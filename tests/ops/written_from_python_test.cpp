// Lines of well-known networks, as somebody writes them who has the Python beside him.
#include <cmath>
#include <limits>

#include "support/matchers.h"

namespace tenon {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

// Llama.

Tensor precompute_freqs_cis(std::int64_t dim, std::int64_t end, double theta = 10000.0) {
  // freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
  Tensor freqs = 1.0 / pow(theta, arange(0, dim, 2).index({Slice({}, dim / 2)}).to(float32) / dim);
  Tensor t = arange(end, {.dtype = float32, .device = freqs.device()});
  freqs = outer(t, freqs);
  return polar(ones_like(freqs), freqs);
}

Tensor reshape_for_broadcast(const Tensor& freqs_cis, const Tensor& x) {
  Shape shape;
  for (std::int64_t i = 0; i < x.dim(); ++i)
    shape.push_back(i == 1 || i == x.dim() - 1 ? x.size(i) : 1);
  return freqs_cis.view(shape);
}

Tensor apply_rotary_emb(const Tensor& xq, const Tensor& freqs_cis) {
  Shape shape = xq.shape();
  shape.back() = -1;
  shape.push_back(2);
  const Tensor xq_ = view_as_complex(xq.to(float32).reshape(shape));
  return view_as_real(xq_ * reshape_for_broadcast(freqs_cis, xq_)).flatten(3).type_as(xq);
}

Tensor repeat_kv(const Tensor& x, std::int64_t n_rep) {
  const std::int64_t bs = x.size(0), slen = x.size(1), n_kv_heads = x.size(2), head_dim = x.size(3);
  return x.index({Slice(), Slice(), Slice(), None, Slice()})
      .expand({bs, slen, n_kv_heads, n_rep, head_dim})
      .reshape({bs, slen, n_kv_heads * n_rep, head_dim});
}

TEST(WrittenFromPython, LlamaAttention) {
  manual_seed(0);
  const std::int64_t bsz = 2, seqlen = 5, heads = 4, kv_heads = 2, head_dim = 6;
  const Tensor freqs_cis = precompute_freqs_cis(head_dim, seqlen * 2).index({Slice(0, seqlen)});
  Tensor xq = randn({bsz, seqlen, heads, head_dim}), xk = randn({bsz, seqlen, kv_heads, head_dim}),
         xv = randn({bsz, seqlen, kv_heads, head_dim});
  const Tensor turned = apply_rotary_emb(xq, freqs_cis);
  EXPECT_TRUE(allclose(turned.norm(2, -1), xq.norm(2, -1), {.rtol = 1e-4}));
  xk = apply_rotary_emb(xk, freqs_cis);
  Tensor keys = repeat_kv(xk, heads / kv_heads);
  EXPECT_TRUE(equal(keys, repeat_interleave(xk, heads / kv_heads, {.dim = 2})));
  xq = turned.transpose(1, 2);
  keys = keys.transpose(1, 2);
  const Tensor values = xv.repeat_interleave(2, 2).transpose(1, 2);
  Tensor mask = full({seqlen, seqlen}, -kInfinity);
  mask = triu(mask, {.diagonal = 1});
  mask = hstack({zeros({seqlen, 0}), mask}).type_as(xq);
  Tensor scores = matmul(xq, keys.transpose(2, 3)) / std::sqrt(head_dim);
  scores = scores + mask;
  // softmax is another header's: with the operators that are here.
  scores = (scores - scores.logsumexp(-1, {.keepdim = true})).exp().type_as(xq);
  EXPECT_TRUE(allclose(scores.sum(-1), ones({bsz, heads, seqlen})));
  EXPECT_EQ(scores.index({0, 0, 0, 1}).item<double>(), 0);
  const Tensor output = matmul(scores, values).transpose(1, 2).contiguous().view({bsz, seqlen, -1});
  EXPECT_EQ(output.shape(), Shape({bsz, seqlen, heads * head_dim}));
  EXPECT_TRUE(
      allclose(einsum("bhqk,bhkd->bqhd", scores, values).flatten(2), output, {.atol = 1e-5}));
}

TEST(WrittenFromPython, HalvesThatTurn) {
  // Hugging Face: rotate_half, with cos and sin of concatenated frequencies.
  const Tensor x = randn({2, 3, 4, 8});
  const Tensor inv_freq = 1.0 / pow(10000.0, arange(0, 8, 2, {.dtype = int64}).to(float32) / 8);
  const Tensor positions = arange(4).unsqueeze(0).to(float32);
  const Tensor inv_freq_expanded =
      inv_freq.index({None, Slice(), None}).to(float32).expand({positions.size(0), -1, 1});
  const Tensor freqs =
      matmul(inv_freq_expanded, positions.index({Slice(), None, Slice()})).transpose(1, 2);
  const Tensor emb = cat({freqs, freqs}, {.dim = -1});
  const Tensor cosine = emb.cos().unsqueeze(1), sine = emb.sin().unsqueeze(1);
  const Tensor x1 = x.index({Ellipsis, Slice({}, x.size(-1) / 2)}),
               x2 = x.index({Ellipsis, Slice(x.size(-1) / 2)});
  const Tensor turned = x * cosine + cat({-x2, x1}, -1) * sine;
  EXPECT_EQ(turned.shape(), x.shape());
  EXPECT_TRUE(allclose(turned.index({Slice(), Slice(), 0}), x.index({Slice(), Slice(), 0})));
}

TEST(WrittenFromPython, RootMeanSquareNorm) {
  const Tensor x = randn({2, 3, 8}), weight = ones({8});
  const Tensor y = x * rsqrt(x.pow(2).mean(-1, {.keepdim = true}) + 1e-6) * weight;
  EXPECT_TRUE(allclose(y.square().mean(-1), ones({2, 3}), {.rtol = 1e-3}));
}

TEST(WrittenFromPython, Sampling) {
  manual_seed(1);
  const Tensor logits = randn({2, 10});
  const double temperature = 0.6;
  const Tensor scaled = logits / temperature;
  const Tensor probs = (scaled - scaled.amax(-1, {.keepdim = true})).exp();
  auto [probs_sort, probs_idx] = sort(probs, {.dim = -1, .descending = true});
  const Tensor probs_sum = cumsum(probs_sort, -1);
  const Tensor mask = probs_sum - probs_sort > 0.9;
  probs_sort.masked_fill_(mask, 0.0);
  probs_sort.div_(probs_sort.sum(-1, {.keepdim = true}));
  Tensor next_token = multinomial(probs_sort, 1);
  next_token = gather(probs_idx, -1, next_token).reshape(-1);
  EXPECT_EQ(next_token.shape(), Shape({2}));
  auto [top, indices] = topk(logits, 3);
  const Tensor kept = where(logits < top.index({Slice(), Slice(-1)}), -kInfinity, logits);
  EXPECT_EQ((kept > -kInfinity).sum().item<std::int64_t>(), 6);
  EXPECT_TRUE(equal(argmax(logits, -1), indices.index({Slice(), 0})));
}

// BERT.

TEST(WrittenFromPython, BertMasks) {
  const Tensor input_ids = tensor({{5, 6, 0}, {7, 0, 0}});
  const Tensor attention_mask = input_ids.ne(0).to(int64);
  Tensor extended = attention_mask.index({Slice(), None, None, Slice()});
  extended = extended.to(float32);
  extended = (1.0 - extended) * std::numeric_limits<float>::lowest();
  EXPECT_EQ(extended.shape(), Shape({2, 1, 1, 3}));
  EXPECT_EQ(extended.index({0, 0, 0, 0}).item<double>(), 0);
  const Tensor position_ids = arange(512).expand({1, -1});
  EXPECT_EQ(position_ids.index({Slice(), Slice({}, 3)}).shape(), Shape({1, 3}));
  const Tensor token_type_ids = zeros({2, 3}, {.dtype = int64});
  const Tensor hidden = randn({2, 3, 8});
  const Tensor first_token = hidden.index({Slice(), 0});
  EXPECT_EQ(first_token.shape(), Shape({2, 8}));
  const Tensor heads = hidden.view({2, 3, 2, 4}).permute({0, 2, 1, 3});
  EXPECT_EQ(heads.shape(), Shape({2, 2, 3, 4}));
  EXPECT_TRUE(equal(heads.permute({0, 2, 1, 3}).contiguous().view({2, 3, 8}), hidden));
  const Tensor is_padding = ~attention_mask.to(bool_);
  EXPECT_TRUE(
      equal(hidden.masked_fill(is_padding.unsqueeze(-1), 0).index({is_padding}), zeros({3, 8})));
  const Tensor both = is_padding & (token_type_ids == 0), either = is_padding | !0;
  EXPECT_EQ(both.sum().item<std::int64_t>(), 3);
  EXPECT_TRUE(logical_not(is_padding).any().item<bool>() && either.all().item<bool>());
  // GELU as it was first written.
  const Tensor gelu = hidden * 0.5 * (1.0 + erf(hidden / std::sqrt(2.0)));
  const Tensor gelu_new =
      0.5 * hidden * (1.0 + tanh(std::sqrt(2.0 / M_PI) * (hidden + 0.044715 * pow(hidden, 3.0))));
  EXPECT_TRUE(allclose(gelu, gelu_new, {.atol = 2e-3}));
}

// torchvision.

TEST(WrittenFromPython, ChannelShuffle) {
  const Tensor x = arange(8).view({1, 4, 1, 2});
  const std::int64_t batchsize = x.size(0), num_channels = x.size(1), height = x.size(2),
                     width = x.size(3), groups = 2;
  Tensor y = x.view({batchsize, groups, num_channels / groups, height, width});
  y = transpose(y, 1, 2).contiguous();
  y = y.view({batchsize, num_channels, height, width});
  EXPECT_TRUE(equal(y.flatten(), tensor({0, 1, 4, 5, 2, 3, 6, 7})));
  const auto parts = y.chunk(2, {.dim = 1});
  EXPECT_TRUE(equal(cat({parts[0], parts[1]}, {.dim = 1}), y));
}

TEST(WrittenFromPython, StochasticDepth) {
  manual_seed(2);
  const Tensor input = ones({4, 2, 2, 2});
  const double p = 0.5, survival_rate = 1.0 - p;
  Shape size{input.size(0)};
  for (std::int64_t i = 1; i < input.dim(); ++i) size.push_back(1);
  Tensor noise = empty(size, {.dtype = input.dtype(), .device = input.device()});
  noise = noise.bernoulli_(survival_rate);
  if (survival_rate > 0.0) noise.div_(survival_rate);
  const Tensor y = input * noise;
  EXPECT_TRUE(((y == 0) | (y == 2)).all().item<bool>());
  // dpr = [x.item() for x in torch.linspace(0, drop_path_rate, sum(depths))]
  std::vector<double> dpr;
  for (const Tensor& x : linspace(0, 0.2, 5).unbind()) dpr.push_back(x.item<double>());
  EXPECT_NEAR(dpr[2], 0.1, 1e-6);
  EXPECT_EQ(bernoulli(full({3}, 1.0)).sum().item<double>(), 3);
}

TEST(WrittenFromPython, SwinWindows) {
  const std::int64_t H = 4, W = 4, ws = 2, C = 3, B = 1, shift = 1;
  Tensor x = arange(B * H * W * C, {.dtype = float32}).view({B, H, W, C});
  x = roll(x, {-shift, -shift}, {.dims = {1, 2}});
  const std::int64_t num_windows = (H / ws) * (W / ws);
  x = x.view({B, H / ws, ws, W / ws, ws, C});
  x = x.permute({0, 1, 3, 2, 4, 5}).reshape({B * num_windows, ws * ws, C});
  EXPECT_EQ(x.shape(), Shape({4, 4, 3}));
  Tensor attn_mask = x.new_zeros({H, W});
  const std::pair<std::int64_t, std::optional<std::int64_t>> slices[] = {
      {0, -ws}, {-ws, -shift}, {-shift, std::nullopt}};
  int count = 0;
  for (const auto& h : slices) {
    for (const auto& w : slices) {
      attn_mask.index({Slice(h.first, h.second), Slice(w.first, w.second)}).fill_(count);
      count += 1;
    }
  }
  attn_mask = attn_mask.view({H / ws, ws, W / ws, ws});
  attn_mask = attn_mask.permute({0, 2, 1, 3}).reshape({num_windows, ws * ws});
  attn_mask = attn_mask.unsqueeze(1) - attn_mask.unsqueeze(2);
  attn_mask = attn_mask.masked_fill(attn_mask != 0, -100.0).masked_fill(attn_mask == 0, 0.0);
  EXPECT_EQ(attn_mask.min().item<double>(), -100);
  // The relative positions.
  const Tensor coords_h = arange(ws), coords_w = arange(ws);
  const Tensor coords = stack(meshgrid({coords_h, coords_w}, {.indexing = "ij"}));
  const Tensor coords_flatten = flatten(coords, 1);
  Tensor relative_coords = coords_flatten.index({Slice(), Slice(), None}) -
                           coords_flatten.index({Slice(), None, Slice()});
  relative_coords = relative_coords.permute({1, 2, 0}).contiguous();
  relative_coords.index({Slice(), Slice(), 0}) += ws - 1;
  relative_coords.index({Slice(), Slice(), 1}) += ws - 1;
  relative_coords.index({Slice(), Slice(), 0}) *= 2 * ws - 1;
  const Tensor relative_position_index = relative_coords.sum(-1).flatten();
  EXPECT_TRUE(
      equal(relative_position_index, tensor({4, 3, 1, 0, 5, 4, 2, 1, 7, 6, 4, 3, 8, 7, 5, 4})));
  const Tensor table = randn({(2 * ws - 1) * (2 * ws - 1), 2});
  const Tensor bias = table.index({relative_position_index})
                          .view({ws * ws, ws * ws, -1})
                          .permute({2, 0, 1})
                          .contiguous()
                          .unsqueeze(0);
  EXPECT_EQ(bias.shape(), Shape({1, 2, 4, 4}));
}

TEST(WrittenFromPython, VisionTransformer) {
  Tensor x = randn({2, 8, 3, 3});
  const Tensor class_token = zeros({1, 1, 8});
  x = x.reshape({2, 8, 3 * 3});
  x = x.permute({0, 2, 1});
  const Tensor batch_class_token = class_token.expand({2, -1, -1});
  x = cat({batch_class_token, x}, {.dim = 1});
  EXPECT_EQ(x.shape(), Shape({2, 10, 8}));
  EXPECT_EQ(x.index({Slice(), 0}).shape(), Shape({2, 8}));
  const auto qkv = randn({2, 10, 24}).reshape({2, 10, 3, 2, 4}).permute({2, 0, 3, 1, 4}).unbind(0);
  EXPECT_EQ(qkv[1].shape(), Shape({2, 2, 10, 4}));
  const auto split_up = split(randn({2, 6}), {2, 4}, {.dim = -1});
  EXPECT_EQ(split_up[1].shape(), Shape({2, 4}));
}

TEST(WrittenFromPython, ResNetTail) {
  const Tensor x = randn({2, 8, 14, 14});
  Tensor y = max_pool2d(relu(x), 3, {.stride = 2, .padding = 1});
  EXPECT_EQ(y.shape(), Shape({2, 8, 7, 7}));
  y = adaptive_avg_pool2d(y, {1, 1});
  y = flatten(y, 1);
  EXPECT_TRUE(allclose(y, max_pool2d(relu(x), 3, {.stride = 2, .padding = 1}).mean({2, 3}),
                       {.atol = 1e-6}));
  // DenseNet, Inception and GoogLeNet.
  const std::vector<Tensor> branches{y, y * 2,
                                     avg_pool2d(x, 3, {.stride = 1, .padding = 1}).mean({-1, -2})};
  EXPECT_EQ(cat(branches, 1).shape(), Shape({2, 24}));
  EXPECT_EQ(max_pool2d(x, 3, {.stride = 2, .ceil_mode = true}).shape(), Shape({2, 8, 7, 7}));
  EXPECT_EQ(max_pool2d(x, 2, 2).shape(), Shape({2, 8, 7, 7}));
  // Squeeze and excitation, MobileNet's hard swish.
  const Tensor scale = sigmoid(adaptive_avg_pool2d(x, 1));
  EXPECT_EQ((scale * x).shape(), x.shape());
  EXPECT_EQ((x * clamp(x + 3, {.min = 0., .max = 6.}) / 6).shape(), x.shape());
}

TEST(WrittenFromPython, LabelsAndLosses) {
  const Tensor labels = tensor({1, 0, 2});
  const Tensor smooth = one_hot(labels, {.num_classes = 3}).to(float32) * 0.9 + 0.1 / 3;
  EXPECT_TRUE(allclose(smooth.sum(-1), ones({3})));
  const Tensor logits = randn({3, 3});
  const Tensor nll = logits.logsumexp(1) - logits.gather(1, labels.unsqueeze(1)).squeeze(1);
  EXPECT_TRUE((nll > 0).all().item<bool>());
  const Tensor accuracy = (logits.argmax(1) == labels).to(float32).mean();
  EXPECT_GE(accuracy.item<double>(), 0);
  EXPECT_EQ(bincount(labels).sum().item<std::int64_t>(), 3);
}

TEST(WrittenFromPython, CausalMasks) {
  const std::int64_t T = 4;
  const Tensor bias = tril(ones({T, T})).view({1, 1, T, T});
  Tensor att = zeros({1, 2, T, T});
  att =
      att.masked_fill(bias.index({Slice(), Slice(), Slice({}, T), Slice({}, T)}) == 0, -kInfinity);
  EXPECT_EQ(att.index({0, 1, 0}).repr(), "tensor([0., -inf, -inf, -inf])");
  const Tensor bools = ones({T, T}, {.dtype = bool_}).tril();
  EXPECT_EQ(bools.sum().item<std::int64_t>(), 10);
  EXPECT_TRUE(equal(where(bools, 0.0, -kInfinity), att[0][0]));
  // T5's buckets and ALiBi's slopes.
  const Tensor relative = arange(T).index({None, Slice()}) - arange(T).index({Slice(), None});
  EXPECT_TRUE(equal(abs(relative), abs(relative).t()));
  const Tensor slopes = pow(2.0, -8.0 / 2 * arange(1, 3));
  EXPECT_EQ((slopes.view({-1, 1, 1}) * relative).shape(), Shape({2, T, T}));
  EXPECT_TRUE(equal(minimum(relative, zeros_like(relative)), relative.clamp({.max = 0})));
}

}  // namespace
}  // namespace tenon
