// Module::to and its kin: every tensor of a module replaced by what a function makes of it.
#include <atomic>
#include <exception>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/warn.h"
#include "core/body_editor.h"
#include "core/swap.h"
#include "nn/shared_storages.h"
#include "nn/slot_editor.h"
#include "ops/state.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/factories.h"
#include "tenon/flattened.h"
#include "tenon/nn/module.h"

namespace tenon::nn {

namespace {

using Function = std::function<Tensor(const Tensor&)>;

// One tensor on its way to being another.
struct Replacement {
  enum class How : std::uint8_t { nothing, set_data, rebind, swap };
  Tensor old;
  Tensor fresh;
  How how = How::nothing;
  Tensor old_grad;
  Tensor fresh_grad;
  How grad_how = How::nothing;
};

class Conversion {
 public:
  // An elementwise function does the same to a tensor and to the bytes it shares with others.
  Conversion(Module& root, const Function& f, bool recurse, bool elementwise)
      : f_(f), policy_(get_conversion_policy()), shared_(root, recurse), elementwise_(elementwise) {
    if (recurse) {
      gather(root);
    } else {
      modules_.push_back(&root);
    }
  }

  void stage() {
    const NoGradScope no_grad;
    for (Module* module : modules_) {
      for (TensorSlot* slot : module->parameter_slots()) {
        if (slot->defined()) stage_parameter(*module, *slot);
      }
    }
    for (Module* module : modules_) {
      for (TensorSlot* slot : module->buffer_slots()) {
        if (slot->defined()) stage_buffer(*slot);
      }
    }
  }

  void commit() {
    for (auto& [cell, replacement] : replacements_) commit_one(replacement);
    for (Module* module : modules_) {
      for (TensorSlot* slot : module->parameter_slots()) rebind(*slot);
      for (TensorSlot* slot : module->buffer_slots()) rebind(*slot);
    }
  }

 private:
  using How = Replacement::How;

  // Children before parents, each once.
  void gather(Module& module) {
    if (!seen_.insert(&module).second) return;
    for (const ChildSlot* slot : module.child_slots()) {
      if (slot->defined()) gather(*slot->module());
    }
    modules_.push_back(&module);
  }

  Tensor converted(const Tensor& tensor) {
    if (elementwise_) {
      if (auto shared = shared_.map(tensor, f_)) return *std::move(shared);
    }
    Tensor fresh = f_(tensor);
    if (!fresh.defined())
      throw TypeError("Module::convert: the function returned an undefined tensor");
    return fresh;
  }

  How way_for(const Tensor& old, const Tensor& fresh) const {
    if (fresh.is(old)) return How::nothing;
    const bool flattens = fresh.body().is_wrapper() && fresh.body().flatten().has_value();
    if (policy_ == ConversionPolicy::swap || flattens) return How::swap;
    if (policy_ == ConversionPolicy::set_data && can_set_data(old.body(), fresh.body()))
      return How::set_data;
    return How::rebind;
  }

  void stage_parameter(Module& module, TensorSlot& slot) {
    const Tensor& old = slot.get();
    const auto [found, is_new] = replacements_.try_emplace(old.cell().get());
    if (!is_new) return;
    Replacement& replacement = found->second;
    replacement.old = old;
    replacement.fresh = converted(old);
    replacement.how = way_for(old, replacement.fresh);
    if (replacement.how == How::set_data && old.requires_grad() &&
        !is_differentiable(replacement.fresh.dtype())) {
      throw DTypeError(
          concat("data set to a tensor that requires gradients must be floating point "
                 "or complex dtype: ",
                 module.type_name(), ".", slot.name(), " cannot become ",
                 tenon::repr(replacement.fresh.dtype())));
    }
    if (replacement.how == How::rebind || replacement.how == How::swap)
      replacement.fresh = make_parameter(replacement.fresh, old.requires_grad());
    if (replacement.how == How::swap) check(old, replacement.fresh, module, slot, "");
    stage_grad(replacement, module, slot);
  }

  void stage_grad(Replacement& replacement, Module& module, const TensorSlot& slot) {
    const Tensor grad = replacement.old.grad();
    if (!grad.defined()) return;
    replacement.old_grad = grad;
    Tensor fresh = f_(grad);
    if (fresh.is(grad) && replacement.how != How::swap && replacement.how != How::rebind) return;
    if (fresh.is(grad)) {
      replacement.grad_how = How::nothing;  // it moves to the new parameter
      return;
    }
    replacement.grad_how = replacement.how == How::swap ? How::swap : way_for(grad, fresh);
    if (replacement.grad_how != How::set_data) {
      fresh = fresh.detach();
      fresh.requires_grad_(grad.requires_grad());
    }
    if (replacement.grad_how == How::swap) check(grad, fresh, module, slot, ".grad");
    replacement.fresh_grad = std::move(fresh);
  }

