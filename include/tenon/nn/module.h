// Module: the base of everything that has parameters. It knows its slots (tenon/nn/slots.h) and
// gives them out in PyTorch's order: as lists, as a state dict, as text; it loads, converts and
// clones them. What it calculates is said by a class derived from Callable (tenon/nn/callable.h).
//
//   class Net final : public nn::Layer {
//    public:
//     nn::Child<nn::Linear> fc1{this, "fc1", 784, 128};
//     nn::Child<nn::Linear> fc2{this, "fc2", 128, 10};
//
//    protected:
//     Tensor forward(const Tensor& x) override { return fc2(fc1(x)); }
//   };
//
//   auto net = with_device("meta", [] { return std::make_unique<Net>(); });
//   net->load_state_dict(load("net.pth", {.mmap = true}), {.assign = true});
//   std::cout << net->repr();
//
// A module is not copied or moved, because hooks, parents and tied weights refer to it; nn::clone
// makes another one. Methods that are const change nothing themselves; hooks may.
//
// Threads: any number may read a module, forward included. Loading, converting, assigning to slots
// and registering are writing: nobody else may use the module meanwhile. To replace the weights of
// a model that is in use, see docs/guide/hot_reload.md.
//
// User code that runs meanwhile (hooks, functions given to apply and convert, overridden functions,
// operators of user-defined tensors, devices) may change modules, also those that are being gone
// through:
//  - Another tensor or module under a name that stays takes effect for what has not been reached.
//  - Entries that come or go in a list (parameters, buffers, children of one module) that is being
//    gone through are an Error, as in Python ("dictionary changed size during iteration"), thrown
//    when the function comes back to that list. In every other list they take effect for what has
//    not been reached.
//  - A module that leaves its place lives until what is running in it is done. To destroy the
//    module whose function was called is an Error, too; it is thrown without the module being
//    touched.
// Conversions and loads change nothing if they throw. A tensor that leaves its place after a
// conversion has reached it is converted all the same, and what has taken its place stays; one that
// is written to, swapped, given other data or another grad after that makes the conversion an
// Error, as the change would be lost. For loads see tenon/nn/load_state_dict.h. Memory that was
// replaced is released when everything is in its place: its deleters are user code, too.
#pragma once

#include <any>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/nn/conversion.h"
#include "tenon/nn/hooks.h"
#include "tenon/nn/load_state_dict.h"
#include "tenon/nn/parameter.h"
#include "tenon/nn/slots.h"
#include "tenon/state_dict.h"
#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon::nn {

class LazyModuleMixin;

struct NamedOptions {
  std::string prefix = {};
  bool recurse = true;
  bool remove_duplicate = true;
};
struct NamedModulesOptions {
  std::string prefix = {};
  bool remove_duplicate = true;
};
struct StateDictOptions {
  std::string prefix = {};
  // The tensors themselves, with their history, instead of detached aliases.
  bool keep_vars = false;
};
struct ModuleToOptions {
  std::optional<Device> device = {};
  std::optional<DType> dtype = {};  // for floating and complex tensors
  bool non_blocking = false;
  std::optional<MemoryFormat> memory_format = {};  // for tensors of 4 and 5 dimensions
};
struct ToEmptyOptions {
  bool recurse = true;
};
struct ZeroGradOptions {
  bool set_to_none = true;
};

// Hooks around state dicts (below).
using StateDictPreHook = std::function<void(Module&, const std::string& prefix, bool keep_vars)>;
using StateDictPostHook = std::function<void(Module&, StateDict& state, const std::string& prefix,
                                             const Value& local_metadata)>;
using LoadStateDictPreHook = std::function<void(Module&, LoadContext&)>;
using LoadStateDictPostHook = std::function<void(Module&, IncompatibleKeys&)>;

namespace detail {
struct ModuleExtras;
struct Named;
}  // namespace detail

class TENON_API Module {
 public:
  using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
  using NamedModules = std::vector<std::pair<std::string, Module*>>;

  virtual ~Module();
  Module& operator=(const Module&) = delete;

  // Names and text.

  // The last part of the class's name, unless it says otherwise.
  virtual std::string type_name() const;
  // What stands between the parentheses besides children: "in_features=3, out_features=5".
  virtual std::string extra_repr() const;
  // PyTorch's text, character for character.
  virtual std::string repr() const;
  // This module as another class, or null if it is none. A module that was lazy and is not any more
  // (tenon/nn/lazy.h) is none of the lazy classes.
  template <class M>
  M* as() {
    return const_cast<M*>(std::as_const(*this).as<M>());
  }
  template <class M>
  const M* as() const {
    const M* found = dynamic_cast<const M*>(this);
    if constexpr (requires { found->became_plain(); }) {
      if (found != nullptr && found->became_plain()) return nullptr;
    }
    return found;
  }

  // What is in it. Null entries are passed over; a tensor or module that has several names comes
  // once, under its first, unless remove_duplicate is false.

