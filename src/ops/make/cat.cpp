// Tensors put together along a dimension.
#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "core/element_copy.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

namespace tenon {

constinit OpInfo op::cat::info{"cat", kind};
constinit OpInfo op::stack::info{"stack", kind};

namespace {

// PyTorch has always let a tensor of shape [0] be joined to anything, and code relies on it.
bool is_skipped(const Tensor& tensor) { return tensor.dim() == 1 && tensor.shape()[0] == 0; }

// Whether strides fall in the order N, H, W, C. Where the order says nothing (a channel that is not
// stepped over, or all but one dimension of size 1), the usual one is meant.
bool looks_channels_last(const Layout& layout, std::span<const std::size_t> fastest_first) {
  if (layout.shape.size() != fastest_first.size() || layout.strides[1] == 0) return false;
  std::int64_t least = 0;
  for (const std::size_t d : fastest_first) {
    if (layout.shape[d] == 0 || layout.strides[d] < least) return false;
    if (d == 0 && least == layout.strides[1]) return false;
    least = layout.strides[d] * std::max<std::int64_t>(layout.shape[d], 1);
  }
  return true;
}

MemoryFormat suggested_format(const Layout& layout) {
  static constexpr std::size_t k2d[] = {1, 3, 2, 0}, k3d[] = {1, 4, 3, 2, 0};
  if (looks_channels_last(layout, k2d)) return MemoryFormat::channels_last;
  if (looks_channels_last(layout, k3d)) return MemoryFormat::channels_last_3d;
  return MemoryFormat::contiguous;
}

// A format all of them suggest; skipped ones have a say too.
MemoryFormat common_format(std::span<const Tensor> tensors) {
  const MemoryFormat format = suggested_format(tensors.front().layout());
  const bool agreed = std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& t) {
    return suggested_format(t.layout()) == format;
  });
  return agreed ? format : MemoryFormat::contiguous;
}

}  // namespace

namespace {

// Keeps how long the tensors are, not the tensors.
class CatNode final : public Node {
 public:
  CatNode(std::span<const Tensor> tensors, std::int64_t dim) : dim_(dim) {
    for (const Tensor& tensor : tensors)
      lengths_.push_back(is_skipped(tensor) ? -1 : tensor.size(dim));
  }
  std::string name() const override { return "CatBackward0"; }
  std::vector<Tensor> apply(std::vector<Tensor> grads) override {
    std::vector<Tensor> out(lengths_.size());
    const Tensor& grad = grads[0];
    if (!grad.defined()) return out;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < lengths_.size(); ++i) {
      if (next_edges()[i].node) {
        out[i] = lengths_[i] < 0 ? zeros({0}, {.dtype = grad.dtype(), .device = grad.device()})
                                 : grad.narrow(dim_, first, lengths_[i]);
      }
      first += std::max<std::int64_t>(lengths_[i], 0);
    }
    return out;
  }

 private:
  std::vector<std::int64_t> lengths_;  // -1 for one that is skipped
  std::int64_t dim_;
};

}  // namespace

template <>
struct Rule<op::cat> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::promote};
  static Ref<Node> node(std::span<const Tensor> tensors, std::int64_t dim) {
    return make_ref<CatNode>(tensors, dim);
  }
  static constexpr bool math_bits = true;

  static Layout infer(std::span<const Tensor> tensors, std::int64_t dim) {
    if (tensors.empty()) throw ValueError("cat(): expected a non-empty list of Tensors");
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].dim() == 0) {
        throw ShapeError(concat("zero-dimensional tensor (at position ", i,
                                ") cannot be concatenated: give it a dimension with unsqueeze(0)"));
      }
    }
    const Device device = same_device("cat", tensors);
    const auto first = std::find_if_not(tensors.begin(), tensors.end(), is_skipped);
    if (first == tensors.end()) return Layout::packed({0}, common_dtype(tensors), device);
    Shape shape = first->shape();
    const auto d = static_cast<std::size_t>(wrap_dim(dim, static_cast<std::int64_t>(shape.size())));
    const Shape expected = shape;
    std::optional<std::int64_t> total = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (is_skipped(tensors[i])) continue;
      const Shape& size = tensors[i].shape();
      if (size.size() != expected.size()) {
        throw ShapeError(concat("Tensors must have same number of dimensions: got ",
                                expected.size(), " and ", size.size(), " (", bracketed(expected),
                                " and ", bracketed(size), " at position ", i, ")"));
      }
      for (std::size_t other = 0; other < size.size(); ++other) {
        if (other == d || size[other] == expected[other]) continue;
        throw ShapeError(concat("Sizes of tensors must match except in dimension ", d,
                                ". Expected size ", expected[other], " but got size ", size[other],
                                " for tensor number ", i, " in the list: the shapes are ",
                                bracketed(expected), " and ", bracketed(size)));
      }
      total = total ? checked_add(*total, size[d]) : std::nullopt;
    }
    if (!total)
      throw ShapeError(
          concat("cat: the sizes along dimension ", d, " add up to more than can be counted"));
    shape[d] = *total;
    return Layout::packed(shape, common_dtype(tensors), device, common_format(tensors));
  }

  static void run(Tensor& out, std::span<const Tensor> tensors, std::int64_t dim) {
    std::int64_t first = 0;
    for (const Tensor& tensor : tensors) {
      if (is_skipped(tensor)) continue;
      const std::int64_t length = tensor.size(dim);
      copy_tensor(out.narrow(dim, first, length), tensor);
      first += length;
    }
  }
};

template <>
struct Rule<op::stack> {
  static constexpr AutocastPolicies autocast = {.cpu = AutocastPolicy::promote};
  static constexpr std::string_view gradient = "StackBackward0";
  static void backward(Gradient& g, const Tensor& grad, std::span<const Tensor> tensors,
                       std::int64_t dim) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (g.wanted(i)) g.set(i, grad.select(dim, static_cast<std::int64_t>(i)));
    }
  }
  static constexpr bool math_bits = true;

  static Layout infer(std::span<const Tensor> tensors, std::int64_t dim) {
    if (tensors.empty()) throw ValueError("stack expects a non-empty TensorList");
    const Device device = same_device("stack", tensors);
    Shape shape = tensors.front().shape();
    for (std::size_t i = 1; i < tensors.size(); ++i) {
      if (tensors[i].shape() != shape) {
        throw ShapeError(concat("stack expects each tensor to be equal size, but got ",
                                bracketed(shape), " at entry 0 and ", bracketed(tensors[i].shape()),
                                " at entry ", i));
      }
    }
    const auto d =
        static_cast<std::size_t>(wrap_dim(dim, static_cast<std::int64_t>(shape.size()) + 1));
    shape.insert(d, static_cast<std::int64_t>(tensors.size()));
    return Layout::packed(shape, common_dtype(tensors), device);
  }

  static void run(Tensor& out, std::span<const Tensor> tensors, std::int64_t dim) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      copy_tensor(out.select(dim, static_cast<std::int64_t>(i)), tensors[i]);
    }
  }
};

Tensor cat(std::span<const Tensor> tensors, std::int64_t dim) {
  return call<op::cat>(tensors, dim);
}
Tensor stack(std::span<const Tensor> tensors, std::int64_t dim) {
  return call<op::stack>(tensors, dim);
}

}  // namespace tenon
