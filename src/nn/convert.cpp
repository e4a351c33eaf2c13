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
#include "core/uninitialized.h"
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

// One tensor on its way to being another, or its grad.
struct Replacement {
  enum class How : std::uint8_t {
    nothing,
    set_data,  // the tensor takes over the data
    rebind,    // another tensor takes its place
    swap,      // the tensor becomes the other
    renew,     // the same, of one that nothing but its handles holds: cheaper
  };
  TensorSlot* slot = nullptr;  // the first place it is in
  Tensor fresh;
  How how = How::nothing;
};

class Conversion {
 public:
  // An elementwise function does the same to a tensor and to the bytes it shares with others.
  Conversion(Module& root, const Function& f, bool recurse, bool elementwise)
      : f_(f), policy_(get_conversion_policy()), elementwise_(elementwise) {
    if (recurse) {
      gather(root);
    } else {
      modules_.push_back(&root);
    }
    if (!elementwise) return;
    for_each_slot([this](const TensorSlot& slot) { shared_.add(slot.get()); });
  }

  void stage() {
    const NoGradScope no_grad;
    for_each_slot([this](TensorSlot& slot) { stage_slot(slot); });
    // The function may have taken views of tensors that it was not asked about yet, and given them
    // hooks.
    for (Replacement& one : replacements_) {
      if (one.how == How::renew &&
          !BodyEditor::prepare_renewal(one.slot->get().body(), one.fresh.body())) {
        one.how = How::swap;
        one.fresh = make_parameter(one.fresh, one.slot->get().requires_grad());
        check(one.slot->get(), one.fresh, *one.slot, "");
      }
      if (one.how == How::swap) prepare_carry_over(one.slot->get().body(), one.fresh.body());
    }
    for (const auto& [index, grad] : grads_) {
      const Replacement& one = replacements_[index];
      if (one.how == How::swap || one.how == How::rebind)
        BodyEditor::need_autograd(one.fresh.body());
    }
  }

  // Nothing here fails: what it takes has been asked for. (But for the layout of a tensor of more
  // than five dimensions whose data is set.)
  void commit() {
    for (std::size_t i = 0; i < replacements_.size(); ++i) commit_one(replacements_[i]);
    for (const auto& [index, grad] : grads_) commit_grad(replacements_[index], grad);
    for (const auto& [slot, index] : others_) {
      if (replacements_[index].how == How::rebind)
        SlotEditor::rebind(*slot, replacements_[index].fresh);
    }
    for (const Replacement& one : replacements_) {
      if (one.how == How::rebind) SlotEditor::rebind(*one.slot, one.fresh);
    }
  }

 private:
  using How = Replacement::How;
  struct Grad {
    Tensor old;
    Tensor fresh;  // undefined if it stays
    How how = How::nothing;
  };

  // Children before parents, each once.
  void gather(Module& module) {
    if (SlotEditor::places(module) > 1 && !seen_.insert(&module).second) return;
    for (const ChildSlot* slot : module.child_slots()) {
      if (slot->defined()) gather(*slot->module());
    }
    modules_.push_back(&module);
  }

