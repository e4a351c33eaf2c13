// Hooks on tensors.
#include <utility>

#include "base/text.h"
#include "core/body_editor.h"
#include "tenon/arithmetic.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/tensor.h"

namespace tenon {

RemovableHandle Tensor::register_hook(std::function<Tensor(const Tensor& grad)> hook) const {
  if (!requires_grad())
    throw AutogradError("cannot register a hook on a tensor that doesn't require gradient");
  auto wanted = std::make_shared<detail::HookSwitch>();
  if (const Edge edge = history_of(body()); edge.node) {
    edge.node->add_hook({wanted, edge.input, false, std::move(hook)});
  } else {
    detail::AutogradMeta& meta = BodyEditor::need_autograd(body());
    std::erase_if(meta.hooks, [](const auto& one) { return one.wanted->removed(); });
    meta.hooks.push_back({wanted, std::move(hook)});
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
  std::erase_if(meta.accumulated, [](const auto& one) { return one.wanted->removed(); });
  meta.accumulated.push_back({wanted, std::move(hook)});
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
