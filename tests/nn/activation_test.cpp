// Activations as layers: beside what PyTorch wrote down, their text and what they refuse.
#include "tenon/nn/activation.h"

#include "nn/names.h"
#include "nn/recorded_layers.h"
#include "support/sha256.h"

namespace tenon::nn {
namespace {

TEST_F(RecordedLayers, Activations) {
  const auto as = [&](const char* name, Layer&& layer) { check(name, layer); };
  as("act.ReLU", ReLU());
  as("act.GELU", GELU());
  as("act.GELU_tanh", GELU({.approximate = "tanh"}));
  as("act.SiLU", SiLU());
  as("act.Tanh", Tanh());
  as("act.Sigmoid", Sigmoid());
  as("act.Hardswish", Hardswish());
  as("act.Hardsigmoid", Hardsigmoid());
  as("act.ELU", ELU());
  as("act.LeakyReLU", LeakyReLU());
  as("act.Softplus", Softplus());
  as("act.Mish", Mish());
  as("act.ReLU6", ReLU6());
  as("act.SELU", SELU());
  as("act.LogSigmoid", LogSigmoid());
  as("act.Softsign", Softsign());
  as("act.Hardtanh", Hardtanh());
  as("softmax", Softmax(-1));
  as("logsoftmax", LogSoftmax(1));
  as("prelu", PReLU(4));
  as("glu", GLU());
}

TEST(ActivationLayers, PrintAsPyTorchPrintsThem) {
  const auto text = [](Module&& layer) { return layer.repr(); };
  EXPECT_EQ(text(ReLU()), "ReLU()");
  EXPECT_EQ(text(ReLU({.inplace = true})), "ReLU(inplace=True)");
  EXPECT_EQ(text(ReLU(true)), "ReLU(inplace=True)");
  EXPECT_EQ(text(Threshold(0.1, 0.5)), "Threshold(threshold=0.1, value=0.5)");
  EXPECT_EQ(text(Threshold(0.1, 0.5, {.inplace = true})),
            "Threshold(threshold=0.1, value=0.5, inplace=True)");
  EXPECT_EQ(text(RReLU()), "RReLU(lower=0.125, upper=0.3333333333333333)");
  EXPECT_EQ(text(RReLU({.lower = 0.1, .upper = 0.3, .inplace = true})),
            "RReLU(lower=0.1, upper=0.3, inplace=True)");
  EXPECT_EQ(text(Hardtanh()), "Hardtanh(min_val=-1.0, max_val=1.0)");
  EXPECT_EQ(text(ReLU6(true)), "ReLU6(inplace=True)");
  EXPECT_EQ(text(Sigmoid()), "Sigmoid()");
  EXPECT_EQ(text(Hardsigmoid(true)), "Hardsigmoid()");
  EXPECT_EQ(text(Tanh()), "Tanh()");
  EXPECT_EQ(text(SiLU({.inplace = true})), "SiLU(inplace=True)");
  EXPECT_EQ(text(Mish()), "Mish()");
  EXPECT_EQ(text(Hardswish(true)), "Hardswish()");
  EXPECT_EQ(text(ELU()), "ELU(alpha=1.0)");
  EXPECT_EQ(text(CELU({.alpha = 0.5, .inplace = true})), "CELU(alpha=0.5, inplace=True)");
  EXPECT_EQ(text(SELU()), "SELU()");
  EXPECT_EQ(text(GLU(1)), "GLU(dim=1)");
  EXPECT_EQ(text(GELU()), "GELU(approximate='none')");
  EXPECT_EQ(text(GELU("tanh")), "GELU(approximate='tanh')");
  EXPECT_EQ(text(Hardshrink()), "Hardshrink(0.5)");
  EXPECT_EQ(text(LeakyReLU(0.2)), "LeakyReLU(negative_slope=0.2)");
  EXPECT_EQ(text(LogSigmoid()), "LogSigmoid()");
  EXPECT_EQ(text(Softplus()), "Softplus(beta=1.0, threshold=20.0)");
  EXPECT_EQ(text(Softshrink(0.3)), "Softshrink(0.3)");
  EXPECT_EQ(text(PReLU(4)), "PReLU(num_parameters=4)");
  EXPECT_EQ(text(Softsign()), "Softsign()");
  EXPECT_EQ(text(Tanhshrink()), "Tanhshrink()");
  EXPECT_EQ(text(Softmin()), "Softmin(dim=None)");
  EXPECT_EQ(text(Softmax(1)), "Softmax(dim=1)");
  EXPECT_EQ(text(Softmax({.dim = -1})), "Softmax(dim=-1)");
  EXPECT_EQ(text(Softmax2d()), "Softmax2d()");
  EXPECT_EQ(text(LogSoftmax(-1)), "LogSoftmax(dim=-1)");
}

TEST(ActivationLayers, PReLUHasOneSlopeForEachChannel) {
  PReLU layer({.num_parameters = 3, .init = 0.5, .dtype = float64});
  EXPECT_EQ(layer.state_dict().size(), 1U);
  EXPECT_TRUE(equal(layer.weight->detach(), full({3}, 0.5, {.dtype = float64})));
  EXPECT_TRUE(layer.weight->requires_grad());
  PReLU nowhere({.device = Device::meta()});
  EXPECT_TRUE(nowhere.weight->is_meta());
  EXPECT_EQ(nowhere(empty({2, 3}, {.device = Device::meta()})).shape(), Shape({2, 3}));
}

TEST(ActivationLayers, RReLUDrawsWhileTrainingOnly) {
  RReLU layer;
  const Tensor x = full({1000}, -1.0);
  const Tensor drawn = layer(x);
  EXPECT_LT(drawn.max().item<float>(), -0.125F + 1e-6F);
  EXPECT_GT(drawn.min().item<float>(), -0.33334F);
  EXPECT_LT(drawn.min().item<float>(), drawn.max().item<float>());
  layer.eval();
  EXPECT_TRUE(allclose(layer(x), x * ((1. / 8 + 1. / 3) / 2)));
}

TEST(ActivationLayers, InPlaceTheyWriteIntoTheirInput) {
  const auto writes = [](Layer&& layer) {
    const Tensor x = linspace(-3, 3, 13), y = x.clone();
    const Tensor out = layer(y);
    return out.is(y) && !equal(x, y);
  };
  EXPECT_TRUE(writes(ReLU(true)));
  EXPECT_TRUE(writes(ReLU6(true)));
  EXPECT_TRUE(writes(SiLU(true)));
  EXPECT_TRUE(writes(Mish(true)));
  EXPECT_TRUE(writes(SELU(true)));
  EXPECT_TRUE(writes(Hardswish(true)));
  EXPECT_TRUE(writes(Hardsigmoid(true)));
  EXPECT_TRUE(writes(ELU({.inplace = true})));
  EXPECT_TRUE(writes(CELU({.inplace = true})));
  EXPECT_TRUE(writes(LeakyReLU({.inplace = true})));
  EXPECT_TRUE(writes(Hardtanh({.inplace = true})));
  EXPECT_TRUE(writes(Threshold(0, 1, {.inplace = true})));
  EXPECT_TRUE(writes(RReLU({.inplace = true})));
  const Tensor leaf = zeros({3}).requires_grad_();
  SiLU layer(true);
  expect_error<AutogradError>([&] { layer(leaf); }, "leaf", "in-place");
}

TEST(ChannelDropoutLayers, PrintAsPyTorchPrintsThemAndWorkWhileTrainingOnly) {
  EXPECT_EQ(Dropout1d().repr(), "Dropout1d(p=0.5, inplace=False)");
  EXPECT_EQ(Dropout2d(0.1).repr(), "Dropout2d(p=0.1, inplace=False)");
  EXPECT_EQ(Dropout3d({.inplace = true}).repr(), "Dropout3d(p=0.5, inplace=True)");
  EXPECT_EQ(FeatureAlphaDropout().repr(), "FeatureAlphaDropout(p=0.5, inplace=False)");
  AlphaDropout layer(0.2);
  EXPECT_EQ(layer.repr(), "AlphaDropout(p=0.2, inplace=False)");
  const Tensor x = ones({50, 4});
  manual_seed(1);
  EXPECT_FALSE(equal(layer(x), x));
  EXPECT_TRUE(layer.eval()(x).is(x));
  Dropout2d planes;
  const Tensor y = planes(ones({6, 5, 2, 2}));
  EXPECT_TRUE(equal(amax(y, {2, 3}), amin(y, {2, 3})));
  EXPECT_TRUE(any(y == 0).item<bool>() && any(y == 2).item<bool>());
}

TEST(ActivationLayers, SayWhatIsWrong) {
  expect_error<ValueError>([] { Hardtanh(1, -1); }, "max_val (-1.0)", "min_val (1.0)");
  Softmax2d planes;
  expect_error<ShapeError>([&] { planes(zeros({2, 3})); }, "expected input to be 3D or 4D, got 2D",
                           "[2, 3]", "Softmax2d()");
  GELU unknown("cubic");
  expect_error<ValueError>([&] { unknown(zeros({2})); }, "either none or tanh", "'cubic'");
}

}  // namespace
}  // namespace tenon::nn
