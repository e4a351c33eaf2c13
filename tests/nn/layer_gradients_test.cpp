// Layers and their gradients beside values that PyTorch wrote down.
#include "nn/recorded_layers.h"

namespace tenon::nn {
namespace {

TEST_F(RecordedLayers, Linear) {
  nn::Linear flat(5, 7);
  check("linear", flat);
  nn::Linear deep(5, 7);
  check("linear3d", deep);
}

TEST_F(RecordedLayers, Bilinear) {
  nn::Bilinear layer(3, 4, 5);
  check("bilinear", layer, [&](const auto& inputs) { return layer(inputs[0], inputs[1]); });
}

TEST_F(RecordedLayers, EmbeddingWithPadding) {
  nn::Embedding layer(9, 4, {.padding_idx = 1});
  check("emb", layer);
}

TEST(EmbeddingGradients, MayBeDividedByHowOftenARowIsUsed) {
  const Tensor weight = zeros({4, 2}).requires_grad_();
  embedding(tensor({0, 2, 2, 2}), weight, {.scale_grad_by_freq = true}).sum().backward();
  EXPECT_TRUE(equal(weight.grad(), tensor({{1.F, 1.F}, {0.F, 0.F}, {1.F, 1.F}, {0.F, 0.F}})));
}

}  // namespace
}  // namespace tenon::nn
