// Hooks: functions that run beside a module's own work, and the handles that remove them.
//
//   nn::RemovableHandle handle = layer.register_forward_hook(
//       [](nn::Module& module, const std::tuple<Tensor>& args, Tensor& result) { ... });
//   handle.remove();
//
// Hooks run in the order they were registered, prepended ones before the others. A hook may
// register and remove hooks, itself included: that counts from the next call on. Hooks are given
// the module they run for and must not capture it: a clone has the same hooks.
#pragma once

#include <algorithm>
#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tenon/api.h"
#include "tenon/removable_handle.h"
#include "tenon/tensor.h"

namespace tenon::nn {

class Module;

using tenon::RemovableHandle;

namespace detail {

using tenon::detail::HookTable;
using tenon::detail::next_hook_id;

}  // namespace detail

struct PreHookOptions {
  bool prepend = false;  // before those that are there
};
struct HookOptions {
  bool prepend = false;
  // Also if forward or another hook throws. What the hook itself throws then is a warning.
  bool always_call = false;
};

namespace detail {

// Hooks of one kind. Whoever runs them takes a snapshot, so that they may change the list.
template <class F>
class HookList {
 public:
  struct Entry {
    std::uint64_t id;
    bool always_call;
    F hook;
  };
  using Entries = std::shared_ptr<const std::vector<Entry>>;

  HookList() noexcept = default;
  HookList(const HookList& other) : table_(other.table_ ? other.table_->copy() : nullptr) {}
  HookList& operator=(const HookList&) = delete;

  // Makes room now, for a list that threads read while the first hook is added.
  void prepare() { table_ = std::make_shared<Table>(); }
  bool empty() const noexcept { return table_ == nullptr || table_->empty(); }
  // Null if there are none.
  Entries snapshot() const { return table_ == nullptr ? nullptr : table_->snapshot(); }
  RemovableHandle add(F hook, bool prepend = false, bool always_call = false) {
    if (!table_) table_ = std::make_shared<Table>();
    const std::uint64_t id = next_hook_id();
    table_->add({id, always_call, std::move(hook)}, prepend);
    return {table_, id};
  }
  // By the number its handle has, also in a clone. A list without hooks costs nothing again.
  void remove(std::uint64_t id) {
    if (!table_) return;
    table_->remove(id);
    if (table_->empty()) table_.reset();
  }
  template <class... A>
  void run(A&&... args) const {
    if (empty()) return;
    const Entries entries = snapshot();
    for (const Entry& entry : *entries) entry.hook(args...);
  }

 private:
  class Table final : public HookTable {
   public:
    bool empty() const noexcept {
      const std::lock_guard lock(mutex_);
      return !entries_ || entries_->empty();
    }
    Entries snapshot() const {
      const std::lock_guard lock(mutex_);
      return entries_ ? entries_ : std::make_shared<const std::vector<Entry>>();
    }
    // What goes is let go of without the lock: it may be somebody's who removes a hook then.
    void add(Entry entry, bool prepend) {
      Entries before;
      const std::lock_guard lock(mutex_);
      auto fresh = entries_ ? std::make_shared<std::vector<Entry>>(*entries_)
                            : std::make_shared<std::vector<Entry>>();
      fresh->insert(prepend ? fresh->begin() : fresh->end(), std::move(entry));
      before = std::exchange(entries_, std::move(fresh));
    }
    void remove(std::uint64_t id) override {
      Entries before;
      const std::lock_guard lock(mutex_);
      if (!entries_) return;
      auto fresh = std::make_shared<std::vector<Entry>>(*entries_);
      std::erase_if(*fresh, [&](const Entry& entry) { return entry.id == id; });
      before = std::exchange(entries_, std::move(fresh));
    }
    std::shared_ptr<Table> copy() const {
      auto fresh = std::make_shared<Table>();
      fresh->entries_ = snapshot();
      return fresh;
    }

   private:
    mutable std::mutex mutex_;
    Entries entries_;
  };

  std::shared_ptr<Table> table_;
};

}  // namespace detail

// What a module is called with, as hooks for all modules see it: an argument is an any of its type
// without const and reference, and may be replaced by one of the same type.
using Arguments = std::vector<std::any>;

// Hooks for all modules of the process, which run before a module's own.
using GlobalForwardPreHook = std::function<void(Module&, Arguments& args)>;
using GlobalForwardHook = std::function<void(Module&, const Arguments& args, std::any& result)>;
TENON_API RemovableHandle register_module_forward_pre_hook(GlobalForwardPreHook hook);
TENON_API RemovableHandle register_module_forward_hook(GlobalForwardHook hook,
                                                       bool always_call = false);

// Called when a parameter, a buffer or a module is about to be given a name in a module; what they
// return takes its place, unless it is undefined or null.
using ParameterRegistrationHook =
    std::function<Tensor(Module&, const std::string& name, const Tensor& parameter)>;
using BufferRegistrationHook =
    std::function<Tensor(Module&, const std::string& name, const Tensor& buffer)>;
using ModuleRegistrationHook = std::function<std::shared_ptr<Module>(
    Module&, const std::string& name, const std::shared_ptr<Module>& submodule)>;
TENON_API RemovableHandle
register_module_parameter_registration_hook(ParameterRegistrationHook hook);
TENON_API RemovableHandle register_module_buffer_registration_hook(BufferRegistrationHook hook);
TENON_API RemovableHandle register_module_module_registration_hook(ModuleRegistrationHook hook);

namespace detail {

TENON_API bool has_global_forward_hooks() noexcept;
TENON_API HookList<GlobalForwardPreHook>& global_forward_pre_hooks();
TENON_API HookList<GlobalForwardHook>& global_forward_hooks();
// An always-called hook failed while another failure was on its way: a warning.
TENON_API void warn_silenced(bool global) noexcept;

}  // namespace detail

}  // namespace tenon::nn
