// Schedules of learning rates, and the simple ones.
//
//   optim::SGD optimizer(model.parameters(), {.lr = 0.1});
//   optim::lr_scheduler::StepLR scheduler(optimizer, 30, {.gamma = 0.1});
//   for (int epoch = 0; epoch < 90; ++epoch) {
//     train(model, optimizer);
//     scheduler.step();
//   }
//
// Learning rates are those of PyTorch to the last bit: most are made of what the group has just
// then, so that schedules combine and changes in between are honoured. What a scheduler keeps is
// written and read as PyTorch does, in both directions.
//
// A scheduler holds a reference to the optimizer, which must outlive it. User code that runs
// meanwhile (functions of schedules, overridden functions, user-defined tensors among a group's
// options) may do anything but destroy either, which is an Error.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/optimizer.h"
#include "tenon/optim/scheduler_state.h"
#include "tenon/shape.h"
#include "tenon/value.h"

namespace tenon::optim::lr_scheduler {

// One number for all groups, or one for each: 0.1, {0.1, 0.2}, or a vector, also of one.
class TENON_API PerGroup {
 public:
  template <class... N>
    requires(sizeof...(N) > 0 && (std::is_arithmetic_v<N> && ...))
  PerGroup(N... each) : values_{static_cast<double>(each)...}, is_list_(sizeof...(N) > 1) {}
  template <std::same_as<std::vector<double>> V>
  PerGroup(V each) : values_(std::move(each)), is_list_(true) {}

  bool is_list() const noexcept { return is_list_; }
  const std::vector<double>& values() const noexcept { return values_; }

 private:
  std::vector<double> values_;
  bool is_list_;
};

// A schedule of one's own derives from it, gives current_lr(), names what it keeps in state(), and
// calls initial_step() at the end of its constructor.
class TENON_API LRScheduler {
 public:
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;
  virtual ~LRScheduler();

  const std::string& type_name() const noexcept { return type_name_; }
  Optimizer& optimizer() const noexcept { return *optimizer_; }
  std::int64_t last_epoch() const noexcept { return last_epoch_; }
  // What learning rates the groups began with; none where a schedule has no use for them.
  const std::vector<double>& base_lrs() const noexcept { return base_lrs_; }

  // Once after each epoch (or each step of the optimizer, for schedules in steps), and after the
  // optimizer's step: before the first one it is a warning. One that throws has changed nothing.
  void step();
  // Goes to that epoch, by the closed form if there is one. A warning: PyTorch gives it up.
  void step(std::int64_t epoch);

  // What the groups were given last.
  const std::vector<double>& get_last_lr() const noexcept { return last_lr_; }
  // What a step would calculate from the present epoch. A warning, as it is not what people want.
  std::vector<double> get_lr() const;

  Value state_dict();
  // LoadError, with everything that does not fit and the scheduler as it was. It does not touch the
  // optimizer, whose state dict has its groups' learning rates.
  void load_state_dict(const Value& state_dict);

 protected:
  LRScheduler(std::string type_name, Optimizer& optimizer, std::int64_t last_epoch);
  // For schedulers that do not begin with the groups' learning rates.
  LRScheduler(std::string type_name, Optimizer& optimizer);

  // Checks arguments, puts "initial_lr" into groups that have none, and takes the first step.
  // ValueError, before that, if last_epoch is not -1 and a group has none.
  void initial_step();

  // Learning rates at last_epoch(). NotImplementedError unless overridden.
  virtual std::vector<double> current_lr() const;
  // The same, calculated from base_lrs() alone.
  virtual std::optional<std::vector<double>> closed_form_lr() const;
  // A step, or one to some epoch.
  virtual void advance(std::optional<double> epoch);
  // Gives the groups what was calculated.
  virtual void write(const std::vector<double>& lrs);
  // Names what is kept, own_state() first.
  virtual void state(SchedulerState& state);
  virtual void own_state(SchedulerState& state);
  // ValueError for arguments out of range. Loads call it too.
  virtual void check() const;
  // As if it had not been stepped; and the first step.
  virtual void undo();
  virtual void begin();
  // The schedulers that this one steps.
  virtual std::vector<LRScheduler*> parts() const;

