// What the README opens with: a part of a GPT-2 in C++, from its file, in a few lines.
// [tour]
#include <tenon/tenon.h>

#include <iostream>

using namespace tenon;

// As in Python: a member is a registration, and its name the name in the state dict.
class Embeddings final : public nn::Layer {
 public:
  nn::Child<nn::Embedding> wte{this, "wte", 500, 48};
  nn::Child<nn::Embedding> wpe{this, "wpe", 64, 48};
  nn::Child<nn::Dropout> drop{this, "drop", {.p = 0.1}};

 protected:
  Tensor forward(const Tensor& tokens) override {
    return drop(wte(tokens) + wpe(arange(tokens.size(-1))));
  }
};

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "model.pth";
  try {
    // Built without memory. What it needs is read from what torch.save or safetensors wrote, and
    // converted on the way; nothing in the file is executed, nothing is left half loaded.
    auto net = with_device("meta", [] { return nn::make<Embeddings>(); });
    std::vector<Tensor> optimizer = net->parameters();  // handles follow whatever happens
    load_into(*net, file,
              {.dtype = bfloat16,
               .filter = matching("^transformer\\.w"),
               .rename = KeyMap().strip_prefix("transformer.")});
    std::cout << net->eval() << "\n" << (*net)(tensor({1, 2})).narrow(1, 0, 3).detach() << "\n";
    std::cout << optimizer.size() << " parameters of " << repr(optimizer[0].dtype()) << "\n";
    net->load_state_dict(load(file, {.mmap = true, .filter = matching("ln_f")}));
  } catch (const Error& error) {  // with a type, and every problem in the text
    std::cout << error.what() << "\n";
  }
}
// [tour]
