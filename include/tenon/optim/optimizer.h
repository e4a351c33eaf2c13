// Optimizers: what makes new parameters of gradients.
//
//   optim::SGD optimizer(model.parameters(), {.lr = 0.1, .momentum = 0.9});
//   for (const auto& [input, target] : data) {
//     optimizer.zero_grad();
//     mse_loss(model(input), target).backward();
//     optimizer.step();
//   }
//
// An optimizer holds parameters, not their names: it follows a parameter whose content is swapped,
// and is left with the old one where a load assigns another (stale_parameters says which). What it
// keeps is written and read as PyTorch does, in both directions.
//
// Hooks, closures, overridden functions and user-defined tensors among the options may do anything
// to the optimizer but destroy it, which is an Error. Code that runs while a group is being updated
// (operators of user-defined tensors) may add groups, which then come after that one; a load is an
// Error there.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/nn/hooks.h"
#include "tenon/nn/module.h"
#include "tenon/optim/named_values.h"
#include "tenon/removable_handle.h"
#include "tenon/tensor.h"
#include "tenon/tensor_list.h"
#include "tenon/value.h"

namespace tenon::optim {

namespace lr_scheduler {
class LRScheduler;
}

// Tensors to optimize, all with names or all without: model.parameters(), {weight, bias}, {weight},
// model.named_parameters().
class TENON_API Params {
 public:
  Params() = default;
  template <std::same_as<std::vector<Tensor>> V>
  Params(V tensors) : tensors_(std::move(tensors)) {}
  // Note [Braces with names].
  Params(const OneTensor& one) : tensors_(1, one.tensor) {}
  template <std::convertible_to<const Tensor&>... T>
    requires(sizeof...(T) > 1)
  Params(const T&... tensors) : tensors_{static_cast<const Tensor&>(tensors)...} {}
  // A TensorList, an array, a span.
  template <class L>
    requires std::convertible_to<const L&, std::span<const Tensor>> &&
             (!std::same_as<L, std::vector<Tensor>>)
  Params(const L& tensors) {
    const std::span<const Tensor> all = tensors;
    tensors_.assign(all.begin(), all.end());
  }
  template <std::same_as<std::vector<std::pair<std::string, Tensor>>> V>
  Params(const V& named) {
    take(named);
  }

  const std::vector<Tensor>& tensors() const noexcept { return tensors_; }
  // As many, or none.
  const std::vector<std::string>& names() const noexcept { return names_; }

 private:
  void take(std::span<const std::pair<std::string, Tensor>> named);

  std::vector<Tensor> tensors_;
  std::vector<std::string> names_;
};

// Parameters that are updated with the same options: group["lr"] = 0.01, group["lr"] *= 0.1.
class TENON_API ParamGroup : public NamedValues {
 public:
  ParamGroup() = default;
  ParamGroup(Params params, NamedValues options)
      : NamedValues(std::move(options)), params_(std::move(params)) {}

  // An option, as above. ValueError for "params", which are no option.
  Value& operator[](std::string_view name);
  double lr() const { return real("lr"); }
  void set_lr(double lr) { (*this)["lr"] = lr; }

  const std::vector<Tensor>& params() const noexcept { return params_.tensors(); }
  const std::vector<std::string>& param_names() const noexcept { return params_.names(); }

 private:
  Params params_;
};

// A parameter that an optimizer holds and a module does not have.
struct StaleParameter {
  std::size_t group = 0, index = 0;  // where in the optimizer
  std::string name;                  // as the group has it; empty if it has none
  Tensor parameter;
};

class TENON_API Optimizer {
 public:
  using StepHook = std::function<void(Optimizer& optimizer)>;
  using StateDictHook = std::function<void(Optimizer& optimizer)>;
  // May give another state dict to go on with.
  using ReplacingHook =
      std::function<std::optional<Value>(Optimizer& optimizer, const Value& state_dict)>;

  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer();

  const std::string& type_name() const noexcept { return type_name_; }
  std::vector<ParamGroup>& param_groups() noexcept { return groups_; }
  const std::vector<ParamGroup>& param_groups() const noexcept { return groups_; }
  const NamedValues& defaults() const noexcept { return defaults_; }

  // Options the group does not have are the defaults. ValueError, with the optimizer as it was, for
  // a tensor that is no leaf, one that another group has, names that only some groups have, or
  // options out of range. A tensor twice in one group is a warning.
  void add_param_group(ParamGroup group);

