#include "core/autograd_meta.h"

#include "base/thread_state.h"
#include "core/body_editor.h"
#include "tenon/error.h"

namespace tenon {

Node::~Node() = default;

AccumulateGrad::~AccumulateGrad() {
  detail::AutogradMeta& meta = BodyEditor::need_autograd(*leaf_);
  const std::lock_guard lock(meta.mutex);
  if (meta.accumulator == this) meta.accumulator = nullptr;
}

void AccumulateGrad::check_not_poisoned() const {
  if (poisoned_.load(std::memory_order_relaxed)) {
    throw SwapError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors: the tensor was "
        "swapped after the "
        "forward pass that recorded this graph. Convert or swap parameters before forward, or "
        "after backward");
  }
}

Edge gradient_edge(const Tensor& tensor) {
  Body& body = tensor.body();
  detail::AutogradMeta* meta = BodyEditor::autograd(body);
  if (meta == nullptr) return {};
  if (meta->edge.node) return meta->edge;
  if (!meta->requires_grad) return {};
  // Several threads may record operators on one leaf; they get the same accumulator.
  const std::lock_guard lock(meta->mutex);
  if (auto live = Ref<AccumulateGrad>::if_alive(meta->accumulator)) return {std::move(live), 0};
  auto fresh = make_ref<AccumulateGrad>(Ref<Body>::share(&body));
  meta->accumulator = fresh.get();
  return {std::move(fresh), 0};
}

bool is_grad_enabled() noexcept { return thread_state().grad_enabled; }

NoGradScope::NoGradScope() noexcept : saved_(thread_state().grad_enabled) {
  thread_state().grad_enabled = false;
}
NoGradScope::~NoGradScope() { thread_state().grad_enabled = saved_; }

GradModeScope::GradModeScope(bool enabled) noexcept : saved_(thread_state().grad_enabled) {
  thread_state().grad_enabled = enabled;
}
GradModeScope::~GradModeScope() { thread_state().grad_enabled = saved_; }

}  // namespace tenon
