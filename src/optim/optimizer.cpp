#include "tenon/optim/optimizer.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "base/warn.h"
#include "nn/tree_guard.h"
#include "nn/zero_grad.h"
#include "optim/options.h"
#include "optim/state.h"
#include "tenon/autograd.h"
#include "tenon/error.h"

namespace tenon::optim {

using nn::detail::Guard;

void Params::take(std::span<const std::pair<std::string, Tensor>> named) {
  for (const auto& [name, tensor] : named) {
    names_.push_back(name);
    tensors_.push_back(tensor);
  }
}

Value& ParamGroup::operator[](std::string_view name) {
  if (name == "params") {
    throw ValueError(
        "'params' of a group are no option: make an optimizer of the new parameters, and load the "
        "state dict of this one into it");
  }
  return NamedValues::operator[](name);
}

Optimizer::Optimizer(std::string type_name, NamedValues defaults)
    : type_name_(std::move(type_name)),
      defaults_(std::move(defaults)),
      state_(std::make_unique<State>()) {}
Optimizer::~Optimizer() { nn::detail::GuardList::destroyed(this); }

void Optimizer::add_groups(std::vector<ParamGroup> groups) {
  if (groups.empty()) throw ValueError("optimizer got an empty parameter list");
  for (ParamGroup& group : groups) add_param_group(std::move(group));
}

bool Optimizer::check_new_group(const ParamGroup& group) const {
  const auto& params = group.params();
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (!params[i].defined())
      throw TypeError(concat("optimizer can only optimize Tensors, but parameter ", i,
                             " of the group is an undefined one"));
    if (!params[i].is_leaf() && !params[i].retains_grad()) {
      throw ValueError(concat("can't optimize a non-leaf Tensor: parameter ", i,
                              " of the group, of shape ", bracketed(params[i].layout().shape),
                              ", is the result of ", params[i].grad_fn()->name(),
                              "; optimize what it is made of, or detach it"));
    }
  }
  std::unordered_set<const void*> there;
  std::vector<const ParamGroup*> others;
  for (const ParamGroup& other : groups_) others.push_back(&other);
  for (const ParamGroup& other : state_->waiting) others.push_back(&other);
  for (const ParamGroup* one : others) {
    const ParamGroup& other = *one;
    if (other.param_names().empty() != group.param_names().empty()) {
      throw ValueError(
          concat("all optimizer param groups should be with/without names. cannot add param group ",
                 group.param_names().empty() ? "without" : "with", " names to the optimizer"));
    }
    for (const Tensor& parameter : other.params()) there.insert(parameter.cell().get());
  }
  std::unordered_set<const void*> fresh;
  bool twice = false;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (there.contains(params[i].cell().get())) {
      throw ValueError(concat("some parameters appear in more than one parameter group: parameter ",
                              i, " of the new group, of shape ",
                              bracketed(params[i].layout().shape)));
    }
    twice |= !fresh.insert(params[i].cell().get()).second;
  }
  return !twice;
}

void Optimizer::add_param_group(ParamGroup group) {
  if (!group.param_names().empty()) {
    std::vector<Value> names;
    for (const std::string& name : group.param_names()) names.emplace_back(name);
    group["param_names"] = Value::list(std::move(names));
  }
  for (const auto& [name, value] : defaults_) group.set_default(name, value);
  const Guard guard(static_cast<const void*>(this), "a parameter group was added");
  check(group, true);
  guard.check();
  if (!check_new_group(group)) {
    warn(
        "optimizer contains a parameter group with duplicate parameters; they are updated once for "
        "each time they are there");
    guard.check();
    check_new_group(group);  // the handler may have added some of it
  }
  (state_->going_through != 0 ? state_->waiting : groups_).push_back(std::move(group));
}

void Optimizer::add_waiting() {
  if (state_->going_through != 0 || state_->waiting.empty()) return;
  for (ParamGroup& group : std::exchange(state_->waiting, {})) groups_.push_back(std::move(group));
}

