// The second half of a load: making what takes the tensors' places, and putting it there.
#include <algorithm>
#include <exception>
#include <utility>

#include "base/prefetch.h"
#include "base/text.h"
#include "base/what_happened.h"
#include "core/alias.h"
#include "core/body_editor.h"
#include "core/mapped_storage.h"
#include "core/swap.h"
#include "core/uninitialized.h"
#include "nn/extras.h"
#include "nn/load_plan.h"
#include "nn/registration_hooks.h"
#include "nn/slot_editor.h"
#include "ops/support/state.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/nn/lazy.h"
#include "tenon/nn/module.h"

namespace tenon::nn::detail {

using How = LoadAction::How;

namespace {

bool is_dense(const Tensor& tensor) { return !tensor.body().is_wrapper(); }

// Whether making the body over destroys nothing that could be somebody's.
bool goes_quietly(const Body& body) {
  const tenon::detail::AutogradMeta* meta = BodyEditor::autograd(body);
  const tenon::detail::StorageImpl* storage = body.storage().impl();
  return (meta == nullptr ||
          !(meta->grad.defined() || !meta->hooks.empty() || !meta->accumulated.empty())) &&
         BodyEditor::attributes(body) == nullptr &&
         (storage == nullptr || tenon::detail::is_plain_memory(*storage));
}

}  // namespace

// Dense tensors, which are nearly all, need no dispatch for it.
Tensor LoadPlan::like_own(const Tensor& own, const Tensor& value) const {
  if (!own.is_parameter()) return value;
  if (!is_dense(value)) return make_parameter(value, own.requires_grad());
  Tensor parameter(alias_body(value.body(), Layout(value.layout())));
  BodyEditor::set_parameter(parameter.body(), true);
  BodyEditor::set_requires_grad(parameter.body(), own.requires_grad());
  return parameter;
}

// The code of a class of tensors, or of registration hooks, may empty the slot.
void LoadPlan::stage_one(LoadAction& action) {
  const Tensor own = action.slot->get();
  const bool is_parameter = own.is_parameter();
  switch (action.how) {
    case How::copy:
    case How::nothing:
    case How::renew: return;
    case How::rebind:
      action.staged = action.lazy && is_uninitialized(action.value) ? lazy_value(own, action.value)
                      : action.value.is_parameter()                 ? action.value
                                                                    : like_own(own, action.value);
      if (!is_there(action.slot)) return;  // which is noted
      action.staged = registered(action.slot->owner(), action.slot->name(),
                                 std::move(action.staged), action.slot->kind());
      // So that it can be told to require grad without asking for memory.
      if (is_parameter && own.requires_grad()) BodyEditor::need_autograd(action.staged.body());
      return;
    case How::copy_and_swap:
      action.staged = is_parameter ? like_own(own, own) : own.detach();
      break;
    case How::swap: {
      if (action.lazy) {
        action.staged = lazy_value(own, action.value);
        break;
      }
      const bool dense = is_dense(own) && is_dense(action.value);
      // A dense tensor is aliased, which is what its module_load does.
      Tensor loaded = action.value;
      if (!dense) {
        loaded = own.module_load(action.value, options_.assign);
        made_from_.insert_or_assign(&action, &own.body());
        if (loaded.is(own) || loaded.is(action.value)) {
          throw Error(
              "module_load returned one of self or other, please .detach() the result if returning "
              "one of the inputs in module_load");
        }
      }
      if (!is_parameter) {
        action.staged = dense ? loaded.detach() : loaded;
      } else if (!dense && loaded.is_parameter()) {
        action.staged = loaded.requires_grad_(own.requires_grad());
      } else {
        action.staged = like_own(own, loaded);
      }
      break;
    }
  }
  check_swap(own, action.staged);
  prepare_carry_over(own.body(), action.staged.body());
}

void LoadPlan::stage() {
  if (!errors_.empty()) fail();
  const NoGradScope no_grad;
  std::vector<std::string> written;
  staging_ = true;
  note_changes();
  if (user_code_) check_again();
  for (std::uint32_t i = 0; i < actions_.size(); ++i) {
    LoadAction& action = actions_[i];
    // Most need nothing more, and looking at their tensors once again would cost a good part of it.
    if (action.how == How::renew || action.how == How::copy || action.how == How::nothing) continue;
    if (action.leader != i || action.staged.defined()) continue;
    // A user-defined tensor's module_load may write into it: the one that plain tensors have does.
    const bool may_write = action.how == How::swap && !options_.assign;
    if (may_write && !errors_.empty()) continue;
    const Tensor own = action.slot->get();
    const std::int64_t version = may_write ? own.version() : 0;
    staged_code_ = staged_code_ || action.how != How::rebind || !is_dense(own) ||
                   !is_dense(action.value) || has_registration_hooks(action.slot->kind());
    stage_now(action);
    if (may_write && own.version() != version) written.emplace_back(action.key);
    note_changes();
    if (lost_) fail(std::move(written));
  }
  if (!errors_.empty()) fail(std::move(written));
}

bool LoadPlan::can_renew(const LoadAction& action) const {
  const Tensor& own = action.slot->get();
  // A value that is a parameter, or the tensor of a buffer, may be the module's own, which another
  // action is about to change: it is taken over as it is now.
  if (!own.is_parameter() || action.value.is_parameter()) return false;
  if (action.how == How::rebind) {
    // A parameter that only its slot holds is as good as a new one.
    const tenon::detail::Cell& cell = *own.cell();
    if (cell.use_count() != 1 || cell.weak_anchor.load() != nullptr ||
        has_registration_hooks(action.slot->kind()))
      return false;
  }
  return BodyEditor::prepare_renewal(own.body(), action.value.body());
}

void LoadPlan::stage_now(LoadAction& action) {
  try {
    stage_one(action);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {
    error(failure(action, what_happened()));
  }
}

// What modules keep beside tensors is set first, because it is the part that may still fail, and
// can be taken back.
void LoadPlan::set_extra_states() {
  staged_code_ = staged_code_ || !extra_states_.empty();
  for (const ExtraState& extra : extra_states_) {
    try {
      std::optional<Value> before = extra.module->get_extra_state();
      tree_.check();
      extra_before_.push_back({extra.module, std::move(before).value_or(Value())});
      extra.module->set_extra_state(extra.state);
    } catch (...) {
      tree_.check();
      error(concat("While setting the extra state of a ", extra.module->type_name(),
                   ", an exception occurred : ", what_happened()));
      break;
    }
    note_changes();
    if (!errors_.empty()) break;
  }
  if (!errors_.empty()) fail_commit();
}

void LoadPlan::take_back_extra_states() {
  for (auto undo = extra_before_.rbegin(); undo != extra_before_.rend(); ++undo) {
    tree_.check();  // the root may be gone; what is below it is kept
    try {
      undo->module->set_extra_state(undo->state);
      tree_.check();
    } catch (...) {
      tree_.check();
      error(concat("The extra state of a ", undo->module->type_name(),
                   " could not be taken back : ", what_happened()));
      written_.push_back(concat(undo->module->type_name(), ".", kExtraState));
    }
  }
  extra_before_.clear();
}

// Copies that are a user-defined tensor's own code come before all others, up to the first that
// fails: if that is the very first, nothing has been changed.
void LoadPlan::commit_user_copies() {
  for (std::uint32_t i = 0; i < actions_.size(); ++i) {
    LoadAction& action = actions_[i];
    if (action.leader != i || action.how != How::copy) continue;
    if (is_dense(action.slot->get()) && is_dense(action.value)) continue;
    const Tensor own = action.slot->get();
    const std::int64_t version = own.version();
    staged_code_ = true;
    try {
      own.copy_(action.value);
      note_written(action.key);
      action.how = How::nothing;
    } catch (...) {
      tree_.check();
      error(failure(action, what_happened()));
      if (own.version() != version) note_written(action.key);
      fail_commit();
    }
    check_commit();
  }
}

// The tensors of actions to come, step by step: each step needs what the one before has fetched.
void LoadPlan::prefetch(std::size_t at) const {
  if (at + 12 >= actions_.size()) return;
  __builtin_prefetch(actions_[at + 12].slot);
  __builtin_prefetch(actions_[at + 8].slot->get().cell().get());
  __builtin_prefetch(actions_[at + 8].value.cell().get());
  for (const Tensor* tensor : {&actions_[at + 4].slot->get(), &actions_[at + 4].value})
    fetch_ahead(tensor->cell()->body.get(), sizeof(Body));
}

// They go with what they have captured, which is somebody's, too. Without the memory they go now.
void LoadPlan::keep_hooks(Body& body) noexcept {
  tenon::detail::AutogradMeta* meta = BodyEditor::autograd(body);
  if (meta == nullptr) return;
  try {
    if (!meta->hooks.empty()) replaced_hooks_.push_back(std::move(meta->hooks));
    if (!meta->accumulated.empty()) replaced_later_.push_back(std::move(meta->accumulated));
  } catch (const std::bad_alloc&) {
    return;
  }
}

void LoadPlan::rebind(TensorSlot& slot, const Tensor& value) const noexcept {
  tree_.tell_outer(&slot);
  SlotEditor::rebind(slot, value);
}

// Before anything is replaced, as what copies could still fail with (a device that is gone) then
// changes the least.
void LoadPlan::commit_copies() {
  const auto copies = [this](std::uint32_t at) {
    const LoadAction& action = actions_[at];
    return action.leader == at && (action.how == How::copy || action.how == How::copy_and_swap);
  };
  const auto note_copies_before = [&](std::uint32_t end) {
    for (std::uint32_t k = 0; k < end; ++k) {
      if (copies(k)) note_written(actions_[k].key);
    }
  };
  std::uint32_t i = 0;
  bool user_code = false;
  for (; i < actions_.size(); ++i) {
    if (!copies(i)) continue;
    const Tensor own = actions_[i].slot->get();
    const bool runs_user_code = copy_runs_user_code(own, actions_[i].value);
    const std::int64_t version = runs_user_code ? own.version() : 0;
    try {
      own.copy_(actions_[i].value);
    } catch (...) {
      tree_.check();
      error(failure(actions_[i], what_happened()));
    }
    if (runs_user_code) {
      user_code = true;
      note_changes();
    }
    if (errors_.empty()) [[likely]]
      continue;
    note_copies_before(i);
    if (runs_user_code && own.version() != version) note_written(actions_[i].key);
    fail_commit();
  }
  if (user_code) {
    note_copies_before(i);  // should they be refused now, these are written
    check_holders();
  }
}

void LoadPlan::commit_tensors() {
  commit_copies();
  for (std::uint32_t i = 0; i < actions_.size(); ++i) {
    LoadAction& action = actions_[i];
    prefetch(i);
    if (action.leader != i) continue;
    // Note [What was replaced]
    // The last of a tensor, of its memory or of its grad may run somebody's code: the deleter of
    // borrowed memory. It goes when the plan does, after the last use of the module. Memory as
    // nearly all tensors have it goes at once, while it is at hand.
    if (action.how == How::renew) {
      const Tensor& own = action.slot->get();
      if (goes_quietly(own.body())) [[likely]] {
        BodyEditor::renew(own.body(), action.value.body(), swap_);
      } else {
        const Releases::Scope later(replaced_);
        if (!swap_) keep_hooks(own.body());
        BodyEditor::renew(own.body(), action.value.body(), swap_);
      }
      if (!swap_) own.cell()->id.store(0);  // another tensor than before
    } else if (action.how == How::swap || action.how == How::copy_and_swap) {
      const Releases::Scope later(replaced_);
      const Tensor& own = action.slot->get();
      carry_over(own.body(), action.staged.body());
      swap_checked(own, action.staged);
    }
  }
  const Releases::Scope later(replaced_);
  // A parameter of the caller's, which it may be with keep_vars, is told whether it requires grad.
  for (std::uint32_t i = 0; i < actions_.size(); ++i) {
    const LoadAction& action = actions_[i];
    if (action.leader != i || action.how != How::rebind || !action.staged.is_parameter()) continue;
    const Tensor& own = action.slot->get();
    if (own.is_parameter() && action.staged.requires_grad() != own.requires_grad())
      action.staged.requires_grad_(own.requires_grad());
  }
  // Places last: up to here what is in them tells which names are one tensor's.
  for (TensorSlot* slot : left_out_) {
    const auto found = ties_.find(slot->get().cell().get());
    if (found == ties_.end()) continue;
    const LoadAction& leader = actions_[found->second];
    if (leader.how == How::rebind) rebind(*slot, leader.staged);
  }
  for (const LoadAction& action : actions_) {
    const LoadAction& leader = actions_[action.leader];
    if (leader.how == How::rebind) rebind(*action.slot, leader.staged);
  }
}

// User code, from here on free to do what it likes.
void LoadPlan::finish() {
  for (LazyModuleMixin* lazy : lazy_modules_) {
    lazy->loaded();
    tree_.check();
  }
  for (LazyModuleMixin* lazy : waiting_) {
    if (lazy->is_waiting() && !lazy->has_uninitialized_params()) lazy->loaded();
    tree_.check();
  }
  for (std::size_t i = 0; i < at_commit_.size(); ++i) {
    at_commit_[i]();
    tree_.check();
  }
  for (const HookPoint& point : committed_points_) {
    const Guard guard(*point.module, "a load_state_dict_committed_hook ran");
    SlotEditor::extras(*point.module)->load_committed.run(guard, *point.module, result_);
    tree_.check();
  }
}

void LoadPlan::commit(const std::function<void()>& copies) {
  const NoGradScope no_grad;
  set_extra_states();
  commit_user_copies();
  if (staged_code_ || copies) check_holders();
  if (copies) {
    try {
      copies();
    } catch (...) {
      take_back_extra_states();
      throw;
    }
    check_holders();
  }
  commit_tensors();
  try {
    finish();
  } catch (...) {
    tree_.check();
    error(concat("While running what a module does when a load is done, an exception occurred : ",
                 what_happened()));
    std::vector<std::string> written;
    for (const LoadAction& action : actions_) written.emplace_back(action.key);
    fail(std::move(written));
  }
}

}  // namespace tenon::nn::detail

namespace tenon::nn {

void Module::load_from_state_dict(LoadContext& context) { context.load_own(); }

IncompatibleKeys Module::load_state_dict(const StateDict& state,
                                         const LoadStateDictOptions& options) {
  detail::LoadPlan plan(*this, state, options);
  plan.collect();
  plan.judge();
  plan.stage();
  plan.commit();
  return std::move(plan.result());
}

}  // namespace tenon::nn
