// Finding values by dotted paths.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

#include "base/hash_index.h"
#include "core/module_state.h"
#include "core/secret_hash.h"
#include "core/value_text.h"
#include "tenon/value.h"

namespace tenon {

namespace {

// The keys of a dict that are neither text nor integers, by their reprs. They may share parts, and
// what a path could end with are many texts: each key is written out once, as far as a path is
// long.
class RareKeys {
 public:
  RareKeys(const Value& dict, std::size_t longest) : entries_(dict.entries()) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const Value& key = entries_[i].first;
      if (key.kind() == Value::Kind::string || key.kind() == Value::Kind::integer) continue;
      const std::string text = repr_up_to(key, longest);
      if (text.size() > longest || find(text) != nullptr) continue;
      places_.insert(hash_text(text), static_cast<std::uint32_t>(i));
    }
  }
  // What is under the first of them with this repr.
  const Value* find(std::string_view text) const {
    const std::uint32_t found = places_.find(hash_text(text), [&](std::size_t i) {
      return repr_up_to(entries_[i].first, text.size()) == text;
    });
    return found == HashIndex::kNone ? nullptr : &entries_[found].second;
  }

 private:
  std::span<const Value::Entry> entries_;
  HashIndex places_;
};

class PathSearch {
 public:
  explicit PathSearch(std::string_view path) : path_(path) {}

  // What the path from position `at` on leads to, below `value`.
  const Value* from(const Value& value, std::size_t at) {
    if (at > path_.size()) return &value;
    // The same value may be reached in many ways; what failed once is not tried again.
    const void* const identity = value.identity();
    if (!failed_.empty() && failed_.contains({identity, at})) return nullptr;
    const Value* found = nullptr;
    switch (value.kind()) {
      case Value::Kind::dict: found = in_dict(value, at); break;
      case Value::Kind::list:
      case Value::Kind::set:
      case Value::Kind::tuple: found = in_sequence(value, at); break;
      case Value::Kind::object: found = in_object(value, at); break;
      default: break;
    }
    if (found == nullptr && identity != nullptr) failed_.emplace(identity, at);
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
  const Value* under(const Value& dict, std::string_view key) {
    if (const Value* found = dict.find(Value(key))) return found;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), number);
    if (error == std::errc() && end == key.data() + key.size()) return dict.find(Value(number));
    return rare_.try_emplace(dict.identity(), dict, path_.size()).first->second.find(key);
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
  // By identity.
  std::set<std::pair<const void*, std::size_t>> failed_;
  std::map<const void*, RareKeys> rare_;
};

}  // namespace

const Value* Value::find_path(std::string_view path) const {
  return path.empty() ? this : PathSearch(path).from(*this, 0);
}

}  // namespace tenon
