// TensorList: the tensors that a function takes several of, given as {a, b}, or as a vector, an
// array or a span of them. It owns its handles: what happens to the list it was made from does not
// change it.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "tenon/tensor.h"

namespace tenon {

// A list of one, {a}. A class of its own, so that a tensor without braces is no list: what is meant
// by pad_sequence(x) are its rows, and not x.
struct OneTensor {
  template <std::convertible_to<const Tensor&> T>
  OneTensor(const T& one) : tensor(static_cast<const Tensor&>(one)) {}
  Tensor tensor;
};

class TensorList {
 public:
  TensorList() noexcept = default;
  // Note [Braces with names].
  TensorList(const OneTensor& one) : tensors_(1, one.tensor) {}
  template <std::convertible_to<const Tensor&>... T>
    requires(sizeof...(T) > 1)
  TensorList(const T&... tensors) {
    tensors_.reserve(sizeof...(T));
    (tensors_.push_back(tensors), ...);
  }
  template <std::same_as<std::vector<Tensor>> V>
  TensorList(V tensors) noexcept : tensors_(std::move(tensors)) {}
  template <class L>
    requires std::convertible_to<const L&, std::span<const Tensor>> &&
             (!std::same_as<L, TensorList>) && (!std::same_as<L, std::vector<Tensor>>)
  TensorList(const L& tensors) {
    const std::span<const Tensor> all = tensors;
    tensors_.assign(all.begin(), all.end());
  }

  std::size_t size() const noexcept { return tensors_.size(); }
  bool empty() const noexcept { return tensors_.empty(); }
  const Tensor& operator[](std::size_t i) const noexcept { return tensors_[i]; }
  std::vector<Tensor>::const_iterator begin() const noexcept { return tensors_.begin(); }
  std::vector<Tensor>::const_iterator end() const noexcept { return tensors_.end(); }
  void push_back(const Tensor& tensor) { tensors_.push_back(tensor); }
  const std::vector<Tensor>& vector() const noexcept { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace tenon
