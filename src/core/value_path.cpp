// Finding values by dotted paths.
#include <algorithm>
#include <charconv>
#include <set>

#include "core/module_state.h"
#include "core/value_text.h"
#include "tenon/value.h"

namespace tenon {

namespace {

class PathSearch {
 public:
  explicit PathSearch(std::string_view path) : path_(path) {}

  // What the path from position `at` on leads to, below `value`.
  const Value* from(const Value& value, std::size_t at) {
    if (at > path_.size()) return &value;
    // The same value may be reached in many ways; what failed once is not tried again.
    if (!failed_.empty() && failed_.contains({&value, at})) return nullptr;
    const Value* found = nullptr;
    switch (value.kind()) {
      case Value::Kind::dict: found = in_dict(value, at); break;
      case Value::Kind::list:
      case Value::Kind::set:
      case Value::Kind::tuple: found = in_sequence(value, at); break;
      case Value::Kind::object: found = in_object(value, at); break;
      default: break;
    }
    if (found == nullptr) failed_.emplace(&value, at);
    return found;
  }

 private:
  const Value* in_dict(const Value& dict, std::size_t at) {
    for (std::size_t end = path_.size();;) {
      const std::string_view key = path_.substr(at, end - at);
      if (const Value* next = under(dict, key)) {
        if (const Value* found = from(*next, end + 1)) return found;
      }
      if (end == at) return nullptr;
      end = path_.rfind('.', end - 1);
      if (end == path_.npos || end < at) return nullptr;
    }
  }
  const Value* in_object(const Value& object, std::size_t at) {
    if (const Value* found = from(object.object_items(), at)) return found;
    const Value& state = object.object_state();
    if (!is_module_state(state)) return from(state, at);
    for (const char* part : kModuleParts) {
      if (const Value* found = from(*state.find(part), at)) return found;
    }
    return nullptr;
  }
  // Keys are text, or meant by their repr.
  static const Value* under(const Value& dict, std::string_view key) {
    if (const Value* found = dict.find(Value(key))) return found;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    if (error == std::errc() && end == key.data() + key.size()) return dict.find(Value(number));
    for (const auto& [other, value] : dict.entries()) {
      const bool rare = other.kind() != Value::Kind::string && other.kind() != Value::Kind::integer;
      if (rare && repr_up_to(other, key.size()) == key) return &value;
    }
    return nullptr;
  }
  const Value* in_sequence(const Value& sequence, std::size_t at) {
    const std::size_t end = std::min(path_.find('.', at), path_.size());
    std::size_t i = 0;
    const auto [stop, error] = std::from_chars(path_.data() + at, path_.data() + end, i);
    if (error != std::errc() || stop != path_.data() + end) return nullptr;
    const auto items = sequence.items();
    return i < items.size() ? from(items[i], end + 1) : nullptr;
  }

  std::string_view path_;
  std::set<std::pair<const Value*, std::size_t>> failed_;
};

}  // namespace

const Value* Value::find_path(std::string_view path) const {
  return path.empty() ? this : PathSearch(path).from(*this, 0);
}

}  // namespace tenon
