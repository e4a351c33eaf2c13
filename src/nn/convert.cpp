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
#include "nn/tree_guard.h"
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
  std::size_t seen = 0;        // what the tree's guard had counted then
  Tensor old;
  Tensor fresh;
  How how = How::nothing;
};

// Note [User code in a conversion]
// The function, and the operators of user-defined tensors, may do anything to the modules. Modules
// are reached one by one, and the guard of each says whether the list that is being gone through is
// still the same. What was staged stays good: the old tensor is held, and whether its slot still
// has it is known to the guard of the tree, which also keeps all modules but the root. The checks
// that depend on what others hold of a tensor are made again when no user code is to come.
class Conversion {
 public:
  // An elementwise function does the same to a tensor and to the bytes it shares with others.
  Conversion(Module& root, const Function& f, bool recurse, bool elementwise)
      : root_(root),
        tree_(root, kDuring),
        f_(f),
        policy_(get_conversion_policy()),
        recurse_(recurse),
        elementwise_(elementwise) {
    if (elementwise) shared_ = detail::SharedStorages(root, recurse);
  }

  // Parameters before buffers: a buffer that is somebody's parameter is converted as that.
  void stage() {
    const NoGradScope no_grad;
    stage_parameters(root_);
    for (std::size_t i = 0; i < modules_.size(); ++i) {
      detail::Guard guard(*modules_[i], kDuring);
      stage_slots(*modules_[i], guard, detail::Guard::kBuffers);
      tree_.check();
    }
    // The function may have taken views of tensors that it was not asked about yet, and given them
    // hooks. Looking into user-defined tensors is their classes' code, too, so what is said by
    // counts is asked again afterwards.
    for (const bool search : {true, false}) {
      for (Replacement& one : replacements_) prepare(one, search);
      for (const auto& [index, grad] : grads_) {
        const Replacement& one = replacements_[index];
        if (one.how == How::swap || one.how == How::rebind)
          BodyEditor::need_autograd(one.fresh.body());
        if (grad.how == How::swap) check_swappable(grad.old, grad.fresh, one, ".grad", search);
      }
    }
    tree_.check();
    tree_.was_touched(nullptr);  // so that asking needs no memory
  }

  // Nothing here fails: what it takes has been asked for. (But for the layout of a tensor of more
  // than five dimensions whose data is set.)
  void commit() {
    for (std::size_t i = 0; i < replacements_.size(); ++i) commit_one(replacements_[i]);
    for (const auto& [index, grad] : grads_) commit_grad(replacements_[index], grad);
    for (const Other& other : others_) {
      const Replacement& one = replacements_[other.index];
      if (one.how == How::rebind) rebind(other.slot, other.seen, one.fresh);
    }
    for (const Replacement& one : replacements_) {
      if (one.how == How::rebind) rebind(one.slot, one.seen, one.fresh);
    }
  }

 private:
  using How = Replacement::How;
  struct Grad {
    Tensor old;
    Tensor fresh;  // undefined if it stays
    How how = How::nothing;
  };
  struct Other {  // a further name
    TensorSlot* slot;
    std::size_t seen;
    std::uint32_t index;
  };
  static constexpr const char* kDuring = "a conversion was running";

  // Children before parents, each once.
  void stage_parameters(Module& module) {
    if (SlotEditor::places(module) > 1 && !seen_.insert(&module).second) return;
    detail::Guard guard(module, kDuring);
    if (recurse_)
      detail::for_each_child(module, guard, [this](Module& child) { stage_parameters(child); });
    stage_slots(module, guard, detail::Guard::kParameters);
    modules_.push_back(&module);
  }

