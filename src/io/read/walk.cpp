#include "io/read/walk.h"

#include <set>

#include "base/text.h"
#include "core/module_state.h"
#include "core/uninitialized.h"
#include "io/pickle/plain_key.h"
#include "io/pickle/rebuild.h"
#include "io/read/flattened.h"
#include "tenon/error.h"

namespace tenon {

namespace {

constexpr std::size_t kLongestName = std::size_t{1} << 20;

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

// The texts of a set, for as long as it lives.
std::set<std::string_view> texts_of(const Value* set, ReadMeter& meter) {
  std::set<std::string_view> out;
  if (set == nullptr || set->kind() != Value::Kind::set) return out;
  for (const Value& item : set->items()) {
    meter.work(32);
    if (item.kind() != Value::Kind::string) continue;
    meter.work(item.as_string().size());
    out.insert(item.as_string());
  }
  return out;
}

// A key as a part of a name.
std::string key_text(const Value& key, ReadMeter& meter) {
  // Before it is written out: what is shared in it is written out in every place.
  const std::uint64_t before = meter.steps();
  if (!charge_key(key, meter)) return concat("<", key.type_name(), ">");
  if (meter.steps() - before > kLongestName)
    throw FormatError(meter.file(), 0, concat("a key of more than ", kLongestName, " bytes"));
  return key.repr();
}

}  // namespace

void Walk::below(const Value& value, std::string_view key, bool top) {
  const std::size_t before = name_.size();
  meter_.work(2 + key.size() / 8);
  if (before + (top ? 0 : 1) + key.size() > kLongestName)
    throw FormatError(meter_.file(), 0, concat("a name of more than ", kLongestName, " bytes"));
  if (!top) name_ += '.';
  name_ += key;
  at(value, false);
  name_.resize(before);
}

void Walk::at(const Value& value, bool top) {
  meter_.work(8);
  switch (value.kind()) {
    case Value::Kind::tensor: {
      // Whoever is told the name copies it, or looks for it.
      meter_.work(32 + name_.size() / 4);
      // One without a shape is in the tree, and nothing of it is in the file.
      if (is_uninitialized(value.as_tensor().body())) {
        if (visit_uninitialized) visit_uninitialized(name_, value.as_tensor());
        return;
      }
      const bool part = whole_ != kNoWhole;
      if (!part) whole_ = name_.size();
      visit(name_, value.as_tensor());
      if (!part) whole_ = kNoWhole;
      return;
    }
    case Value::Kind::dict: return dict(value, top);
    case Value::Kind::list:
    case Value::Kind::set:
    case Value::Kind::tuple: {
      meter_.work(value.items().size());
      for (std::size_t i = 0; i < value.items().size(); ++i) {
        if (may_hold_tensors(value.items()[i])) below(value.items()[i], concat(i), top);
      }
      return;
    }
    case Value::Kind::object: return object(value, top);
    default: return;
  }
}

void Walk::dict(const Value& value, bool top) {
  const std::size_t outer = whole_;
  // A user-defined tensor is one, whatever it is made of.
  if (outer == kNoWhole && !top && is_flattened(value)) whole_ = name_.size();
  meter_.work(value.entries().size());
  for (const auto& [key, item] : value.entries()) {
    if (!may_hold_tensors(item)) continue;
    if (key.kind() == Value::Kind::string)
      below(item, key.as_string(), top);
    else
      below(item, key_text(key, meter_), top);
  }
  whole_ = outer;
}

void Walk::object(const Value& value, bool top) {
  const Value& state = value.object_state();
  if (is_composite(value)) {
    const std::size_t outer = whole_;
    if (outer == kNoWhole) whole_ = name_.size();
    for (const auto& [key, item] : state.entries()) {
      // The integers of a quantized tensor have its own name.
      if (key.as_string() == "data")
        at(item, top);
      else if (may_hold_tensors(item))
        below(item, key.as_string(), top);
    }
    whole_ = outer;
    return;
  }
  // The items of some class of lists or dicts, and its state.
  if (may_hold_tensors(value.object_items())) at(value.object_items(), top);
  if (is_module_state(state))
    module(state, top);
  else if (state.kind() == Value::Kind::dict)
    dict(state, top);
}

// A module is listed as its state dict would be.
void Walk::module(const Value& state, bool top) {
  const auto hidden = texts_of(state.find("_non_persistent_buffers_set"), meter_);
  for (const char* part_name : kModuleParts) {
    const Value& part = *state.find(part_name);
    const bool buffers = std::string_view(part_name) == "_buffers";
    meter_.work(part.entries().size());
    for (const auto& [key, item] : part.entries()) {
      if (key.kind() != Value::Kind::string || !may_hold_tensors(item)) continue;
      if (buffers) meter_.work(16 + key.as_string().size());
      if (!buffers || !hidden.contains(key.as_string())) below(item, key.as_string(), top);
    }
  }
}

}  // namespace tenon
