// A user-defined tensor for tests of optimizers and schedulers: what its operators do first.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace tenon::optim {

inline Tensor parameter_with_grad(double value = 1) {
  const Tensor parameter = nn::make_parameter(full({2}, value));
  parameter.set_grad(ones({2}));
  return parameter;
}

// What user code does when it is called next, once.
inline std::function<void()> deed;
inline void happen() {
  if (const auto once = std::exchange(deed, nullptr)) once();
}
// What does that when it is called for the time of that number, from 1 on.
inline std::function<void()> at(int number, std::function<void()> act) {
  return [number, act = std::move(act)] {
    if (number <= 1) return act();
    deed = at(number - 1, act);
  };
}

class BusyTensor final : public Wrapper<BusyTensor> {
 public:
  explicit BusyTensor(Tensor payload) : Wrapper(payload), elem(std::move(payload)) {}
  static Tensor unwrap(const Tensor& tensor) {
    const auto* busy = tensor.as<BusyTensor>();
    return busy != nullptr ? busy->elem : tensor;
  }
  std::optional<Value> dispatch(const OpCall& call) const override {
    happen();
    const Value result = call.call_with(unwrap);
    if (call.name().ends_with("_")) return Value(call.tensors()[0]);
    if (call.is_any<op::detach, op::clone>()) return make_tensor<BusyTensor>(result.as_tensor());
    return result;
  }
  std::optional<std::string> repr() const override {
    happen();
    return "Busy";
  }
  Tensor elem;
};

inline Tensor busy_parameter() {
  const Tensor parameter = nn::make_parameter(make_tensor<BusyTensor>(ones({2})));
  parameter.set_grad(ones({2}));
  return parameter;
}

struct AtEnd {
  ~AtEnd() { deed = nullptr; }
};

inline Tensor with_busy_grad() {
  const Tensor parameter = nn::make_parameter(make_tensor<BusyTensor>(ones({2})));
  parameter.set_grad(make_tensor<BusyTensor>(ones({2})));
  return parameter;
}

// A number that is user-defined, as an option of a group or in a state dict.
inline Tensor busy_number(double value) { return make_tensor<BusyTensor>(full({1}, value)); }

}  // namespace tenon::optim
