#include "tenon/nn/hooks.h"

#include <atomic>
#include <exception>
#include <mutex>

#include "base/text.h"
#include "base/warn.h"
#include "nn/registration_hooks.h"
#include "tenon/error.h"
#include "tenon/nn/module.h"

namespace tenon::nn {

namespace detail {

HeldHook::~HeldHook() = default;

class HookEntries::Table final : public tenon::detail::HookTable {
 public:
  bool empty() const noexcept {
    const std::lock_guard lock(mutex_);
    return !entries_;
  }
  Snapshot snapshot() const {
    const std::lock_guard lock(mutex_);
    return entries_;
  }
  // What goes is let go of without the lock: it may be somebody's who removes a hook then.
  void add(Entry entry, bool prepend) {
    Snapshot before;
    const std::lock_guard lock(mutex_);
    auto fresh = entries_ ? std::make_shared<std::vector<Entry>>(*entries_)
                          : std::make_shared<std::vector<Entry>>();
    fresh->insert(prepend ? fresh->begin() : fresh->end(), std::move(entry));
    before = std::exchange(entries_, std::move(fresh));
  }
  void remove(std::uint64_t id) override { (void)taken_out(id); }
  // The entries there were, for the caller to let go of them last.
  Snapshot taken_out(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    if (!entries_) return nullptr;
    // The last one goes without asking for memory: a load that is done removes a lazy module's.
    if (entries_->size() == 1 && entries_->front().id == id)
      return std::exchange(entries_, nullptr);
    auto fresh = std::make_shared<std::vector<Entry>>(*entries_);
    std::erase_if(*fresh, [&](const Entry& entry) { return entry.id == id; });
    return std::exchange(entries_, std::move(fresh));
  }
  std::shared_ptr<Table> copy() const {
    auto fresh = std::make_shared<Table>();
    fresh->entries_ = snapshot();
    return fresh;
  }

 private:
  mutable std::mutex mutex_;
  Snapshot entries_;  // null if there are none
};

HookEntries::HookEntries(const HookEntries& other)
    : table_(other.table_ ? other.table_->copy() : nullptr) {}
HookEntries::~HookEntries() = default;

void HookEntries::prepare() { table_ = std::make_shared<Table>(); }
bool HookEntries::has_none() const noexcept { return table_->empty(); }
HookEntries::Snapshot HookEntries::snapshot() const {
  return table_ == nullptr ? nullptr : table_->snapshot();
}

RemovableHandle HookEntries::add(const HeldHook* hook, bool prepend, bool always_call) {
  std::shared_ptr<const HeldHook> held(hook);
  if (!table_) table_ = std::make_shared<Table>();
  const std::uint64_t id = tenon::detail::next_hook_id();
  table_->add({id, always_call, std::move(held)}, prepend);
  return {table_, id};
}

void HookEntries::remove(std::uint64_t id) {
  if (!table_) return;
  const Snapshot before = table_->taken_out(id);
  if (table_->empty()) table_.reset();
}

namespace {

// Made when the first hook is registered, and never destroyed: modules may be called until the end.
struct GlobalHooks {
  HookList<GlobalForwardPreHook> forward_pre;
  HookList<GlobalForwardHook> forward;
  HookList<ParameterRegistrationHook> parameters;
  HookList<BufferRegistrationHook> buffers;
  HookList<ModuleRegistrationHook> modules;

