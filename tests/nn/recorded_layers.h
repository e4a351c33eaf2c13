// Layers and their gradients beside values that PyTorch wrote down.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/matchers.h"
#include "support/near.h"
#include "support/recorded.h"
#include "tenon/tenon.h"

namespace tenon::nn {

// The cases of layers.pth: for each NAME what went in (NAME.in0, ...), parameters (NAME.p.KEY),
// what came out, the gradient it was run backwards from, gradients (NAME.g.KEY, NAME.gin0, ...) and
// the buffers afterwards (NAME.b.KEY).
class RecordedLayers : public testing::Test {
 protected:
  const StateDict cases = load(TENON_SOURCE_DIR "/tests/io/fixtures/torch-2.11/layers.pth");

  Tensor recorded(const std::string& key) const { return cases.at(key).as_tensor(); }
  // One that went in, which is to have a gradient if PyTorch's had one.
  Tensor input(const std::string& name, int number = 0) const {
    const std::string place = std::to_string(number);
    const Tensor tensor = recorded(name + ".in" + place);
    if (cases.contains(name + ".gin" + place)) tensor.requires_grad_();
    return tensor;
  }

  // Within 1e-5 of the largest.
  void expect_near(const Tensor& actual, const std::string& key) const {
    ASSERT_TRUE(actual.defined()) << key;
    ASSERT_EQ(actual.dtype(), recorded(key).dtype()) << key;
    tenon::expect_near(actual, recorded(key), key);
  }
  // What PyTorch 2.14.1 prints of the layer.
  static std::string text_of(const std::string& name) {
    for (const recorded::Line& row : recorded::rows("nn/cases/layer_texts", 50)) {
      if (row.at(0) == name) return row.at(1);
    }
    return "nothing is recorded of " + name;
  }

  // Gives the module the recorded parameters, runs `forward` on the recorded arguments, and goes
  // backwards from the recorded gradient.
  void check(const std::string& name, Module& module,
             const std::function<Tensor(const std::vector<Tensor>&)>& forward) const {
    EXPECT_EQ(module.repr(), text_of(name));
    for (const auto& [key, parameter] : module.named_parameters()) {
      const NoGradScope unrecorded;
      parameter.copy_(recorded(name + ".p." + key));
    }
    std::vector<Tensor> inputs;
    for (int i = 0; cases.contains(name + ".in" + std::to_string(i)); ++i)
      inputs.push_back(input(name, i));
    const Tensor out = forward(inputs);
    expect_near(out, name + ".out");
    out.backward({.gradient = recorded(name + ".gout")});
    for (const auto& [key, parameter] : module.named_parameters())
      expect_near(parameter.grad(), name + ".g." + key);
    for (const auto& [key, buffer] : module.named_buffers())
      expect_near(buffer, name + ".b." + key);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].requires_grad())
        expect_near(inputs[i].grad(), name + ".gin" + std::to_string(i));
    }
  }
  // A layer of one tensor.
  void check(const std::string& name, Layer& layer) const {
    check(name, layer, [&](const std::vector<Tensor>& inputs) { return layer(inputs.at(0)); });
  }
};

}  // namespace tenon::nn
