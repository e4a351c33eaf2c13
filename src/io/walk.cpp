#include "io/walk.h"

#include <set>

#include "base/text.h"
#include "core/module_state.h"
#include "core/uninitialized.h"
#include "io/rebuild.h"
#include "tenon/error.h"

namespace tenon {

namespace {

constexpr std::size_t kLongestName = std::size_t{1} << 20;
constexpr std::size_t kLongestNames = std::size_t{64} << 20;

std::string below(const std::string& name, std::string_view key, bool top) {
  return top ? std::string(key) : concat(name, ".", key);
}

bool may_hold_tensors(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::tensor:
    case Value::Kind::dict:
    case Value::Kind::list:
    case Value::Kind::tuple:
    case Value::Kind::set:
    case Value::Kind::object: return true;
    default: return false;
  }
}

// Tensors that are made of several, and have one name.
bool is_composite(const Value& object) {
  return object.object_name() == kSparseName || object.object_name() == kNestedName ||
         object.object_name() == kQuantizedName;
}

std::set<std::string> texts_of(const Value* set) {
  std::set<std::string> out;
  if (set == nullptr || set->kind() != Value::Kind::set) return out;
  for (const Value& item : set->items()) {
    if (item.kind() == Value::Kind::string) out.insert(item.as_string());
  }
  return out;
}

}  // namespace

void Walk::at(const Value& value, const std::string& name, bool top) {
  if (++places_ > most_) {
    throw FormatError(file_, 0,
                      concat("more than ", most_, " places when shared parts are written out"));
  }
  if (name.size() > kLongestName)
    throw FormatError(file_, 0, concat("a name of more than ", kLongestName, " bytes"));
  named_ += name.size();
  if (named_ > kLongestNames + 64 * most_)
    throw FormatError(file_, 0, "names that are too long together when they are written out");
  switch (value.kind()) {
    case Value::Kind::tensor: {
      // One without a shape is in the tree, and nothing of it is in the file.
      if (is_uninitialized(value.as_tensor().body())) {
        if (visit_uninitialized) visit_uninitialized(name, value.as_tensor());
        return;
      }
      const bool part = whole_ != nullptr;
      if (!part) whole_ = &name;
      visit(name, value.as_tensor());
      if (!part) whole_ = nullptr;
      return;
    }
    case Value::Kind::dict: return dict(value, name, top);
    case Value::Kind::list:
    case Value::Kind::set:
    case Value::Kind::tuple: {
      std::size_t i = 0;
      look(value.items().size());
      for (const Value& item : value.items()) {
        if (may_hold_tensors(item)) at(item, below(name, concat(i), top), false);
        ++i;
      }
      return;
    }
    case Value::Kind::object: return object(value, name, top);
    default: return;
  }
}

void Walk::look(std::size_t items) {
  constexpr std::size_t kMost = std::size_t{1} << 26;
  looked_ += items;
  if (looked_ > kMost)
    throw FormatError(file_, 0, "more than 64 million items when shared parts are written out");
}

void Walk::dict(const Value& value, const std::string& name, bool top) {
  look(value.entries().size());
  for (const auto& [key, item] : value.entries()) {
    if (!may_hold_tensors(item)) continue;
    at(item, below(name, key.kind() == Value::Kind::string ? key.as_string() : key.repr(), top),
       false);
  }
}

void Walk::object(const Value& value, const std::string& name, bool top) {
  const Value& state = value.object_state();
  const bool whole = is_composite(value);
  if (whole) {
    whole_ = &name;
    for (const auto& [key, item] : state.entries()) {
      // The integers of a quantised tensor have its own name.
      if (key.as_string() == "data")
        at(item, name, top);
      else if (may_hold_tensors(item))
        at(item, below(name, key.as_string(), top), false);
    }
    whole_ = nullptr;
    return;
  }
  // The items of some class of lists or dicts, and its state.
  if (may_hold_tensors(value.object_items())) at(value.object_items(), name, top);
  if (is_module_state(state))
    module(state, name, top);
  else if (state.kind() == Value::Kind::dict)
    dict(state, name, top);
}

// A module is listed as its state dict would be.
void Walk::module(const Value& state, const std::string& name, bool top) {
  const std::set<std::string> hidden = texts_of(state.find("_non_persistent_buffers_set"));
  for (const char* part_name : kModuleParts) {
    const Value& part = *state.find(part_name);
    const bool buffers = std::string_view(part_name) == "_buffers";
    for (const auto& [key, item] : part.entries()) {
      if (key.kind() != Value::Kind::string || !may_hold_tensors(item)) continue;
      if (!buffers || !hidden.contains(key.as_string()))
        at(item, below(name, key.as_string(), top), false);
    }
  }
}

}  // namespace tenon
