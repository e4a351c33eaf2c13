// Module::to and its kin: every tensor of a module replaced by what a function makes of it.
#include <atomic>
#include <exception>
#include <functional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/releases.h"
#include "base/text.h"
#include "base/warn.h"
#include "core/body_editor.h"
#include "core/swap.h"
#include "core/uninitialized.h"
#include "nn/replacement.h"
#include "nn/shared_storages.h"
#include "nn/slot_editor.h"
#include "nn/tree_guard.h"
#include "ops/support/state.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/flattened.h"
#include "tenon/nn/module.h"
#include "tenon/ops/factories.h"

namespace tenon::nn {

namespace {

using Function = std::function<Tensor(const Tensor&)>;

// Note [User code in a conversion]
// The function, and the operators of user-defined tensors, may do anything to the modules. Modules
// are reached one by one, and the guard of each says whether the list that is being gone through is
// still the same. What was staged stays good: the old tensor is held, and whether its slot still
// has it is known to the guard of the tree, which also keeps all modules but the root. The checks
// that depend on what others hold of a tensor, and on what it is, are made again when no user code
// is to come. What is replaced is released when everything is in its place: the deleters of
// borrowed memory and what hooks have captured are user code, too.
class Conversion {
 public:
  // A function of the user's may write to its argument; the library's own do not. An elementwise
  // one does the same to a tensor and to the bytes it shares with others.
  enum class Kind : std::uint8_t { of_user, own, own_elementwise };
  Conversion(Module& root, const Function& f, bool recurse, Kind kind)
      : root_(root),
        tree_(root, kDuring),
        f_(f),
        policy_(get_conversion_policy()),
        recurse_(recurse),
        kind_(kind) {
    if (kind == Kind::own_elementwise) shared_ = detail::SharedStorages(root, recurse);
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
    check_unchanged();
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
    Seen was = {};
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
    if (kind_ == Kind::own_elementwise) {
      if (auto shared = shared_.map(tensor, f_)) return *std::move(shared);
    }
    return given(tensor);
  }

  // What the function makes of it. `staging` is what is not in the list yet.
  Tensor given(const Tensor& tensor, Replacement* staging = nullptr) {
    const std::int64_t before = tensor.version();
    Tensor fresh = f_(tensor);
    if (!fresh.defined())
      throw TypeError("Module::convert: the function returned an undefined tensor");
    if (tensor.version() != before && !is_only_read(tensor)) note_written(tensor, before, staging);
    return fresh;
  }

  // The library's own functions do not write to a tensor that is no wrapper. If one was written to
  // meanwhile, a device's backend did it, and the write would be lost.
  bool is_only_read(const Tensor& tensor) const {
    return kind_ != Kind::of_user && !tensor.body().is_wrapper();
  }
  // What the tensor was when it was converted; a write in the middle of that came afterwards. Where
  // the tensor has other data now, what was made of it takes its place, as in PyTorch.
  Seen seen(const Tensor& tensor, const Seen& before) const {
    const Seen now = Seen::of(tensor);
    const bool same = now.body == before.body && now.memory == before.memory;
    return same && is_only_read(tensor) ? before : now;
  }

