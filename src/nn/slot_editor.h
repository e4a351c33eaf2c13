// SlotEditor: what only the library does to slots and modules. Nothing here checks anything.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "nn/extras.h"
#include "tenon/nn/hooks.h"
#include "tenon/nn/module.h"
#include "tenon/nn/slots.h"

namespace tenon::nn {

class SlotEditor {
 public:
  static void rebind(TensorSlot& slot, Tensor value) noexcept { slot.value_ = std::move(value); }
  static bool is_dynamic(const TensorSlot& slot) noexcept { return slot.dynamic_; }
  static bool is_dynamic(const ChildSlot& slot) noexcept { return slot.dynamic_; }
  static void assign(TensorSlot& slot, Tensor value) { slot.assign(std::move(value)); }
  static void assign(ChildSlot& slot, std::shared_ptr<Module> module) {
    slot.assign(std::move(module));
  }
  // Modules change places; how many places each has stays the same.
  static void swap(ChildSlot& a, ChildSlot& b) noexcept { a.module_.swap(b.module_); }
  // Gives all children their positions as names.
  static void number_children(Module& module);
  // Slots that the module owns, without a value yet.
  static TensorSlot& make_parameter(Module& owner, std::string_view name);
  static TensorSlot& make_buffer(Module& owner, std::string_view name, bool persistent);
  static ChildSlot& make_child(Module& owner, std::string_view name);

  static const detail::ExactType* exact_type(const Module& module) noexcept {
    return module.exact_type_;
  }
  static void set_exact_type(Module& module, const detail::ExactType& type) noexcept {
    if (module.exact_type_.load() != &type) module.exact_type_ = &type;
  }
  static detail::Named find(const Module& module, std::string_view name) {
    return module.find_name(name);
  }
  // In how many places the module is.
  static std::int32_t places(const Module& module) noexcept { return module.places_; }
  static detail::ModuleExtras* extras(const Module& module) noexcept {
    return module.extras_.get();
  }
  // Null if it is no lazy module.
  static LazyModuleMixin* lazy(Module& module) noexcept { return module.lazy_mixin(); }
  static void load_from_state_dict(Module& module, LoadContext& context) {
    module.load_from_state_dict(context);
  }
  static void save_to_state_dict(const Module& module, StateDict& destination,
                                 const std::string& prefix, bool keep_vars) {
    module.save_to_state_dict(destination, prefix, keep_vars);
  }
  // Whether every place that the module it was cloned from has is filled.
  static bool is_complete(const Module& module) noexcept;
};

}  // namespace tenon::nn
