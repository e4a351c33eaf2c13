#include "tenon/optim/named_values.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "base/hash_index.h"
#include "base/text.h"
#include "core/secret_hash.h"
#include "core/value_text.h"
#include "nn/tree_guard.h"
#include "optim/options.h"
#include "tenon/error.h"

namespace tenon::optim {

namespace {

template <class Entries>
auto place_of(Entries& entries, std::string_view name) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const auto& entry) { return entry.first == name; });
}

// The values are about to be somewhere else, or nowhere.
void leave(std::span<const NamedValues::Entry> entries) noexcept {
  for (const auto& entry : entries) nn::detail::GuardList::destroyed(&entry.second);
}

[[noreturn]] void wrong_kind(std::string_view name, const char* expected, const Value& value) {
  throw TypeError(concat("'", name, "' must be ", expected, ", but is ", short_repr(value), " (",
                         value.type_name(), ")"));
}

}  // namespace

// As Value::dict has it. A file may have any number of names, so that they are not compared with
// each other.
void NamedValues::keep_each_name_once() {
  constexpr std::size_t kFew = 16;
  const bool many = entries_.size() > kFew;
  HashIndex places;
  if (many) places.reserve(entries_.size());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto same = [&](std::size_t at) { return entries_[at].first == entries_[i].first; };
    std::size_t place = 0;
    if (many) {
      const std::size_t hash = hash_text(entries_[i].first);
      const std::uint32_t found = places.find(hash, same);
      place = found == HashIndex::kNone ? kept : found;
      if (place == kept) places.insert(hash, static_cast<std::uint32_t>(kept));
    } else {
      while (place < kept && !same(place)) ++place;
    }
    if (place < kept) {
      entries_[place].second = std::move(entries_[i].second);
      continue;
    }
    if (kept != i) entries_[kept] = std::move(entries_[i]);
    ++kept;
  }
  entries_.resize(kept);
}

// Operators on a number (below) have a guard on the place that it is in.

NamedValues::~NamedValues() { leave(entries_); }

NamedValues& NamedValues::operator=(const NamedValues& other) { return *this = NamedValues(other); }
NamedValues& NamedValues::operator=(NamedValues&& other) noexcept {
  // What was there goes last: its destructors may be somebody's code.
  NamedValues taken(std::move(other));
  entries_.swap(taken.entries_);
  return *this;
}

const Value* NamedValues::find(std::string_view name) const noexcept {
  const auto place = place_of(entries_, name);
  return place == entries_.end() ? nullptr : &place->second;
}

const Value& NamedValues::at(std::string_view name) const {
  if (const Value* value = find(name)) return *value;
  std::string there;
  for (const auto& [other, value] : entries_) there += concat(there.empty() ? "" : ", ", other);
  throw IndexError(concat("there is no '", name, "'; there are: ", there));
}

Value& NamedValues::operator[](std::string_view name) {
  const auto place = place_of(entries_, name);
  if (place != entries_.end()) return place->second;
  if (entries_.size() == entries_.capacity()) leave(entries_);
  return entries_.emplace_back(name, Value()).second;
}

void NamedValues::set_default(std::string_view name, const Value& value) {
  if (contains(name)) return;
  const Value own = value;  // may be one of these
  (*this)[name] = own;
}

bool NamedValues::erase(std::string_view name) {
  const auto place = place_of(entries_, name);
  if (place == entries_.end()) return false;
  leave(std::span(place, entries_.end()));
  const Value gone = std::move(place->second);  // goes when the others are in their places
  entries_.erase(place);
  return true;
}

double NamedValues::real(std::string_view name) const {
  const Value& value = at(name);
  switch (value.kind()) {
    case Value::Kind::integer:
    case Value::Kind::real: return value.as_real();
    case Value::Kind::boolean: return value.as_bool() ? 1 : 0;
    case Value::Kind::tensor:
      // One of the user's may run code that destroys all of these.
      if (const Tensor own = value.as_tensor(); own.numel() == 1) return own.item<double>();
      [[fallthrough]];
    default: wrong_kind(name, "a number", value);
  }
}

bool NamedValues::boolean(std::string_view name) const {
  const Value& value = at(name);
  switch (value.kind()) {
    case Value::Kind::none: return false;
    case Value::Kind::boolean: return value.as_bool();
    case Value::Kind::integer: return value.as_int() != 0;
    default: wrong_kind(name, "a bool", value);
  }
}

Tensor NamedValues::tensor(std::string_view name) const {
  const Value& value = at(name);
  if (!value.is_tensor()) wrong_kind(name, "a tensor", value);
  return value.as_tensor();
}

Value NamedValues::value() const {
  std::vector<Value::Entry> entries;
  entries.reserve(entries_.size());
  for (const auto& [name, value] : entries_) entries.emplace_back(name, value);
  return Value::dict(std::move(entries));
}

std::optional<double> number_in(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::integer:
    case Value::Kind::real: return value.as_real();
    case Value::Kind::tensor:
      if (value.as_tensor().numel() == 1) return value.as_tensor().item<double>();
      return std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace tenon::optim

namespace tenon {

namespace {

double number_to_be(const char* what, const Value& value) {
  const auto number = optim::number_in(value);
  if (!number) {
    throw TypeError(concat("only a number is ", what, ", and this is ", short_repr(value), " (",
                           value.type_name(), ")"));
  }
  return *number;
}

}  // namespace

// What reads a user-defined tensor is its class's code, which may take it out of its place.
Value& operator*=(Value& number, double factor) {
  const nn::detail::Guard place(static_cast<const void*>(&number), "a number was multiplied");
  const double product = number_to_be("multiplied", number) * factor;
  place.check();
  return number = product;
}
Value& operator/=(Value& number, double divisor) {
  const nn::detail::Guard place(static_cast<const void*>(&number), "a number was divided");
  const double quotient = number_to_be("divided", number) / divisor;
  place.check();
  return number = quotient;
}

}  // namespace tenon
