#include "autograd/accumulate.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/body_editor.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/reductions.h"

namespace tenon {

namespace {

// Whether the handle is all there is of the tensor and its memory.
bool is_ours_alone(const Tensor& tensor) {
  const Body& body = tensor.body();
  return tensor.cell()->use_count() == 1 && body.use_count() == 1 && !body.is_wrapper() &&
         !body.is_view() && !body.is_tracked() && tensor.storage().use_count() == 1 &&
         !body.layout().conj && !body.layout().neg;
}

// A view of all of its base (a gradient that was calculated transposed) without it: if nobody else
// has the base, the memory is ours alone. Only where nothing is recorded.
Tensor without_base(Tensor&& tensor) {
  const Body& body = tensor.body();
  if (body.is_view() && !body.is_wrapper() && body.layout().is_non_overlapping_and_dense() &&
      tensor.numel() * tensor.element_size() ==
          static_cast<std::int64_t>(tensor.storage().nbytes()))
    return tensor.detach();
  return std::move(tensor);
}

// What becomes the grad of a leaf that has none: in memory as the leaf is, and nobody else's.
Tensor first_grad(Body& leaf, Tensor&& grad) {
  const Layout& layout = leaf.layout();
  if (is_grad_enabled() || grad.body().is_wrapper()) return grad.clone();
  grad = without_base(std::move(grad));
  if (is_ours_alone(grad) && grad.stride() == layout.strides) return std::move(grad);
  if (leaf.is_wrapper()) return grad.detach().clone();
  Tensor copy = empty_like(BodyEditor::tensor_of(Ref<Body>::share(&leaf)).detach());
  copy.copy_(grad);
  return copy;
}

}  // namespace

Tensor sum_of(Tensor&& sum, const Tensor& grad) {
  if (!is_grad_enabled()) sum = without_base(std::move(sum));
  if (!is_grad_enabled() && is_ours_alone(sum) && sum.dtype() == grad.dtype() &&
      sum.shape() == grad.shape()) {
    sum.add_(grad);
    return std::move(sum);
  }
  return sum + grad;
}

void check_hook(const Tensor& grad, const Tensor& replaced) {
  const auto changed = [](const char* what) {
    return AutogradError(concat("hook has changed the ", what, " of value"));
  };
  if (grad.dtype() != replaced.dtype()) throw changed("type");
  if (grad.device() != replaced.device()) throw changed("device");
  if (grad.shape() != replaced.shape()) throw changed("size");
}

Tensor with_leaf_hooks(const AccumulateGrad& node, Tensor grad) {
  const detail::AutogradMeta* meta = BodyEditor::autograd(node.leaf());
  if (meta == nullptr || meta->hooks.empty()) return grad;
  const auto hooks = meta->hooks;  // they may change the list
  for (const detail::LeafHook& hook : hooks) {
    if (hook.wanted->removed()) continue;
    if (Tensor replaced = hook.hook(grad); replaced.defined()) {
      check_hook(grad, replaced);
      grad = std::move(replaced);
    }
  }
  return grad;
}

namespace {

// Not the lock of the leaf's own state, which recording an operator on the leaf takes.
std::mutex& lock_of(const Body& leaf) {
  static std::array<std::mutex, 64> locks;
  return locks[(reinterpret_cast<std::uintptr_t>(&leaf) / 64) % locks.size()];
}

// What runs code of others (a class's own addition, a device's backend, or an addition that is
// recorded) does so without the lock, and again if another thread was quicker. On a device the grad
// that is there is added to in place, as whoever holds it expects; the device orders what several
// threads add.
void add_unlocked(const AccumulateGrad& node, detail::AutogradMeta& meta, Tensor&& grad) {
  Body& leaf = node.leaf();
  const bool in_place = !is_grad_enabled() && !leaf.is_wrapper() && !grad.body().is_wrapper();
  for (;;) {
    Tensor before;
    {
      const std::lock_guard lock(lock_of(leaf));
      before = meta.grad;
    }
    if (in_place && before.defined() && !before.body().is_wrapper()) {
      before.add_(grad);
      return node.check_not_poisoned();
    }
    Tensor sum = before.defined() ? before + grad : first_grad(leaf, Tensor(grad));
    node.check_not_poisoned();
    const std::lock_guard lock(lock_of(leaf));
    if (!meta.grad.is(before)) continue;
    std::swap(meta.grad, sum);  // what there was goes when the lock is gone
    return;
  }
}

}  // namespace

void accumulate(const AccumulateGrad& node, Tensor&& grad) {
  Body& leaf = node.leaf();
  if (grad.shape() != leaf.layout().shape) {
    throw AutogradError(concat("a gradient of shape ", bracketed(grad.shape()),
                               " has arrived at a leaf of shape ", bracketed(leaf.layout().shape),
                               ": it was given other data after the forward pass that recorded "
                               "this graph. Use set_data before forward, or after backward"));
  }
  detail::AutogradMeta& meta = BodyEditor::need_autograd(leaf);
  // Frozen since it was recorded.
  if (!meta.requires_grad) return;
  const auto runs_user_code = [](const Tensor& tensor) {
    return tensor.defined() && (tensor.body().is_wrapper() || tensor.device().has_backend());
  };
  bool alone = is_grad_enabled() || leaf.is_wrapper() || leaf.layout().device.has_backend() ||
               runs_user_code(grad);
  if (!alone) {
    const std::lock_guard lock(lock_of(leaf));
    alone = runs_user_code(meta.grad);
    if (!alone && meta.grad.defined()) {
      // In place, as whoever holds the grad expects it to be.
      meta.grad.add_(grad);
    } else if (!alone) {
      meta.grad = first_grad(leaf, std::move(grad));
    }
  }
  if (alone) add_unlocked(node, meta, std::move(grad));
  if (meta.accumulated.empty()) return;
  const auto hooks = meta.accumulated;
  const Tensor tensor = BodyEditor::tensor_of(Ref<Body>::share(&leaf));
  for (const detail::AccumulatedHook& hook : hooks) {
    if (!hook.wanted->removed()) hook.hook(tensor);
  }
}

}  // namespace tenon
