// CyclicLR: up and down between two learning rates, with the momentum the other way round.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/lr_scheduler.h"

namespace tenon::optim::lr_scheduler {

// How high a cycle is, of its number or of a step's.
using CycleScale = std::function<double(double x)>;

struct CyclicLROptions {
  std::int64_t step_size_up = 2000;
  std::optional<std::int64_t> step_size_down = {};  // as many as up
  // "triangular", "triangular2" (half as high with every cycle) or "exp_range" (gamma times as high
  // with every step).
  std::string mode = "triangular";
  double gamma = 1.0;
  // Takes the place of the mode, and is not saved.
  CycleScale scale_fn = {};
  std::string scale_mode = "cycle";  // what that function is of; or "iterations"
  bool cycle_momentum = true;
  PerGroup base_momentum = 0.8;
  PerGroup max_momentum = 0.9;
  std::int64_t last_epoch = -1;
};

// Stepped after every batch. The groups begin with base_lr, whatever theirs was. What is cycled is
// "momentum", or the first of "betas".
class TENON_API CyclicLR final : public LRScheduler {
 public:
  CyclicLR(Optimizer& optimizer, const PerGroup& base_lr, const PerGroup& max_lr,
           const CyclicLROptions& options = {});
  ~CyclicLR() override;

 protected:
  std::vector<double> current_lr() const override;
  void write(const std::vector<double>& lrs) override;
  void state(SchedulerState& state) override;
  void own_state(SchedulerState& state) override;
  void check() const override;

 private:
  // How much of the way from the lower to the upper limit.
  double height() const;
  // By how much cycles have become lower.
  double scale() const;
  void prepare_groups(const std::vector<double>& base_lrs);

  std::vector<double> max_lrs_;
  double total_size_, step_ratio_;
  std::string mode_;
  double gamma_;
  CycleScale scale_fn_;
  Value saved_scale_fn_;  // of Python's, kept for the next file
  std::string scale_mode_;
  bool cycle_momentum_, use_beta1_ = false;
  std::vector<double> base_momentums_, max_momentums_;
};

}  // namespace tenon::optim::lr_scheduler
