#include "io/tree_map.h"

#include <unordered_map>
#include <unordered_set>

#include "core/value_depth.h"

namespace tenon {

namespace {

using Kind = Value::Kind;

class TreeMap {
 public:
  TreeMap(std::function<Value(const Tensor&)> tensors, std::function<Value(const Value&)> dicts)
      : tensors_(std::move(tensors)), dicts_(std::move(dicts)) {}

  std::size_t count = 0;

  Value at(const Value& value, int depth) {
    ++count;
    switch (value.kind()) {
      case Kind::tensor:
      case Kind::list:
      case Kind::tuple:
      case Kind::set:
      case Kind::dict:
      case Kind::object: break;
      default: return value;
    }
    if (depth > kMaxDepth) too_deep();
    const auto known = known_.find(value.identity());
    if (known != known_.end()) return known->second;
    Value made = fresh(value, depth);
    known_.emplace(value.identity(), made);
    return made;
  }

 private:
  Value fresh(const Value& value, int depth) {
    bool changed = false;
    const auto inside = [&](const Value& part) {
      Value made = at(part, depth + 1);
      changed = changed || made.kind() != part.kind() || made.identity() != part.identity();
      return made;
    };
    if (value.is_tensor()) return tensors_ ? tensors_(value.as_tensor()) : value;
    if (value.kind() == Kind::dict) {
      std::vector<Value::Entry> entries;
      entries.reserve(value.entries().size());
      for (const auto& [key, item] : value.entries()) entries.emplace_back(key, inside(item));
      const Value attributes = inside(value.attributes());
      const Value made = changed ? dict_like(value, std::move(entries), attributes) : value;
      return dicts_ ? dicts_(made) : made;
    }
    if (value.kind() == Kind::object) {
      Value arguments = inside(value.object_arguments()), state = inside(value.object_state()),
            items = inside(value.object_items());
      if (!changed) return value;
      return Value::object(value.object_name(), std::move(arguments), std::move(state),
                           std::move(items));
    }
    std::vector<Value> items;
    items.reserve(value.items().size());
    for (const Value& item : value.items()) items.push_back(inside(item));
    if (!changed) return value;
    return value.kind() == Kind::list    ? Value::list(std::move(items))
           : value.kind() == Kind::tuple ? Value::tuple(std::move(items))
                                         : Value::set(std::move(items));
  }

  std::function<Value(const Tensor&)> tensors_;
  std::function<Value(const Value&)> dicts_;
  std::unordered_map<const void*, Value> known_;
};

}  // namespace

Value mapped_tensors(const Value& tree, const std::function<Value(const Tensor&)>& replace) {
  return TreeMap(replace, {}).at(tree, 0);
}

Value mapped_dicts(const Value& tree, const std::function<Value(const Value&)>& replace) {
  return TreeMap({}, replace).at(tree, 0);
}

void for_each_tensor(const Value& tree, const std::function<void(const Tensor&)>& visit) {
  mapped_tensors(tree, [&](const Tensor& tensor) {
    visit(tensor);
    return Value(tensor);
  });
}

std::size_t count_values(const Value& tree) {
  TreeMap map({}, {});
  map.at(tree, 0);
  return map.count;
}

}  // namespace tenon
