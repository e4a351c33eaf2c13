// A ResNet from a torchvision-style checkpoint: what it is, is read from the file.
//
//   resnet FILE
#include <array>
#include <iostream>
#include <string>

#include "networks/resnet.h"

using namespace tenon;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: resnet FILE\n";
    return 2;
  }
  // [resnet]
  const StateDict state = load(argv[1], {.mmap = true});
  std::array<int, 4> layers{};
  for (std::size_t part = 0; part < 4; ++part) {
    const auto name = [&] {
      return "layer" + std::to_string(part + 1) + "." + std::to_string(layers[part]);
    };
    while (state.contains(name() + ".conv1.weight")) ++layers[part];
  }
  const std::int64_t classes = state.at("fc.bias").as_tensor().size(0);
  const auto net = with_device("meta", [&] { return nn::make<resnet::ResNet>(layers, classes); });
  std::cout << net->load_state_dict(state, {.assign = true}) << '\n';
  net->eval();

  const InferenceModeScope inference;
  const Tensor image = linspace(-1, 1, 3 * 64 * 64).sin().view({1, 3, 64, 64});
  const auto [scores, ranks] = (*net)(image).softmax(1).topk(3);
  for (std::int64_t i = 0; i < 3; ++i)
    std::cout << "class " << ranks[0][i].item<std::int64_t>() << '\n';
  // [resnet]
}
