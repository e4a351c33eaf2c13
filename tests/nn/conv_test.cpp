// Convolutional layers: PyTorch's values, first values, text, keys, and what they refuse.
#include "nn/names.h"
#include "nn/recorded_layers.h"
#include "support/sha256.h"

namespace tenon::nn {
namespace {

using testing::ElementsAre;

TEST_F(RecordedLayers, Convolutions) {
  Conv1d one(4, 6, 3, {.stride = 2, .padding = 1});
  check("conv1d", one);
  Conv2d two(4, 6, 3, {.stride = 2, .padding = 1, .dilation = 2});
  check("conv2d", two);
  Conv2d groups(4, 8, 3, {.groups = 4, .bias = false});
  check("conv2d_groups", groups);
  Conv3d three(2, 3, 2);
  check("conv3d", three);
  Conv2d reflect(3, 4, 3, {.padding = 1, .padding_mode = "reflect"});
  check("conv2d_reflect", reflect);
  Conv2d same(3, 4, 4, {.padding = "same"});
  check("conv2d_same", same);
}

TEST_F(RecordedLayers, TransposedConvolutions) {
  const auto run = [&](const char* name, auto&& layer) {
    check(name, layer, [&](const auto& inputs) { return layer(inputs[0]); });
  };
  run("convt1d", ConvTranspose1d(4, 3, 3, {.stride = 2}));
  run("convt2d", ConvTranspose2d(4, 6, 3, {.stride = 2, .padding = 1, .output_padding = 1}));
  run("convt3d", ConvTranspose3d(2, 3, 2, {.stride = 2}));
}

std::string digest(const Tensor& tensor) {
  return sha256(std::as_bytes(std::span(tensor.detach().contiguous().data<float>(),
                                        static_cast<std::size_t>(tensor.numel()))));
}

// Digests of what PyTorch 2.11 wrote down, under the seeds 0 and 11.
struct First {
  std::shared_ptr<Module> (*make)();
  const char *weight_0, *bias_0, *weight_11, *bias_11;
};

TEST(ConvLayers, HaveTheFirstValuesOfPyTorch) {
  const First all[] = {
      {[]() -> std::shared_ptr<Module> { return make<Conv1d>(3, 4, 5); },
       "2f098ba98f9a87e9e6a3fc1ffbcde29c97e1afd99093ff8358a6ba90f2cc4713",
       "8c20ae121af875841d21e3f863b2a906e8f27ed22e06999b4f773517cc2d87ad",
       "cb9e705f6b79444ada7f66092e4c1061739fbbe1654ffabc82184f504c2efed5",
       "bd67b1ee4e8f13cdbe2ff1a04d02d84bf867a0e66b53294818d79a7f067fc3cd"},
      {[]() -> std::shared_ptr<Module> { return make<Conv2d>(3, 8, 3, {.groups = 1}); },
       "5219d46af2876d73972523d7f2f8de9166d35af92e6721bb4cb9efeaac5014d1",
       "32787e801393010d55e3b08740eb8011b5922749d6e5e88d3e2d45a7d2a2eba5",
       "f740bc004275b52c1941e40bcc873ce35f27a59087ab60cbe099a7c7eb3cca1b",
       "173dba83012577ac602f751e6edc837a456603ed861967ee2061b9501773f062"},
      {[]() -> std::shared_ptr<Module> { return make<Conv3d>(2, 3, 2); },
       "51c613a3e223da4fd6cb501fc94673942b709cfc359789f916f496a7826d8130",
       "dcc2a374dbdf9a4e90eb00a6e2a9ca3c487c638c34ee4668a5d2aba30ba87eac",
       "25a6887e9432dd7e3aba5efbe81fa21a1bd2c8325c39a76c00cfab3edee4022f",
       "34e9f5dc2b13c8d1d19c110395a078a4739467ab0f6c749e7f8a7d403cadbb97"},
      {[]() -> std::shared_ptr<Module> { return make<ConvTranspose2d>(4, 6, 3); },
       "c1bcd61588e19ab0f2f98c3d54ac070d3ad5d855adf06ddb808a33f5e4db25e7",
       "b59be4dc9ca258c2c184970453b013ac2ea76755f75706b0ee5dc17700e45025",
       "31ce133b6f29f4d7d6fcc5ff0660c94f4f338eed675a14c3adf6df1941ee6741",
       "28987de0824b925ee21e3812b7d39c3db779c102f2a457a03bbaa496969f32af"},
  };
  for (const First& one : all) {
    manual_seed(0);
    auto layer = one.make();
    EXPECT_EQ(digest(layer->get_parameter("weight")), one.weight_0) << layer->repr();
    EXPECT_EQ(digest(layer->get_parameter("bias")), one.bias_0) << layer->repr();
    manual_seed(11);
    layer = one.make();
    EXPECT_EQ(digest(layer->get_parameter("weight")), one.weight_11) << layer->repr();
    EXPECT_EQ(digest(layer->get_parameter("bias")), one.bias_11) << layer->repr();
  }
}

TEST(ConvLayers, DrawNothingOnMeta) {
  const Tensor before = default_generator().get_state();
  Conv2d layer(3, 64, 7, {.device = Device("meta")});
  ConvTranspose2d up(3, 64, 7, {.device = Device("meta")});
  EXPECT_TRUE(layer.weight->is_meta());
  EXPECT_TRUE(up.bias->is_meta());
  EXPECT_TRUE(equal(before, default_generator().get_state()));
  EXPECT_EQ(layer(empty({2, 3, 20, 20}, {.device = Device("meta")})).shape(),
            Shape({2, 64, 14, 14}));
}

TEST(ConvLayers, SayWhatTheyAre) {
  EXPECT_EQ(Conv2d(3, 64, 7, {.stride = 2, .padding = 3, .bias = false}).repr(),
            "Conv2d(3, 64, kernel_size=(7, 7), stride=(2, 2), padding=(3, 3), bias=False)");
  EXPECT_EQ(Conv1d(4, 6, 3, {.padding = "valid"}).repr(),
            "Conv1d(4, 6, kernel_size=(3,), stride=(1,), padding=valid)");
  EXPECT_EQ(Conv2d(4, 6, {3, 5},
                   {.stride = {2, 1},
                    .padding = {1, 2},
                    .dilation = {1, 2},
                    .groups = 2,
                    .bias = false,
                    .padding_mode = "reflect"})
                .repr(),
            "Conv2d(4, 6, kernel_size=(3, 5), stride=(2, 1), padding=(1, 2), dilation=(1, 2), "
            "groups=2, bias=False, padding_mode=reflect)");
  EXPECT_EQ(Conv2d(4, 6, 3, {.padding = "same", .dilation = 2, .padding_mode = "circular"}).repr(),
            "Conv2d(4, 6, kernel_size=(3, 3), stride=(1, 1), padding=same, dilation=(2, 2), "
            "padding_mode=circular)");
  EXPECT_EQ(Conv3d(2, 3, 2).repr(), "Conv3d(2, 3, kernel_size=(2, 2, 2), stride=(1, 1, 1))");
  EXPECT_EQ(ConvTranspose2d(4, 6, 3,
                            {.stride = 2,
                             .padding = 1,
                             .output_padding = 1,
                             .groups = 2,
                             .bias = false,
                             .dilation = 2})
                .repr(),
            "ConvTranspose2d(4, 6, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), "
            "dilation=(2, 2), output_padding=(1, 1), groups=2, bias=False)");
  EXPECT_EQ(ConvTranspose1d(4, 3, 3, {.stride = 2}).repr(),
            "ConvTranspose1d(4, 3, kernel_size=(3,), stride=(2,))");
}

TEST(ConvLayers, HavePyTorchsKeysAndShapes) {
  const Conv2d layer(4, 6, {3, 5}, {.groups = 2});
  EXPECT_THAT(names(layer.state_dict()), ElementsAre("weight", "bias"));
  EXPECT_EQ(layer.weight->shape(), Shape({6, 2, 3, 5}));
  EXPECT_EQ(layer.bias->shape(), Shape({6}));
  EXPECT_EQ(layer.kernel_size, Dims({3, 5}));
  EXPECT_EQ(layer.stride, Dims({1, 1}));
  EXPECT_EQ(layer.padding, ConvPadding(Dims{0, 0}));
  const ConvTranspose2d up(4, 6, 3, {.groups = 2, .bias = false});
  EXPECT_THAT(names(up.state_dict()), ElementsAre("weight"));
  EXPECT_EQ(up.weight->shape(), Shape({4, 3, 3, 3}));
  EXPECT_TRUE(up.bias.registered());
}

TEST(ConvLayers, AreMadeClonedAndPutIntoContainers) {
  Sequential net(make<Conv2d>(3, 8, 3, {.padding = 1}),
                 make<ConvTranspose2d>(8, 2, 2, {.stride = 2}));
  const Tensor x = rand({1, 3, 6, 6});
  const Tensor y = net(x);
  EXPECT_EQ(y.shape(), Shape({1, 2, 12, 12}));
  const auto other = clone(net);
  EXPECT_TRUE(equal((*other)(x), y));
}

TEST(ConvLayers, TakeOneSampleWithoutABatch) {
  Conv2d layer(3, 4, 3, {.padding = 1, .padding_mode = "circular"});
  ConvTranspose1d up(3, 4, 3);
  const Tensor x = rand({3, 5, 6});
  EXPECT_TRUE(allclose(layer(x), layer(x.unsqueeze(0)).squeeze(0)));
  EXPECT_EQ(layer(x).shape(), Shape({4, 5, 6}));
  EXPECT_EQ(up(rand({3, 7})).shape(), Shape({4, 9}));
}

// PyTorch's pad of [0, 1, 2, 3] by two on each side.
TEST(ConvLayers, PadInEveryMode) {
  const Tensor x = tensor({0.0F, 1.0F, 2.0F, 3.0F}).reshape({1, 1, 4});
  const auto padded = [&](const char* mode) {
    const NoGradScope unrecorded;
    Conv1d layer(1, 1, 1, {.padding = 2, .bias = false, .padding_mode = mode});
    layer.weight->fill_(1);
    return layer(x).reshape({-1});
  };
  EXPECT_TRUE(equal(padded("zeros"), tensor({0.F, 0.F, 0.F, 1.F, 2.F, 3.F, 0.F, 0.F})));
  EXPECT_TRUE(equal(padded("reflect"), tensor({2.F, 1.F, 0.F, 1.F, 2.F, 3.F, 2.F, 1.F})));
  EXPECT_TRUE(equal(padded("replicate"), tensor({0.F, 0.F, 0.F, 1.F, 2.F, 3.F, 3.F, 3.F})));
  EXPECT_TRUE(equal(padded("circular"), tensor({2.F, 3.F, 0.F, 1.F, 2.F, 3.F, 0.F, 1.F})));
  Conv2d same(1, 1, {2, 3}, {.padding = "same", .padding_mode = "replicate"});
  EXPECT_EQ(same(rand({1, 1, 5, 4})).shape(), Shape({1, 1, 5, 4}));
}

TEST(ConvTranspose, MakesAResultOfTheSizeThatIsAskedFor) {
  ConvTranspose2d up(4, 6, 3, {.stride = 2});
  EXPECT_EQ(up(rand({2, 4, 5, 5})).shape(), Shape({2, 6, 11, 11}));
  EXPECT_EQ(up(rand({2, 4, 5, 5}), {12, 11}).shape(), Shape({2, 6, 12, 11}));
  EXPECT_EQ(up(rand({2, 4, 5, 5}), {2, 6, 12, 12}).shape(), Shape({2, 6, 12, 12}));
  EXPECT_EQ(up(rand({4, 5, 5}), {6, 12, 12}).shape(), Shape({6, 12, 12}));
  expect_error<ValueError>([&] { up(rand({2, 4, 5, 5}), {13, 12}); },
                           "requested an output size of (13, 12), but valid sizes range from [11, "
                           "11] to [12, 12] (for an input of torch.Size([5, 5]))");
  expect_error<ValueError>(
      [&] { up(rand({2, 4, 5, 5}), {6, 12, 12}); },
      "ConvTranspose2D: for 4D input, output_size must have 2 or 4 elements (got 3)");
}

TEST(ConvLayers, RefuseOptionsThatCannotBe) {
  expect_error<ValueError>([] { Conv2d(4, 6, 3, {.groups = 3}); },
                           "in_channels must be divisible by groups");
  expect_error<ValueError>([] { Conv2d(6, 4, 3, {.groups = 3}); },
                           "out_channels must be divisible by groups");
  expect_error<ValueError>([] { Conv2d(4, 6, 3, {.groups = 0}); },
                           "groups must be a positive integer");
  expect_error<ValueError>([] { Conv2d(4, 6, 3, {.padding = "foo"}); },
                           "Invalid padding string 'foo', should be one of {'same', 'valid'}");
  expect_error<ValueError>([] { Conv2d(4, 6, 3, {.stride = 2, .padding = "same"}); },
                           "padding='same' is not supported for strided convolutions");
  expect_error<ValueError>([] { Conv2d(4, 6, 3, {.padding_mode = "foo"}); },
                           "padding_mode must be one of", "but got padding_mode='foo'");
  expect_error<ValueError>([] { Conv2d(4, 6, {3, 3, 3}); }, "kernel_size", "(3, 3, 3)");
  expect_error<ValueError>([] { ConvTranspose2d(4, 6, 3, {.padding_mode = "reflect"}); },
                           "Only \"zeros\" padding mode is supported for ConvTranspose2d");
}

TEST(ConvLayers, SayWhichInputDoesNotFit) {
  Conv2d layer(4, 6, 3);
  expect_error<ShapeError>([&] { layer(ones({5})); },
                           "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input "
                           "of size: [5]",
                           "Conv2d(4, 6, kernel_size=(3, 3), stride=(1, 1))");
  Conv2d reflect(4, 6, 3, {.padding = 2, .padding_mode = "reflect"});
  expect_error<ShapeError>([&] { reflect(ones({1, 4, 2, 2})); },
                           "Padding size should be less than the corresponding input dimension",
                           "[1, 4, 2, 2]");
  Conv2d circular(4, 6, 3, {.padding = 2, .padding_mode = "circular"});
  expect_error<ShapeError>([&] { circular(ones({1, 4, 1, 2})); },
                           "Padding value causes wrapping around more than once");
}

TEST(ConvLayers, WorkInOtherDtypes) {
  for (const DType dtype : {float64, bfloat16, float16}) {
    Conv2d layer(3, 4, 3, {.dtype = dtype});
    const Tensor y = layer(ones({1, 3, 5, 5}, {.dtype = dtype}));
    EXPECT_EQ(y.dtype(), dtype);
    y.sum().backward();
    EXPECT_EQ(layer.weight->grad().dtype(), dtype);
  }
}

}  // namespace
}  // namespace tenon::nn
