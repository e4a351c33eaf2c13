// What the dispatcher needs to know about the types in an operator's signature: where tensors are
// in its arguments, and how its result becomes a Value and back. Part of tenon/extend/custom_op.h.
#pragma once

#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/extend/body.h"
#include "tenon/extend/op_call.h"
#include "tenon/extend/op_info.h"
#include "tenon/generator.h"
#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon::detail {

// Arguments.

// Plain values an operator may take. Anything else could hide a tensor from the dispatcher.
template <class T>
inline constexpr bool is_plain_argument =
    std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, Scalar> ||
    std::same_as<T, Dims> || std::same_as<T, Shape> || std::same_as<T, Device> ||
    std::same_as<T, Layout> || std::same_as<T, Storage> || std::same_as<T, std::string> ||
    std::same_as<T, std::string_view> || std::same_as<T, Generator>;
template <class T>
inline constexpr bool is_plain_argument<std::optional<T>> = is_plain_argument<T>;
template <class T>
inline constexpr bool is_plain_argument<std::vector<T>> = is_plain_argument<T>;

template <class T>
inline constexpr bool is_tensor_argument =
    std::same_as<T, Tensor> || std::same_as<T, std::optional<Tensor>> ||
    std::same_as<T, std::vector<Tensor>> || std::same_as<T, std::span<const Tensor>> ||
    std::same_as<T, std::vector<std::optional<Tensor>>>;

// Calls f with every tensor that is there in an argument.
template <class F>
void for_each_tensor(const Tensor& tensor, F&& f) {
  f(tensor);
}
template <class F>
void for_each_tensor(const std::optional<Tensor>& tensor, F&& f) {
  if (tensor && tensor->defined()) f(*tensor);
}
template <class F>
void for_each_tensor(std::span<const Tensor> tensors, F&& f) {
  for (const Tensor& tensor : tensors) f(tensor);
}
template <class F>
void for_each_tensor(const std::vector<std::optional<Tensor>>& tensors, F&& f) {
  for (const auto& tensor : tensors) for_each_tensor(tensor, f);
}
template <class T, class F>
  requires is_plain_argument<T>
void for_each_tensor(const T& /*value*/, F&& /*f*/) {}

// The same, and with an undefined one for each place where a tensor could be and is not.
template <class T, class F>
void for_each_place(const T& argument, F&& f) {
  if constexpr (std::same_as<T, std::optional<Tensor>>) {
    f(argument ? *argument : Tensor());
  } else if constexpr (std::same_as<T, std::vector<std::optional<Tensor>>>) {
    for (const auto& tensor : argument) f(tensor ? *tensor : Tensor());
  } else {
    for_each_tensor(argument, f);
  }
}

// An optional tensor that is undefined is not there: a Rule needs to look at one thing only.
template <class T>
const T& present(const T& argument) {
  return argument;
}
inline const std::optional<Tensor>& present(const std::optional<Tensor>& tensor) {
  static const std::optional<Tensor> nothing;
  return tensor && !tensor->defined() ? nothing : tensor;
}

// The argument with every tensor replaced.
inline Tensor mapped(const Tensor& tensor, const OpCall::Map& map) { return map(tensor); }
inline std::optional<Tensor> mapped(const std::optional<Tensor>& tensor, const OpCall::Map& map) {
  return tensor && tensor->defined() ? std::optional<Tensor>(map(*tensor)) : tensor;
}
inline std::vector<Tensor> mapped(std::span<const Tensor> tensors, const OpCall::Map& map) {
  std::vector<Tensor> out;
  for (const Tensor& tensor : tensors) out.push_back(map(tensor));
  return out;
}
inline std::vector<std::optional<Tensor>> mapped(const std::vector<std::optional<Tensor>>& tensors,
                                                 const OpCall::Map& map) {
  std::vector<std::optional<Tensor>> out;
  out.reserve(tensors.size());
  for (const auto& tensor : tensors) out.push_back(mapped(tensor, map));
  return out;
}
template <class T>
  requires is_plain_argument<T>
const T& mapped(const T& value, const OpCall::Map& /*map*/) {
  return value;
}

