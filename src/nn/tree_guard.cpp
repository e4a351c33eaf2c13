#include "nn/tree_guard.h"

#include <utility>

#include "base/text.h"
#include "base/user_code.h"
#include "tenon/error.h"
#include "tenon/nn/module.h"

namespace tenon::nn::detail {

thread_local constinit Guard* GuardList::innermost_ = nullptr;

Guard::Guard(const void* subject, const char* during) noexcept
    : subject_(subject), during_(during), outer_(std::exchange(GuardList::innermost_, this)) {}

// What was kept goes when this is off the stack: its destructor may be somebody's code.
Guard::~Guard() { GuardList::innermost_ = outer_; }

void Guard::throw_gone() const {
  const Guard* on_it = this;
  while (!on_it->gone_) on_it = on_it->outer_;
  throw Error(concat("an object was destroyed by user code while ", on_it->during_,
                     ": keep it until the call that runs that code has returned"));
}

void Guard::throw_changed(Entries entries) const {
  const char* what = entries == kParameters ? "parameters"
                     : entries == kBuffers  ? "buffers"
                                            : "children";
  throw Error(
      concat("the ", what, " of this ", static_cast<const Module*>(subject_)->type_name(),
             " changed while ", during_,
             ": entries came or went (dictionary changed size during iteration). Register "
             "and remove them before or afterwards; another value under the same name is no "
             "such change"));
}

// What user code is called from, operators and warnings, knows nothing of guards: it asks a
// function of the thread, which there is from the first time that there is something to say.
void GuardList::mark_destroyed(const void* subject) noexcept {
  const Guard* outermost = nullptr;
  for (Guard* guard = innermost_; guard != nullptr; guard = guard->outer_) {
    if (guard->gone_ || guard->subject_ != subject) continue;
    guard->gone_ = true;
    outermost = guard;
  }
  if (outermost == nullptr) return;
  for (Guard* guard = innermost_; guard != outermost; guard = guard->outer_)
    guard->caller_gone_ = true;
  set_after_user_code([] {
    if (innermost_ != nullptr) innermost_->check_return();
  });
}

// Without the memory to note something, the walk is not safe to go on.

void GuardList::mark_touched(Guard* from, const TensorSlot* slot, bool gone) noexcept {
  for (Guard* guard = from; guard != nullptr; guard = guard->outer_) {
    if (gone && guard->subject_ == slot) guard->gone_ = true;
    if (!guard->everything_) continue;
    try {
      static_cast<TreeGuard*>(guard)->touched_.push_back(slot);
    } catch (...) {
      guard->gone_ = true;
    }
  }
}

void GuardList::mark_changed(const Module* module, Guard::Entries entries) noexcept {
  for (Guard* guard = innermost_; guard != nullptr; guard = guard->outer_) {
    if (guard->subject_ == module) guard->changed_ |= entries;
  }
}

// By the outermost of those that are concerned, which lasts longest.
void GuardList::keep(const std::shared_ptr<Module>& module) noexcept {
  Guard* on_it = nullptr;
  TreeGuard* on_all = nullptr;
  for (Guard* guard = innermost_; guard != nullptr; guard = guard->outer_) {
    if (guard->subject_ == module.get()) on_it = guard;
    if (guard->everything_) on_all = static_cast<TreeGuard*>(guard);
  }
  if (on_it != nullptr && !on_it->kept_) on_it->kept_ = module;
  if (on_all == nullptr) return;
  try {
    on_all->modules_.push_back(module);
  } catch (...) {
    for (Guard* guard = innermost_; guard != nullptr; guard = guard->outer_)
      guard->gone_ = guard->gone_ || guard->everything_;
  }
}

void GuardList::tell_outer(const Guard& guard, const TensorSlot* slot) noexcept {
  if (guard.outer_ != nullptr) mark_touched(guard.outer_, slot, false);
}

bool TreeGuard::was_touched(const TensorSlot* slot, std::size_t since) const {
  if (touched_.empty()) return false;
  for (; indexed_ < touched_.size(); ++indexed_) last_[touched_[indexed_]] = indexed_ + 1;
  const auto found = last_.find(slot);
  return found != last_.end() && found->second > since;
}

void TreeGuard::tell_outer(const TensorSlot* slot) const noexcept {
  GuardList::tell_outer(*this, slot);
}

}  // namespace tenon::nn::detail
