// The node that is recorded for an operator whose Rule has a backward: what of its arguments and
// results it needs, kept. Part of tenon/extend/custom_op.h.
#pragma once

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

#include "tenon/extend/gradient.h"
#include "tenon/extend/op_arguments.h"
#include "tenon/extend/op_info.h"

namespace tenon {

template <class O>
struct Rule;

namespace detail {

// Whether any of the gradients is there.
TENON_API bool any_defined(std::span<const Tensor> grads) noexcept;
// A result that the node which made it keeps, and what it is given back as.
TENON_API SavedTensor save_result(const Tensor& result, std::uint32_t output);
TENON_API Tensor unpack_result(const SavedTensor& saved, std::string_view op, Node& node,
                               std::uint32_t output);

// Arguments as they are kept, and given back. Tensors that are not needed come back undefined.
template <class T>
struct Kept {
  static_assert(!std::same_as<T, std::optional<std::string_view>> &&
                    !std::same_as<T, std::vector<std::string_view>>,
                "a node outlives the text: take std::string");
  T value;
  template <class Keep>
  static Kept from(const T& value, Keep&&) {
    return {value};
  }
  const T& get(std::string_view) const { return value; }
};
template <>
struct Kept<std::string_view> {
  std::string value;
  template <class Keep>
  static Kept from(std::string_view value, Keep&&) {
    return {std::string(value)};
  }
  std::string_view get(std::string_view) const { return value; }
};
template <>
struct Kept<Tensor> {
  std::optional<SavedTensor> saved;
  template <class Keep>
  static Kept from(const Tensor& tensor, Keep&& keep) {
    return {keep(tensor)};
  }
  Tensor get(std::string_view op) const { return saved ? saved->unpack(op) : Tensor(); }
};
template <>
struct Kept<std::optional<Tensor>> {
  Kept<Tensor> tensor;
  bool present;
  template <class Keep>
  static Kept from(const std::optional<Tensor>& tensor, Keep&& keep) {
    return {Kept<Tensor>::from(tensor ? *tensor : Tensor(), keep), tensor.has_value()};
  }
  std::optional<Tensor> get(std::string_view op) const {
    return present ? std::optional<Tensor>(tensor.get(op)) : std::nullopt;
  }
};
template <>
struct Kept<std::vector<Tensor>> {
  std::vector<Kept<Tensor>> tensors;
  template <class Keep>
  static Kept from(std::span<const Tensor> tensors, Keep&& keep) {
    Kept kept;
    for (const Tensor& tensor : tensors) kept.tensors.push_back(Kept<Tensor>::from(tensor, keep));
    return kept;
  }
  std::vector<Tensor> get(std::string_view op) const {
    std::vector<Tensor> out;
    for (const Kept<Tensor>& one : tensors) out.push_back(one.get(op));
    return out;
  }
};
template <>
struct Kept<std::span<const Tensor>> : Kept<std::vector<Tensor>> {
  template <class Keep>
  static Kept from(std::span<const Tensor> tensors, Keep&& keep) {
    return {Kept<std::vector<Tensor>>::from(tensors, keep)};
  }
};
template <>
struct Kept<std::vector<std::optional<Tensor>>> {
  std::vector<Kept<std::optional<Tensor>>> tensors;
  template <class Keep>
  static Kept from(const std::vector<std::optional<Tensor>>& tensors, Keep&& keep) {
    Kept kept;
    for (const auto& tensor : tensors)
      kept.tensors.push_back(Kept<std::optional<Tensor>>::from(tensor, keep));
    return kept;
  }
  std::vector<std::optional<Tensor>> get(std::string_view op) const {
    std::vector<std::optional<Tensor>> out;
    for (const auto& one : tensors) out.push_back(one.get(op));
    return out;
  }
};

template <class O, class Signature = typename O::Signature>
class RecordedNode;

template <class O, class R, class... A>
class RecordedNode<O, R(A...)> final : public Node {
  using Arguments = std::tuple<Kept<std::remove_cvref_t<A>>...>;
  static constexpr bool kSaves = requires { &Rule<O>::saves; };
  static constexpr bool kOneGrad = requires(Gradient& g, const Tensor& grad, const A&... args) {
    Rule<O>::backward(g, grad, args...);
  };

 public:
  explicit RecordedNode(std::string_view name) : name_(name) {}
  std::string name() const override { return std::string(name_); }

  // After the edges are set.
  void keep(const A&... args) {
    const Wanted wanted(*this);
    std::size_t place = 0;
    const auto keep_one = [&](const Tensor& tensor) -> std::optional<SavedTensor> {
      const std::size_t at = place++;
      if constexpr (kSaves) {
        if (!tensor.defined() || !Rule<O>::saves(at, wanted)) return std::nullopt;
        // What is about to be written over is copied.
        if (O::kind == OpKind::inplace && at == 0)
          return SavedTensor(tensor.clone(), SavedTensor::Role::input);
        return SavedTensor(tensor, SavedTensor::Role::input);
      } else {
        return std::nullopt;
      }
    };
    // In braces, which are evaluated in order: places are counted.
    kept_ = Arguments{Kept<std::remove_cvref_t<A>>::from(args, keep_one)...};
  }
  template <class Result>
  void keep_result(const Result& result) {
    if constexpr (kSaves) {
      const Wanted wanted(*this);
      std::uint32_t number = 0;
      for_each_result(result, [&](const Tensor& tensor) {
        results_.emplace_back();
        if (Rule<O>::saves(kResult + number, wanted)) results_.back() = save_result(tensor, number);
        ++number;
      });
    }
  }

  std::vector<Tensor> apply(std::vector<Tensor> grads) override {
    Gradient gradient(*this, results_, name_);
    if (any_defined(grads)) {
      std::apply(
          [&](const auto&... kept) {
            if constexpr (kOneGrad) {
              Rule<O>::backward(gradient, grads[0], kept.get(name_)...);
            } else {
              Rule<O>::backward(gradient, std::span<const Tensor>(grads), kept.get(name_)...);
            }
          },
          kept_.value());
    }
    return std::move(gradient).take();
  }
  void free_saved() noexcept override {
    if constexpr (kSaves) {
      std::apply([](auto&... kept) { (forget(kept), ...); }, *kept_);
      for (SavedTensor& result : results_) result = SavedTensor();
    }
  }

 private:
  template <class T>
  static void forget(Kept<T>& kept) noexcept {
    if constexpr (std::same_as<T, Tensor>) {
      if (kept.saved) kept.saved.emplace();
    } else if constexpr (std::same_as<T, std::optional<Tensor>>) {
      forget(kept.tensor);
    } else if constexpr (is_tensor_argument<T>) {
      for (auto& one : kept.tensors) forget(one);
    }
  }

  std::string_view name_;  // of a Rule, which lives as long as the program
  std::optional<Arguments> kept_;
  std::vector<SavedTensor> results_;
};

}  // namespace detail

}  // namespace tenon