  std::vector<Tensor> parameters(bool recurse = true) const;
  NamedTensors named_parameters(const NamedOptions& options = {}) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  NamedTensors named_buffers(const NamedOptions& options = {}) const;
  std::vector<Module*> children() const;
  NamedModules named_children() const;
  // This module first, then what is in it, parents before children.
  std::vector<Module*> modules() const;
  NamedModules named_modules(const NamedModulesOptions& options = {}) const;
  // By names joined with dots; "" is the module itself. IndexError says where the path ends.
  Module& get_submodule(std::string_view target) const;
  Tensor get_parameter(std::string_view target) const;
  Tensor get_buffer(std::string_view target) const;
  // Puts a module where the path leads. Strict: something must be there already.
  void set_submodule(std::string_view target, std::shared_ptr<Module> module, bool strict = false);
  // The names of all tensors that are on meta: what a load has left without data.
  std::vector<std::string> meta_tensors() const;
  // The slots of this module alone, in order, null ones included.
  std::span<TensorSlot* const> parameter_slots() const noexcept { return parameters_; }
  std::span<TensorSlot* const> buffer_slots() const noexcept { return buffers_; }
  std::span<ChildSlot* const> child_slots() const noexcept { return children_; }

  // Names that are only known at run time. ValueError for a name that is empty, has a dot in it or
  // is taken by another kind of entry; registering again replaces the value and keeps the place.

  void register_parameter(std::string_view name, const Tensor& parameter);
  void register_buffer(std::string_view name, const Tensor& buffer, BufferOptions options = {});
  template <class M>
  void register_module(std::string_view name, std::shared_ptr<M> module) {
    if constexpr (!std::is_same_v<M, Module>) {
      if (module) detail::note_exact_type_of<M>(*module);
    }
    add_child(name, std::move(module));
  }
  template <class M>
  void add_module(std::string_view name, std::shared_ptr<M> module) {
    register_module(name, std::move(module));
  }
  // Takes an entry out (Python's del): a later one of that name comes last. IndexError if there is
  // none.
  void remove(std::string_view name);

  // Changing all of it. Each returns the module.

  // Children first, then the module; one that has several names comes once for each. The children
  // are those that a module has when apply comes to it, whatever f does to the list.
  Module& apply(const std::function<void(Module&)>& f);
  // A class may do more; it is asked for each of its places.
  virtual Module& train(bool mode = true);
  Module& eval() { return train(false); }
  bool training() const noexcept { return training_; }
  // DTypeError, with nothing changed, if a tensor of whole numbers is to require grad.
  Module& requires_grad_(bool requires_grad = true);
  void zero_grad(const ZeroGradOptions& options = {});

  // Conversions. How tensors are replaced is the policy's choice (tenon/nn/conversion.h); gradients
  // follow their parameters; what is one tensor, or shares memory, still does afterwards. All of
  // the new tensors are made before the first is put in place: an error leaves the module as it
  // was.

  // DTypeError for a dtype that is neither floating nor complex.
  Module& to(const ModuleToOptions& options);
  template <std::same_as<DType> D>
  Module& to(D dtype) {
    return to(ModuleToOptions{.dtype = dtype});
  }
  Module& to(Device device) { return to(ModuleToOptions{.device = device}); }
  Module& to(Device device, DType dtype) {
    return to(ModuleToOptions{.device = device, .dtype = dtype});
  }
  Module& to(const Tensor& like) {
    return to(ModuleToOptions{.device = like.device(), .dtype = like.dtype()});
  }
  Module& cpu() { return move_to(Device::cpu()); }
  Module& cuda(std::optional<int> index = {}) { return move_to(Device::cuda(index)); }
  // Floating tensors only: whole numbers, bools and complex ones stay what they are.
  Module& floating(DType dtype);
  Module& float_() { return floating(float32); }
  Module& double_() { return floating(float64); }
  Module& half() { return floating(float16); }
  // (In a module's own code the dtype is tenon::bfloat16.)
  Module& bfloat16() { return floating(tenon::bfloat16); }
  // Every tensor, whole numbers too.
  Module& type(DType dtype);
  // Memory without values, on a device: what makes a module that was built on meta real.
  Module& to_empty(Device device, const ToEmptyOptions& options = {});
  // Any function of a tensor. It may write to its argument; tensors over one storage that count
  // versions together (detached parts of it) may be written to with it.
  Module& convert(const std::function<Tensor(const Tensor&)>& f, bool recurse = true);

  // State dicts.

  // Every parameter and persistent buffer under every name it has, with the version of each module
  // as metadata. Tensors are aliases of the module's memory, not copies.
  StateDict state_dict(const StateDictOptions& options = {}) const;
  // The same, added to what is there. Of the versions nothing is noted in a destination without
  // metadata; set_metadata(Value::ordered_dict({})) gives it some.
  void state_dict(StateDict& destination, const StateDictOptions& options = {}) const;
  // LoadError with every problem, and the module untouched, if it does not fit. What was loaded is
  // the module's afterwards; the state dict is never changed.
  IncompatibleKeys load_state_dict(const StateDict& state,
                                   const LoadStateDictOptions& options = {});

