#include "autograd/accumulate.h"

#include <mutex>
#include <utility>
#include <vector>

#include "core/body_editor.h"
#include "tenon/arithmetic.h"
#include "tenon/error.h"
#include "tenon/factories.h"
#include "tenon/reductions.h"

namespace tenon {

namespace {

// Whether the handle is all there is of the tensor and its memory.
bool is_ours_alone(const Tensor& tensor) {
  const Body& body = tensor.body();
  return tensor.cell()->use_count() == 1 && body.use_count() == 1 && !body.is_wrapper() &&
         !body.is_view() && !body.is_tracked() && tensor.storage().use_count() == 1 &&
         !body.layout().conj && !body.layout().neg;
}

// What becomes the grad of a leaf that has none: in memory as the leaf is, and nobody else's.
Tensor first_grad(Body& leaf, Tensor&& grad) {
  const Layout& layout = leaf.layout();
  if (is_grad_enabled() || grad.body().is_wrapper()) return grad.clone();
  if (is_ours_alone(grad) && grad.stride() == layout.strides) return std::move(grad);
  if (leaf.is_wrapper()) return grad.detach().clone();
  Tensor copy = empty_like(BodyEditor::tensor_of(Ref<Body>::share(&leaf)).detach());
  copy.copy_(grad);
  return copy;
}

}  // namespace

Tensor sum_of(Tensor&& sum, const Tensor& grad) {
  if (!is_grad_enabled() && is_ours_alone(sum) && sum.dtype() == grad.dtype() &&
      sum.shape() == grad.shape()) {
    sum.add_(grad);
    return std::move(sum);
  }
  return sum + grad;
}

Tensor sum_to(const Tensor& grad, const Shape& shape) {
  const std::size_t extra = grad.shape().size() - shape.size();
  Dims dims;
  for (std::size_t d = 0; d < grad.shape().size(); ++d) {
    if (d < extra || (shape[d - extra] == 1 && grad.shape()[d] != 1))
      dims.push_back(static_cast<std::int64_t>(d));
  }
  if (dims.empty()) return grad;
  const Tensor summed = grad.sum(dims, {.keepdim = true});
  return extra == 0 ? summed : summed.view(shape);
}

Tensor with_leaf_hooks(const AccumulateGrad& node, Tensor grad) {
  const detail::AutogradMeta* meta = BodyEditor::autograd(node.leaf());
  if (meta == nullptr || meta->hooks.empty()) return grad;
  const auto hooks = meta->hooks;  // they may change the list
  for (const detail::LeafHook& hook : hooks) {
    if (hook.removed->load(std::memory_order_relaxed)) continue;
    if (Tensor replaced = hook.hook(grad); replaced.defined()) grad = std::move(replaced);
  }
  return grad;
}

void accumulate(const AccumulateGrad& node, Tensor&& grad) {
  Body& leaf = node.leaf();
  detail::AutogradMeta& meta = BodyEditor::need_autograd(leaf);
  {
    const std::lock_guard lock(meta.mutex);
    if (!meta.grad.defined()) {
      meta.grad = first_grad(leaf, std::move(grad));
    } else if (is_grad_enabled() || meta.grad.body().is_wrapper()) {
      meta.grad = meta.grad + grad;
    } else {
      // In place, as whoever holds the grad expects it to be.
      meta.grad.add_(grad);
    }
  }
  if (meta.accumulated.empty()) return;
  const auto hooks = meta.accumulated;
  const Tensor tensor = BodyEditor::tensor_of(Ref<Body>::share(&leaf));
  for (const detail::AccumulatedHook& hook : hooks) {
    if (!hook.removed->load(std::memory_order_relaxed)) hook.hook(tensor);
  }
}

}  // namespace tenon
