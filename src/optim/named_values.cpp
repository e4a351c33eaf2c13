#include "tenon/optim/named_values.h"

#include <algorithm>

#include "base/text.h"
#include "core/value_text.h"
#include "optim/options.h"
#include "tenon/error.h"

namespace tenon::optim {

namespace {

template <class Entries>
auto place_of(Entries& entries, std::string_view name) {
  return std::find_if(entries.begin(), entries.end(),
                      [&](const auto& entry) { return entry.first == name; });
}

[[noreturn]] void wrong_kind(std::string_view name, const char* expected, const Value& value) {
  throw TypeError(concat("'", name, "' must be ", expected, ", but is ", short_repr(value), " (",
                         value.type_name(), ")"));
}

}  // namespace

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
  return place == entries_.end() ? entries_.emplace_back(name, Value()).second : place->second;
}

void NamedValues::set_default(std::string_view name, const Value& value) {
  if (!contains(name)) entries_.emplace_back(name, value);
}

bool NamedValues::erase(std::string_view name) {
  const auto place = place_of(entries_, name);
  if (place == entries_.end()) return false;
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
      if (value.as_tensor().numel() == 1) return value.as_tensor().item<double>();
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

Value& operator*=(Value& number, double factor) {
  return number = number_to_be("multiplied", number) * factor;
}
Value& operator/=(Value& number, double divisor) {
  return number = number_to_be("divided", number) / divisor;
}

}  // namespace tenon
