// PyTorch's swap recipe, its first part: two tensors exchange what they are, and keep who they are.
#include <tenon/tenon.h>

#include <iostream>

int main() {
  using namespace tenon;
  // [swap]
  Tensor t1 = arange(2);
  Tensor t2 = arange(3);
  std::cout << "Before swapping, t1: " << t1 << ", t2: " << t2 << "\n";
  swap_tensors(t1, t2);
  std::cout << "After swapping, t1: " << t1 << ", t2: " << t2 << "\n";
  // [swap]

  // Whoever holds a parameter, an optimizer say, holds its name, and sees what it has become.
  const Tensor weight = nn::make_parameter(full({2, 1}, 0.75));
  const std::vector<Tensor> optimizer{weight};
  const auto id = weight.id();
  swap_tensors(weight, nn::make_parameter(weight.detach().to(bfloat16)));
  std::cout << "weight: " << weight << "\n";
  std::cout << "weight in optimizer: " << optimizer[0] << "\n";
  std::cout << "same id before and after: " << std::boolalpha << (weight.id() == id) << "\n";
  return weight.id() == id && optimizer[0].is(weight) ? 0 : 1;
}