  std::vector<ParamGroup>& groups() const noexcept { return optimizer_->param_groups(); }
  // The number that each group has under that name. Reading a user-defined tensor is user code,
  // which may add groups and remove them: there are as many numbers as groups afterwards, or more.
  std::vector<double> numbers(std::string_view name) const;
  // Gives a group, if it is still there, another value. What was there goes, which may be user
  // code.
  void set_option(std::size_t group, std::string_view name, Value value) const;
  // The groups' learning rates, each changed by the function.
  std::vector<double> changed(const std::function<double(double lr)>& change) const;
  // One for each of base_lrs(). ValueError if groups were added since.
  std::vector<double> based(const std::function<double(double base_lr)>& function) const;
  void update(std::optional<std::int64_t> epoch);
  void keep_last_lr();

  std::int64_t last_epoch_ = -1;
  std::vector<double> base_lrs_, last_lr_;
  std::int64_t step_count_ = 0;
  bool is_initial_ = false;
  NamedValues others_;  // of other versions of PyTorch

 private:
  friend class SchedulerState;
  friend class SequentialLR;
  friend class ChainedScheduler;

  void warn_of_order() const;
  // Calls f, which runs user code and then check_return() of the guard it is given: that is told if
  // this one, its optimizer or one of its parts is destroyed.
  void with_guards(const char* during,
                   const std::function<void(const nn::detail::Guard&)>& f) const;
  void load(const Value& state_dict, const nn::detail::Guard& guard);

  std::string type_name_;
  Optimizer* optimizer_;
};

struct StepLROptions {
  double gamma = 0.1;
  std::int64_t last_epoch = -1;
};
// Times gamma, every step_size epochs.
class TENON_API StepLR final : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, std::int64_t step_size, const StepLROptions& options = {});
  ~StepLR() override;

 protected:
  std::vector<double> current_lr() const override;
  std::optional<std::vector<double>> closed_form_lr() const override;
  void own_state(SchedulerState& state) override;
  void check() const override;

 private:
  std::int64_t step_size_;
  double gamma_;
};

struct MultiStepLROptions {
  double gamma = 0.1;
  std::int64_t last_epoch = -1;
};
// Times gamma at every milestone, in any order; one that is there twice counts twice.
class TENON_API MultiStepLR final : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, const Dims& milestones, const MultiStepLROptions& options = {});
  ~MultiStepLR() override;

 protected:
  std::vector<double> current_lr() const override;
  std::optional<std::vector<double>> closed_form_lr() const override;
  void own_state(SchedulerState& state) override;
  void check() const override;

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> milestones_;  // and how often, as first given
  double gamma_;
};

struct ConstantLROptions {
  double factor = 1.0 / 3;
  std::int64_t total_iters = 5;
  std::int64_t last_epoch = -1;
};
// Times the factor, until total_iters.
class TENON_API ConstantLR final : public LRScheduler {
 public:
  explicit ConstantLR(Optimizer& optimizer, const ConstantLROptions& options = {});
  ~ConstantLR() override;

 protected:
  std::vector<double> current_lr() const override;
  std::optional<std::vector<double>> closed_form_lr() const override;
  void own_state(SchedulerState& state) override;
  void check() const override;

 private:
  double factor_;
  std::int64_t total_iters_;
};

struct LinearLROptions {
  double start_factor = 1.0 / 3;
  double end_factor = 1.0;
  std::int64_t total_iters = 5;
  std::int64_t last_epoch = -1;
};
// From one factor to another in total_iters even steps.
class TENON_API LinearLR final : public LRScheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, const LinearLROptions& options = {});
  ~LinearLR() override;

 protected:
  std::vector<double> current_lr() const override;
  std::optional<std::vector<double>> closed_form_lr() const override;
  void own_state(SchedulerState& state) override;
  void check() const override;

 private:
  double start_factor_, end_factor_;
  std::int64_t total_iters_;
};

