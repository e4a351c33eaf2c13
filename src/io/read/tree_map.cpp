#include "io/read/tree_map.h"

#include <unordered_map>
#include <unordered_set>

#include "core/value_depth.h"

namespace tenon {

namespace {

using Kind = Value::Kind;

class TreeMap {
 public:
  TreeMap(std::function<Value(const Tensor&)> tensors, std::function<Value(const Value&)> dicts,
          ReadMeter& meter)
      : tensors_(std::move(tensors)), dicts_(std::move(dicts)), meter_(meter) {}
  // What has been replaced stays; what was noted of it goes.
  ~TreeMap() { meter_.release(known_.size() * kKnown); }
  TreeMap(const TreeMap&) = delete;
  TreeMap& operator=(const TreeMap&) = delete;

  std::size_t count = 0;
  bool counts_text = false;  // as so many values more, each text once

  Value at(const Value& value, int depth) {
    ++count;
    switch (value.kind()) {
      case Kind::tensor:
      case Kind::list:
      case Kind::tuple:
      case Kind::set:
      case Kind::dict:
      case Kind::object: break;
      default:
        if (counts_text) add_text(value);
        return value;
    }
    if (depth > kMaxDepth) too_deep();
    const auto known = known_.find(value.identity());
    if (known != known_.end()) return known->second;
    meter_.work(4);
    meter_.memory(kKnown);
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
      const std::uint64_t cost = charge(value.entries().size() * sizeof(Value::Entry));
      entries.reserve(value.entries().size());
      for (const auto& [key, item] : value.entries()) entries.emplace_back(key, inside(item));
      const Value attributes = inside(value.attributes());
      if (!changed) meter_.release(cost);
      const Value made = changed ? dict_like(value, std::move(entries), attributes) : value;
      return dicts_ ? dicts_(made) : made;
    }
    if (value.kind() == Kind::object) {
      Value arguments = inside(value.object_arguments()), state = inside(value.object_state()),
            items = inside(value.object_items());
      if (!changed) return value;
      charge(value.object_name().size());
      return Value::object(value.object_name(), std::move(arguments), std::move(state),
                           std::move(items));
    }
    std::vector<Value> items;
    const std::uint64_t cost = charge(value.items().size() * sizeof(Value));
    items.reserve(value.items().size());
    for (const Value& item : value.items()) items.push_back(inside(item));
    if (!changed) {
      meter_.release(cost);
      return value;
    }
    return value.kind() == Kind::list    ? Value::list(std::move(items))
           : value.kind() == Kind::tuple ? Value::tuple(std::move(items))
                                         : Value::set(std::move(items));
  }

  void add_text(const Value& value) {
    constexpr std::size_t kValue = 64;  // about the bytes of one in a file
    const std::size_t size = value.kind() == Kind::string  ? value.as_string().size()
                             : value.kind() == Kind::bytes ? value.as_bytes().size()
                                                           : 0;
    if (size > kValue && texts_.insert(value.identity()).second) count += size / kValue;
  }
  // What was charged.
  std::uint64_t charge(std::size_t bytes) {
    const std::uint64_t cost = bytes + 2 * ReadMeter::kObject;
    meter_.memory(cost);
    return cost;
  }

  static constexpr std::uint64_t kKnown = ReadMeter::kObject;
  std::function<Value(const Tensor&)> tensors_;
  std::function<Value(const Value&)> dicts_;
  ReadMeter& meter_;
  std::unordered_map<const void*, Value> known_;
  std::unordered_set<const void*> texts_;
};

}  // namespace

Value mapped_tensors(const Value& tree, const std::function<Value(const Tensor&)>& replace,
                     ReadMeter& meter) {
  return TreeMap(replace, {}, meter).at(tree, 0);
}

Value mapped_dicts(const Value& tree, const std::function<Value(const Value&)>& replace) {
  ReadMeter meter = ReadMeter::of_saving();
  return TreeMap({}, replace, meter).at(tree, 0);
}

void for_each_tensor(const Value& tree, const std::function<void(const Tensor&)>& visit,
                     ReadMeter& meter) {
  const auto visited = [&](const Tensor& tensor) {
    visit(tensor);
    return Value(tensor);
  };
  mapped_tensors(tree, visited, meter);
}

std::size_t count_values(const Value& tree) {
  ReadMeter meter = ReadMeter::of_saving();
  TreeMap map({}, {}, meter);
  map.counts_text = true;
  map.at(tree, 0);
  return map.count;
}

}  // namespace tenon
