// PyTorch's recipe on loading an nn.Module from a checkpoint, whole: mapped files, modules without
// memory, and loads that take tensors over instead of copying them.
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tenon/tenon.h"

using namespace tenon;

namespace {

// [module]
class SomeModule final : public nn::Layer {
 public:
  explicit SomeModule(std::int64_t size) {
    for (int i = 0; i < 10; ++i) linears->append(nn::make<nn::Linear>(size, size));
  }
  nn::Child<nn::ModuleList<nn::Linear>> linears{this, "linears"};

 protected:
  Tensor forward(const Tensor& input) override {
    Tensor x = input;
    for (nn::Linear& linear : *linears) x = linear(x);
    return x;
  }
};
// [module]

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// [processing]
// Could be anything that is done to one tensor after another.
Tensor my_special_routine(const Tensor& t, Device device) {
  return t.to({.dtype = bfloat16, .device = device});
}
// [processing]

}  // namespace

int main() {
  const std::string file =
      (std::filesystem::temp_directory_path() /
       ("checkpoint_recipe_" + std::to_string(std::random_device()()) + ".pth"))
          .string();
  manual_seed(0);
  {
    SomeModule m(1000);
    save(m.state_dict(), file);
  }
  {
    // [short]
    const StateDict state_dict = load(file, {.mmap = true});
    const auto meta_m = with_device("meta", [] { return std::make_unique<SomeModule>(1000); });
    std::cout << meta_m->load_state_dict(state_dict, {.assign = true}) << "\n";
    // [short]
  }
  SomeModule m(1000);
  {
    const StateDict state_dict = load(file);
    std::cout << m.load_state_dict(state_dict) << "\n";
  }
  auto start = std::chrono::steady_clock::now();
  StateDict state_dict = load(file);
  std::cout << "loading time without mmap=" << seconds_since(start) << "\n";
  start = std::chrono::steady_clock::now();
  state_dict = load(file, {.mmap = true});
  std::cout << "loading time with mmap=" << seconds_since(start) << "\n";

  // [loop]
  for (auto& [key, tensor] : state_dict.tensors())  // one tensor in memory at a time
    tensor = my_special_routine(tensor, Device::cpu());
  // [loop]

  const auto new_m = with_device("meta", [] { return std::make_unique<SomeModule>(1000); });
  std::cout << m.load_state_dict(state_dict) << "\n";
  // [assign]
  new_m->load_state_dict(state_dict, {.assign = true});
  // What holds on to parameters is made after an assigning load.
  const optim::SGD optimizer(new_m->parameters(), {.lr = 1e-3});
  // [assign]
  const std::vector<Tensor>& held = optimizer.param_groups()[0].params();
  std::cout << held.size() << " parameters of dtype " << repr(held[0].dtype()) << "\n";
  std::filesystem::remove(file);
}
