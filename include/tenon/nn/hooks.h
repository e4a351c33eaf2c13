// Hooks: functions that run beside a module's own work, and the handles that remove them.
//
//   nn::RemovableHandle handle = layer.register_forward_hook(
//       [](nn::Module& module, const std::tuple<Tensor>& args, Tensor& result) { ... });
//   handle.remove();
//
// Hooks run in the order they were registered, prepended ones before the others. A hook may
// register and remove hooks, itself included: that counts from the next call on. Hooks are given
// the module they run for and must not capture it: a clone has the same hooks. What else a hook may
// do to modules is said in tenon/nn/module.h.
#pragma once

#include <any>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/nn/guard.h"
#include "tenon/removable_handle.h"
#include "tenon/tensor.h"

namespace tenon::nn {

class Module;

using tenon::RemovableHandle;

struct PreHookOptions {
  bool prepend = false;  // before those that are there
};
struct HookOptions {
  bool prepend = false;
  // Also if forward or another hook throws. What the hook itself throws then is a warning.
  bool always_call = false;
};

namespace detail {

// A function of whatever type.
class TENON_API HeldHook {
 public:
  virtual ~HeldHook();
};

// Hooks in their order, whatever they are: everything that does not depend on their type, so that
// it is compiled once. Whoever runs them takes a snapshot, so that they may change the list.
class TENON_API HookEntries {
 public:
  struct Entry {
    std::uint64_t id;
    bool always_call;
    std::shared_ptr<const HeldHook> hook;
  };
  using Snapshot = std::shared_ptr<const std::vector<Entry>>;

  HookEntries() noexcept = default;
  HookEntries(const HookEntries& other);
  HookEntries& operator=(const HookEntries&) = delete;
  ~HookEntries();

  // Makes room now, for a list that threads read while the first hook is added.
  void prepare();
  bool empty() const noexcept { return table_ == nullptr || has_none(); }
  // Null if there are none.
  Snapshot snapshot() const;
  // By the number its handle has, also in a clone. A list without hooks costs nothing again.
  void remove(std::uint64_t id);

 protected:
  RemovableHandle add(const HeldHook* hook, bool prepend, bool always_call);

 private:
  class Table;
  bool has_none() const noexcept;

  std::shared_ptr<Table> table_;
};

// Hooks of one kind.
template <class F>
class HookList : public HookEntries {
 public:
  RemovableHandle add(F hook, bool prepend = false, bool always_call = false) {
    return HookEntries::add(new Held(std::move(hook)), prepend, always_call);
  }
  // The function of one of its entries.
  static const F& function(const Entry& entry) noexcept {
    return static_cast<const Held&>(*entry.hook).function;
  }
  // Error if one of them destroys what they are hooks of; the others do not run then.
  template <class... A>
  void run(const Guard& guard, A&&... args) const {
    if (const Snapshot entries = snapshot()) {
      for (const Entry& entry : *entries) {
        function(entry)(args...);
        guard.check();
      }
    }
  }

 private:
  struct Held final : HeldHook {
    explicit Held(F&& hook) noexcept : function(std::move(hook)) {}
    F function;
  };
};

}  // namespace detail

namespace detail {
// A slot, say, which a function that takes a tensor takes as one.
template <class T>
inline constexpr bool is_named_tensor =
    std::convertible_to<T, const Tensor&> && !std::same_as<std::remove_cvref_t<T>, Tensor>;
}  // namespace detail

// What a module is called with, as hooks for all modules see it: an argument is an any of its type
// without const and reference, and may be replaced by one of the same type.
class Arguments : public std::vector<std::any> {
 public:
  Arguments() = default;
  // {x, 1}: Note [Braces with names].
  template <class... T>
    requires(sizeof...(T) > 0 &&
             (!std::derived_from<std::remove_cvref_t<T>, std::vector<std::any>> && ...) &&
             (std::constructible_from<std::any, T> && ...) &&
             (sizeof...(T) > 1 || !(detail::is_named_tensor<T> && ...)))
  Arguments(T&&... values) {
    reserve(sizeof...(T));
    (emplace_back(std::forward<T>(values)), ...);
  }
  template <std::same_as<std::vector<std::any>> V>
  Arguments(V values) noexcept : vector(std::move(values)) {}
};

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
