// Layers that normalize: beside values that PyTorch wrote down, text, keys and errors.
#include "nn/names.h"
#include "nn/recorded_layers.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;

TEST_F(RecordedLayers, LayerNorm) {
  nn::LayerNorm layer({4, 5});
  check("ln", layer);
}

TEST_F(RecordedLayers, RMSNorm) {
  nn::RMSNorm layer(5);
  check("rms", layer);
}

TEST(NormLayers, SayWhatTheyAre) {
  EXPECT_EQ(LayerNorm(10).repr(),
            "LayerNorm((10,), eps=1e-05, elementwise_affine=True, bias=True)");
  EXPECT_EQ(LayerNorm({2, 3}, {.eps = 1e-3, .bias = false}).repr(),
            "LayerNorm((2, 3), eps=0.001, elementwise_affine=True, bias=False)");
  EXPECT_EQ(LayerNorm(3, {.elementwise_affine = false}).repr(),
            "LayerNorm((3,), eps=1e-05, elementwise_affine=False, bias=False)");
  EXPECT_EQ(RMSNorm(4).repr(), "RMSNorm((4,), eps=None, elementwise_affine=True)");
  EXPECT_EQ(RMSNorm({2, 3}, {.eps = 1e-3, .elementwise_affine = false}).repr(),
            "RMSNorm((2, 3), eps=0.001, elementwise_affine=False)");
}

TEST(NormLayers, HavePyTorchsKeysAndFirstValues) {
  EXPECT_THAT(names(LayerNorm(3).state_dict()), ElementsAre("weight", "bias"));
  EXPECT_THAT(names(LayerNorm(3, {.bias = false}).state_dict()), ElementsAre("weight"));
  EXPECT_THAT(names(RMSNorm(3).state_dict()), ElementsAre("weight"));
  EXPECT_TRUE(LayerNorm(3, {.elementwise_affine = false}).state_dict().empty());
  EXPECT_TRUE(LayerNorm(3, {.elementwise_affine = false}).weight.registered());
  EXPECT_TRUE(equal(LayerNorm({2, 3}).weight, ones({2, 3})));
  EXPECT_TRUE(equal(LayerNorm({2, 3}).bias, zeros({2, 3})));
  EXPECT_EQ(LayerNorm(3, {.dtype = bfloat16}).weight->dtype(), bfloat16);
  EXPECT_TRUE(LayerNorm(3, {.device = Device("meta")}).bias->is_meta());
  EXPECT_EQ(make<LayerNorm>(3, {.bias = false})->normalized_shape, Dims({3}));
  EXPECT_EQ(LayerNorm({10}).normalized_shape, Dims({10}));
  EXPECT_EQ(LayerNorm({4, 5}, {.eps = 1}).normalized_shape, Dims({4, 5}));
  EXPECT_EQ(RMSNorm({10}).weight->shape(), Shape({10}));
}

}  // namespace
}  // namespace tenon::nn