struct ExponentialLROptions {
  std::int64_t last_epoch = -1;
};
// Times gamma, every epoch.
class TENON_API ExponentialLR final : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma, const ExponentialLROptions& options = {});
  ~ExponentialLR() override;

 protected:
  std::vector<double> current_lr() const override;
  std::optional<std::vector<double>> closed_form_lr() const override;
  void own_state(SchedulerState& state) override;
  void check() const override;

 private:
  double gamma_;
};

struct PolynomialLROptions {
  std::int64_t total_iters = 5;
  double power = 1.0;
  std::int64_t last_epoch = -1;
};
// To zero in total_iters steps, by a power of what is left.
class TENON_API PolynomialLR final : public LRScheduler {
 public:
  explicit PolynomialLR(Optimizer& optimizer, const PolynomialLROptions& options = {});
  ~PolynomialLR() override;

 protected:
  std::vector<double> current_lr() const override;
  std::optional<std::vector<double>> closed_form_lr() const override;
  void own_state(SchedulerState& state) override;
  void check() const override;

 private:
  std::int64_t total_iters_;
  double power_;
};

// A factor for an epoch.
using LRLambda = std::function<double(std::int64_t epoch)>;
struct LambdaLROptions {
  std::int64_t last_epoch = -1;
};
// The first learning rate times what the function gives. Functions are not in the state dict: give
// the same ones again.
class TENON_API LambdaLR final : public LRScheduler {
 public:
  LambdaLR(Optimizer& optimizer, LRLambda lr_lambda, const LambdaLROptions& options = {});
  // One for each group: Note [Braces with names].
  template <std::same_as<std::vector<LRLambda>> V>
  LambdaLR(Optimizer& optimizer, V lr_lambdas, const LambdaLROptions& options = {})
      : LambdaLR(Listed{}, optimizer, std::move(lr_lambdas), options) {}
  template <std::size_t N>
  LambdaLR(Optimizer& optimizer, const LRLambda (&lr_lambdas)[N],
           const LambdaLROptions& options = {})
      : LambdaLR(Listed{}, optimizer, {lr_lambdas, lr_lambdas + N}, options) {}
  ~LambdaLR() override;

 protected:
  std::vector<double> current_lr() const override;
  void state(SchedulerState& state) override;

 private:
  struct Listed {};
  LambdaLR(Listed, Optimizer& optimizer, std::vector<LRLambda> lr_lambdas,
           const LambdaLROptions& options);

  std::vector<LRLambda> lambdas_;
  Value saved_lambdas_;  // what a file has of Python's function objects
};

struct MultiplicativeLROptions {
  std::int64_t last_epoch = -1;
};
// Times what the function gives, every epoch but the first.
class TENON_API MultiplicativeLR final : public LRScheduler {
 public:
  MultiplicativeLR(Optimizer& optimizer, LRLambda lr_lambda,
                   const MultiplicativeLROptions& options = {});
  template <std::same_as<std::vector<LRLambda>> V>
  MultiplicativeLR(Optimizer& optimizer, V lr_lambdas, const MultiplicativeLROptions& options = {})
      : MultiplicativeLR(Listed{}, optimizer, std::move(lr_lambdas), options) {}
  template <std::size_t N>
  MultiplicativeLR(Optimizer& optimizer, const LRLambda (&lr_lambdas)[N],
                   const MultiplicativeLROptions& options = {})
      : MultiplicativeLR(Listed{}, optimizer, {lr_lambdas, lr_lambdas + N}, options) {}
  ~MultiplicativeLR() override;

 protected:
  std::vector<double> current_lr() const override;
  void state(SchedulerState& state) override;

 private:
  struct Listed {};
  MultiplicativeLR(Listed, Optimizer& optimizer, std::vector<LRLambda> lr_lambdas,
                   const MultiplicativeLROptions& options);

  std::vector<LRLambda> lambdas_;
  Value saved_lambdas_;
};

}  // namespace tenon::optim::lr_scheduler
