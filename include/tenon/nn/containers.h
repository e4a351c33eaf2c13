// Modules that hold other modules, or tensors: in a row that is run one after another, in lists,
// and by name. Their entries have PyTorch's names in a state dict: "0", "1", ... or the key.
//
//   nn::Sequential net{nn::make<nn::Linear>(784, 128), nn::make<nn::Linear>(128, 10)};
//   auto same = nn::make<nn::Sequential>({nn::make<nn::Linear>(784, 128), nn::make<nn::ReLU>()});
//   nn::ModuleList<nn::Linear> layers;
//   for (int i = 0; i < 10; ++i) layers.append(nn::make<nn::Linear>(64, 64));
//
// In braces, which are evaluated in order: in parentheses the last layer may be made first, and
// draw the first random numbers.
//
// Positions below zero count from the end. IndexError for one that is not there.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/nn/callable.h"
#include "tenon/nn/guard.h"
#include "tenon/nn/module.h"
#include "tenon/tensor_list.h"

namespace tenon::nn {

namespace detail {

// What Sequential and ModuleList do with the children of a module. All move modules between places
// and leave the places' names in order.
TENON_API std::size_t position(std::int64_t index, std::size_t size, bool end_allowed = false);
TENON_API void sequence_append(Module& list, std::shared_ptr<Module> module);
TENON_API void sequence_set(Module& list, std::int64_t index, std::shared_ptr<Module> module);
TENON_API void sequence_insert(Module& list, std::int64_t index, std::shared_ptr<Module> module);
// Null if there is none of that name.
TENON_API const ChildSlot* child_named(const Module& module, std::string_view name);
TENON_API std::shared_ptr<Module> sequence_pop(Module& list, std::int64_t index);
TENON_API const std::shared_ptr<Module>& sequence_at(const Module& list, std::int64_t index);
// What may be in them.
TENON_API void check_list_child(const Module* child);
[[noreturn]] TENON_API void throw_wrong_child(const Module& container, const Module& child,
                                              const std::type_info& takes);
[[noreturn]] TENON_API void throw_no_entry(const Module& container, std::string_view key);
[[noreturn]] TENON_API void throw_no_module(std::string_view key);
template <class M>
void check_class(const Module& container, const Module* child) {
  if (child != nullptr && dynamic_cast<const M*>(child) == nullptr)
    throw_wrong_child(container, *child, typeid(M));
}
// The places from begin up to end, as Python's slices count them.
TENON_API std::pair<std::size_t, std::size_t> slice_of(std::int64_t begin,
                                                       std::optional<std::int64_t> end,
                                                       std::size_t size);

template <class M>
void note_if_known(const std::shared_ptr<M>& module) {
  if (module) note_exact_type_of<M>(*module);
}

// Goes over the modules of a list. None of them is null.
template <class M>
class ModuleIterator {
 public:
  using value_type = M;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::forward_iterator_tag;
  using pointer = M*;
  using reference = M&;

  ModuleIterator() noexcept = default;
  explicit ModuleIterator(ChildSlot* const* at) noexcept : at_(at) {}
  M& operator*() const noexcept { return static_cast<M&>(*(*at_)->module()); }
  M* operator->() const noexcept { return &**this; }
  ModuleIterator& operator++() noexcept {
    ++at_;
    return *this;
  }
  ModuleIterator operator++(int) noexcept { return ModuleIterator(at_++); }
  friend bool operator==(ModuleIterator a, ModuleIterator b) noexcept { return a.at_ == b.at_; }

 private:
  ChildSlot* const* at_ = nullptr;
};

}  // namespace detail

// Runs its modules one after another: each is given a tensor, the result of the one before, and
// gives one. Any module can be in it whose first argument is a tensor and whose others can be left
// out.
class TENON_API Sequential : public Layer {
 public:
  Sequential() = default;
  template <std::derived_from<Module>... Ms>
  explicit Sequential(std::shared_ptr<Ms>... modules) {
    (append(std::move(modules)), ...);
  }
  // Those of a list, in its order.
  template <std::same_as<std::vector<std::shared_ptr<Module>>> V>
  explicit Sequential(const V& modules) {
    extend(modules);
  }
  template <std::size_t N>
  explicit Sequential(const std::shared_ptr<Module> (&modules)[N]) {
    extend(modules);
  }
  // With names of their own.
  explicit Sequential(std::initializer_list<NamedModule> modules)
      : Sequential(NamedModuleList(modules)) {}
  template <std::same_as<NamedModuleList> V>
  explicit Sequential(V modules) {
    add_named(modules);
  }