// An argument that refers to nothing outside.
template <class A, class T = std::remove_cvref_t<A>>
using HeldArgument =
    std::conditional_t<std::same_as<T, std::span<const Tensor>>, std::vector<Tensor>,
                       std::conditional_t<std::same_as<T, std::string_view>, std::string, T>>;
template <class T>
HeldArgument<T> held_argument(const T& argument) {
  if constexpr (std::same_as<T, std::span<const Tensor>>) {
    return {argument.begin(), argument.end()};
  } else {
    return HeldArgument<T>(argument);
  }
}

// What the dispatcher wants to know of all tensor arguments together.
class TENON_API Scan {
 public:
  explicit Scan(const OpInfo& info) noexcept : info_(info) {}
  void operator()(const Tensor& tensor) {
    if (!tensor.defined()) undefined_argument(info_);
    const Body& body = *tensor.cell()->body;
    const Layout& layout = body.layout();
    wrapper |= body.is_wrapper();
    user_code |= body.is_wrapper() || layout.device.has_backend();
    tracked |= body.is_tracked();
    math_bits |= layout.conj || layout.neg;
  }
  // The device a result is asked for on: its backend allocates and copies.
  void see_device(const std::optional<Device>& device) noexcept {
    user_code |= device && device->has_backend();
  }
  void see_device(const auto& /*argument*/) noexcept {}

  bool wrapper = false;    // one of them is user-defined
  bool user_code = false;  // a user-defined tensor or a device's backend runs in the call
  bool tracked = false;    // one of them requires grad
  bool math_bits = false;  // elements of one of them stand for others

 private:
  [[noreturn]] static void undefined_argument(const OpInfo& info);
  const OpInfo& info_;
};

// Results.

template <class T>
inline constexpr bool is_tensor_tuple = false;
template <class... T>
inline constexpr bool is_tensor_tuple<std::tuple<T...>> = (std::same_as<T, Tensor> && ...);

TENON_API Tensor value_to_tensor(const Value& value, const OpInfo& info);
TENON_API std::vector<Tensor> value_to_tensors(const Value& value, const OpInfo& info,
                                               std::optional<std::size_t> count);

template <class R>
Value to_value(R&& result) {
  using T = std::remove_cvref_t<R>;
  if constexpr (is_tensor_tuple<T>) {
    return std::apply([](const auto&... part) { return Value::tuple({Value(part)...}); }, result);
  } else if constexpr (std::same_as<T, Scalar>) {
    switch (result.kind()) {
      case Scalar::Kind::boolean: return result.template to<bool>();
      case Scalar::Kind::complex: return result.template to<std::complex<double>>();
      case Scalar::Kind::real: return result.template to<double>();
      default: return result.template to<std::int64_t>();
    }
  } else {
    return Value(result);
  }
}

template <class T>
T from_value(const Value& value, const OpInfo& info) {
  if constexpr (std::same_as<T, Tensor>) {
    return value_to_tensor(value, info);
  } else if constexpr (std::same_as<T, std::vector<Tensor>>) {
    return value_to_tensors(value, info, std::nullopt);
  } else if constexpr (is_tensor_tuple<T>) {
    const std::vector<Tensor> parts = value_to_tensors(value, info, std::tuple_size_v<T>);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return T{parts[I]...};
    }(std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (std::same_as<T, bool>) {
    return value.as_bool();
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(value.as_int());
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(value.as_real());
  } else {
    static_assert(std::same_as<T, Scalar>,
                  "an operator returns tensors, a number, or its first argument");
    if (value.kind() == Value::Kind::boolean) return value.as_bool();
    if (value.kind() == Value::Kind::integer) return value.as_int();
    if (value.kind() == Value::Kind::complex) return value.as_complex();
    return value.as_real();
  }
}

template <class T, class F>
void for_each_result(const T& result, F&& f) {
  if constexpr (std::same_as<T, Tensor>) {
    f(result);
  } else if constexpr (std::same_as<T, std::vector<Tensor>>) {
    for (const Tensor& tensor : result) f(tensor);
  } else if constexpr (is_tensor_tuple<T>) {
    std::apply([&](const auto&... part) { (f(part), ...); }, result);
  }
}

}  // namespace tenon::detail
