// Guard: how the library notices what user code does to an object that it is in the middle of
// using. For the library; the rules that follow from it are in tenon/nn/module.h.
#pragma once

#include <cstdint>
#include <memory>

#include "tenon/detail/api.h"

namespace tenon::nn {

class Module;

namespace detail {

// One object that this thread is using while user code runs: a module whose entries are gone
// through or whose forward runs, a slot that is being assigned to, an optimizer that takes a step.
// The guards of a thread are a stack. An object that is destroyed marks the guards that are on
// it; a module that leaves its place is kept by the guard until that ends.
class TENON_API Guard {
 public:
  // The lists of a module. Entries that come or go mark the guards on it.
  enum Entries : std::uint8_t { kParameters = 1, kBuffers = 2, kChildren = 4 };

  // `during` names in messages what is going on, and is a literal.
  Guard(const Module& module, const char* during) noexcept
      : Guard(static_cast<const void*>(&module), during) {}
  Guard(const void* subject, const char* during) noexcept;
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  bool is_gone() const noexcept { return gone_; }
  const char* during() const noexcept { return during_; }
  // After user code. Error if the object was destroyed.
  void check() const {
    if (gone_) [[unlikely]]
      throw_gone();
  }
  // Before a function of the library goes back to what has called it. The same, and Error if an
  // object further out was destroyed since this guard began: its function must not go on, whoever
  // wrote it.
  void check_return() const {
    if (gone_ || caller_gone_) [[unlikely]]
      throw_gone();
  }
  // Before a list of a module is gone through: what has happened to it so far does not matter.
  void begin(Entries entries) noexcept { changed_ &= static_cast<std::uint8_t>(~entries); }
  // The same as check(), and Error if entries of that list have come or gone.
  void check(Entries entries) const {
    check();
    if ((changed_ & entries) != 0) [[unlikely]]
      throw_changed(entries);
  }

 private:
  friend class GuardList;

  [[noreturn]] void throw_gone() const;
  [[noreturn]] void throw_changed(Entries entries) const;

  const void* subject_;
  const char* during_;
  Guard* outer_;
  std::shared_ptr<const void> kept_;  // a module that has left its place

 protected:
  std::uint8_t changed_ = 0;
  bool gone_ = false;
  bool caller_gone_ = false;  // the object of a guard outside of this one
  bool everything_ = false;   // a TreeGuard (src/nn/tree_guard.h)
};

}  // namespace detail

}  // namespace tenon::nn