  RemovableHandle register_state_dict_pre_hook(StateDictPreHook hook);
  RemovableHandle register_state_dict_post_hook(StateDictPostHook hook);
  // Before the module takes anything: may edit what comes in.
  RemovableHandle register_load_state_dict_pre_hook(LoadStateDictPreHook hook);
  // When everything is judged and nothing changed yet: may edit the lists of keys.
  RemovableHandle register_load_state_dict_post_hook(LoadStateDictPostHook hook);
  // When the load is done, children before parents.
  RemovableHandle register_load_state_dict_committed_hook(LoadStateDictPostHook hook);

  // Runs the module on arguments whose types are only known at run time (tenon/nn/hooks.h); those
  // left out at the end have their default. TypeError if they are not what forward takes.
  virtual std::any invoke(Arguments args);
  // The same for one tensor, giving one.
  virtual Tensor invoke(const Tensor& input);
  Tensor operator()(const Tensor& input) { return invoke(input); }

  // What a class may say about its state.

  // Goes into the metadata, and tells a later load what it is dealing with.
  virtual std::int64_t version() const { return 1; }
  // State that is no tensor of the module, under the key "_extra_state". Nothing unless overridden.
  virtual std::optional<Value> get_extra_state() const;
  // Takes what get_extra_state gave. May throw: what other modules were given is then taken back.
  virtual void set_extra_state(const Value& state);
  // Whether a load expects extra state: by default if get_extra_state() gives some.
  virtual bool takes_extra_state() const;

 protected:
  Module() noexcept;
  // Only nn::clone copies; Error otherwise. Slots copy themselves.
  Module(const Module& other);

  // This module's own part of a state dict, and of a load. An override describes what is to happen
  // and must not change the module; the usual is context.load_own().
  virtual void save_to_state_dict(StateDict& destination, const std::string& prefix,
                                  bool keep_vars) const;
  virtual void load_from_state_dict(LoadContext& context);
  // TypeError or ValueError if a module, or null, may not be put under a name that is no member of
  // the class: what containers of one class say. Anything may unless overridden.
  virtual void check_child(const Module* child) const;

 private:
  friend class ChildSlot;
  friend class SlotEditor;
  friend class TensorSlot;

  // What a registered name stands for, and keeping track of names.
  detail::Named find_name(std::string_view name) const;
  void check_name(std::string_view name, const char* kind) const;
  void name_added(const detail::Named& named);
  void name_removed(std::string_view name) noexcept;
  void add_child(std::string_view name, std::shared_ptr<Module> module);
  Module& move_to(Device device);
  detail::ModuleExtras& extras();
  void delete_slots() noexcept;
  // What nn::Lazy is besides: for loads, which ask every module.
  virtual LazyModuleMixin* lazy_mixin() noexcept;

  std::vector<TensorSlot*> parameters_, buffers_;
  std::vector<ChildSlot*> children_;
  std::unique_ptr<detail::ModuleExtras> extras_;
  // Known and counted by those who put it somewhere, which may be several threads.
  std::atomic<const detail::ExactType*> exact_type_ = nullptr;
  std::atomic<std::int32_t> places_ = 0;  // how many child slots hold it
  bool training_ = true;
};

TENON_API std::ostream& operator<<(std::ostream& out, const Module& module);

namespace detail {
TENON_API std::shared_ptr<Module> clone_module(const Module& module);
}

// A module of the same class with everything copied: tensors (those that are one, or share memory,
// do so again), children, hooks, and whatever else the class has. Gradients are not. Classes need
// nothing for it but members that can be copied. Error if the class of this module, or of one in
// it, was never named where it was made (make it with nn::make, or in a Child), or cannot be
// copied.
template <class M>
std::shared_ptr<M> clone(const M& module) {
  if constexpr (!std::is_abstract_v<M>) detail::note_exact_type_of<M>(const_cast<M&>(module));
  return std::static_pointer_cast<M>(detail::clone_module(module));
}

// A module whose tensors have memory but no values, drawn no random numbers for: it is built on
// meta and made real on the device.
template <class M, class... A>
  requires std::constructible_from<M, A...>
std::shared_ptr<M> skip_init(Device device, A&&... args) {
  auto made = with_device(Device::meta(), [&] { return make<M>(std::forward<A>(args)...); });
  made->to_empty(device);
  return made;
}
template <class M, class A>
std::shared_ptr<M> skip_init(Device device, A&& a, typename detail::OptionsOf<M>::type options) {
  return skip_init<M, A, typename detail::OptionsOf<M>::type&>(device, std::forward<A>(a), options);
}
template <class M, class A, class B>
std::shared_ptr<M> skip_init(Device device, A&& a, B&& b,
                             typename detail::OptionsOf<M>::type options) {
  return skip_init<M, A, B, typename detail::OptionsOf<M>::type&>(device, std::forward<A>(a),
                                                                  std::forward<B>(b), options);
}
template <class M, class A, class B, class C>
std::shared_ptr<M> skip_init(Device device, A&& a, B&& b, C&& c,
                             typename detail::OptionsOf<M>::type options) {
  return skip_init<M, A, B, C, typename detail::OptionsOf<M>::type&>(
      device, std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), options);
}

}  // namespace tenon::nn
