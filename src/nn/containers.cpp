#include "tenon/nn/containers.h"

#include <algorithm>

#include "base/stored_dtype.h"
#include "base/text.h"
#include "nn/module_text.h"
#include "nn/slot_editor.h"
#include "nn/tree_guard.h"
#include "tenon/error.h"

namespace tenon::nn {

namespace detail {

std::size_t position(std::int64_t index, std::size_t size, bool end_allowed) {
  const auto n = static_cast<std::int64_t>(size);
  const std::int64_t at = index < 0 ? index + n : index;
  if (at < 0 || at > n || (at == n && !end_allowed)) {
    throw IndexError(
        concat("index ", index, " is out of range: there are ", n, n == 1 ? " entry" : " entries"));
  }
  return static_cast<std::size_t>(at);
}

std::pair<std::size_t, std::size_t> slice_of(std::int64_t begin, std::optional<std::int64_t> end,
                                             std::size_t size) {
  const auto n = static_cast<std::int64_t>(size);
  const auto bound = [n](std::int64_t at) {
    return std::clamp(at < 0 ? at + n : at, std::int64_t{0}, n);
  };
  const std::int64_t from = bound(begin), to = bound(end.value_or(n));
  return {static_cast<std::size_t>(from), static_cast<std::size_t>(std::max(from, to))};
}

const ChildSlot* child_named(const Module& module, std::string_view name) {
  return SlotEditor::find(module, name).child;
}

namespace {

void check_not_null(const Module* module) {
  if (module == nullptr)
    throw ValueError("a list of modules cannot hold null: leave the entry out");
}

// Modules move between places, which members of a class are not for.
void check_places(const Module& list, std::size_t from) {
  for (const ChildSlot* slot : list.child_slots().subspan(from)) {
    if (!SlotEditor::is_dynamic(*slot)) {
      throw ValueError(concat("the entries of this ", list.type_name(), " cannot move: \"",
                              slot->name(), "\" is a member of its class"));
    }
  }
}

}  // namespace

void check_list_child(const Module* child) { check_not_null(child); }

void throw_wrong_child(const Module& container, const Module& child, const std::type_info& takes) {
  throw TypeError(concat("cannot put a ", child.type_name(), " into this ", container.type_name(),
                         ", which is for modules of class ", class_name_of(takes)));
}

void throw_no_entry(const Module& container, std::string_view key) {
  throw IndexError(concat(container.type_name(), " has no attribute `", key, "`"));
}

void throw_no_module(std::string_view key) {
  throw IndexError(concat("`", key, "` is not an nn.Module"));
}

const std::shared_ptr<Module>& sequence_at(const Module& list, std::int64_t index) {
  const ChildSlot& slot = *list.child_slots()[position(index, list.child_slots().size())];
  if (!slot.defined()) {
    throw Error(concat("the child '", slot.name(), "' of this ", list.type_name(),
                       " is None: assign a module to it before it is used"));
  }
  return slot.module();
}

void sequence_append(Module& list, std::shared_ptr<Module> module) {
  check_not_null(module.get());
  const std::string name = concat(list.child_slots().size());
  if (SlotEditor::find(list, name).child != nullptr) {
    throw ValueError(concat("cannot append to this ", list.type_name(), ": \"", name,
                            "\", the number it would have, is the name of another entry"));
  }
  list.register_module(name, std::move(module));
}

void sequence_set(Module& list, std::int64_t index, std::shared_ptr<Module> module) {
  check_not_null(module.get());
  ChildSlot& slot = *list.child_slots()[position(index, list.child_slots().size())];
  SlotEditor::assign(slot, std::move(module));
}

void sequence_insert(Module& list, std::int64_t index, std::shared_ptr<Module> module) {
  check_not_null(module.get());
  const std::size_t at = position(index, list.child_slots().size(), true);
  check_places(list, at);
  for (std::size_t i = at; i < list.child_slots().size(); ++i) {
    if (const std::string& name = list.child_slots()[i]->name(); name != concat(i)) {
      throw ValueError(concat("cannot insert at ", index,
                              ": the entries behind it would move up, "
                              "but one of them has the name \"",
                              name, "\" and not its number"));
    }
  }
  const std::size_t size = list.child_slots().size();
  sequence_append(list, std::move(module));
  const auto slots = list.child_slots();
  if (slots.size() != size + 1) {
    throw Error(concat("this ", list.type_name(), " had ", size, " entries and has ", slots.size(),
                       " after one was appended to be moved to its place: a registration hook has "
                       "changed it, and the new entry is the last one"));
  }
  for (std::size_t i = slots.size() - 1; i > at; --i) SlotEditor::swap(*slots[i], *slots[i - 1]);
}

std::shared_ptr<Module> sequence_pop(Module& list, std::int64_t index) {
  const std::size_t at = position(index, list.child_slots().size());
  check_places(list, 0);
  const auto slots = list.child_slots();
  std::shared_ptr<Module> gone = slots[at]->module();
  for (std::size_t i = at; i + 1 < slots.size(); ++i) SlotEditor::swap(*slots[i], *slots[i + 1]);
  list.remove(std::string(slots.back()->name()));
  SlotEditor::number_children(list);
  return gone;
}

std::string module_list_repr(const Module& list) {
  struct Run {
    std::size_t first, last;
    std::string text;
  };
  std::vector<Run> runs;
  const Guard guard(list, "repr() was running");
  for (std::size_t i = 0; i < list.child_slots().size(); ++i) {
    std::string text = repr_of(list.child_slots()[i]->module().get(), guard);
    if (!runs.empty() && runs.back().text == text) {
      runs.back().last = i;
    } else {
      runs.push_back({i, i, std::move(text)});
    }
  }
  std::vector<std::string> lines;
  for (const Run& run : runs) {
    const std::string text = run.first == run.last
                                 ? concat("(", run.first, "): ", run.text)
                                 : concat("(", run.first, "-", run.last,
                                          "): ", run.last - run.first + 1, " x ", run.text);
    lines.push_back(indented(text, 2));
  }
  return assembled(list.type_name(), {}, lines);
}

}  // namespace detail

void Sequential::add_named(NamedModuleList modules) {
  for (const auto& [name, module] : modules) {
    detail::check_not_null(module.get());
    register_module(name, module);
  }
}

Sequential& Sequential::extend(const Sequential& other) {
  std::vector<std::shared_ptr<Module>> modules;
  for (const ChildSlot* slot : other.child_slots()) modules.push_back(slot->module());
  const detail::Guard guard(*this, "extend() was running");
  for (auto& module : modules) {
    append(std::move(module));
    guard.check();
  }
  return *this;
}

std::shared_ptr<Sequential> Sequential::slice(std::int64_t begin,
                                              std::optional<std::int64_t> end) const {
  const auto [from, to] = detail::slice_of(begin, end, size());
  // Registration hooks may change this one meanwhile.
  std::vector<std::pair<std::string, std::shared_ptr<Module>>> entries;
  for (std::size_t i = from; i < to; ++i)
    entries.emplace_back(child_slots()[i]->name(), child_slots()[i]->module());
  auto some = make<Sequential>();
  for (auto& [name, module] : entries) some->register_module(name, std::move(module));
  return some;
}

Tensor Sequential::forward(const Tensor& input) {
  Tensor x = input;
  detail::Guard guard(*this, "forward() was running");
  for (std::size_t i = 0; i < child_slots().size(); ++i) {
    // Kept while it runs: it may be replaced meanwhile.
    {
      Module& module = (*this)[static_cast<std::int64_t>(i)];
      const detail::Guard kept(module, guard.during());
      x = module.invoke(x);
    }
    guard.check(detail::Guard::kChildren);
  }
  return x;
}

namespace {

Tensor as_parameter(const Tensor& tensor) {
  return tensor.defined() && !tensor.is_parameter() ? make_parameter(tensor) : tensor;
}

// "Parameter containing: [torch.float32 of size 2x3]"
std::string parameter_text(const Tensor& parameter, const std::string& dtype) {
  std::string sizes;
  // One without a shape is one without elements here, as in PyTorch.
  for (const std::int64_t size : parameter.layout().shape)
    sizes += concat(sizes.empty() ? "" : "x", size);
  const std::string device =
      parameter.is_cuda() ? concat(" (", parameter.device().str(), ")") : std::string();
  return concat("Parameter containing: [", dtype, " of size ", sizes, device, "]");
}

// The older name of a tensor's type, which ParameterDict prints: torch.FloatTensor.
std::string tensor_type_name(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  if (!has_storage_class(dtype) || is_quantized(dtype)) return repr(dtype);
  const char* device = tensor.is_cuda() ? "cuda." : tensor.is_meta() ? "meta." : "";
  return concat("torch.", device, info(dtype).scalar_name, "Tensor");
}

}  // namespace

// A user-defined tensor's detach runs before anything is looked up, because it may change the list.

ParameterList& ParameterList::append(const Tensor& parameter) {
  const detail::Guard guard(*this, "append() was running");
  const Tensor value = as_parameter(parameter);
  const std::string name = concat(size());
  if (SlotEditor::find(*this, name).tensor != nullptr) {
    throw ValueError(concat("cannot append: the list has an entry \"", name,
                            "\" already, because one before it was removed by name"));
  }
  register_parameter(name, value);
  return *this;
}

ParameterList& ParameterList::extend(TensorList parameters) {
  const detail::Guard guard(*this, "extend() was running");
  for (const Tensor& parameter : parameters) {
    append(parameter);
    guard.check();
  }
  return *this;
}

void ParameterList::set(std::int64_t index, const Tensor& parameter) {
  const detail::Guard guard(*this, "set() was running");
  const Tensor value = as_parameter(parameter);
  TensorSlot& slot = *parameter_slots()[detail::position(index, size())];
  SlotEditor::assign(slot, value);
}

Tensor ParameterList::pop(std::int64_t index) {
  const std::size_t at = detail::position(index, size());
  const auto slots = parameter_slots();
  Tensor gone = slots[at]->get();
  for (std::size_t i = at; i + 1 < slots.size(); ++i) {
    SlotEditor::rebind(*slots[i], slots[i + 1]->get());
    detail::GuardList::rebound(slots[i]);
  }
  remove(std::string(slots.back()->name()));
  return gone;
}

std::string ParameterList::extra_repr() const {
  std::string lines;
  for (const TensorSlot* slot : parameter_slots()) {
    if (!slot->defined()) continue;
    lines += concat(lines.empty() ? "" : "\n", "  (", slot->name(),
                    "): ", parameter_text(slot->get(), tenon::repr(slot->get().dtype())));
  }
  return lines;
}

ParameterDict::ParameterDict(std::initializer_list<std::pair<std::string, Tensor>> parameters) {
  for (const auto& [key, parameter] : parameters) set(key, parameter);
}

void ParameterDict::set(std::string_view key, const Tensor& parameter) {
  const detail::Guard guard(*this, "set() was running");
  const std::string name(key);  // may be that of an entry
  register_parameter(name, as_parameter(parameter));
}

Tensor ParameterDict::pop(std::string_view key) {
  Tensor gone = get_parameter(key);
  remove(key);
  return gone;
}

void ParameterDict::clear() {
  const detail::Guard guard(*this, "clear() was running");
  for (const std::string& key : keys()) {
    if (contains(key)) remove(key);  // what the one before has released may have removed it
    guard.check();
  }
}

void ParameterDict::update(const ParameterDict& other) {
  // Registration hooks may change the other one meanwhile.
  std::vector<std::pair<std::string, Tensor>> entries;
  for (const TensorSlot* slot : other.parameter_slots())
    entries.emplace_back(slot->name(), slot->get());
  const detail::Guard guard(*this, "update() was running");
  for (const auto& [key, parameter] : entries) {
    set(key, parameter);
    guard.check();
  }
}

bool ParameterDict::contains(std::string_view key) const {
  return SlotEditor::find(*this, key).tensor != nullptr;
}

std::vector<std::string> ParameterDict::keys() const {
  std::vector<std::string> keys;
  for (const TensorSlot* slot : parameter_slots()) {
    if (slot->registered()) keys.push_back(slot->name());
  }
  return keys;
}

std::string ParameterDict::extra_repr() const {
  std::string lines;
  for (const TensorSlot* slot : parameter_slots()) {
    if (!slot->defined()) continue;
    lines += concat(lines.empty() ? "" : "\n", "  (", slot->name(),
                    "): ", parameter_text(slot->get(), tensor_type_name(slot->get())));
  }
  return lines;
}

}  // namespace tenon::nn
