// The part of a load that is about tensors without a shape: what comes gives them one.
#include <utility>

#include "base/text.h"
#include "core/body_editor.h"
#include "core/uninitialized.h"
#include "nn/load_plan.h"
#include "nn/slot_editor.h"
#include "tenon/error.h"
#include "tenon/nn/lazy.h"
#include "tenon/nn/module.h"
#include "tenon/ops/factories.h"

namespace tenon::nn::detail {

using How = LoadAction::How;

namespace {

std::string shape_wanted(std::string_view key, bool swaps) {
  return concat("While ", swaps ? "swapping" : "copying", " the parameter named \"", key,
                "\", an exception occurred : ", kUninitializedShape);
}

}  // namespace

// What the module makes of it; any shape, if it is no lazy module.
Shape LoadPlan::lazy_shape(const TensorSlot& slot, const Shape& incoming) const {
  const LazyModuleMixin* module = SlotEditor::lazy(slot.owner());
  if (module == nullptr || here_ == nullptr) return incoming;
  return module->shape_for(slot, incoming, [&](std::string_view name) -> std::optional<Shape> {
    if (name == slot.name()) return incoming;
    if (const Value* value = here_->source->find(concat(*here_->prefix, name))) {
      if (value->is_tensor() && !is_lazy(value->as_tensor())) return value->as_tensor().shape();
    }
    const TensorSlot* other = SlotEditor::find(slot.owner(), name).tensor;
    if (other == nullptr || !other->defined() || is_lazy(*other)) return std::nullopt;
    return other->get().shape();
  });
}

void LoadPlan::take_lazy(TensorSlot& slot, const Tensor& value, std::string_view key) {
  const Tensor& own = slot.get();
  if (!is_lazy(own)) return error(shape_wanted(key, swap_));
  if (!is_lazy(value)) {
    const std::size_t seen = tree_.count();
    const Shape shape = lazy_shape(slot, value.shape());
    check_slot(slot, seen);
    if (shape != value.shape()) return mismatched(slot, key, value.shape(), shape);
  }
  LoadAction action{
      &slot, key, value, {}, How::swap, true, static_cast<std::uint32_t>(actions_.size())};
  if ((is_lazy(value) || !from_file_) && !decide_lazy(action)) return;
  if (LazyModuleMixin* module = SlotEditor::lazy(slot.owner()); module && !is_lazy(value))
    lazy_modules_.push_back(module);
  if (shared_ || own.cell()->use_count() > 1) note_tie(action.leader, own);
  actions_.push_back(std::move(action));
}

bool LoadPlan::decide_lazy(LoadAction& action) {
  const Tensor& own = action.slot->get();
  const bool requires_grad = own.is_parameter() && own.requires_grad();
  action.how = How::swap;
  if (options_.assign) {
    if (!swap_) action.how = How::rebind;
    if (!requires_grad || is_differentiable(action.value.dtype())) return true;
    error(
        failure(action, "Only Tensors of floating point and complex dtype can require gradients"));
    return false;
  }
  if (is_lazy(action.value)) {
    action.how = How::nothing;
  } else if (own.is_meta() && !action.value.is_meta()) {
    into_meta_.push_back(action.key);
  } else if (action.value.is_meta() && !own.is_meta()) {
    error(failure(action, "Cannot copy out of meta tensor; no data!"));
    return false;
  }
  return true;
}

// A hook has called the module for the first time since, or has made it lazy.
void LoadPlan::decide_again(LoadAction& action) {
  const Tensor& own = action.slot->get();
  action.lazy = is_lazy(own);
  if (action.lazy || (staging_ && from_file_)) {
    return error(concat("\"", action.key, "\" ", action.lazy ? "lost its" : "was given a",
                        " shape by user code that the load was running"));
  }
  if (is_lazy(action.value)) return error(shape_wanted(action.key, swap_));
  if (from_file_) changed_.push_back(&action);
  if (own.shape() != action.value.shape()) {
    action.how = How::nothing;
    return mismatched(*action.slot, action.key, action.value.shape(), own.shape());
  }
  action.how = How::copy;  // what decide() begins with
  if (!from_file_) decide(action);
}

// What takes the place of a tensor without a shape.
Tensor LoadPlan::lazy_value(const Tensor& own, const Tensor& value) const {
  if (is_lazy(value)) {
    return make_uninitialized(value.dtype(), value.device(), own.is_parameter(),
                              own.requires_grad());
  }
  const OrdinaryScope ordinary;
  if (options_.assign) return own.is_parameter() ? like_own(own, value) : value.detach();
  const Tensor fresh = empty(value.shape(), {.dtype = own.dtype(), .device = own.device()});
  if (!fresh.is_meta()) {
    // A user-defined tensor may have its own way of becoming a parameter.
    if (value.body().is_wrapper() && swap_) return like_own(own, fresh.module_load(value));
    fresh.copy_(value);
  }
  return like_own(own, fresh);
}

}  // namespace tenon::nn::detail