  template <std::derived_from<Module> M>
  Sequential& append(std::shared_ptr<M> module) {
    detail::note_if_known(module);
    detail::sequence_append(*this, std::move(module));
    return *this;
  }
  template <std::derived_from<Module> M>
  Sequential& insert(std::int64_t index, std::shared_ptr<M> module) {
    detail::note_if_known(module);
    detail::sequence_insert(*this, index, std::move(module));
    return *this;
  }
  template <std::derived_from<Module> M>
  void set(std::int64_t index, std::shared_ptr<M> module) {
    detail::note_if_known(module);
    detail::sequence_set(*this, index, std::move(module));
  }
  Sequential& extend(const Sequential& other);  // shares its modules
  Sequential& extend(std::span<const std::shared_ptr<Module>> modules) {
    // What appending runs may change the list.
    const std::vector<std::shared_ptr<Module>> all(modules.begin(), modules.end());
    for (const auto& module : all) append(module);
    return *this;
  }
  template <std::size_t N>
  Sequential& extend(const std::shared_ptr<Module> (&modules)[N]) {
    return extend(std::span<const std::shared_ptr<Module>>(modules));
  }
  // Takes one out and gives it back; those behind it move up, and all are numbered anew.
  std::shared_ptr<Module> pop(std::int64_t index = -1) {
    return detail::sequence_pop(*this, index);
  }
  // A Sequential with some of the modules, which both have.
  std::shared_ptr<Sequential> slice(std::int64_t begin, std::optional<std::int64_t> end = {}) const;

  std::size_t size() const noexcept { return child_slots().size(); }
  bool empty() const noexcept { return size() == 0; }
  Module& operator[](std::int64_t index) const { return *share(index); }
  std::shared_ptr<Module> share(std::int64_t index) const {
    return detail::sequence_at(*this, index);
  }
  detail::ModuleIterator<Module> begin() const {
    return detail::ModuleIterator<Module>(child_slots().data());
  }
  detail::ModuleIterator<Module> end() const {
    return detail::ModuleIterator<Module>(child_slots().data() + size());
  }

 protected:
  Tensor forward(const Tensor& input) override;
  void check_child(const Module* child) const override { detail::check_list_child(child); }

 private:
  void add_named(NamedModuleList modules);
};

namespace detail {
// Text with runs of equal modules as one line: "(0-2): 3 x ReLU()".
TENON_API std::string module_list_repr(const Module& list);
}  // namespace detail

// Modules by position, of one class or of any: ModuleList<Linear>, ModuleList<>. It is not run.
template <class M = Module>
class ModuleList : public Module {
 public:
  ModuleList() = default;
  template <std::derived_from<M>... Ms>
    requires(sizeof...(Ms) > 0)
  explicit ModuleList(std::shared_ptr<Ms>... modules) {
    (append(std::move(modules)), ...);
  }
  template <std::same_as<std::vector<std::shared_ptr<M>>> V>
  explicit ModuleList(const V& modules) {
    extend(modules);
  }
  template <std::size_t N>
  explicit ModuleList(const std::shared_ptr<M> (&modules)[N]) {
    extend(modules);
  }

  template <std::derived_from<M> Actual>
  ModuleList& append(std::shared_ptr<Actual> module) {
    detail::note_if_known(module);
    detail::sequence_append(*this, std::move(module));
    return *this;
  }
  template <std::derived_from<M> Actual>
  ModuleList& insert(std::int64_t index, std::shared_ptr<Actual> module) {
    detail::note_if_known(module);
    detail::sequence_insert(*this, index, std::move(module));
    return *this;
  }
  template <std::derived_from<M> Actual>
  void set(std::int64_t index, std::shared_ptr<Actual> module) {
    detail::note_if_known(module);
    detail::sequence_set(*this, index, std::move(module));
  }
  ModuleList& extend(std::span<const std::shared_ptr<M>> modules) {
    const std::vector<std::shared_ptr<M>> all(modules.begin(), modules.end());
    for (const auto& module : all) append(module);
    return *this;
  }
  template <std::size_t N>
  ModuleList& extend(const std::shared_ptr<M> (&modules)[N]) {
    return extend(std::span<const std::shared_ptr<M>>(modules));
  }
  ModuleList& extend(const ModuleList& other) { return extend(other.slice(0)); }
  std::shared_ptr<M> pop(std::int64_t index = -1) {
    return std::static_pointer_cast<M>(detail::sequence_pop(*this, index));
  }
  // Some of the modules: ModuleList<M>(list.slice(1)) shares all but the first.
  std::vector<std::shared_ptr<M>> slice(std::int64_t begin,
                                        std::optional<std::int64_t> end = {}) const {
    const auto [from, to] = detail::slice_of(begin, end, size());
    std::vector<std::shared_ptr<M>> some;
    for (std::size_t i = from; i < to; ++i)
      some.push_back(std::static_pointer_cast<M>(child_slots()[i]->module()));
    return some;
  }

