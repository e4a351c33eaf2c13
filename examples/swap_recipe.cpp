// PyTorch's recipe on swap_tensors and the extension points of nn.Module, whole: what an optimizer
// sees when a module's parameters are replaced, and how conversions and loads keep it right. What
// it prints is what the recipe prints, with numbers and ids of our own.
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "tenon/extend.h"
#include "tenon/tenon.h"

using namespace tenon;

namespace {

// A list of tensors as Python prints it.
std::string text(const std::vector<Tensor>& tensors) { return Value(tensors).repr(); }

// [quantised_weight]
// Weights of a linear layer that a real one would keep as small integers. Of the operators it has
// the two that the recipe needs.
class MyQuantizedLinearWeight final : public Wrapper<MyQuantizedLinearWeight> {
 public:
  MyQuantizedLinearWeight(const Tensor& payload, double factor)
      : Wrapper(payload), elem(payload), scale(factor) {}

  std::optional<std::string> repr() const override {
    return "MyQuantizedLinearWeight(" + elem.repr() + ", scale=" + Value(scale).repr() + ")";
  }

  std::optional<Value> dispatch(const OpCall& call) const override {
    if (!call.is_any<op::detach, op::to_copy>()) return std::nullopt;
    const auto inside = [](const Tensor& t) {
      const auto* own = t.as<MyQuantizedLinearWeight>();
      return own == nullptr ? t : own->elem;
    };
    return make_tensor<MyQuantizedLinearWeight>(call.call_with(inside).as_tensor(), scale);
  }

  // How a plain tensor of a checkpoint becomes such a weight.
  std::optional<Tensor> module_load(const Tensor& dest, const Tensor& src,
                                    bool /*assign*/) const override {
    const auto* own = dest.as<MyQuantizedLinearWeight>();
    if (own == nullptr || src.as<MyQuantizedLinearWeight>() != nullptr) return std::nullopt;
    return make_tensor<MyQuantizedLinearWeight>(src, own->scale);
  }

  Tensor elem;
  double scale;
};
// [quantised_weight]

void swapping() {
  const Tensor t1 = arange(2), t2 = arange(3);
  std::cout << "Before swapping, t1: " << t1 << ", t2: " << t2 << "\n";
  swap_tensors(t1, t2);
  std::cout << "After swapping, t1: " << t1 << ", t2: " << t2 << "\n";
}

void an_optimizer_that_does_not_see() {
  // [stale]
  nn::Linear mod(1, 2, {.bias = false});
  const optim::SGD optimizer(mod.parameters());
  std::cout << "weight in mod: " << *mod.weight << "\n";
  std::cout << "weight in optimizer: " << text(optimizer.param_groups()[0].params()) << "\n";
  mod.weight = nn::make_parameter(2 * *mod.weight);
  std::cout << "weight in mod: " << *mod.weight << "\n";
  std::cout << "weight in optimizer: " << text(optimizer.param_groups()[0].params()) << "\n";
  std::cout << optimizer.stale_parameters(mod).size() << " parameter that mod has no longer\n";
  // [stale]
}

// [conversion]
void converting() {
  nn::Linear m(3, 5, {.dtype = float32});
  m.weight = nn::make_parameter(make_tensor<MyQuantizedLinearWeight>(m.weight, 0.5));
  std::cout << "Before: id(m.weight)=" << m.weight->id() << ", id(m.bias)=" << m.bias->id() << "\n";
  m.bfloat16();
  std::cout << "After: id(m.weight)=" << m.weight->id() << ", id(m.bias)=" << m.bias->id() << "\n";
  std::cout << "m.weight.dtype: " << repr(m.weight->dtype()) << "\n";
  std::cout << "m.weight.elem.dtype: "
            << repr(m.weight->as<MyQuantizedLinearWeight>()->elem.dtype()) << "\n";
  std::cout << "m.bias.dtype: " << repr(m.bias->dtype()) << "\n";
}
// [conversion]

// [loading]
void loading() {
  // A skeleton without memory, whose weights are of the user's class and whose biases are plain.
  const auto m = with_device("meta", [] {
    auto skeleton = nn::make<nn::Linear>(3, 5);
    skeleton->apply([](nn::Module& module) {
      if (auto* linear = module.as<nn::Linear>()) {
        linear->weight =
            nn::make_parameter(make_tensor<MyQuantizedLinearWeight>(linear->weight, 0.5),
                               linear->weight->requires_grad());
      }
    });
    return skeleton;
  });
  const nn::SwapOnConversionScope swap;
  std::cout << "Before: id(weight)=" << m->weight->id() << ", id(bias)=" << m->bias->id() << "\n";
  std::cout << "m.state_dict() before load_state_dict():\n " << m->state_dict() << "\n";
  const StateDict state_dict = nn::Linear(3, 5).state_dict();
  std::cout << "state_dict:\n " << state_dict << "\n";
  m->load_state_dict(state_dict, {.assign = true});
  std::cout << "After: id(weight)=" << m->weight->id() << ", id(bias)=" << m->bias->id() << "\n";
  std::cout << "m.state_dict() after load_state_dict():\n " << m->state_dict() << "\n";
}
// [loading]

}  // namespace

int main() {
  manual_seed(0);
  swapping();
  an_optimizer_that_does_not_see();
  // [switch]
  converting();
  set_swap_module_params_on_conversion(true);
  converting();
  set_swap_module_params_on_conversion(false);
  // [switch]
  loading();
}
