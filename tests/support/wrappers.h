// User-defined tensors that tests use.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/extend.h"
#include "tenon/tenon.h"

namespace tenon {

// A payload and a factor: the recipe's quantised weight in small. Knows detach and conversions, and
// flattens.
class ScaledTensor : public Wrapper<ScaledTensor> {
 public:
  ScaledTensor(Tensor payload, double factor)
      : Wrapper(payload), elem(std::move(payload)), scale(factor) {}

  std::optional<Value> dispatch(const OpCall& call) const override {
    if (call.is_any<op::detach, op::to_copy>())
      return make_tensor<ScaledTensor>(call.call_with(unwrap).as_tensor(), scale);
    return std::nullopt;
  }
  std::optional<Flattened> flatten() const override { return Flattened{{{"elem", elem}}, scale}; }
  std::optional<std::string> repr() const override {
    return "ScaledTensor(" + elem.repr() + ", scale=" + Value(scale).repr() + ")";
  }
  static Tensor unwrap(const Tensor& t) {
    const auto* scaled = t.as<ScaledTensor>();
    return scaled != nullptr ? scaled->elem : t;
  }

  Tensor elem;
  double scale;
};

// Notes every operator it is asked about, carries it out on the payload, and wraps tensors that
// come back.
class LoggingTensor : public Wrapper<LoggingTensor> {
 public:
  LoggingTensor(Tensor payload, std::vector<std::string>& notes)
      : Wrapper(payload), elem(std::move(payload)), log(notes) {}

  std::optional<Value> dispatch(const OpCall& call) const override {
    log.emplace_back(call.name());
    const Value result = call.call_with([](const Tensor& t) {
      const auto* logging = t.as<LoggingTensor>();
      return logging != nullptr ? logging->elem : t;
    });
    return wrapped(result);
  }

  Tensor elem;
  std::vector<std::string>& log;

 private:
  Value wrapped(const Value& value) const {
    if (value.is_tensor()) return make_tensor<LoggingTensor>(value.as_tensor(), log);
    if (value.kind() == Value::Kind::list) {
      std::vector<Value> items;
      for (const Value& item : value.items()) items.push_back(wrapped(item));
      return Value::list(std::move(items));
    }
    return value;
  }
};

}  // namespace tenon
