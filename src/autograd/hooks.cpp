// Hooks on tensors.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/body_editor.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/tensor.h"

namespace tenon {

namespace {

// Whoever runs hooks copies their list, which then copies nothing of somebody's; and what somebody
// destroys with a hook waits where Releases collect.
template <class R>
std::function<R(const Tensor&)> shared(std::function<R(const Tensor&)> hook) {
  struct Shared final : RefCounted {
    explicit Shared(std::function<R(const Tensor&)>&& f) noexcept : function(std::move(f)) {}
    std::function<R(const Tensor&)> function;
  };
  return [held = make_ref<Shared>(std::move(hook))](const Tensor& tensor) {
    return held->function(tensor);
  };
}

// Takes those out that were removed. The caller lets go of them last: what they hold may be
// somebody's, whose destructor registers others.
template <class Hook>
[[nodiscard]] std::vector<Hook> taken_out(std::vector<Hook>& hooks) {
  std::vector<Hook> kept, removed;
  const auto is_removed = [](const Hook& one) { return one.wanted->removed(); };
  if (std::none_of(hooks.begin(), hooks.end(), is_removed)) return removed;
  kept.reserve(hooks.size());  // nothing fails below
  removed.reserve(hooks.size());
  for (Hook& one : hooks) (is_removed(one) ? removed : kept).push_back(std::move(one));
  hooks.swap(kept);
  return removed;
}

}  // namespace

RemovableHandle Tensor::register_hook(std::function<Tensor(const Tensor& grad)> hook) const {
  if (!requires_grad())
    throw AutogradError("cannot register a hook on a tensor that doesn't require gradient");
  auto wanted = std::make_shared<detail::HookSwitch>();
  if (const Edge edge = history_of(body()); edge.node) {
    edge.node->add_hook({wanted, edge.input, false, shared(std::move(hook))});
  } else {
    detail::AutogradMeta& meta = BodyEditor::need_autograd(body());
    const auto removed = taken_out(meta.hooks);
    meta.hooks.push_back({wanted, shared(std::move(hook))});
  }
  return {wanted, detail::next_hook_id()};
}

RemovableHandle Tensor::register_post_accumulate_grad_hook(
    std::function<void(const Tensor& leaf)> hook) const {
  if (!requires_grad())
    throw AutogradError("cannot register a hook on a tensor that doesn't require gradient");
  if (!is_leaf())
    throw AutogradError("post accumulate grad hooks cannot be registered on non-leaf tensors");
  auto wanted = std::make_shared<detail::HookSwitch>();
  detail::AutogradMeta& meta = BodyEditor::need_autograd(body());
  const auto removed = taken_out(meta.accumulated);
  meta.accumulated.push_back({wanted, shared(std::move(hook))});
  return {wanted, detail::next_hook_id()};
}

void Tensor::retain_grad() const {
  if (!requires_grad())
    throw AutogradError("can't retain_grad on Tensor that has requires_grad=False");
  if (is_leaf()) return;
  detail::AutogradMeta& meta = BodyEditor::need_autograd(body());
  if (meta.retained) return;
  const Edge edge = history_of(body());
  // The graph must not keep the tensor, and the history it is part of is the body's.
  auto kept = std::make_shared<detail::WeakBody>(body());
  edge.node->add_hook(
      {std::make_shared<detail::HookSwitch>(), edge.input, true, [kept](const Tensor& grad) {
         const Ref<Body> body = kept->lock();
         if (!body) return Tensor();
         if (grad.shape() != body->layout().shape) {
           throw AutogradError(concat(
               "a gradient of shape ", bracketed(grad.shape()),
               " has arrived at a tensor of shape ", bracketed(body->layout().shape),
               " that retains it: it was given other data after it was calculated. Use set_data "
               "before, or detach it first"));
         }
         detail::AutogradMeta& own = BodyEditor::need_autograd(*body);
         own.grad = own.grad.defined() ? own.grad + grad : grad.clone();
         return Tensor();
       }});
  meta.retained = std::move(kept);
}

bool Tensor::retains_grad() const {
  const detail::AutogradMeta* meta = BodyEditor::autograd(body());
  return meta != nullptr && meta->retained != nullptr;
}

}  // namespace tenon
