// State dicts of optimizers: indices stand for parameters.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "core/value_text.h"
#include "optim/copied_names.h"
#include "optim/load_problems.h"
#include "optim/options.h"
#include "optim/parameter_name.h"
#include "optim/state.h"
#include "optim/state_conversion.h"
#include "tenon/error.h"
#include "tenon/uninitialized.h"

namespace tenon::optim {

using nn::detail::Guard;

namespace {

constexpr const char* kLoading = "load_state_dict() was running";

// Where parameters are in all groups together; one that comes again has its first place.
std::unordered_map<const void*, std::int64_t> indices_of(const std::vector<ParamGroup>& groups) {
  std::unordered_map<const void*, std::int64_t> indices;
  std::int64_t next = 0;
  for (const ParamGroup& group : groups) {
    for (const Tensor& parameter : group.params()) {
      indices.try_emplace(parameter.cell().get(), next);
      ++next;
    }
  }
  return indices;
}

template <class Hooks>
Value replaced(const Hooks& hooks, const Guard& guard, Optimizer& optimizer, Value state_dict) {
  const auto entries = hooks.snapshot();
  if (!entries) return state_dict;
  for (const auto& entry : *entries) {
    std::optional<Value> other = Hooks::function(entry)(optimizer, state_dict);
    guard.check();
    if (other) state_dict = *std::move(other);
  }
  return state_dict;
}

// A parameter, and what a message calls it.
struct Target {
  Tensor parameter;
  std::int64_t index = 0;  // among all of the optimizer
  std::size_t group = 0;
  std::string name;
};
std::string named(const Target& target) {
  return target.name.empty() ? concat("parameter ", target.index)
                             : concat("parameter ", target.index, " ('", target.name, "')");
}

using Targets = std::vector<std::pair<Value, Target>>;

// Where in the targets one is, by what the file calls it; the last one of that name.
Value places_by_name(const Targets& targets) {
  std::vector<Value::Entry> places;
  // A long name that several have is hashed once.
  std::unordered_set<const void*> seen;
  for (std::size_t i = targets.size(); i-- > 0;) {
    const Value& name = targets[i].first;
    if (name.identity() != nullptr && !seen.insert(name.identity()).second) continue;
    places.emplace_back(name, i);
  }
  std::reverse(places.begin(), places.end());
  return Value::dict(std::move(places));
}

bool is_number(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::boolean:
    case Value::Kind::integer:
    case Value::Kind::real: return true;
    case Value::Kind::tensor: return value.as_tensor().numel() == 1 && !value.as_tensor().is_meta();
    default: return false;
  }
}

// With the names that a file has for them, if it has one for each.
Params with_names(const std::vector<Tensor>& tensors, const Value* names, CopiedNames& copied) {
  if (names == nullptr || names->kind() != Value::Kind::list ||
      names->items().size() != tensors.size())
    return tensors;
  std::vector<std::pair<std::string, Tensor>> named;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Value& name = names->items()[i];
    if (name.kind() != Value::Kind::string) return tensors;
    copied.add(name, name.as_string().size());
    named.emplace_back(name.as_string(), tensors[i]);
  }
  return named;
}

const Value& entry_of(const Value& state_dict, const char* name, Value::Kind kind,
                      const char* expected) {
  if (state_dict.kind() != Value::Kind::dict) {
    throw TypeError(
        concat("an optimizer's state dict is a dict with 'state' and 'param_groups', "
               "but this is of type ",
               state_dict.type_name()));
  }
  const Value* found = state_dict.find(name);
  if (found == nullptr) {
    std::string there;
    for (const auto& [key, value] : state_dict.entries())
      there += concat(there.empty() ? "" : ", ", short_repr(key));
    throw ValueError(
        concat("an optimizer's state dict has 'state' and 'param_groups', but this "
               "one has no '",
               name, "'; it has: ", there.empty() ? "nothing" : there));
  }
  const bool listed = kind == Value::Kind::list && found->kind() == Value::Kind::tuple;
  if (found->kind() != kind && !listed) {
    throw TypeError(concat("'", name, "' of an optimizer's state dict must be ", expected,
                           ", but is of type ", found->type_name()));
  }
  return *found;
}

// The options that a file has for a group, whose number is for messages.
NamedValues options_of(const Value& group, std::size_t number, CopiedNames& copied,
                       std::vector<std::string>& problems) {
  copied.begin(group);
  std::vector<NamedValues::Entry> options;
  for (const auto& [key, value] : group.entries()) {
    if (key.kind() != Value::Kind::string) {
      std::string text = short_repr(key);
      copied.add(key, text.size());
      problems.push_back(concat("an option of parameter group ", number, " has the name ", text,
                                ", which is no text"));
    } else if (key.as_string() != "params") {
      copied.add(key, key.as_string().size());
      options.emplace_back(key.as_string(), value);
    }
  }
  return options;
}

}  // namespace