  void stage_slots(const Module& module, detail::Guard& guard, detail::Guard::Entries entries) {
    guard.begin(entries);
    const auto slots = [&] {
      return entries == detail::Guard::kParameters ? module.parameter_slots()
                                                   : module.buffer_slots();
    };
    for (std::size_t i = 0; i < slots().size(); ++i) {
      TensorSlot* slot = slots()[i];
      if (slot->defined()) stage_slot(*slot, [&] { guard.check(entries); });
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

  // `check` throws if the slot cannot be gone back to. It is called after everything that may be
  // user code.
  template <class Check>
  void stage_slot(TensorSlot& slot, Check check) {
    const Tensor old = slot.get();
    const auto index = static_cast<std::uint32_t>(replacements_.size());
    // A tensor that nothing else holds has no other name.
    if (old.cell()->use_count() > 2) {
      const auto [found, is_new] = indices_.emplace(old.cell().get(), index);
      if (!is_new) {
        others_.push_back({&slot, tree_.count(), found->second});
        return;
      }
    }
    const bool is_parameter = slot.kind() == TensorSlot::Kind::parameter;
    Replacement one{&slot, tree_.count(), old, {}, How::nothing};
    one.fresh = converted(old);
    check();
    if (is_uninitialized(old) && !one.fresh.is(old)) {
      stage_lazy(one, is_parameter);
    } else if (!is_parameter) {
      // Buffers are replaced, whatever the policy.
      one.how = one.fresh.is(old) ? How::nothing : How::rebind;
    } else {
      stage_parameter(one, check);
      stage_grad(one, index, check);
    }
    check();
    replacements_.push_back(std::move(one));
  }

  // A tensor without a shape changes its dtype or its device, whatever the policy, and stays the
  // tensor it is.
  void stage_lazy(Replacement& one, bool is_parameter) const {
    one.how = is_parameter ? How::swap : How::rebind;
    if (is_parameter && !is_uninitialized(one.fresh))
      one.fresh = make_parameter(one.fresh, one.old.requires_grad());
  }

  template <class Check>
  void stage_parameter(Replacement& one, Check check) const {
    one.how = way_for(one.old, one.fresh);
    check();
    const bool differentiable = is_differentiable(one.fresh.dtype());
    if (one.how != How::nothing && one.old.requires_grad() && !differentiable) {
      throw DTypeError(
          concat("data set to a tensor that requires gradients must be floating point "
                 "or complex dtype: ",
                 name_of(one), " cannot become ", tenon::repr(one.fresh.dtype())));
    }
    if (one.how == How::swap && BodyEditor::prepare_renewal(one.old.body(), one.fresh.body())) {
      one.how = How::renew;
      return;
    }
    if (one.how == How::rebind || one.how == How::swap)
      one.fresh = make_parameter(one.fresh, one.old.requires_grad());
    if (one.how == How::swap) check_swappable(one.old, one.fresh, one, "");
  }

  template <class Check>
  void stage_grad(const Replacement& one, std::uint32_t index, Check check) {
    const Tensor old = one.old.grad();
    if (!old.defined()) return;
    Grad grad{old, f_(old), How::nothing};
    check();
    if (grad.fresh.is(old)) {
      grad.fresh = {};
    } else {
      const bool swaps = one.how == How::swap || one.how == How::renew;
      grad.how = swaps ? How::swap : way_for(old, grad.fresh);
      if (grad.how != How::set_data) {
        grad.fresh = grad.fresh.detach();
        grad.fresh.requires_grad_(old.requires_grad());
      }
      if (grad.how == How::swap) check_swappable(old, grad.fresh, one, ".grad");
    }
    if (one.how == How::rebind || grad.how == How::rebind) check_leaf(old, one);
    grads_.emplace_back(index, std::move(grad));
  }

  // The history leads to the parameter that is replaced, which would keep itself and its grad.
  void check_leaf(const Tensor& grad, const Replacement& one) const {
    if (grad.is_leaf()) return;
    throw AutogradError(concat("param_grad must be a leaf tensor: ", name_of(one),
                               ".grad was calculated by ", grad.grad_fn()->name(),
                               ", and another tensor is to take its place. Detach it first, with "
                               "set_grad(grad().detach()), "
                               "or convert with nn::SwapOnConversionScope"));
  }

  // What is decided by who else holds the tensor, when everybody had the opportunity.
  void prepare(Replacement& one, bool search) const {
    if (one.how == How::set_data && !can_set_data(one.old.body(), one.fresh.body())) {
      one.how = How::rebind;
      one.fresh = make_parameter(one.fresh, one.old.requires_grad());
    }
    if (one.how == How::renew && !BodyEditor::prepare_renewal(one.old.body(), one.fresh.body())) {
      one.how = How::swap;
      one.fresh = make_parameter(one.fresh, one.old.requires_grad());
    }
    if (one.how != How::swap) return;
    check_swappable(one.old, one.fresh, one, "", search);
    prepare_carry_over(one.old.body(), one.fresh.body());
  }

  std::string name_of(const Replacement& one) const {
    if (tree_.was_touched(one.slot, one.seen)) return "a tensor that has left its place";
    return concat(one.slot->owner().type_name(), ".", one.slot->name());
  }

  // The search for one tensor in the other runs user code.
  void check_swappable(const Tensor& old, const Tensor& fresh, const Replacement& one,
                       const char* suffix, bool search = true) const {
    try {
      if (search) {
        check_swap(old, fresh);
      } else {
        check_swap_counts(old, fresh);
      }
    } catch (const SwapError& error) {
      throw SwapError(concat("_apply(): Couldn't swap ", name_of(one), suffix, ": ", error.what()));
    }
  }

  static void commit_one(const Replacement& one) {
    switch (one.how) {
      case How::nothing:
      case How::rebind: break;
      case How::set_data: one.old.set_data(one.fresh); break;
      case How::renew: BodyEditor::renew(one.old.body(), one.fresh.body(), true); break;
      case How::swap:
        carry_over(one.old.body(), one.fresh.body());
        swap_checked(one.old, one.fresh);
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
    const Tensor& parameter = one.how == How::rebind ? one.fresh : one.old;
    BodyEditor::need_autograd(parameter.body()).grad = now;
  }

  // What has been put there since stays.
  void rebind(TensorSlot* slot, std::size_t seen, const Tensor& fresh) const noexcept {
    if (tree_.was_touched(slot, seen)) return;
    tree_.tell_outer(slot);
    SlotEditor::rebind(*slot, fresh);
  }

  Module& root_;
  detail::TreeGuard tree_;
  const Function& f_;
  ConversionPolicy policy_;
  detail::SharedStorages shared_;
  bool recurse_;
  bool elementwise_;
  std::vector<Module*> modules_;  // that have been reached
  std::unordered_set<const Module*> seen_;
  std::vector<Replacement> replacements_;
  std::vector<std::pair<std::uint32_t, Grad>> grads_;
  std::unordered_map<const void*, std::uint32_t> indices_;  // by cell
  std::vector<Other> others_;
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
      const detail::Guard guard(*this, "it was converted");  // the handler is somebody's code
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