  GlobalHooks() {
    forward_pre.prepare();
    forward.prepare();
    parameters.prepare();
    buffers.prepare();
    modules.prepare();
  }
};
GlobalHooks& global_hooks() {
  static GlobalHooks& hooks = *new GlobalHooks;
  return hooks;
}

// Whether there ever was one of a kind: what calls and registrations ask first.
std::atomic<bool> any_forward{false}, any_parameters{false}, any_buffers{false}, any_modules{false};

template <class F>
RemovableHandle add(HookList<F>& list, F hook, std::atomic<bool>& any, bool always_call = false) {
  RemovableHandle handle = list.add(std::move(hook), false, always_call);
  any.store(true, std::memory_order_release);
  return handle;
}

}  // namespace

bool has_global_forward_hooks() noexcept {
  return any_forward.load(std::memory_order_acquire) &&
         (!global_hooks().forward_pre.empty() || !global_hooks().forward.empty());
}
HookList<GlobalForwardPreHook>& global_forward_pre_hooks() { return global_hooks().forward_pre; }
HookList<GlobalForwardHook>& global_forward_hooks() { return global_hooks().forward; }

void warn_silenced(bool global) noexcept {
  try {
    const std::string begin = concat(
        global ? "global module forward hook" : "module forward hook",
        " with always_call raised an exception that was silenced as another error was raised "
        "in forward");
    try {
      throw;
    } catch (const std::exception& error) {
      warn(concat(begin, ": ", error.what()));
    } catch (...) {
      warn(begin);
    }
  } catch (...) {
  }
}

bool has_registration_hooks(TensorSlot::Kind kind) noexcept {
  return (kind == TensorSlot::Kind::parameter ? any_parameters : any_buffers)
      .load(std::memory_order_acquire);
}

Tensor registered(Module& owner, const std::string& name, Tensor value, TensorSlot::Kind kind) {
  if (!has_registration_hooks(kind)) return value;
  const bool is_parameter = kind == TensorSlot::Kind::parameter;
  const Guard guard(owner, "a registration hook ran for one of its entries");
  const std::string own_name = name;  // a hook may remove the slot that has it
  const auto run = [&](const auto& list) {
    const auto entries = list.snapshot();
    if (!entries) return;
    for (const auto& entry : *entries) {
      const Tensor other = list.function(entry)(owner, own_name, value);
      guard.check();
      if (!other.defined()) continue;
      if (is_parameter && !other.is_parameter()) {
        throw TypeError(concat("a registration hook gave a plain tensor for parameter '", own_name,
                               "' of ", owner.type_name(), ": wrap it with nn::make_parameter"));
      }
      value = other;
    }
  };
  if (is_parameter) {
    run(global_hooks().parameters);
  } else {
    run(global_hooks().buffers);
  }
  return value;
}

std::shared_ptr<Module> registered(Module& owner, const std::string& name,
                                   std::shared_ptr<Module> module) {
  if (!any_modules.load(std::memory_order_acquire)) return module;
  const auto& list = global_hooks().modules;
  if (const auto entries = list.snapshot()) {
    const Guard guard(owner, "a registration hook ran for one of its entries");
    const std::string own_name = name;  // a hook may remove the slot that has it
    for (const auto& entry : *entries) {
      if (auto other = list.function(entry)(owner, own_name, module)) module = std::move(other);
      guard.check();
    }
  }
  return module;
}

}  // namespace detail

RemovableHandle register_module_forward_pre_hook(GlobalForwardPreHook hook) {
  return detail::add(detail::global_hooks().forward_pre, std::move(hook), detail::any_forward);
}
RemovableHandle register_module_forward_hook(GlobalForwardHook hook, bool always_call) {
  return detail::add(detail::global_hooks().forward, std::move(hook), detail::any_forward,
                     always_call);
}
RemovableHandle register_module_parameter_registration_hook(ParameterRegistrationHook hook) {
  return detail::add(detail::global_hooks().parameters, std::move(hook), detail::any_parameters);
}
RemovableHandle register_module_buffer_registration_hook(BufferRegistrationHook hook) {
  return detail::add(detail::global_hooks().buffers, std::move(hook), detail::any_buffers);
}
RemovableHandle register_module_module_registration_hook(ModuleRegistrationHook hook) {
  return detail::add(detail::global_hooks().modules, std::move(hook), detail::any_modules);
}

}  // namespace tenon::nn