void Optimizer::update_groups() {
  const NoGradScope no_grad;
  const Guard guard(static_cast<const void*>(this), "the optimizer took a step");
  // However it ends.
  struct Finally {
    Optimizer& optimizer;
    const Guard& guard;
    ~Finally() {
      try {
        if (!guard.is_gone()) optimizer.add_waiting();
      } catch (...) {  // without memory they wait on
        return;
      }
    }
  } const finally{*this, guard};
  const auto for_each_group = [&](auto f) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      {
        const GoingThrough going(*this, guard);
        f(groups_[i]);
      }
      guard.check();
      add_waiting();
    }
  };
  for_each_group([this](const ParamGroup& group) {
    if (!has_user_code(group)) return check(group, false);
    check(ParamGroup(group), false);  // what reads its options may empty the groups
  });
  for_each_group([this](ParamGroup& group) { update(group); });
}

void Optimizer::step() { step(nullptr); }

Tensor Optimizer::step(const std::function<Tensor()>& given) {
  const std::function<Tensor()> closure = given;  // which may destroy what it was given as
  const Guard guard(static_cast<const void*>(this), "the optimizer took a step");
  step_called_ = has_scheduler_;
  step_pre_.run(guard, *this);
  Tensor loss;
  if (closure) {
    const GradModeScope grad(true);
    loss = closure();
    guard.check();
  }
  update_groups();
  step_post_.run(guard, *this);
  return loss;
}

void Optimizer::zero_grad(const nn::ZeroGradOptions& options) {
  const bool set_to_none = options.set_to_none;
  const Guard guard(static_cast<const void*>(this), "zero_grad() was running");
  {
    const GoingThrough going(*this, guard);
    // What becomes of a gradient may be user code, which may empty the groups.
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t i = 0; g < groups_.size() && i < groups_[g].params().size(); ++i) {
        const Tensor parameter = groups_[g].params()[i];
        nn::zero_grad(parameter, set_to_none);
        guard.check();
      }
    }
  }
  add_waiting();
}

NamedValues& Optimizer::state(const Tensor& parameter) {
  if (!parameter.defined()) throw ValueError("there is no state of an undefined tensor");
  return state_->at(parameter).kept;
}

const NamedValues* Optimizer::find_state(const Tensor& parameter) const noexcept {
  const State::Entry* entry = state_->find(parameter);
  return entry == nullptr ? nullptr : &entry->kept;
}

std::vector<StaleParameter> Optimizer::stale_parameters(const nn::Module& module) const {
  std::unordered_set<const void*> there;
  for (const Tensor& parameter : module.parameters()) there.insert(parameter.cell().get());
  std::vector<StaleParameter> stale;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const ParamGroup& group = groups_[g];
    for (std::size_t i = 0; i < group.params().size(); ++i) {
      if (there.contains(group.params()[i].cell().get())) continue;
      stale.push_back(
          {g, i, group.param_names().empty() ? "" : group.param_names()[i], group.params()[i]});
    }
  }
  return stale;
}

RemovableHandle Optimizer::register_step_pre_hook(StepHook hook) {
  return step_pre_.add(std::move(hook));
}
RemovableHandle Optimizer::register_step_post_hook(StepHook hook) {
  return step_post_.add(std::move(hook));
}
RemovableHandle Optimizer::register_state_dict_pre_hook(StateDictHook hook,
                                                        nn::PreHookOptions options) {
  return state_dict_pre_.add(std::move(hook), options.prepend);
}
RemovableHandle Optimizer::register_state_dict_post_hook(ReplacingHook hook,
                                                         nn::PreHookOptions options) {
  return state_dict_post_.add(std::move(hook), options.prepend);
}
RemovableHandle Optimizer::register_load_state_dict_pre_hook(ReplacingHook hook,
                                                             nn::PreHookOptions options) {
  return load_pre_.add(std::move(hook), options.prepend);
}
RemovableHandle Optimizer::register_load_state_dict_post_hook(StateDictHook hook,
                                                              nn::PreHookOptions options) {
  return load_post_.add(std::move(hook), options.prepend);
}

std::string Optimizer::repr() const {
  // A group may have a user-defined tensor, whose text is its class's code.
  const Guard guard(static_cast<const void*>(this), "repr() was running");
  std::string text = concat(type_name_, " (");
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    text += concat("\nParameter Group ", i, "\n");
    std::vector<NamedValues::Entry> options(groups_[i].begin(), groups_[i].end());
    std::sort(options.begin(), options.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [name, value] : options) {
      text += concat("    ", name, ": ", value.repr(), "\n");
      guard.check();
    }
  }
  return text + ")";
}

}  // namespace tenon::optim
