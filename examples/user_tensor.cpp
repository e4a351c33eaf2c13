// A tensor of one's own: int8 codes under a float32 face, that quantises whatever is loaded into
// it.
#include <tenon/extend.h>
#include <tenon/tenon.h>

#include <cmath>
#include <iostream>
#include <limits>

using namespace tenon;

// [user_tensor]
class Int8Weight final : public Wrapper<Int8Weight> {
 public:
  Int8Weight(Tensor int8_codes, double step)
      : Wrapper(Layout::packed(int8_codes.shape(), float32, int8_codes.device())),
        codes(std::move(int8_codes)),
        scale(step) {}

  static Tensor quantise(const Tensor& value) {
    const Tensor flat = value.to(float32).contiguous();
    const Tensor codes = empty_like(flat, {.dtype = int8});
    float largest = std::numeric_limits<float>::min();
    for (std::int64_t i = 0; i < flat.numel(); ++i)
      largest = std::max(largest, std::fabs(flat.data<float>()[i]));
    for (std::int64_t i = 0; i < flat.numel(); ++i)
      codes.data<std::int8_t>()[i] =
          static_cast<std::int8_t>(std::lround(flat.data<float>()[i] * 127 / largest));
    return make_tensor<Int8Weight>(codes, largest / 127.0);
  }

  // Operators: the ones it knows, on its codes; nullopt for the rest, which are then an error.
  std::optional<Value> dispatch(const OpCall& call) const override {
    if (call.is<op::detach>()) return make_tensor<Int8Weight>(codes.detach(), scale);
    return std::nullopt;
  }
  // Loading: a plain tensor from a checkpoint becomes codes.
  std::optional<Tensor> module_load(const Tensor&, const Tensor& value, bool) const override {
    return quantise(value);
  }
  std::optional<Flattened> flatten() const override { return Flattened{{{"codes", codes}}, scale}; }
  std::optional<std::string> repr() const override {
    return "Int8Weight(" + codes.repr() + ", scale=" + Value(scale).repr() + ")";
  }

  Tensor codes;
  double scale;
};
// [user_tensor]

int main() {
  // A parameter on the meta device: a shape, and no memory.
  const Tensor skeleton = empty({2, 2}, {.dtype = int8, .device = "meta"});
  const Tensor weight = nn::make_parameter(make_tensor<Int8Weight>(skeleton, 1.0), false);
  const auto id = weight.id();
  std::cout << "before: " << weight << "\n";

  const Tensor checkpoint = tensor({{0.5, -1.0}, {0.25, 1.0}});
  swap_tensors(weight, nn::make_parameter(weight.module_load(checkpoint, true), false));
  std::cout << "after:  " << weight << "\n";
  std::cout << "same id: " << std::boolalpha << (weight.id() == id) << "\n";

  try {
    weight.clone();
  } catch (const NotImplementedError& error) {
    std::cout << error.what() << "\n";
  }
  return weight.id() == id ? 0 : 1;
}
