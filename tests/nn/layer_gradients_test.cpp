// Layers and their gradients beside values that PyTorch wrote down.
#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

class RecordedLayers : public testing::Test {
 protected:
  const StateDict cases = load(TENON_SOURCE_DIR "/tests/io/fixtures/torch-2.11/layers.pth");

  Tensor recorded(const std::string& key) const { return cases.at(key).as_tensor(); }

  // Within 1e-5 of the largest.
  void expect_near(const Tensor& actual, const std::string& key) const {
    ASSERT_TRUE(actual.defined()) << key;
    const Tensor expected = recorded(key);
    ASSERT_EQ(actual.shape(), expected.shape()) << key;
    const double largest = expected.abs().max().item<double>();
    EXPECT_LE((actual.detach() - expected).abs().max().item<double>(), 1e-5 * largest) << key;
  }

  // Runs the layer on the recorded arguments, and backwards from the recorded gradient.
  template <class Layer, class... Input>
  void check(const std::string& name, Layer& layer, const Input&... inputs) {
    for (const auto& [key, parameter] : layer.named_parameters()) {
      const NoGradScope unrecorded;
      parameter.copy_(recorded(name + ".p." + key));
    }
    const Tensor out = layer(inputs...);
    expect_near(out, name + ".out");
    out.backward({.gradient = recorded(name + ".gout")});
    for (const auto& [key, parameter] : layer.named_parameters())
      expect_near(parameter.grad(), name + ".g." + key);
    int number = 0;
    const auto check_input = [&](const Tensor& input) {
      if (input.requires_grad()) expect_near(input.grad(), name + ".gin" + std::to_string(number));
      ++number;
    };
    (check_input(inputs), ...);
  }
};

TEST_F(RecordedLayers, Linear) {
  nn::Linear flat(5, 7);
  check("linear", flat, recorded("linear.in0").requires_grad_());
  nn::Linear deep(5, 7);
  check("linear3d", deep, recorded("linear3d.in0").requires_grad_());
}

TEST_F(RecordedLayers, Bilinear) {
  nn::Bilinear layer(3, 4, 5);
  check("bilinear", layer, recorded("bilinear.in0").requires_grad_(),
        recorded("bilinear.in1").requires_grad_());
}

TEST_F(RecordedLayers, EmbeddingWithPadding) {
  nn::Embedding layer(9, 4, {.padding_idx = 1});
  check("emb", layer, recorded("emb.in0"));
}

TEST(EmbeddingGradients, MayBeDividedByHowOftenARowIsUsed) {
  const Tensor weight = zeros({4, 2}).requires_grad_();
  embedding(tensor({0, 2, 2, 2}), weight, {.scale_grad_by_freq = true}).sum().backward();
  EXPECT_TRUE(equal(weight.grad(), tensor({{1.F, 1.F}, {0.F, 0.F}, {1.F, 1.F}, {0.F, 0.F}})));
}

}  // namespace
}  // namespace tenon::nn