  std::size_t size() const noexcept { return child_slots().size(); }
  bool empty() const noexcept { return size() == 0; }
  M& operator[](std::int64_t index) const { return *share(index); }
  std::shared_ptr<M> share(std::int64_t index) const {
    return std::static_pointer_cast<M>(detail::sequence_at(*this, index));
  }
  detail::ModuleIterator<M> begin() const {
    return detail::ModuleIterator<M>(child_slots().data());
  }
  detail::ModuleIterator<M> end() const {
    return detail::ModuleIterator<M>(child_slots().data() + size());
  }

  std::string repr() const override { return detail::module_list_repr(*this); }

 protected:
  void check_child(const Module* child) const override {
    detail::check_list_child(child);
    detail::check_class<M>(*this, child);
  }
};
template <class M>
ModuleList(std::vector<std::shared_ptr<M>>) -> ModuleList<M>;

// Modules by name, in the order they came. It is not run.
template <class M = Module>
class ModuleDict : public Module {
 public:
  ModuleDict() = default;
  explicit ModuleDict(std::initializer_list<std::pair<std::string, std::shared_ptr<M>>> modules) {
    for (const auto& [key, module] : modules) set(key, module);
  }
  template <std::same_as<NamedModuleList> V>
    requires std::same_as<M, Module>
  explicit ModuleDict(V modules) {
    for (const auto& [key, module] : modules) set(key, module);
  }

  // Replaces what is there, in its place, or adds to the end.
  template <std::derived_from<M> Actual>
  void set(std::string_view key, std::shared_ptr<Actual> module) {
    register_module(key, std::move(module));
  }
  std::shared_ptr<M> pop(std::string_view key) {
    std::shared_ptr<M> module = share(key);
    remove(key);
    return module;
  }
  // What is released may be the last of a module, whose destructor may be somebody's code.
  void clear() {
    const detail::Guard guard(*this, "clear() was running");
    for (const std::string& key : keys()) {
      if (contains(key)) remove(key);  // what the one before has released may have removed it
      guard.check();
    }
  }
  void update(const ModuleDict& other) {
    // Registration hooks may change the other one meanwhile.
    std::vector<std::pair<std::string, std::shared_ptr<M>>> entries;
    for (const ChildSlot* slot : other.child_slots())
      entries.emplace_back(slot->name(), std::static_pointer_cast<M>(slot->module()));
    const detail::Guard guard(*this, "update() was running");
    for (auto& [key, module] : entries) {
      set(key, std::move(module));
      guard.check();
    }
  }

  std::size_t size() const noexcept { return child_slots().size(); }
  bool contains(std::string_view key) const { return detail::child_named(*this, key) != nullptr; }
  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    for (const ChildSlot* slot : child_slots()) {
      if (slot->registered()) keys.push_back(slot->name());
    }
    return keys;
  }
  M& operator[](std::string_view key) const {
    if (M* module = share(key).get()) return *module;
    detail::throw_no_module(key);
  }
  std::shared_ptr<M> share(std::string_view key) const {
    if (const ChildSlot* slot = detail::child_named(*this, key))
      return std::static_pointer_cast<M>(slot->module());
    detail::throw_no_entry(*this, key);
  }

 protected:
  void check_child(const Module* child) const override { detail::check_class<M>(*this, child); }
};

// Parameters by position. A tensor that is no parameter becomes one that requires grad.
class TENON_API ParameterList : public Module {
 public:
  ParameterList() = default;
  template <std::same_as<std::vector<Tensor>> V>
  explicit ParameterList(const V& parameters) {
    extend(parameters);
  }
  template <std::size_t N>
  explicit ParameterList(const Tensor (&parameters)[N]) {
    extend(std::span<const Tensor>(parameters));
  }
  // A TensorList, an array, a span.
  template <class L>
    requires std::convertible_to<const L&, std::span<const Tensor>> &&
             (!std::same_as<L, std::vector<Tensor>>)
  explicit ParameterList(const L& parameters) {
    extend(std::span<const Tensor>(parameters));
  }

  ParameterList& append(const Tensor& parameter);
  ParameterList& extend(TensorList parameters);
  void set(std::int64_t index, const Tensor& parameter);
  Tensor pop(std::int64_t index = -1);

  std::size_t size() const noexcept { return parameter_slots().size(); }
  const Tensor& operator[](std::int64_t index) const {
    return parameter_slots()[detail::position(index, size())]->get();
  }

  std::string extra_repr() const override;
};

// Parameters by name, in the order they came.
class TENON_API ParameterDict : public Module {
 public:
  ParameterDict() = default;
  explicit ParameterDict(std::initializer_list<std::pair<std::string, Tensor>> parameters);

  void set(std::string_view key, const Tensor& parameter);
  Tensor pop(std::string_view key);
  void clear();
  void update(const ParameterDict& other);

  std::size_t size() const noexcept { return parameter_slots().size(); }
  bool contains(std::string_view key) const;
  std::vector<std::string> keys() const;
  Tensor operator[](std::string_view key) const { return get_parameter(key); }

  std::string extra_repr() const override;
};

}  // namespace tenon::nn
