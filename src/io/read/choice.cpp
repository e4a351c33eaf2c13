#include "io/read/choice.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/text.h"
#include "base/visible.h"
#include "core/value_text.h"
#include "io/pickle/rebuild.h"
#include "io/read/flattened.h"
#include "io/read/survey.h"
#include "io/read/tree_map.h"
#include "io/read/walk.h"
#include "tenon/error.h"
#include "tenon/state_dict.h"

namespace tenon {

ChosenTensors chosen_tensors(const Document& document, const Survey& survey,
                             const LoadOptions& options, ReadMeter& meter) {
  ChosenTensors kept{std::vector<bool>(survey.tensors()),
                     std::vector<bool>(survey.uninitialized())};
  // A name is asked about once, also if it has several parts.
  std::map<std::string, bool, std::less<>> asked;
  const auto wanted = [&](std::string_view name) {
    if (!options.filter) return true;
    const auto known = asked.find(name);
    if (known != asked.end()) return known->second;
    meter.text(name.size() + ReadMeter::kObject);
    return asked.emplace(name, options.filter(name)).first->second;
  };
  Walk walk(meter, {});
  // One that is wanted under one of its names is there under all of them.
  walk.visit = [&](const std::string&, const Tensor& tensor) {
    if (wanted(walk.whole())) kept.tensors[survey.record(tensor).number] = true;
  };
  walk.visit_uninitialized = [&](const std::string& name, const Tensor& tensor) {
    if (wanted(name)) kept.uninitialized[survey.uninitialized_record(tensor).number] = true;
  };
  walk.run(at_path(survey.tree(), options.path, document));
  return kept;
}

const Value& at_path(const Value& tree, const std::string& path, const Document& document) {
  if (const Value* found = tree.find_path(path)) return *found;
  std::string keys;
  if (tree.kind() == Value::Kind::dict) {
    int shown = 0;
    for (const auto& [key, item] : tree.entries()) {
      if (shown == 10) {
        keys += ", ...";
        break;
      }
      keys += concat(shown++ == 0 ? "; its keys are " : ", ", short_repr(key));
    }
  }
  throw IndexError(
      concat(visible(document.source().name()), " has nothing at ", Value(path).repr(), keys));
}

namespace {

// What is one object in several places is looked at once, and stays one.
class Pruner {
 public:
  Pruner(const std::unordered_set<std::uint64_t>& dropped, ReadMeter& meter)
      : dropped_(dropped), meter_(meter) {}

  // Nothing if all of it is to go.
  std::optional<Value> kept(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::tensor:
        if (dropped_.contains(value.as_tensor().id())) return std::nullopt;
        return value;
      case Value::Kind::dict:
      case Value::Kind::list:
      case Value::Kind::tuple:
      case Value::Kind::set:
      case Value::Kind::object: break;
      default: return value;
    }
    if (const auto known = known_.find(value.identity()); known != known_.end())
      return known->second;
    meter_.work(8);
    meter_.memory(3 * ReadMeter::kObject);
    auto made = fresh(value);
    known_.emplace(value.identity(), made);
    return made;
  }

 private:
  std::optional<Value> fresh(const Value& value) {
    switch (value.kind()) {
      case Value::Kind::dict: return dict(value);
      case Value::Kind::list: return Value::list(items(value));
      case Value::Kind::tuple: return Value::tuple(items(value));
      case Value::Kind::set: return Value::set(items(value));
      default: return object(value);
    }
  }
  std::vector<Value> items(const Value& sequence) {
    std::vector<Value> out;
    meter_.memory(sequence.items().size() * sizeof(Value));
    out.reserve(sequence.items().size());
    for (const Value& item : sequence.items()) {
      // What is at a place of a list stays at it; a set has none.
      auto left = kept(item);
      if (left || sequence.kind() != Value::Kind::set)
        out.push_back(std::move(left).value_or(Value()));
    }
    return out;
  }
  std::optional<Value> dict(const Value& value) {
    std::vector<Value::Entry> out;
    meter_.memory(value.entries().size() * sizeof(Value::Entry));
    out.reserve(value.entries().size());
    for (const auto& [key, item] : value.entries()) {
      if (auto left = kept(item)) out.emplace_back(key, std::move(*left));
    }
    // Without one of its parts nobody can put a user-defined tensor together.
    if (is_flattened(value) && out.size() != value.entries().size()) return std::nullopt;
    return dict_like(value, std::move(out), value.attributes());
  }
  std::optional<Value> object(const Value& value) {
    const Value& state = value.object_state();
    const bool whole = value.object_name() == kSparseName ||
                       value.object_name() == kQuantizedName || value.object_name() == kNestedName;
    Value left = kept(state).value_or(Value());
    if (whole && left.kind() == Value::Kind::dict &&
        left.entries().size() != state.entries().size())
      return std::nullopt;
    return Value::object(value.object_name(), value.object_arguments(), std::move(left),
                         kept(value.object_items()).value_or(Value()));
  }

  const std::unordered_set<std::uint64_t>& dropped_;
  ReadMeter& meter_;
  std::unordered_map<const void*, std::optional<Value>> known_;  // by identity
};

}  // namespace

Value without(const Value& tree, const std::unordered_set<std::uint64_t>& dropped,
              ReadMeter& meter) {
  if (dropped.empty()) return tree;
  return Pruner(dropped, meter).kept(tree).value_or(Value());
}

Value renamed(const Value& tree, const KeyMap& names, ReadMeter* meter) {
  if (!StateDict::is_one(tree)) {
    throw ValueError(concat("load: .rename is about a dict with names as its keys, and this is a ",
                            tree.type_name(), ": choose the state dict in it with .path"));
  }
  std::vector<Value::Entry> out;
  std::map<std::string, std::string> taken;  // new names, and the old ones
  out.reserve(tree.entries().size());
  for (const auto& [key, item] : tree.entries()) {
    // A regular expression may look to the end of the name from each of its places, and replaces
    // in no longer names than these.
    constexpr std::uint64_t kLongestReplaced = 1024;
    const std::uint64_t length = std::min<std::uint64_t>(key.as_string().size(), kLongestReplaced);
    if (meter != nullptr) meter->work(length * length / 4);
    std::string name = names(key.as_string());
    // Its own text, and both among those that are taken.
    if (meter != nullptr)
      meter->text(2 * name.size() + key.as_string().size() + 4 * ReadMeter::kObject);
    const auto [place, fresh] = taken.try_emplace(name, key.as_string());
    if (!fresh) {
      throw ValueError(concat("load: .rename makes ", Value(name), " of ", Value(place->second),
                              " and of ", key));
    }
    out.emplace_back(Value(std::move(name)), item);
  }
  Value attributes = tree.attributes();
  if (attributes.kind() == Value::Kind::dict) {
    std::vector<Value::Entry> all(attributes.entries().begin(), attributes.entries().end());
    for (auto& [key, item] : all) {
      if (!(key == Value("_metadata")) || !StateDict::is_one(item)) continue;
      std::vector<Value::Entry> modules;
      for (const auto& [module, facts] : item.entries()) {
        std::string name = names.module(module.as_string());
        if (meter != nullptr) meter->text(name.size() + 2 * ReadMeter::kObject);
        modules.emplace_back(Value(std::move(name)), facts);
      }
      item = dict_like(item, std::move(modules), item.attributes());
    }
    attributes = Value::dict(std::move(all));
  }
  return dict_like(tree, std::move(out), attributes);
}

}  // namespace tenon
