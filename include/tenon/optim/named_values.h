// NamedValues: a few values by their names, in order: the options of a group of parameters, and
// what an optimizer keeps for one of them.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon::optim {

class TENON_API NamedValues {
 public:
  using Entry = std::pair<std::string, Value>;

  NamedValues() = default;
  // In this order. A name that comes twice keeps its place and takes the later value.
  // Note [Braces with names].
  template <std::same_as<std::vector<Entry>> V>
  NamedValues(V entries) : entries_(std::move(entries)) {
    keep_each_name_once();
  }
  template <std::size_t N>
  NamedValues(const Entry (&entries)[N]) : entries_(entries, entries + N) {
    keep_each_name_once();
  }
  NamedValues(const NamedValues& other) = default;
  NamedValues(NamedValues&& other) noexcept = default;
  NamedValues& operator=(const NamedValues& other);
  NamedValues& operator=(NamedValues&& other) noexcept;
  ~NamedValues();

  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  std::vector<Entry>::const_iterator begin() const noexcept { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const noexcept { return entries_.end(); }

  bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }
  const Value* find(std::string_view name) const noexcept;  // null if there is none
  // IndexError, which says what there is, if there is none of that name.
  const Value& at(std::string_view name) const;
  // One that is not there is put at the end, as None.
  Value& operator[](std::string_view name);
  // Puts it at the end, unless there is one of that name.
  void set_default(std::string_view name, const Value& value);
  bool erase(std::string_view name);

  // TypeError, with the name, if it is something else.
  double real(std::string_view name) const;
  bool boolean(std::string_view name) const;  // None is false
  Tensor tensor(std::string_view name) const;

  // A dict.
  Value value() const;

 private:
  void keep_each_name_once();

  std::vector<Entry> entries_;
};

}  // namespace tenon::optim

namespace tenon {

// Of a number: group["lr"] *= 0.1. TypeError for anything else. Error if it is a user-defined
// tensor whose class takes it out of the NamedValues that it is in.
TENON_API Value& operator*=(Value& number, double factor);
TENON_API Value& operator/=(Value& number, double divisor);

}  // namespace tenon
