// What is in a module, as lists and by paths.
#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "nn/extras.h"
#include "nn/slot_editor.h"
#include "tenon/error.h"
#include "tenon/nn/module.h"

namespace tenon::nn {

namespace {

// Calls visit with every module of a tree and its name, the root first and parents before children.
template <class Visit>
class Walk {
 public:
  Walk(bool remove_duplicate, std::string prefix, Visit& visit)
      : once_(remove_duplicate), path_(std::move(prefix)), visit_(visit) {}

  void from(Module& module) {
    if (once_ && !seen_.insert(&module).second) return;
    visit_(path_, module);
    for (const ChildSlot* slot : module.child_slots()) {
      if (!slot->defined()) continue;
      const std::size_t length = path_.size();
      if (length != 0) path_ += '.';
      path_ += slot->name();
      from(*slot->module());
      path_.resize(length);
    }
  }

 private:
  bool once_;
  std::string path_;
  Visit& visit_;
  std::unordered_set<const Module*> seen_;
};

template <class Visit>
void for_each_module(const Module& root, bool remove_duplicate, std::string prefix, Visit visit) {
  Walk<Visit>(remove_duplicate, std::move(prefix), visit).from(const_cast<Module&>(root));
}

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() ? name : concat(prefix, ".", name);
}

// Calls take with the name and the value of each tensor, as named_parameters has them.
template <class Slots, class Take>
void for_each_tensor(const Module& root, const NamedOptions& options, Slots slots, Take take) {
  std::unordered_set<const void*> seen;
  const auto from_module = [&](const std::string& prefix, const Module& module) {
    for (const TensorSlot* slot : slots(module)) {
      if (!slot->defined()) continue;
      if (options.remove_duplicate && !seen.insert(slot->get().cell().get()).second) continue;
      take(prefix, *slot);
    }
  };
  if (!options.recurse) return from_module(options.prefix, root);
  for_each_module(root, options.remove_duplicate, options.prefix, from_module);
}

const auto parameter_slots_of = [](const Module& module) { return module.parameter_slots(); };
const auto buffer_slots_of = [](const Module& module) { return module.buffer_slots(); };

template <class Slots>
Module::NamedTensors named(const Module& root, const NamedOptions& options, Slots slots) {
  Module::NamedTensors all;
  for_each_tensor(root, options, slots, [&](const std::string& prefix, const TensorSlot& slot) {
    all.emplace_back(joined(prefix, slot.name()), slot.get());
  });
  return all;
}

template <class Slots>
std::vector<Tensor> unnamed(const Module& root, bool recurse, Slots slots) {
  std::vector<Tensor> all;
  for_each_tensor(root, {.recurse = recurse}, slots,
                  [&](const std::string&, const TensorSlot& slot) { all.push_back(slot.get()); });
  return all;
}

// What is before the last dot, and behind it.
std::pair<std::string_view, std::string_view> split_last(std::string_view target) {
  const std::size_t dot = target.rfind('.');
  if (dot == std::string_view::npos) return {{}, target};
  return {target.substr(0, dot), target.substr(dot + 1)};
}

}  // namespace

std::vector<Tensor> Module::parameters(bool recurse) const {
  return unnamed(*this, recurse, parameter_slots_of);
}
Module::NamedTensors Module::named_parameters(const NamedOptions& options) const {
  return named(*this, options, parameter_slots_of);
}
std::vector<Tensor> Module::buffers(bool recurse) const {
  return unnamed(*this, recurse, buffer_slots_of);
}
Module::NamedTensors Module::named_buffers(const NamedOptions& options) const {
  return named(*this, options, buffer_slots_of);
}

Module::NamedModules Module::named_children() const {
  NamedModules all;
  std::unordered_set<const Module*> seen;
  for (const ChildSlot* slot : children_) {
    if (slot->defined() && seen.insert(slot->module().get()).second)
      all.emplace_back(slot->name(), slot->module().get());
  }
  return all;
}

std::vector<Module*> Module::children() const {
  std::vector<Module*> all;
  for (const auto& [name, module] : named_children()) all.push_back(module);
  return all;
}

Module::NamedModules Module::named_modules(const NamedModulesOptions& options) const {
  NamedModules all;
  for_each_module(
      *this, options.remove_duplicate, options.prefix,
      [&](const std::string& name, Module& module) { all.emplace_back(name, &module); });
  return all;
}

std::vector<Module*> Module::modules() const {
  std::vector<Module*> all;
  for_each_module(*this, true, {},
                  [&](const std::string&, Module& module) { all.push_back(&module); });
  return all;
}

std::vector<std::string> Module::meta_tensors() const {
  std::vector<std::string> names;
  const auto take = [&](const std::string& prefix, const TensorSlot& slot) {
    if (slot->is_meta()) names.push_back(joined(prefix, slot.name()));
  };
  const NamedOptions options{.remove_duplicate = false};
  for_each_tensor(*this, options, parameter_slots_of, take);
  for_each_tensor(*this, options, buffer_slots_of, take);
  return names;
}

Module& Module::get_submodule(std::string_view target) const {
  const Module* module = this;
  for (bool more = !target.empty(); more;) {
    const std::size_t dot = target.find('.');
    const std::string_view name = target.substr(0, dot);
    const detail::Named named = module->find_name(name);
    if (named.child == nullptr && named.tensor == nullptr)
      throw IndexError(concat(module->type_name(), " has no attribute `", name, "`"));
    if (named.child == nullptr || !named.child->defined())
      throw IndexError(concat("`", name, "` is not an nn.Module"));
    module = named.child->module().get();
    more = dot != std::string_view::npos;
    if (more) target.remove_prefix(dot + 1);
  }
  return const_cast<Module&>(*module);
}

Tensor Module::get_parameter(std::string_view target) const {
  const auto [path, name] = split_last(target);
  const Module& module = get_submodule(path);
  const detail::Named named = module.find_name(name);
  if (named.child == nullptr && named.tensor == nullptr)
    throw IndexError(concat(module.type_name(), " has no attribute `", name, "`"));
  if (named.tensor == nullptr || named.tensor->kind() != TensorSlot::Kind::parameter ||
      !named.tensor->defined())
    throw IndexError(concat("`", name, "` is not an nn.Parameter"));
  return named.tensor->get();
}

Tensor Module::get_buffer(std::string_view target) const {
  const auto [path, name] = split_last(target);
  const Module& module = get_submodule(path);
  const detail::Named named = module.find_name(name);
  if (named.child == nullptr && named.tensor == nullptr)
    throw IndexError(concat(module.type_name(), " has no attribute `", name, "`"));
  if (named.tensor == nullptr || named.tensor->kind() != TensorSlot::Kind::buffer)
    throw IndexError(concat("`", name, "` is not a buffer"));
  return named.tensor->get();
}

void Module::set_submodule(std::string_view target, std::shared_ptr<Module> module, bool strict) {
  if (target.empty()) throw ValueError("Cannot set the submodule without a target name!");
  if (!module) {
    throw ValueError(concat("set_submodule: there is no module to put under \"", target,
                            "\"; assign null to its slot if that is what is meant"));
  }
  const auto [path, name] = split_last(target);
  Module& parent = get_submodule(path);
  const detail::Named there = parent.find_name(name);
  if (there.tensor != nullptr) throw IndexError(concat("`", name, "` is not an nn.Module"));
  if (there.child != nullptr) return there.child->assign(std::move(module));
  if (strict) throw IndexError(concat(parent.type_name(), " has no attribute `", name, "`"));
  parent.add_child(name, std::move(module));
}

}  // namespace tenon::nn
