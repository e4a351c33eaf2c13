// Words from a GPT-2-style checkpoint: the file is mapped into a network that was built without
// memory, and every new token costs the work of one. They are drawn as PyTorch draws them: the same
// seed gives the same words.
//
//   generate FILE [how many tokens] [token ...]
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "networks/gpt2.h"

using namespace tenon;

namespace {

// What the network's sizes are, as far as the shapes of its tensors tell. GPT-2's heads have 64
// features; those of the small checkpoint here, 12.
gpt2::Config config_of(const StateDict& state) {
  gpt2::Config config;
  const Shape words = state.at("transformer.wte.weight").as_tensor().shape();
  config.vocab_size = words[0];
  config.n_embd = words[1];
  config.n_positions = state.at("transformer.wpe.weight").as_tensor().size(0);
  config.n_head = config.n_embd / (config.n_embd % 64 == 0 ? 64 : 12);
  config.n_layer = 0;
  while (state.contains("transformer.h." + std::to_string(config.n_layer) + ".ln_1.weight"))
    ++config.n_layer;
  return config;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: generate FILE [how many tokens] [token ...]\n";
    return 2;
  }
  // [generate]
  const StateDict state = load(argv[1], {.mmap = true});
  const gpt2::Config config = config_of(state);
  const auto net = with_device("meta", [&] { return nn::make<gpt2::LMHeadModel>(config); });
  net->load_state_dict(state, {.assign = true});
  net->eval();

  manual_seed(0);
  const InferenceModeScope inference;
  std::vector<std::int64_t> tokens;
  for (int i = 3; i < argc; ++i) tokens.push_back(std::atoll(argv[i]));
  if (tokens.empty()) tokens = {15, 73, 42, 8};
  const std::int64_t count = argc > 2 ? std::atoll(argv[2]) : 24;

  gpt2::KeyValueCache cache(config, 1);
  Tensor input = tensor(tokens).unsqueeze(0);
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < count && cache.length + input.size(1) <= config.n_positions; ++i) {
    const Tensor scores = (*net)(input, &cache).select(1, -1);
    input = (scores / 0.7).softmax(-1).multinomial(1);
    tokens.push_back(input.item<std::int64_t>());
  }
  // [generate]
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  for (const std::int64_t token : tokens) std::cout << token << ' ';
  std::cout << '\n';
  std::cerr << count << " tokens in " << took.count() << " s\n";
}
