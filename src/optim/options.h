// Options of optimizers: from their fields, and whether they are in range.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/optim/optimizer.h"

namespace tenon::optim {

// Zero is the whole number it is in PyTorch's defaults, so that texts and files are the same.
inline Value number(double value) { return value == 0 ? Value(0) : Value(value); }
// A number, also one that has been a tensor; nothing for anything else.
std::optional<double> number_in(const Value& value);

inline Value flag(const std::optional<bool>& value) { return value ? Value(*value) : Value(); }

// Adds those that were given, in order.
class GivenOptions {
 public:
  GivenOptions& add(const char* name, const std::optional<double>& value) {
    if (value) given_[name] = number(*value);
    return *this;
  }
  GivenOptions& add(const char* name, const std::optional<bool>& value) {
    if (value) given_[name] = *value;
    return *this;
  }
  GivenOptions& add(const char* name, const std::optional<std::pair<double, double>>& value) {
    if (value) given_[name] = Value::tuple({value->first, value->second});
    return *this;
  }
  NamedValues take() { return std::move(given_); }

 private:
  NamedValues given_;
};

// A group of all of them, without options of its own. ValueError if there are none.
std::vector<ParamGroup> one_group(Params params);

// Groups as their class describes them.
template <class Group>
std::vector<ParamGroup> param_groups_of(std::span<const Group> groups,
                                        ParamGroup (*param_group)(const Group&)) {
  std::vector<ParamGroup> all;
  for (const Group& group : groups) all.push_back(param_group(group));
  return all;
}

// ValueError, "Invalid WHAT: VALUE", unless it is a finite number; from 0 on, if it is `fresh`.
void check_number(const ParamGroup& group, std::string_view name, std::string_view what,
                  bool fresh);
// TypeError unless it is one. NotImplementedError for what a file may ask for and is not here.
void check_flags(const ParamGroup& group, std::initializer_list<std::string_view> names);

// Options to read from. To read a user-defined tensor is user code, which may empty the groups:
// then it is a copy of them, which costs other steps nothing.
class HeldOptions {
 public:
  explicit HeldOptions(const NamedValues& options);
  const NamedValues* operator->() const noexcept { return &**this; }
  const NamedValues& operator*() const noexcept { return copy_ ? *copy_ : options_; }

 private:
  const NamedValues& options_;
  std::optional<NamedValues> copy_;
};
// Whether that is so.
bool has_user_code(const NamedValues& options);

// A number of steps so far, none.
Tensor no_steps();

}  // namespace tenon::optim