  void check(const Tensor& old, const Tensor& fresh, const Module& module, const TensorSlot& slot,
             const char* suffix) const {
    try {
      check_swap(old, fresh);
    } catch (const SwapError& error) {
      throw SwapError(concat("_apply(): Couldn't swap ", module.type_name(), ".", slot.name(),
                             suffix, ": ", error.what()));
    }
  }

  // Buffers are replaced, once for each tensor however many names it has.
  void stage_buffer(TensorSlot& slot) {
    const auto [found, is_new] = replacements_.try_emplace(slot.get().cell().get());
    if (!is_new) return;
    Replacement& replacement = found->second;
    replacement.old = slot.get();
    replacement.fresh = converted(slot.get());
    replacement.how = replacement.fresh.is(replacement.old) ? How::nothing : How::rebind;
  }

  static void commit_one(Replacement& replacement) {
    const Tensor &old = replacement.old, &fresh = replacement.fresh;
    switch (replacement.how) {
      case How::nothing: break;
      case How::set_data: old.set_data(fresh); break;
      case How::rebind: break;
      case How::swap:
        if (replacement.old_grad.defined()) old.set_grad({});
        carry_over(old.body(), fresh.body());
        swap_checked(old, fresh);
        break;
    }
    if (!replacement.old_grad.defined()) return;
    // The tensor that is the parameter now.
    const Tensor& parameter = replacement.how == How::rebind ? fresh : old;
    Tensor grad = replacement.old_grad;
    switch (replacement.grad_how) {
      case How::nothing: break;
      case How::set_data: grad.set_data(replacement.fresh_grad); break;
      case How::rebind: grad = replacement.fresh_grad; break;
      case How::swap: swap_checked(grad, replacement.fresh_grad); break;
    }
    BodyEditor::need_autograd(parameter.body()).grad = grad;
  }

  void rebind(TensorSlot& slot) const {
    if (!slot.defined()) return;
    const auto found = replacements_.find(slot.get().cell().get());
    if (found != replacements_.end() && found->second.how == How::rebind)
      SlotEditor::rebind(slot, found->second.fresh);
  }

  const Function& f_;
  ConversionPolicy policy_;
  detail::SharedStorages shared_;
  bool elementwise_;
  std::vector<Module*> modules_;
  std::unordered_set<const Module*> seen_;
  std::unordered_map<const void*, Replacement> replacements_;  // by cell
};

void convert_all(Module& root, const Function& f, bool recurse, bool elementwise) {
  Conversion conversion(root, f, recurse, elementwise);
  conversion.stage();
  conversion.commit();
}

}  // namespace

Module& Module::convert(const std::function<Tensor(const Tensor&)>& f, bool recurse) {
  convert_all(*this, f, recurse, false);
  return *this;
}

Module& Module::to(const ModuleToOptions& options) {
  if (options.dtype) {
    if (!is_differentiable(*options.dtype)) {
      throw DTypeError(
          concat("nn.Module.to only accepts floating point or complex dtypes, but got "
                 "desired dtype=",
                 tenon::repr(*options.dtype), ". Module::type() converts to any"));
    }
    if (is_complex(*options.dtype)) {
      warn(
          "Complex modules are a new feature: layers may not expect parameters and buffers that "
          "are "
          "complex");
    }
  }
  const Function f = [&](const Tensor& tensor) {
    ToOptions one{.device = options.device, .non_blocking = options.non_blocking};
    if (tensor.is_floating_point() || tensor.is_complex()) one.dtype = options.dtype;
    if (options.memory_format && (tensor.dim() == 4 || tensor.dim() == 5))
      one.memory_format = *options.memory_format;
    try {
      return tensor.to(one);
    } catch (const NotImplementedError& error) {
      if (!tensor.is_meta()) throw;
      throw NotImplementedError(
          concat(error.what(),
                 " Please use Module::to_empty() instead of Module::to() when moving a "
                 "module from meta to a different device."));
    }
  };
  convert_all(*this, f, true, !options.memory_format.has_value());
  return *this;
}

Module& Module::move(Device device) {
  convert_all(*this, [&](const Tensor& tensor) { return tensor.to(device); }, true, true);
  return *this;
}

Module& Module::floating(DType dtype) {
  convert_all(
      *this,
      [&](const Tensor& tensor) { return tensor.is_floating_point() ? tensor.to(dtype) : tensor; },
      true, true);
  return *this;
}

Module& Module::type(DType dtype) {
  convert_all(*this, [&](const Tensor& tensor) { return tensor.to(dtype); }, true, true);
  return *this;
}

Module& Module::to_empty(Device device, const ToEmptyOptions& options) {
  convert_all(
      *this, [&](const Tensor& tensor) { return empty_like(tensor, {.device = device}); },
      options.recurse, true);
  return *this;
}

}  // namespace tenon::nn
