#include "core/autograd_meta.h"

#include <limits>
#include <utility>

#include "base/text.h"
#include "base/thread_state.h"
#include "core/body_editor.h"
#include "tenon/error.h"

namespace tenon {

Node::Node() noexcept : sequence_(thread_state().nodes++) {}
Node::~Node() = default;

std::vector<Tensor> Node::apply(std::vector<Tensor> /*grads*/) {
  throw NotImplementedError(concat("the derivative of '", name(), "' is not implemented"));
}

Ref<Node> Node::history_of_result() {
  return stand_in_ != nullptr ? stand_in_->history_of_result() : Ref<Node>::share(this);
}

void Node::set_output(std::uint32_t number, const Layout& layout) {
  if (outputs_.size() <= number) outputs_.resize(number + 1);
  outputs_[number] = {layout.shape, layout.dtype, layout.device};
}

void Node::add_hook(Hook hook) {
  if (!hooks_) hooks_ = std::make_unique<std::vector<Hook>>();
  hooks_->push_back(std::move(hook));
}

// After all others that are ready.
AccumulateGrad::AccumulateGrad(Ref<Body> leaf)
    : Node(std::numeric_limits<std::uint64_t>::max()), leaf_(std::move(leaf)) {
  set_output(0, leaf_->layout());
}

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

bool detail::grad_fits(const AutogradMeta& meta, const Layout& layout) noexcept {
  if (!meta.grad.defined()) return false;
  const Layout& grad = meta.grad.layout();
  return grad.shape == layout.shape && grad.dtype == layout.dtype && grad.device == layout.device;
}

bool is_grad_enabled() noexcept { return thread_state().grad_enabled; }
bool is_inference_mode_enabled() noexcept { return thread_state().inference; }
bool detail::is_recording() noexcept { return thread_state().records(); }

NoGradScope::NoGradScope() noexcept : saved_(thread_state().grad_enabled) {
  thread_state().grad_enabled = false;
}
NoGradScope::~NoGradScope() { thread_state().grad_enabled = saved_; }

GradModeScope::GradModeScope(bool enabled) noexcept : saved_(thread_state().grad_enabled) {
  thread_state().grad_enabled = enabled;
}
GradModeScope::~GradModeScope() { thread_state().grad_enabled = saved_; }

InferenceModeScope::InferenceModeScope(bool enabled) noexcept
    : saved_(thread_state().inference), saved_grad_(thread_state().grad_enabled) {
  thread_state().inference = enabled;
  thread_state().grad_enabled = !enabled;
}
InferenceModeScope::~InferenceModeScope() {
  thread_state().inference = saved_;
  thread_state().grad_enabled = saved_grad_;
}

}  // namespace tenon
