// A block of Llama: grouped heads, rotary positions, a gated MLP. The same seed gives the numbers
// that PyTorch has for the same block.
#include <iomanip>
#include <iostream>

#include "networks/llama.h"

using namespace tenon;

int main() {
  // [llama]
  manual_seed(0);
  const llama::Config config{.hidden_size = 64,
                             .intermediate_size = 160,
                             .num_attention_heads = 8,
                             .num_key_value_heads = 2};
  llama::DecoderLayer block(config);
  const Tensor x = randn({2, 10, 64});
  const auto [cos, sin] = llama::rotary(config, 10);
  const Tensor y = block(x, cos, sin);
  y.square().mean().backward();
  // [llama]
  std::cout << block.repr() << '\n' << std::fixed << std::setprecision(4);
  std::cout << "output " << y.abs().mean().item<double>() << ' ' << y[1][9][63].item<double>()
            << '\n';
  std::cout << "gradient of q_proj "
            << block.self_attn->q_proj->weight->grad().abs().sum().item<double>() << '\n';
}