// What is shared out over all parameters of a load.
struct Optimizer::Reading {
  StateConversion conversion;
  CopiedNames copied;
  // By group. A file may have any number of options, among which those that matter are looked for.
  std::vector<std::optional<std::vector<Kept>>> known;
};

Value Optimizer::state_dict() {
  const Guard guard(static_cast<const void*>(this), "state_dict() was running");
  state_dict_pre_.run(guard, *this);
  const auto indices = indices_of(groups_);
  std::vector<Value::Entry> state;
  for (const State::Entry& entry : state_->entries) {
    if (!entry.parameter.defined()) {
      state.emplace_back(entry.key, entry.other);
      continue;
    }
    const auto index = indices.find(entry.parameter.cell().get());
    if (index != indices.end()) state.emplace_back(index->second, entry.kept.value());
  }
  std::vector<Value> groups;
  for (const ParamGroup& group : groups_) {
    std::vector<Value::Entry> entries;
    for (const auto& [name, value] : group) entries.emplace_back(name, value);
    std::vector<Value> params;
    for (const Tensor& parameter : group.params())
      params.emplace_back(indices.at(parameter.cell().get()));
    entries.emplace_back("params", Value::list(std::move(params)));
    groups.push_back(Value::dict(std::move(entries)));
  }
  Value result = Value::dict(
      {{"state", Value::dict(std::move(state))}, {"param_groups", Value::list(std::move(groups))}});
  return replaced(state_dict_post_, guard, *this, std::move(result));
}

// Note [Loading an optimizer]
// Everything is looked at, and everything that does not fit is said, before anything is changed.
// PyTorch matches groups and parameters by position and looks no further; a shape that differs is
// found by it in the next step, with half of the parameters updated.
Optimizer::Plan Optimizer::plan_load(const Value& state_dict) const {
  const Guard guard(static_cast<const void*>(this), kLoading);
  const Value& saved_state = entry_of(state_dict, "state", Value::Kind::dict, "a dict");
  const Value& saved_groups = entry_of(state_dict, "param_groups", Value::Kind::list, "a list");
  std::vector<std::string> problems;
  Plan plan;
  Reading reading;

  const auto saved = saved_groups.items();
  const std::vector<ParamGroup> here = groups_;  // user code may empty them meanwhile
  if (saved.size() != here.size()) {
    refuse(type_name_,
           {concat("loaded state dict has a different number of parameter groups: it has ",
                   saved.size(), ", the optimizer ", here.size())});
  }
  // What the file calls a parameter, and which one that is here.
  Targets targets;
  std::int64_t index = 0;
  for (std::size_t g = 0; g < saved.size(); ++g) {
    const ParamGroup& current = here[g];
    const Value* params = saved[g].kind() == Value::Kind::dict ? saved[g].find("params") : nullptr;
    if (params == nullptr ||
        (params->kind() != Value::Kind::list && params->kind() != Value::Kind::tuple)) {
      problems.push_back(concat("parameter group ", g, " is no dict with a list of 'params'"));
      index += static_cast<std::int64_t>(current.params().size());
      plan.groups.push_back(current);
      continue;
    }
    if (params->items().size() != current.params().size()) {
      problems.push_back(
          concat("loaded state dict contains a parameter group that doesn't match the size of "
                 "optimizer's group: group ",
                 g, " has ", params->items().size(), " parameters in the state dict and ",
                 current.params().size(), " in the optimizer"));
      index += static_cast<std::int64_t>(current.params().size());
      plan.groups.push_back(current);
      continue;
    }
    for (std::size_t i = 0; i < current.params().size(); ++i, ++index) {
      const Value& name = params->items()[i];
      Target target{current.params()[i], index, g,
                    current.param_names().empty() ? "" : current.param_names()[i]};
      if (!is_parameter_name(name)) {
        problems.push_back(concat("the state dict's name of ", named(target),
                                  " must be a number, a text or a short tuple, but is of type ",
                                  name.type_name()));
      }
      targets.emplace_back(name, std::move(target));
    }
    ParamGroup fresh;
    try {
      NamedValues all = options_of(saved[g], g, reading.copied, problems);
      if (const Value* names = current.find("param_names")) all.set_default("param_names", *names);
      Params params_here = with_names(current.params(), all.find("param_names"), reading.copied);
      fresh = ParamGroup(std::move(params_here), std::move(all));
      complete(fresh);
      guard.check();
      check(fresh, false);
      guard.check();
    } catch (const Error& error) {
      guard.check();
      problems.push_back(concat("parameter group ", g, ": ", error.what()));
    }
    plan.groups.push_back(std::move(fresh));
  }
  if (!problems.empty()) refuse(type_name_, std::move(problems));

  const Value places = places_by_name(targets);
  reading.known.resize(plan.groups.size());
  for (const auto& [key, value] : saved_state.entries()) {
    // What is no name of a parameter may be long to hash.
    const Value* place = is_parameter_name(key) ? places.find(key) : nullptr;
    if (place == nullptr) {
      State::Entry other;
      other.key = key;
      other.other = value;
      plan.state.entries.push_back(std::move(other));
      continue;
    }
    const Target& target = targets[static_cast<std::size_t>(place->as_int())].second;
    if (value.kind() != Value::Kind::dict) {
      problems.push_back(concat("the state of ", named(target), " must be a dict, but is of type ",
                                value.type_name()));
      continue;
    }
    auto& known = reading.known[target.group];
    if (!known) known = kept(plan.groups[target.group]);
    guard.check();
    check_state(value, target.parameter, named(target), *known, problems);
    if (!problems.empty()) continue;
    try {
      plan.state.at(target.parameter).kept = kept_of(value, target.parameter, *known, reading);
    } catch (const Error& error) {
      guard.check();
      problems.push_back(concat("the state of ", named(target), ": ", error.what()));
    }
  }
  if (!problems.empty()) refuse(type_name_, std::move(problems));
  return plan;
}

