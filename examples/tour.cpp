// What Tenon can do, in the lines that README.md shows.
// [tour]
#include <tenon/tenon.h>

#include <iostream>

using namespace tenon;

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "model.pth";
  try {
    // What torch.save or safetensors wrote. Nothing in it is executed; mapped, no byte is read
    // before it is touched, and of what the filter leaves out none at all.
    StateDict state = load(file, {.mmap = true,
                                  .filter = matching("\\.h\\.0\\.attn\\."),
                                  .rename = KeyMap().strip_prefix("transformer.")});
    for (auto& [name, tensor] : state.tensors()) tensor = tensor.to(bfloat16);

    // A tensor is a name. Whoever copies it, an optimizer say, has another name for the same one.
    // On the meta device it has a shape and no memory, however many elements.
    Tensor weight = with_device("meta", [] { return nn::make_parameter(empty({1'000'000})); });
    std::vector<Tensor> optimizer{weight};

    // Swapping exchanges what two tensors are. Every name follows, and no id changes.
    Tensor loaded = nn::make_parameter(state.tensor("h.0.attn.c_proj.weight")[0].narrow(0, 0, 3));
    swap_tensors(weight, loaded);
    std::cout << state.size() << " tensors; the optimizer has " << optimizer[0] << "\n";
    state.tensor("attn.c_proj.weight");
  } catch (const Error& error) {  // with a type, and the numbers and the next step in the text
    std::cout << error.what() << "\n";
  }
}
// [tour]
