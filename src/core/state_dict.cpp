#include "tenon/state_dict.h"

#include <algorithm>
#include <ostream>
#include <unordered_set>

#include "base/hash_index.h"
#include "base/text.h"
#include "core/held_state.h"
#include "core/secret_hash.h"
#include "core/value_text.h"
#include "tenon/error.h"

namespace tenon {

struct StateDict::Index {
  HashIndex places;
};

namespace {

constexpr const char* kMetadata = "_metadata";
constexpr const char* kNotes = "__metadata__";

// The first few keys under which there is a dict of tensors. It is a hint: only as many keys are
// looked at as people have beside each other, as a file may have one large dict under any number.
std::string where_else(const Value& value) {
  constexpr std::size_t kMostLookedAt = 1000;
  std::string found;
  int count = 0;
  std::unordered_set<const void*> seen;
  for (const auto& [key, item] :
       value.entries().first(std::min(value.entries().size(), kMostLookedAt))) {
    if (key.kind() != Value::Kind::string || item.kind() != Value::Kind::dict ||
        item.entries().empty() || !item.entries()[0].second.is_tensor() ||
        !seen.insert(item.identity()).second || !StateDict::is_one(item))
      continue;
    found += concat(count == 0 ? "" : ", ", short_repr(key));
    if (++count == 5) break;
  }
  return found;
}

constinit thread_local HeldState* innermost_held = nullptr;

}  // namespace

HeldState::HeldState(const StateDict& state)
    : state_(&state), subject_(&state), outer_(std::exchange(innermost_held, this)) {}
HeldState::~HeldState() { innermost_held = outer_; }

HeldState* HeldState::of(const StateDict& state) noexcept {
  HeldState* found = nullptr;
  for (HeldState* held = innermost_held; held != nullptr; held = held->outer_) {
    if (held->state_ == &state) found = held;
  }
  return found;
}

void HeldState::destroyed(const StateDict& state) noexcept {
  for (HeldState* held = innermost_held; held != nullptr; held = held->outer_)
    held->gone_ = held->gone_ || held->subject_ == &state;
}

void HeldState::exchanged(const StateDict& a, const StateDict& b) noexcept {
  for (HeldState* held = innermost_held; held != nullptr; held = held->outer_) {
    if (held->state_ == &a || held->state_ == &b) held->state_ = held->state_ == &a ? &b : &a;
  }
}

StateDict::StateDict() : index_(std::make_unique<Index>()) {}
StateDict::StateDict(StateDict&& other) noexcept { exchange(other); }
StateDict& StateDict::operator=(StateDict other) noexcept {
  exchange(other);
  return *this;
}
StateDict::~StateDict() {
  HeldState::destroyed(*this);
  if (HeldState* held = HeldState::of(*this)) exchange(held->kept_);
}

// The entries themselves stay where they are.
void StateDict::exchange(StateDict& other) noexcept {
  entries_.swap(other.entries_);
  std::swap(attributes_, other.attributes_);
  std::swap(ordered_, other.ordered_);
  index_.swap(other.index_);
  HeldState::exchanged(*this, other);
}

void StateDict::about_to_change() {
  HeldState* held = HeldState::of(*this);
  if (held == nullptr) return;
  StateDict copy(*this);
  exchange(held->kept_);
  exchange(copy);
}

StateDict::StateDict(const StateDict& other)
    : entries_(other.entries_),
      attributes_(other.attributes_),
      ordered_(other.ordered_),
      index_(std::make_unique<Index>(other.index_ ? *other.index_ : Index())) {}

bool StateDict::is_one(const Value& value) noexcept {
  if (value.kind() != Value::Kind::dict) return false;
  for (const auto& [key, item] : value.entries()) {
    if (key.kind() != Value::Kind::string) return false;
  }
  return true;
}

StateDict::StateDict(const Value& dict) : StateDict() {
  if (dict.kind() != Value::Kind::dict) {
    throw TypeError(concat("a state dict is a dict with names as its keys, but this is of type ",
                           dict.type_name()));
  }
  if (!is_one(dict)) {
    const std::string inside = where_else(dict);
    throw TypeError(concat("a state dict has names as its keys, but this dict has others",
                           inside.empty() ? "" : "; it has state dicts under ", inside));
  }
  const auto entries = dict.entries();
  entries_.reserve(entries.size());
  for (const auto& [key, item] : entries) entries_.emplace_back(key.as_string(), item);
  reindex();
  ordered_ = dict.is_ordered_dict();
  attributes_ = dict.attributes();
}

const Value& StateDict::metadata() const noexcept {
  static const Value none;
  if (attributes_.is_none()) return none;
  for (const char* name : {kMetadata, kNotes}) {
    if (const Value* found = attributes_.find(name)) return *found;
  }
  return none;
}

void StateDict::set_metadata(Value metadata) {
  about_to_change();
  std::vector<Value::Entry> others;
  if (!attributes_.is_none()) {
    for (const Value::Entry& entry : attributes_.entries()) {
      if (entry.first != Value(kMetadata)) others.push_back(entry);
    }
  }
  if (!metadata.is_none()) others.emplace_back(kMetadata, std::move(metadata));
  attributes_ = others.empty() ? Value() : Value::dict(std::move(others));
}

void StateDict::reindex() {
  if (!index_) index_ = std::make_unique<Index>();
  index_->places.clear();
  index_->places.reserve(entries_.size());
  for (std::uint32_t i = 0; i < entries_.size(); ++i)
    index_->places.insert(hash_text(entries_[i].first), i);
}

std::uint32_t StateDict::place_of(std::string_view name) const {
  if (!index_) return HashIndex::kNone;  // moved from
  return index_->places.find(hash_text(name),
                             [&](std::uint32_t i) { return entries_[i].first == name; });
}

const Value* StateDict::find(std::string_view name) const {
  const std::uint32_t at = place_of(name);
  return at == HashIndex::kNone ? nullptr : &entries_[at].second;
}

const Value& StateDict::at(std::string_view name) const {
  if (const Value* found = find(name)) return *found;
  // A name that ends the same way is the likeliest mistake: a prefix too many, or too few.
  std::string hint;
  for (const auto& [other, value] : entries_) {
    if (!name.empty() && !other.empty() &&
        (other.ends_with(concat(".", name)) || name.ends_with(concat(".", other)))) {
      hint = concat("; it has ", Value(other));
      break;
    }
  }
  throw IndexError(
      concat("the state dict of ", entries_.size(), " entries has no ", Value(name), hint));
}

std::size_t StateDict::index_of(std::string_view name) const {
  const std::uint32_t at = place_of(name);
  return at == HashIndex::kNone ? entries_.size() : at;
}

Tensor StateDict::tensor(std::string_view name) const { return at(name).as_tensor(); }

void StateDict::set(std::string_view name, Value value) {
  about_to_change();
  if (const std::uint32_t at = place_of(name); at != HashIndex::kNone) {
    std::swap(entries_[at].second, value);  // what was there goes when the dict is whole again
    return;
  }
  if (!index_) reindex();
  entries_.emplace_back(std::string(name), std::move(value));
  index_->places.insert(hash_text(name), static_cast<std::uint32_t>(entries_.size() - 1));
}

std::size_t StateDict::erase_if(
    const std::function<bool(std::string_view name, const Value& value)>& given) {
  const auto gone = given;  // which may destroy what it was given as
  std::vector<std::string> names;
  {
    const HeldState held(*this);
    for (const auto& [name, value] : held->entries_) {
      if (gone(name, value)) names.push_back(name);
      if (held.is_gone())
        throw Error("erase_if: the state dict was destroyed by the function that it was calling");
    }
  }
  if (!names.empty()) erase_named(names);
  return names.size();
}

bool StateDict::erase(std::string_view name) {
  if (!contains(name)) return false;
  erase_named({std::string(name)});
  return true;
}

// What goes is released when the dict is whole again: its deleter is somebody's code.
void StateDict::erase_named(const std::vector<std::string>& names) {
  about_to_change();
  const std::unordered_set<std::string_view, SecretHash> gone(names.begin(), names.end());
  std::vector<Entry> kept, released;
  kept.reserve(entries_.size());
  released.reserve(names.size());
  for (Entry& entry : entries_) {
    std::vector<Entry>& to = gone.contains(entry.first) ? released : kept;
    to.push_back(std::move(entry));
  }
  entries_.swap(kept);
  reindex();
}

Value StateDict::value() const {
  std::vector<Value::Entry> all;
  all.reserve(entries_.size());
  for (const auto& [name, item] : entries_) all.emplace_back(Value(name), item);
  return ordered_ ? Value::ordered_dict(std::move(all), attributes_)
                  : Value::dict(std::move(all), attributes_);
}

std::ostream& operator<<(std::ostream& out, const StateDict& state) { return out << state.repr(); }

}  // namespace tenon