  // Parameters before buffers: a buffer that is somebody's parameter is converted as that.
  template <class F>
  void for_each_slot(F f) const {
    for (Module* module : modules_) {
      for (TensorSlot* slot : module->parameter_slots()) {
        if (slot->defined()) f(*slot);
      }
    }
    for (Module* module : modules_) {
      for (TensorSlot* slot : module->buffer_slots()) {
        if (slot->defined()) f(*slot);
      }
    }
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

  void stage_slot(TensorSlot& slot) {
    const Tensor& old = slot.get();
    const auto index = static_cast<std::uint32_t>(replacements_.size());
    // A tensor that nothing else holds has no other name.
    if (old.cell()->use_count() > 1) {
      const auto [found, is_new] = indices_.emplace(old.cell().get(), index);
      if (!is_new) {
        others_.emplace_back(&slot, found->second);
        return;
      }
    }
    Replacement one{&slot, converted(old), How::nothing};
    if (is_uninitialized(old) && !one.fresh.is(old)) {
      stage_lazy(one, old);
      replacements_.push_back(std::move(one));
      return;
    }
    if (slot.kind() == TensorSlot::Kind::buffer) {
      // Buffers are replaced, whatever the policy.
      one.how = one.fresh.is(old) ? How::nothing : How::rebind;
    } else {
      stage_parameter(one, old);
      stage_grad(one, old, index);
    }
    replacements_.push_back(std::move(one));
  }

  // A tensor without a shape changes its dtype or its device, whatever the policy, and stays the
  // tensor it is.
  void stage_lazy(Replacement& one, const Tensor& old) const {
    one.how = How::swap;
    if (one.slot->kind() == TensorSlot::Kind::buffer) {
      one.how = How::rebind;
    } else if (!is_uninitialized(one.fresh)) {
      one.fresh = make_parameter(one.fresh, old.requires_grad());
    }
    if (one.how == How::swap) check(old, one.fresh, *one.slot, "");
  }

  void stage_parameter(Replacement& one, const Tensor& old) const {
    one.how = way_for(old, one.fresh);
    const bool differentiable = is_differentiable(one.fresh.dtype());
    if (one.how != How::nothing && old.requires_grad() && !differentiable) {
      throw DTypeError(
          concat("data set to a tensor that requires gradients must be floating point "
                 "or complex dtype: ",
                 name_of(*one.slot), " cannot become ", tenon::repr(one.fresh.dtype())));
    }
    if (one.how == How::swap && BodyEditor::prepare_renewal(old.body(), one.fresh.body())) {
      one.how = How::renew;
      return;
    }
    if (one.how == How::rebind || one.how == How::swap)
      one.fresh = make_parameter(one.fresh, old.requires_grad());
    if (one.how == How::swap) check(old, one.fresh, *one.slot, "");
  }

  void stage_grad(const Replacement& one, const Tensor& parameter, std::uint32_t index) {
    const Tensor old = parameter.grad();
    if (!old.defined()) return;
    Grad grad{old, f_(old), How::nothing};
    if (grad.fresh.is(old)) {
      grad.fresh = {};
    } else {
      const bool swaps = one.how == How::swap || one.how == How::renew;
      grad.how = swaps ? How::swap : way_for(old, grad.fresh);
      if (grad.how != How::set_data) {
        grad.fresh = grad.fresh.detach();
        grad.fresh.requires_grad_(old.requires_grad());
      }
      if (grad.how == How::swap) check(old, grad.fresh, *one.slot, ".grad");
    }
    if (one.how == How::rebind || grad.how == How::rebind) check_leaf(old, *one.slot);
    grads_.emplace_back(index, std::move(grad));
  }

  // The history leads to the parameter that is replaced, which would keep itself and its grad.
  static void check_leaf(const Tensor& grad, const TensorSlot& slot) {
    if (grad.is_leaf()) return;
    throw AutogradError(concat("param_grad must be a leaf tensor: ", name_of(slot),
                               ".grad was calculated by ", grad.grad_fn()->name(),
                               ", and another tensor is to take its place. Detach it first, with "
                               "set_grad(grad().detach()), "
                               "or convert with nn::SwapOnConversionScope"));
  }

  static std::string name_of(const TensorSlot& slot) {
    return concat(slot.owner().type_name(), ".", slot.name());
  }

  void check(const Tensor& old, const Tensor& fresh, const TensorSlot& slot,
             const char* suffix) const {
    try {
      check_swap(old, fresh);
    } catch (const SwapError& error) {
      throw SwapError(
          concat("_apply(): Couldn't swap ", name_of(slot), suffix, ": ", error.what()));
    }
  }

  static void commit_one(const Replacement& one) {
    const Tensor& old = one.slot->get();
    switch (one.how) {
      case How::nothing:
      case How::rebind: break;
      case How::set_data: old.set_data(one.fresh); break;
      case How::renew: BodyEditor::renew(old.body(), one.fresh.body(), true); break;
      case How::swap:
        carry_over(old.body(), one.fresh.body());
        swap_checked(old, one.fresh);
        break;
    }
  }

  static void commit_grad(const Replacement& one, const Grad& grad) {
    Tensor now = grad.old;
    switch (grad.how) {
      case How::nothing: break;
      case How::set_data: now.set_data(grad.fresh); break;
      case How::swap:
      case How::renew: swap_checked(now, grad.fresh); break;
      case How::rebind: now = grad.fresh; break;
    }
    const Tensor& parameter = one.how == How::rebind ? one.fresh : one.slot->get();
    BodyEditor::need_autograd(parameter.body()).grad = now;
  }

  const Function& f_;
  ConversionPolicy policy_;
  detail::SharedStorages shared_;
  bool elementwise_;
  std::vector<Module*> modules_;
  std::unordered_set<const Module*> seen_;
  std::vector<Replacement> replacements_;
  std::vector<std::pair<std::uint32_t, Grad>> grads_;
  std::unordered_map<const void*, std::uint32_t> indices_;     // by cell
  std::vector<std::pair<TensorSlot*, std::uint32_t>> others_;  // further names
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
    if (options.memory_format && !is_uninitialized(tensor) &&
        (tensor.dim() == 4 || tensor.dim() == 5))
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

Module& Module::move_to(Device device) {
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
      *this,
      [&](const Tensor& tensor) {
        return is_uninitialized(tensor) ? tensor.to(device)
                                        : empty_like(tensor, {.device = device});
      },
      options.recurse, true);
  return *this;
}

}  // namespace tenon::nn
