#include "tenon/nn/module.h"

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "core/body_editor.h"
#include "nn/clone.h"
#include "nn/extras.h"
#include "nn/registration_hooks.h"
#include "nn/slot_editor.h"
#include "nn/tree_guard.h"
#include "nn/zero_grad.h"
#include "tenon/error.h"
#include "tenon/nn/callable.h"

namespace tenon::nn {

namespace {

// From so many names on they are looked up in an index.
constexpr std::size_t kFewNames = 16;

}  // namespace

Module::Module() noexcept = default;

Module::Module(const Module& other)
    : exact_type_(other.exact_type_.load()), training_(other.training_) {
  detail::CloneRun& run = detail::CloneRun::current();
  run.check_inside(other);
  run.begun(*this);
  if (other.extras_) extras_ = std::make_unique<detail::ModuleExtras>(*other.extras_);
  // Slots that are members put themselves into their places when they are copied.
  try {
    for (const TensorSlot* slot : other.parameters_) {
      if (!slot->dynamic_) {
        parameters_.push_back(nullptr);
      } else {
        TensorSlot& fresh = SlotEditor::make_parameter(*this, slot->name_);
        fresh.value_ = run.copy(slot->value_);
        fresh.registered_ = true;
        name_added({&fresh, nullptr});
      }
    }
    for (const TensorSlot* slot : other.buffers_) {
      if (!slot->dynamic_) {
        buffers_.push_back(nullptr);
      } else {
        TensorSlot& fresh = SlotEditor::make_buffer(*this, slot->name_, slot->persistent_);
        fresh.value_ = run.copy(slot->value_);
        fresh.registered_ = true;
        name_added({&fresh, nullptr});
      }
    }
    for (const ChildSlot* slot : other.children_) {
      if (!slot->dynamic_) {
        children_.push_back(nullptr);
      } else {
        ChildSlot& fresh = SlotEditor::make_child(*this, slot->name_);
        fresh.module_ = run.copy(slot->module_);
        if (fresh.module_) ++fresh.module_->places_;
        fresh.registered_ = true;
        name_added({nullptr, &fresh});
      }
    }
  } catch (...) {
    delete_slots();
    throw;
  }
}

Module::~Module() {
  detail::GuardList::destroyed(this);
  delete_slots();
}
LazyModuleMixin* Module::lazy_mixin() noexcept { return nullptr; }

// Those that are members are gone already, or are not there yet: what is left is the module's. A
// slot takes itself out.
void Module::delete_slots() noexcept {
  if (extras_) extras_->names.clear();
  const auto delete_all = [](auto& slots, auto delete_one) {
    while (!slots.empty()) {
      auto* slot = slots.back();
      if (slot != nullptr && slot->dynamic_) {
        delete_one(slot);
        continue;
      }
      // Somebody's who gave it a module that goes before it does.
      if (slot != nullptr) slot->owner_ = nullptr;
      slots.pop_back();
    }
  };
  delete_all(parameters_, [](TensorSlot* slot) { delete static_cast<Parameter*>(slot); });
  delete_all(buffers_, [](TensorSlot* slot) { delete static_cast<Buffer*>(slot); });
  delete_all(children_, [](ChildSlot* slot) { delete slot; });
}

detail::ModuleExtras& Module::extras() {
  if (!extras_) extras_ = std::make_unique<detail::ModuleExtras>();
  return *extras_;
}

// Names.

detail::Named Module::find_name(std::string_view name) const {
  if (extras_ && !extras_->names.empty()) {
    const auto found = extras_->names.find(name);
    return found == extras_->names.end() ? detail::Named{} : found->second;
  }
  for (const auto* slots : {&parameters_, &buffers_}) {
    for (TensorSlot* slot : *slots) {
      if (slot != nullptr && slot->registered_ && slot->name_ == name) return {slot, nullptr};
    }
  }
  for (ChildSlot* slot : children_) {
    if (slot != nullptr && slot->registered_ && slot->name_ == name) return {nullptr, slot};
  }
  return {};
}

void Module::check_name(std::string_view name, const char* kind) const {
  if (name.empty()) throw ValueError(concat(kind, " name can't be empty string \"\""));
  if (name.find('.') != std::string_view::npos) {
    throw ValueError(concat(kind, " name can't contain \".\", got: ", name,
                            ". Dots join the names of modules in a state dict"));
  }
  const detail::Named taken = find_name(name);
  if (taken.tensor == nullptr && taken.child == nullptr) return;
  const char* by = taken.child != nullptr                               ? "module"
                   : taken.tensor->kind_ == TensorSlot::Kind::parameter ? "parameter"
                                                                        : "buffer";
  throw ValueError(concat("attribute '", name, "' already exists: this ", type_name(), " has a ",
                          by, " of that name"));
}

void Module::name_added(const detail::Named& named) {
  if (extras_ && !extras_->names.empty()) {
    extras_->names.emplace(named.tensor != nullptr ? named.tensor->name_ : named.child->name_,
                           named);
    return;
  }
  if (parameters_.size() + buffers_.size() + children_.size() <= kFewNames) return;
  decltype(detail::ModuleExtras::names) names;  // there with all names in it, or not at all
  for (const auto* slots : {&parameters_, &buffers_}) {
    for (TensorSlot* slot : *slots) {
      if (slot != nullptr && slot->registered_)
        names.emplace(slot->name_, detail::Named{slot, nullptr});
    }
  }
  for (ChildSlot* slot : children_) {
    if (slot != nullptr && slot->registered_)
      names.emplace(slot->name_, detail::Named{nullptr, slot});
  }
  names.emplace(named.tensor != nullptr ? named.tensor->name_ : named.child->name_, named);
  extras().names = std::move(names);
}

void Module::name_removed(std::string_view name) noexcept {
  if (extras_) extras_->names.erase(name);
}

// Registering at run time.

// The slot is looked for again when the hooks have run, which may register and remove what they
// like, this name included.
TensorSlot* SlotEditor::checked_slot(Module& owner, const std::string& name, TensorSlot::Kind kind,
                                     Tensor& value) {
  const auto find = [&]() -> TensorSlot* {
    TensorSlot* there = owner.find_name(name).tensor;
    if (there != nullptr && there->kind_ == kind) return there;
    owner.check_name(name, kind == TensorSlot::Kind::parameter ? "parameter" : "buffer");
    return nullptr;
  };
  check_value(name, kind, value);
  TensorSlot* there = find();
  if (!value.defined() || !detail::has_registration_hooks(kind)) return there;
  value = detail::registered(owner, name, std::move(value), kind);
  return find();
}

void Module::register_parameter(std::string_view name, const Tensor& parameter) {
  const std::string own_name(name);  // it may be that of a slot
  Tensor value = parameter;
  TensorSlot* slot = SlotEditor::checked_slot(*this, own_name, TensorSlot::Kind::parameter, value);
  if (slot != nullptr) return SlotEditor::put(*slot, std::move(value));
  TensorSlot& fresh = SlotEditor::make_parameter(*this, own_name);
  try {
    SlotEditor::put(fresh, std::move(value));
  } catch (...) {  // without memory
    delete static_cast<Parameter*>(&fresh);
    throw;
  }
}

void Module::register_buffer(std::string_view name, const Tensor& buffer, BufferOptions options) {
  const std::string own_name(name);
  Tensor value = buffer;
  TensorSlot* slot = SlotEditor::checked_slot(*this, own_name, TensorSlot::Kind::buffer, value);
  if (slot != nullptr) {
    slot->persistent_ = options.persistent;
    return SlotEditor::put(*slot, std::move(value));
  }
  TensorSlot& fresh = SlotEditor::make_buffer(*this, own_name, options.persistent);
  try {
    SlotEditor::put(fresh, std::move(value));
  } catch (...) {
    delete static_cast<Buffer*>(&fresh);
    throw;
  }
}

void Module::add_child(std::string_view name, std::shared_ptr<Module> module) {
  const std::string own_name(name);
  const auto find = [&]() -> ChildSlot* {
    const detail::Named there = find_name(own_name);
    if (there.child == nullptr) check_name(own_name, "module");
    return there.child;
  };
  ChildSlot* slot = find();
  if (module) {
    module = detail::registered(*this, own_name, std::move(module));
    slot = find();
  }
  if (slot != nullptr) return SlotEditor::put(*slot, std::move(module));
  ChildSlot& fresh = SlotEditor::make_child(*this, own_name);
  const detail::Guard guard(static_cast<const void*>(&fresh), "a module was registered");
  try {
    SlotEditor::put(fresh, std::move(module));
  } catch (...) {
    if (!guard.is_gone()) delete &fresh;
    throw;
  }
}

void Module::remove(std::string_view name) {
  const detail::Named there = find_name(name);
  if (there.tensor == nullptr && there.child == nullptr) {
    throw IndexError(concat(type_name(), " object has no attribute '", name, "'"));
  }
  name_removed(name);
  // A member cannot go; it is as if nothing had ever been assigned.
  const auto forget = [](auto* slot) {
    slot->registered_ = false;
    slot->removed_ = true;
  };
  // What was in the slot goes last, because its destructor may be somebody's code.
  std::shared_ptr<Module> module;
  Tensor value;
  if (there.child != nullptr) {
    detail::GuardList::let_go(there.child->module_);
    if (there.child->dynamic_) {
      module = there.child->module_;
      delete there.child;
    } else {
      if (there.child->module_) --there.child->module_->places_;
      there.child->module_.swap(module);
      forget(there.child);
      detail::GuardList::changed(this, detail::Guard::kChildren);
    }
    return;
  }
  const bool is_parameter = there.tensor->kind_ == TensorSlot::Kind::parameter;
  value = there.tensor->value_;
  if (!there.tensor->dynamic_) {
    there.tensor->value_ = {};
    forget(there.tensor);
    detail::GuardList::rebound(there.tensor);
    detail::GuardList::changed(this,
                               is_parameter ? detail::Guard::kParameters : detail::Guard::kBuffers);
  } else if (is_parameter) {
    delete static_cast<Parameter*>(there.tensor);
  } else {
    delete static_cast<Buffer*>(there.tensor);
  }
}

// Hooks around state dicts.

RemovableHandle Module::register_state_dict_pre_hook(StateDictPreHook hook) {
  return extras().state_dict_pre.add(std::move(hook));
}
RemovableHandle Module::register_state_dict_post_hook(StateDictPostHook hook) {
  return extras().state_dict_post.add(std::move(hook));
}
RemovableHandle Module::register_load_state_dict_pre_hook(LoadStateDictPreHook hook) {
  return extras().load_pre.add(std::move(hook));
}
RemovableHandle Module::register_load_state_dict_post_hook(LoadStateDictPostHook hook) {
  return extras().load_post.add(std::move(hook));
}
RemovableHandle Module::register_load_state_dict_committed_hook(LoadStateDictPostHook hook) {
  return extras().load_committed.add(std::move(hook));
}

// What a class may say.

std::any Module::invoke(Arguments /*args*/) {
  throw NotImplementedError(concat("Module [", type_name(),
                                   "] is missing the required \"forward\" function: derive it from "
                                   "nn::Callable"));
}

Tensor Module::invoke(const Tensor& input) {
  const std::any result = invoke(Arguments{input});
  const auto* tensor = std::any_cast<Tensor>(&result);
  if (tensor == nullptr) detail::throw_not_tensors(*this);
  return *tensor;
}

std::optional<Value> Module::get_extra_state() const { return std::nullopt; }
bool Module::takes_extra_state() const { return get_extra_state().has_value(); }
void Module::set_extra_state(const Value& /*state*/) {
  throw NotImplementedError(concat(type_name(),
                                   " has get_extra_state and no set_extra_state: override both, or "
                                   "takes_extra_state to say that it takes none"));
}

void Module::check_child(const Module* /*child*/) const {}

// All of it.

Module& Module::apply(const std::function<void(Module&)>& f) {
  const detail::Guard guard(*this, "apply() was running");
  const std::function<void(Module&)> held = f;  // which may destroy what it was given as
  // Those that it has now, whatever f does to them.
  std::vector<std::shared_ptr<Module>> children;
  for (const ChildSlot* slot : children_) {
    if (slot->module_) children.push_back(slot->module_);
  }
  for (const auto& child : children) {
    child->apply(held);
    guard.check();
  }
  held(*this);
  guard.check();
  return *this;
}

Module& Module::train(bool mode) {
  training_ = mode;
  detail::Guard guard(*this, "train() was running");
  // Each once, whatever places it has here.
  std::vector<const Module*> seen;
  detail::for_each_child(*this, guard, [&](Module& child) {
    if (child.places_ > 1) {
      if (std::find(seen.begin(), seen.end(), &child) != seen.end()) return;
      seen.push_back(&child);
    }
    child.train(mode);
  });
  return *this;
}

Module& Module::requires_grad_(bool requires_grad) {
  const auto named = named_parameters();
  for (const auto& [name, parameter] : named) {
    if (requires_grad && !is_differentiable(parameter.dtype())) {
      throw DTypeError(
          concat("only Tensors of floating point dtype can require gradients, but the "
                 "parameter \"",
                 name, "\" is of dtype ", tenon::repr(parameter.dtype())));
    }
  }
  for (const auto& [name, parameter] : named) parameter.requires_grad_(requires_grad);
  return *this;
}

void zero_grad(const Tensor& parameter, bool set_to_none) {
  const Tensor grad = parameter.grad();
  if (!grad.defined()) return;
  if (set_to_none) {
    parameter.set_grad({});
    return;
  }
  const Tensor own = grad.is_leaf() ? grad : grad.detach();
  if (own.requires_grad()) own.requires_grad_(false);
  const NoGradScope no_grad;
  own.zero_();
  if (!own.is(grad)) parameter.set_grad(own);
}

void Module::zero_grad(const ZeroGradOptions& options) {
  const bool set_to_none = options.set_to_none;  // user code may destroy the options
  for (const Tensor& parameter : parameters()) nn::zero_grad(parameter, set_to_none);
}

namespace detail {

void note_exact_type(Module& module, const ExactType& type) {
  if (*type.type == typeid(module)) SlotEditor::set_exact_type(module, type);
}

}  // namespace detail

}  // namespace tenon::nn