  // Updates every parameter that has a gradient. ValueError or TypeError, before anything is
  // changed, for options that are not finite or of another type, or if something is not kept that
  // should be.
  void step();
  // Calls a copy of it first, with recording on, and gives what it gives: the loss.
  Tensor step(const std::function<Tensor()>& closure);
  void zero_grad(const nn::ZeroGradOptions& options = {});

  // What is kept for a parameter; empty until the first step that has a gradient for it. The
  // reference is good until the next load.
  NamedValues& state(const Tensor& parameter);
  const NamedValues* find_state(const Tensor& parameter) const noexcept;

  // {"state": {index: {...}}, "param_groups": [{..., "params": [index, ...]}]}. Its tensors are
  // those of the optimizer, not copies.
  Value state_dict();
  // The options come from the state dict, the parameters stay. Tensors become the parameter's dtype
  // and device, but for "step"; those that are so already are taken as they are, not copied. What
  // steps write into is converted for each parameter by itself. Of the rest, what is the same
  // object in several places stays one, and a tensor that repeats few elements goes on repeating
  // them: it takes no more than what was saved. LoadError, with everything that does not fit and
  // the optimizer as it was, if groups, sizes, shapes or what must be kept differ.
  void load_state_dict(const Value& state_dict);

  // The parameters it holds and the module does not have: those that an assigning load replaced,
  // which step() goes on updating to no effect. An optimizer made of the module's parameters, with
  // this one's state dict loaded, goes on where this one is.
  std::vector<StaleParameter> stale_parameters(const nn::Module& module) const;

  RemovableHandle register_step_pre_hook(StepHook hook);
  RemovableHandle register_step_post_hook(StepHook hook);
  RemovableHandle register_state_dict_pre_hook(StateDictHook hook, nn::PreHookOptions options = {});
  RemovableHandle register_state_dict_post_hook(ReplacingHook hook,
                                                nn::PreHookOptions options = {});
  RemovableHandle register_load_state_dict_pre_hook(ReplacingHook hook,
                                                    nn::PreHookOptions options = {});
  RemovableHandle register_load_state_dict_post_hook(StateDictHook hook,
                                                     nn::PreHookOptions options = {});

  // As PyTorch prints it: the groups and their options by name.
  std::string repr() const;

 protected:
  // Something kept for a parameter.
  struct Kept {
    std::string name;
    bool like_parameter = true;  // or a number
    bool optional = false;       // may be absent, or None
  };

  Optimizer(std::string type_name, NamedValues defaults);
  // By the derived class's constructor, once. ValueError if there is no group.
  void add_groups(std::vector<ParamGroup> groups);

  // TypeError and ValueError for options that step() cannot use; of a group that is added
  // (`fresh`) also for those out of range. What a schedule makes of them may be below 0.
  virtual void check(const ParamGroup& group, bool fresh) const = 0;
  // A step of one group, with recording off. Operators of user-defined tensors are user code, which
  // may empty param_groups(): whatever is needed of the group is taken from it before the first.
  // To read an option that is such a tensor is one.
  virtual void update(ParamGroup& group) = 0;
  // What a state of the group has, if it is not empty.
  virtual std::vector<Kept> kept(const ParamGroup& group) const = 0;
  // Adds the options that older files do not have, and what the class insists on.
  virtual void complete(ParamGroup& group) const = 0;

 private:
  friend class lr_scheduler::LRScheduler;
  class GoingThrough;
  struct Plan;
  struct Reading;
  struct State;

  // False if it has a parameter twice.
  bool check_new_group(const ParamGroup& group) const;
  void update_groups();
  void add_waiting();
  Plan plan_load(const Value& state_dict) const;
  NamedValues kept_of(const Value& state, const Tensor& parameter, const std::vector<Kept>& known,
                      Reading& reading) const;
  // Adds what is wrong with it to the problems.
  static void check_state(const Value& state, const Tensor& parameter, const std::string& name,
                          const std::vector<Kept>& known, std::vector<std::string>& problems);

  std::string type_name_;
  NamedValues defaults_;
  std::vector<ParamGroup> groups_;
  std::unique_ptr<State> state_;
  // Whether a scheduler looks at it, and a step has been taken since.
  bool has_scheduler_ = false, step_called_ = false;
  nn::detail::HookList<StepHook> step_pre_, step_post_;
  nn::detail::HookList<StateDictHook> state_dict_pre_, load_post_;
  nn::detail::HookList<ReplacingHook> state_dict_post_, load_pre_;
};

}  // namespace tenon::optim
