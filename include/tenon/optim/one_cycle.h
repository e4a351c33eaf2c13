// OneCycleLR: up to a large learning rate and far down, with the momentum the other way round.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/lr_scheduler.h"

namespace tenon::optim::lr_scheduler {

struct OneCycleLROptions {
  // Either total_steps or both of the others.
  std::optional<std::int64_t> total_steps = {};
  std::optional<std::int64_t> epochs = {};
  std::optional<std::int64_t> steps_per_epoch = {};
  double pct_start = 0.3;
  std::string anneal_strategy = "cos";  // or "linear"
  bool cycle_momentum = true;
  PerGroup base_momentum = 0.85;
  PerGroup max_momentum = 0.95;
  double div_factor = 25.0;
  double final_div_factor = 1e4;
  bool three_phase = false;
  std::int64_t last_epoch = -1;
};

// Stepped after every batch. The groups get "initial_lr", "max_lr", "min_lr", "max_momentum" and
// "base_momentum", which is where the schedule reads them. What is cycled is "momentum", or the
// first of "betas".
class TENON_API OneCycleLR final : public LRScheduler {
 public:
  OneCycleLR(Optimizer& optimizer, const PerGroup& max_lr, const OneCycleLROptions& options = {});
  ~OneCycleLR() override;

 protected:
  std::vector<double> current_lr() const override;
  void write(const std::vector<double>& lrs) override;
  void own_state(SchedulerState& state) override;
  void check() const override;

 private:
  // From one option of the group to another.
  struct Phase {
    double end_step = 0;
    std::string start_lr, end_lr, start_momentum, end_momentum;
  };
  // Where in which phase. ValueError beyond the last step.
  std::pair<Phase, double> place(std::int64_t step) const;
  // Of each group.
  std::vector<double> annealed(const std::string& start, const std::string& end, double part) const;
  void prepare_groups(const PerGroup& max_lr, const OneCycleLROptions& options);
  Value phases() const;
  static std::vector<Phase> phases_of(const Value& saved);

  std::int64_t total_steps_ = 0;
  std::vector<Phase> phases_;
  std::string anneal_strategy_;
  bool cycle_momentum_, use_beta1_ = false;
};

}  // namespace tenon::optim::lr_scheduler
