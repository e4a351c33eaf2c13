#include "tenon/optim/scheduler_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/user_code.h"
#include "core/value_text.h"
#include "optim/options.h"
#include "optim/schedule_arithmetic.h"
#include "tenon/error.h"
#include "tenon/optim/lr_scheduler.h"

namespace tenon::optim::lr_scheduler {

namespace {

[[noreturn]] void wrong(const char* expected, const Value& value) {
  throw TypeError(
      concat("must be ", expected, ", but is ", short_repr(value), " (", value.type_name(), ")"));
}

double real_of(const Value& value) {
  const auto number = number_in(value);
  if (!number) wrong("a number", value);
  return *number;
}
double finite_of(const Value& value) {
  const double number = real_of(value);
  if (!std::isfinite(number)) wrong("a finite number", value);
  return number;
}
std::int64_t integer_of(const Value& value) {
  // step(2.0) leaves a float.
  if (value.kind() == Value::Kind::real && std::abs(value.as_real()) <= real(kMaxCount) &&
      std::floor(value.as_real()) == value.as_real())
    return static_cast<std::int64_t>(value.as_real());
  if (value.kind() != Value::Kind::integer || value.as_int() < -kMaxCount ||
      value.as_int() > kMaxCount)
    wrong("a whole number that a double holds", value);
  return value.as_int();
}
std::span<const Value> items_of(const Value& value) {
  if (value.kind() != Value::Kind::list && value.kind() != Value::Kind::tuple)
    wrong("a list", value);
  return value.items();
}

template <class T, class Parse>
SchedulerState::Reader into(T& member, Parse parse) {
  return [&member, parse](const Value& value) -> std::function<void()> {
    return [&member, read = T(parse(value))] { member = read; };
  };
}

}  // namespace

SchedulerState::SchedulerState(const Value& saved, std::string path)
    : saved_(&saved), path_(std::move(path)) {
  if (saved.kind() != Value::Kind::dict) {
    throw TypeError(
        concat("a scheduler's state dict is a dict, but this is of type ", saved.type_name()));
  }
}

void SchedulerState::value(std::string_view name, const Value& now, const Reader& reader,
                           Need need) {
  if (saved_ == nullptr) {
    written_.emplace_back(name, now);
    return;
  }
  visited_.emplace_back(name);
  const Value* found = saved_->find(name);
  if (found == nullptr) {
    if (need == Need::always) problems_.push_back(concat("there is no '", path_, name, "'"));
    return;
  }
  // What reads user-defined tensors is their classes' code. That a scheduler was destroyed is no
  // problem of the state dict's: nothing must go on here.
  try {
    changes_.push_back(reader(*found));
  } catch (const Error& error) {
    after_user_code();
    problems_.push_back(concat("'", path_, name, "' ", error.what()));
  }
  after_user_code();
}

void SchedulerState::integer(std::string_view name, std::int64_t& member, Need need) {
  value(name, member, into(member, integer_of), need);
}
void SchedulerState::real(std::string_view name, double& member, Need need) {
  value(name, member, into(member, finite_of), need);
}
void SchedulerState::any_real(std::string_view name, double& member, Need need) {
  value(name, member, into(member, real_of), need);
}
void SchedulerState::boolean(std::string_view name, bool& member, Need need) {
  value(name, member,
        into(member,
             [](const Value& saved) {
               if (saved.kind() != Value::Kind::boolean) wrong("a bool", saved);
               return saved.as_bool();
             }),
        need);
}
void SchedulerState::text(std::string_view name, std::string& member, Need need) {
  value(name, member,
        into(member,
             [](const Value& saved) {
               if (saved.kind() != Value::Kind::string) wrong("text", saved);
               return saved.as_string();
             }),
        need);
}

void SchedulerState::reals(std::string_view name, std::vector<double>& member,
                           std::optional<std::size_t> count, Need need) {
  value(name, Value::list(std::vector<Value>(member.begin(), member.end())),
        into(member,
             [count](const Value& saved) {
               std::vector<double> all;
               for (const Value& item : items_of(saved)) all.push_back(finite_of(item));
               if (count && all.size() != *count) {
                 throw ValueError(concat("has ", all.size(),
                                         " numbers, but there must be one for each of the ", *count,
                                         " parameter groups of the optimizer"));
               }
               return all;
             }),
        need);
}
void SchedulerState::integers(std::string_view name, std::vector<std::int64_t>& member, Need need) {
  value(name, Value::list(std::vector<Value>(member.begin(), member.end())),
        into(member,
             [](const Value& saved) {
               std::vector<std::int64_t> all;
               for (const Value& item : items_of(saved)) all.push_back(integer_of(item));
               return all;
             }),
        need);
}

void SchedulerState::others(NamedValues& kept) {
  if (saved_ == nullptr) {
    for (const auto& [name, entry] : kept) written_.emplace_back(name, entry);
  } else {
    others_ = &kept;
  }
}

void SchedulerState::parts(std::string_view name, const std::vector<LRScheduler*>& schedulers) {
  if (saved_ == nullptr) {
    std::vector<Value> states;
    for (LRScheduler* scheduler : schedulers) states.push_back(scheduler->state_dict());
    written_.emplace_back(name, Value::list(std::move(states)));
    return;
  }
  value(name, {}, [&](const Value& saved) -> std::function<void()> {
    const auto states = items_of(saved);
    if (states.size() != schedulers.size()) {
      throw ValueError(
          concat("has ", states.size(), " schedulers, but there are ", schedulers.size(), " here"));
    }
    for (std::size_t i = 0; i < states.size(); ++i) {
      SchedulerState part(states[i], concat(path_, name, "[", i, "]."));
      schedulers[i]->state(part);
      after_user_code();
      part.finish();
      std::ranges::move(part.problems_, std::back_inserter(problems_));
      std::ranges::move(part.changes_, std::back_inserter(changes_));
    }
    return [] {};
  });
}

void SchedulerState::finish() {
  std::vector<NamedValues::Entry> kept;
  for (const auto& [key, entry] : saved_->entries()) {
    std::string name = key.kind() == Value::Kind::string ? key.as_string() : short_repr(key);
    if (std::ranges::find(visited_, name) != visited_.end()) continue;
    if (others_ != nullptr && (name.starts_with('_') || name == "verbose")) {
      kept.emplace_back(std::move(name), entry);
    } else {
      problems_.push_back(concat("there is '", path_, name,
                                 "', which this scheduler does not have: is the state dict that "
                                 "of another class?"));
    }
  }
  if (others_ == nullptr) return;
  changes_.emplace_back([others = others_, all = NamedValues(std::move(kept))] { *others = all; });
}

}  // namespace tenon::optim::lr_scheduler
