// What slots, modules and optimizers tell the guards of their thread (tenon/nn/guard.h), and the
// guard of whoever keeps pointers to the slots of a whole tree while user code runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "tenon/nn/guard.h"
#include "tenon/nn/module.h"
#include "tenon/nn/slots.h"

namespace tenon::nn::detail {

// Without a guard, which is the usual, each of these looks at one pointer of the thread.
class GuardList {
 public:
  // The object is about to go: a module, a slot for modules, an optimizer, a scheduler.
  static void destroyed(const void* subject) noexcept {
    if (innermost_ != nullptr) mark_destroyed(subject);
  }
  static void slot_destroyed(const TensorSlot* slot) noexcept {
    if (innermost_ != nullptr) mark_touched(innermost_, slot, true);
  }
  // The slot has another tensor, or none, under a name that stays.
  static void rebound(const TensorSlot* slot) noexcept {
    if (innermost_ != nullptr) mark_touched(innermost_, slot, false);
  }
  // Entries of the module have come or gone.
  static void changed(const Module* module, Guard::Entries entries) noexcept {
    if (innermost_ != nullptr) mark_changed(module, entries);
  }
  // The module is about to leave a place.
  static void let_go(const std::shared_ptr<Module>& module) noexcept {
    if (innermost_ != nullptr && module) keep(module);
  }

 private:
  friend class TreeGuard;
  friend class Guard;

  static void mark_destroyed(const void* subject) noexcept;
  static void mark_touched(Guard* from, const TensorSlot* slot, bool gone) noexcept;
  static void mark_changed(const Module* module, Guard::Entries entries) noexcept;
  static void keep(const std::shared_ptr<Module>& module) noexcept;
  static void leave(const Guard& guard) noexcept { innermost_ = guard.outer_; }
  static void tell_outer(const Guard& guard, const TensorSlot* slot) noexcept;

  static thread_local constinit Guard* innermost_;
};

// A guard on a root that also notes which slots of any module have been touched, and keeps every
// module that leaves its place. So nothing below the root is destroyed but slots, and those are
// known.
class TreeGuard final : public Guard {
 public:
  TreeGuard(const Module& root, const char* during) noexcept : Guard(root, during) {
    everything_ = true;
  }
  // What it has kept goes when it is off the stack.
  ~TreeGuard() { GuardList::leave(*this); }

  // How often slots have been touched: given another tensor, or destroyed.
  std::size_t count() const noexcept { return touched_.size(); }
  // Whether this slot has, since the count was that. A slot that has may be gone.
  bool was_touched(const TensorSlot* slot, std::size_t since = 0) const;
  void forget() noexcept {
    touched_.clear();
    last_.clear();
    indexed_ = 0;
  }
  // What its owner itself does to a slot is no news to it, but to those outside.
  void tell_outer(const TensorSlot* slot) const noexcept;

 private:
  friend class GuardList;

  std::vector<const TensorSlot*> touched_;
  // Behind the last place in `touched_`, for as many of them as have been looked at.
  mutable std::unordered_map<const TensorSlot*, std::size_t> last_;
  mutable std::size_t indexed_ = 0;
  std::vector<std::shared_ptr<Module>> modules_;
};

// Calls f with the children of a module, one for each place, while the guard on the module says
// that the list is what it was. A child that f takes out of its place lives until f is done with
// it.
template <class F>
void for_each_child(const Module& module, Guard& guard, F f) {
  guard.begin(Guard::kChildren);
  for (std::size_t i = 0; i < module.child_slots().size(); ++i) {
    Module* child = module.child_slots()[i]->module().get();
    if (child == nullptr) continue;
    {
      const Guard kept(*child, guard.during());
      f(*child);
    }  // what was taken out goes here: its destructor may be user code
    guard.check(Guard::kChildren);
  }
}

}  // namespace tenon::nn::detail
