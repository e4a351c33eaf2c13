// HeldState: the entries of somebody's state dict, which stay what and where they are while user
// code runs, whatever that does to the dict.
#pragma once

#include "tenon/detail/api.h"
#include "tenon/state_dict.h"

namespace tenon {

// Nothing is copied, unless the dict is changed on this thread meanwhile: then it gives its entries
// to this and goes on with a copy, or without any if it is assigned to or destroyed. Pointers to
// entries, and into their names, are good as long as this is. Those of a thread are a stack.
class TENON_API HeldState {
 public:
  explicit HeldState(const StateDict& state);
  ~HeldState();
  HeldState(const HeldState&) = delete;
  HeldState& operator=(const HeldState&) = delete;

  const StateDict& operator*() const noexcept { return *state_; }
  const StateDict* operator->() const noexcept { return state_; }
  // Whether it is that dict still, which nobody has changed, assigned to or destroyed.
  bool is(const StateDict& state) const noexcept { return state_ == &state; }
  bool is_gone() const noexcept { return gone_; }  // destroyed

 private:
  friend class StateDict;

  // Null, or the outermost one that holds it: it lasts longest.
  static HeldState* of(const StateDict& state) noexcept;
  static void destroyed(const StateDict& state) noexcept;
  // The entries of the two have changed places.
  static void exchanged(const StateDict& a, const StateDict& b) noexcept;

  const StateDict* state_;    // where the entries are
  const StateDict* subject_;  // whose they were
  bool gone_ = false;
  StateDict kept_;
  HeldState* outer_;
};

}  // namespace tenon
