// What user code that a load runs may have done to what the load has decided about.
#include <cstddef>
#include <exception>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "base/what_happened.h"
#include "core/swap.h"
#include "core/uninitialized.h"
#include "nn/load_plan.h"
#include "ops/support/state.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"
#include "tenon/nn/module.h"

namespace tenon::nn::detail {

using How = LoadAction::How;

// Note [User code in a load]
// Modules that leave their places while the plan is there are kept by its guard, so all that can go
// is the root, and slots. Which slots have gone, or have another tensor, is compared with the
// actions when user code has returned; a swapped tensor is found in the same way. An action is an
// error then: PyTorch would have put the value into what was there, where the hook would have seen
// it, and here it is not in place yet.
void LoadPlan::note_changes() {
  tree_.check();
  if (tree_.count() == 0 && swaps_.cells().empty()) return;
  user_code_ = true;
  const std::unordered_set<const void*> swapped(swaps_.cells().begin(), swaps_.cells().end());
  std::erase_if(left_out_, [&](const TensorSlot* slot) { return tree_.was_touched(slot); });
  for (LoadAction& action : actions_) {
    if (action.slot == nullptr) continue;
    const bool touched = tree_.was_touched(action.slot);
    if (touched) {
      action.slot = nullptr;
      lost_ = true;
    } else if (!swapped.contains(action.slot->get().cell().get()) ||
               action.lazy != is_uninitialized(action.slot->get())) {
      continue;
    }
    error(concat("\"", action.key, "\" ",
                 touched ? "has left its place" : "was swapped with another tensor",
                 " by user code that the load was running, before its value was loaded. What is to "
                 "happen to loaded values belongs into a load_state_dict_committed_hook"));
  }
  tree_.forget();
  swaps_.forget();
}

void LoadPlan::run_guarded(Module& module, const char* what, const std::function<void()>& f) {
  user_code_ = true;
  try {
    f();
  } catch (...) {
    tree_.check();
    error(concat("While running ", what, " of ",
                 path_.empty() ? "the root" : concat("\"", path_.substr(0, path_.size() - 1), "\""),
                 " (", module.type_name(), "), an exception occurred : ", what_happened()));
  }
}

void LoadPlan::check_slot(const TensorSlot& slot, std::size_t seen) const {
  tree_.check();
  if (tree_.was_touched(&slot, seen))
    throw Error("a tensor has left its place while the load was deciding about it");
}

// Hooks have run since the actions were decided on, and may have taken views of tensors, or tensors
// out of the module, or have called lazy modules.
void LoadPlan::check_again() {
  note_changes();
  if (!errors_.empty()) fail();
  for (LoadAction& action : actions_) {
    if (action.lazy != is_uninitialized(action.slot->get())) {
      decide_again(action);
    } else {
      check_tensor(action);
    }
  }
  if (!errors_.empty()) fail();
}

// The tensor is the same, but something may have been done to it.
void LoadPlan::check_tensor(LoadAction& action) {
  const Tensor& own = action.slot->get();
  if (action.how == How::renew) {
    action.how = swap_ ? How::swap : How::rebind;
    if (can_renew(action)) action.how = How::renew;
  }
  if (from_file_ || action.lazy || own.body().is_wrapper() || action.value.body().is_wrapper())
    return;
  if (own.shape() != action.value.shape()) {
    action.how = How::nothing;
    return mismatched(*action.slot, action.key, action.value.shape(), own.shape());
  }
  if (action.how != How::copy && action.how != How::copy_and_swap) return;
  try {
    check_copy(own, action.value);
  } catch (const Error& refused) {
    error(failure(action, refused.what()));
  }
}

void LoadPlan::check_stage() {
  note_changes();
  if (lost_) fail();
}

void LoadPlan::check_commit() {
  note_changes();
  if (!errors_.empty()) fail_commit();
}

// What depends on who else holds a tensor, and on what it is, when no user code is to come before
// it is put in place: code that ran after the action was checked may have taken a view of it, used
// it in a graph, or given it other data.
void LoadPlan::check_holders() {
  check_commit();
  for (std::uint32_t i = 0; i < actions_.size(); ++i) {
    if (actions_[i].leader != i) continue;
    try {
      check_held(actions_[i]);
    } catch (const std::bad_alloc&) {
      take_back_extra_states();
      throw;
    } catch (...) {
      error(failure(actions_[i], what_happened()));
    }
  }
  check_commit();
}

void LoadPlan::check_held(LoadAction& action) {
  if (action.how == How::renew) {
    action.how = swap_ ? How::swap : How::rebind;
    if (can_renew(action)) {
      action.how = How::renew;
      return;
    }
    stage_one(action);
  }
  const Tensor& own = action.slot->get();
  const bool dense = !own.body().is_wrapper() && !action.value.body().is_wrapper();
  if (action.how == How::swap || action.how == How::copy_and_swap) {
    // The staged tensor is over the memory that the tensor, or its value, had then. That of a
    // user-defined tensor was made by its own code, which is not run again.
    if (dense && !action.lazy) {
      stage_one(action);
    } else if (const auto was = made_from_.find(&action);
               was != made_from_.end() && was->second != &own.body()) {
      throw Error("user code that the load was running has made another tensor of it");
    }
    check_swap_counts(own, action.staged);
    prepare_carry_over(own.body(), action.staged.body());
  }
  const bool copies = action.how == How::copy || action.how == How::copy_and_swap;
  if (copies && dense && own.shape() != action.value.shape())
    throw Error("user code that the load was running has given it other data");
}

}  // namespace tenon::nn::detail
