// What the core can do, in the lines that README.md shows.
// [tour]
#include <tenon/tenon.h>

#include <iostream>

using namespace tenon;

int main() {
  // A tensor is a name. Whoever copies it, an optimizer say, has another name for the same tensor.
  Tensor weight = nn::make_parameter(zeros({2, 3}));
  std::vector<Tensor> optimizer{weight};

  // On the meta device there are shapes and no memory, however many elements.
  Tensor plan = with_device("meta", [] { return empty({1'000'000, 1'000'000}); });
  std::cout << plan.t().reshape({-1}) << "\n";

  // Swapping exchanges what two tensors are. Every name follows, and no id changes.
  Tensor loaded = nn::make_parameter(arange(6.0).view({2, 3}).to(bfloat16));
  swap_tensors(weight, loaded);
  std::cout << optimizer[0] << "\n";

  // Errors have types, and the numbers in them.
  try {
    weight.detach().view({4, 2});
  } catch (const ShapeError& error) {
    std::cout << error.what() << "\n";
  }
}
// [tour]