  // The function has written to its argument. That changes the version of all tensors that count
  // with it, as detached parts of one storage do, and is not taken for a change of those.
  void note_written(const Tensor& tensor, std::int64_t before, Replacement* staging) {
    if (tensor.body().is_wrapper() || tensor.storage().use_count() < 2) return;
    const std::int64_t version = tensor.version();
    const void* memory = tensor.body().storage().identity();
    const auto note = [&](const Tensor& other, Seen& was) {
      if (was.memory == memory && was.version == before && other.version() == version)
        was.version = version;
    };
    for (Replacement& one : replacements_) note(one.old, one.was);
    if (staging != nullptr) note(staging->old, staging->was);
    for (auto& [index, grad] : grads_) note(grad.old, grad.was);
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
    const Seen before = Seen::of(old);
    one.fresh = converted(old);
    check();
    one.was = seen(old, before);
    one.is_parameter = is_parameter;
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
  void stage_grad(Replacement& one, std::uint32_t index, Check check) {
    const Tensor old = one.old.grad();
    if (!old.defined()) return;
    Grad grad{old, {}, How::nothing};
    const Seen before = Seen::of(old);
    grad.fresh = given(old, &one);
    check();
    grad.was = seen(old, before);
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

  // Error for a tensor or a grad that user code has changed since it was converted.
  void check_unchanged() const {
    std::vector<const Tensor*> grads(replacements_.size());
    for (const auto& [index, grad] : grads_) {
      if (!grad.was.still(grad.old)) lost(replacements_[index], ".grad");
      grads[index] = &grad.old;
    }
    for (std::size_t i = 0; i < replacements_.size(); ++i) {
      const Replacement& one = replacements_[i];
      if (one.how == How::nothing && grads[i] == nullptr) continue;
      if (!one.was.still(one.old)) lost(one, "");
      if (!one.is_parameter || is_uninitialized(one.old)) continue;
      const Tensor grad = one.old.grad();
      const bool same = grads[i] == nullptr ? !grad.defined() : grad.is(*grads[i]);
      if (!same) lost(one, ".grad");
    }
  }
  [[noreturn]] void lost(const Replacement& one, const char* suffix) const {
    throw Error(concat("_apply(): ", name_of(one), suffix,
                       " was changed by user code that the conversion was running, after it had "
                       "been converted: the change would be lost. Nothing has been converted"));
  }

  std::string name_of(const Replacement& one) const {
    if (tree_.was_touched(one.slot, one.seen)) return "a tensor that has left its place";
    const std::string name(one.slot->name());  // type_name() may be user code
    return concat(one.slot->owner().type_name(), ".", name);
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
  Kind kind_;
  std::vector<Module*> modules_;  // that have been reached
  std::unordered_set<const Module*> seen_;
  std::vector<Replacement> replacements_;
  std::vector<std::pair<std::uint32_t, Grad>> grads_;
  std::unordered_map<const void*, std::uint32_t> indices_;  // by cell
  std::vector<Other> others_;
};

using Kind = Conversion::Kind;

void convert_all(Module& root, const Function& f, bool recurse, Kind kind) {
  // What was replaced goes last, while the guard still tells whether the root outlives it.
  const detail::Guard guard(root, "what a conversion had replaced was released");
  {
    Releases replaced;
    Conversion conversion(root, f, recurse, kind);
    conversion.stage();
    const Releases::Scope later(replaced);
    conversion.commit();
  }
  guard.check();
}

}  // namespace

Module& Module::convert(const std::function<Tensor(const Tensor&)>& f, bool recurse) {
  const Function held = f;  // which may destroy what it was given as
  convert_all(*this, held, recurse, Kind::of_user);
  return *this;
}

Module& Module::to(const ModuleToOptions& given) {
  const ModuleToOptions options = given;  // user code may destroy what it was given as
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
  convert_all(*this, f, true, options.memory_format ? Kind::own : Kind::own_elementwise);
  return *this;
}

Module& Module::move_to(Device device) {
  convert_all(
      *this, [&](const Tensor& tensor) { return tensor.to(device); }, true, Kind::own_elementwise);
  return *this;
}

Module& Module::floating(DType dtype) {
  convert_all(
      *this,
      [&](const Tensor& tensor) { return tensor.is_floating_point() ? tensor.to(dtype) : tensor; },
      true, Kind::own_elementwise);
  return *this;
}

Module& Module::type(DType dtype) {
  convert_all(
      *this, [&](const Tensor& tensor) { return tensor.to(dtype); }, true, Kind::own_elementwise);
  return *this;
}

Module& Module::to_empty(Device device, const ToEmptyOptions& options) {
  convert_all(
      *this,
      [&](const Tensor& tensor) {
        return is_uninitialized(tensor) ? tensor.to(device)
                                        : empty_like(tensor, {.device = device});
      },
      options.recurse, Kind::own_elementwise);
  return *this;
}

}  // namespace tenon::nn
