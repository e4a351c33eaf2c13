// Gradient: what the backward of an operator's Rule is given, beside the gradients of its results
// and its arguments as they were.
//
//   static bool saves(std::size_t place, const Wanted& wanted) { return wanted[1 - place]; }
//   static void backward(Gradient& g, const Tensor& grad, const Tensor& self,
//                        const Tensor& other) {
//     if (g.wanted(0)) g.set(0, grad * other);
//     if (g.wanted(1)) g.set(1, grad * self);
//   }
//
// Arguments are counted by place: tensors, optional tensors and the items of lists, in order; plain
// values do not count. A gradient may be larger than its argument where that was broadcast, and of
// another dtype: it is summed and converted. With create_graph everything in backward is recorded,
// so it is written with operators.
//
// Note [A weight that is kept]
// Only the gradient of the input needs the weight of a convolution or a norm. Rules of layers that
// PyTorch keeps it for all the same (prelu, convolutions, norms) do so too: between a forward and
// its backward the weight is neither swapped nor written to, whether or not the input requires
// grad. (Where the weight is converted first, the converted one is kept.)
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/detail/api.h"
#include "tenon/extend/saved_tensor.h"
#include "tenon/tensor.h"

namespace tenon {

// Asked of saves() for the first result, the second, ...
inline constexpr std::size_t kResult = std::size_t{1} << 20;

// Whose gradients are asked for.
class TENON_API Wanted {
 public:
  explicit Wanted(const Node& node) noexcept : edges_(node.next_edges()) {}
  bool operator[](std::size_t place) const noexcept {
    return place < edges_.size() && edges_[place].node;
  }
  std::size_t places() const noexcept { return edges_.size(); }

 private:
  std::span<const Edge> edges_;
};

class TENON_API Gradient {
 public:
  Gradient(Node& node, std::span<const SavedTensor> results, std::string_view op)
      : node_(node), results_(results), op_(op), grads_(node.next_edges().size()) {}

  bool wanted(std::size_t place) const noexcept { return Wanted(node_)[place]; }
  // What the argument looked like; only of one that is wanted.
  const Shape& shape(std::size_t place) const { return facts(place).shape; }
  DType dtype(std::size_t place) const { return facts(place).dtype; }
  Device device(std::size_t place) const { return facts(place).device; }
  std::size_t places() const noexcept { return grads_.size(); }
  // A result that saves() has asked for.
  Tensor result(std::size_t number = 0) const;

  void set(std::size_t place, Tensor grad) { grads_[place] = std::move(grad); }
  std::vector<Tensor> take() && { return std::move(grads_); }

 private:
  const Node::Output& facts(std::size_t place) const {
    const Edge& edge = node_.next_edges()[place];
    return edge.node->outputs()[edge.input];
  }

  Node& node_;
  std::span<const SavedTensor> results_;
  std::string_view op_;
  std::vector<Tensor> grads_;
};

}  // namespace tenon
