// SlotEditor: what only the library does to slots and modules. Nothing here checks anything.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
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
  // TypeError or ValueError for what cannot be under that name, as TensorSlot::assign has it.
  static void check_value(std::string_view name, TensorSlot::Kind kind, const Tensor& value);
  // What is registered under a name for a value, which registration hooks may replace: the slot of
  // that kind, or null if there is none. ValueError if the name cannot be.
  static TensorSlot* checked_slot(Module& owner, const std::string& name, TensorSlot::Kind kind,
                                  Tensor& value);
  // The last part of an assignment: what was checked and has been to the registration hooks.
  static void put(TensorSlot& slot, Tensor value);
  static void put(ChildSlot& slot, std::shared_ptr<Module> module);
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