NamedValues Optimizer::kept_of(const Value& state, const Tensor& parameter,
                               const std::vector<Kept>& known, Reading& reading) const {
  using As = StateConversion::As;
  const Guard guard(static_cast<const void*>(this), kLoading);
  // What steps write into, if its size has been looked at: the parameter's, or one element.
  const auto use_of = [&](const std::string& name) {
    if (name == "step") return As::step;
    const bool own = std::any_of(known.begin(), known.end(), [&](const Kept& one) {
      return one.name == name && !(one.like_parameter && is_lazy(parameter));
    });
    return own ? As::own : As::other;
  };
  reading.copied.begin(state);
  std::vector<NamedValues::Entry> entries;
  for (const auto& [name, item] : state.entries()) {
    std::string text = name.kind() == Value::Kind::string ? name.as_string() : name.repr();
    reading.copied.add(name, text.size());
    Value made = reading.conversion.of(item, parameter, use_of(text));
    guard.check();  // a user-defined tensor is converted by its class
    entries.emplace_back(std::move(text), std::move(made));
  }
  NamedValues all(std::move(entries));
  // Old files have a number for the steps.
  for (const Kept& one : known) {
    const Value* value = one.like_parameter ? nullptr : all.find(one.name);
    if (value != nullptr && !value->is_none() && !value->is_tensor())
      all[one.name] = no_steps().fill_(all.real(one.name));
  }
  return all;
}

void Optimizer::check_state(const Value& state, const Tensor& parameter, const std::string& name,
                            const std::vector<Kept>& known, std::vector<std::string>& problems) {
  if (state.entries().empty()) return;
  for (const Kept& kept : known) {
    const Value* value = state.find(kept.name);
    if (value == nullptr || value->is_none()) {
      if (!kept.optional)
        problems.push_back(concat("the state of ", name, " has no '", kept.name, "'"));
    } else if (!kept.like_parameter) {
      if (!is_number(*value))
        problems.push_back(concat("'", kept.name, "' of the state of ", name,
                                  " must be a number, but is of type ", value->type_name()));
    } else if (!value->is_tensor()) {
      problems.push_back(concat("'", kept.name, "' of the state of ", name,
                                " must be a tensor, but is of type ", value->type_name()));
    } else if (is_lazy(value->as_tensor())) {
      problems.push_back(concat("'", kept.name, "' of the state of ", name, " is uninitialized"));
    } else if (value->as_tensor().is_meta() && !parameter.is_meta()) {
      problems.push_back(concat("'", kept.name, "' of the state of ", name,
                                " is on meta: there is no data to load"));
    } else if (is_lazy(parameter)) {
      continue;  // its shape is not known yet
    } else if (value->as_tensor().shape() != parameter.shape()) {
      problems.push_back(concat("size mismatch for '", kept.name, "' of the state of ", name,
                                ": the state dict has ", bracketed(value->as_tensor().shape()),
                                ", the parameter is ", bracketed(parameter.shape())));
    }
  }
}

void Optimizer::load_state_dict(const Value& state_dict) {
  const Guard guard(static_cast<const void*>(this), kLoading);
  const Value incoming = replaced(load_pre_, guard, *this, state_dict);
  if (state_->going_through != 0) {
    throw Error(concat("this ", type_name_,
                       " cannot be loaded while it goes through its groups: a step is using what "
                       "it keeps. Load it before or afterwards, or in a hook"));
  }
  Plan plan;
  {
    const GoingThrough going(*this, guard);
    plan = plan_load(incoming);
    guard.check();
  }
  groups_.swap(plan.groups);
  state_->entries.swap(plan.state.entries);
  state_->places.swap(plan.state.places);
  add_waiting();
  load_post_.run(guard, *this);
}

}  // namespace tenon::optim
