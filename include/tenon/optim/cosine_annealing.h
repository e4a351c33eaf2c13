// Schedules that follow a cosine: once up and down, or down again and again.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/lr_scheduler.h"

namespace tenon::optim::lr_scheduler {

struct CosineAnnealingLROptions {
  double eta_min = 0.0;
  std::int64_t last_epoch = -1;
};
// From the first learning rate to eta_min in T_max epochs, and back again after them.
class TENON_API CosineAnnealingLR final : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, std::int64_t T_max,
                    const CosineAnnealingLROptions& options = {});
  ~CosineAnnealingLR() override;

 protected:
  std::vector<double> current_lr() const override;
  std::optional<std::vector<double>> closed_form_lr() const override;
  void own_state(SchedulerState& state) override;
  void check() const override;

 private:
  std::int64_t T_max_;
  double eta_min_;
};

struct CosineAnnealingWarmRestartsOptions {
  std::int64_t T_mult = 1;
  double eta_min = 0.0;
  std::int64_t last_epoch = -1;
};
// Down to eta_min in T_0 epochs and from the beginning, each time T_mult times as long.
class TENON_API CosineAnnealingWarmRestarts final : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, std::int64_t T_0,
                              const CosineAnnealingWarmRestartsOptions& options = {});
  ~CosineAnnealingWarmRestarts() override;

  void step() { LRScheduler::step(); }
  // May be between epochs: step(epoch + batch / batches). ValueError if it is negative.
  void step(double epoch);

 protected:
  std::vector<double> current_lr() const override;
  void advance(std::optional<double> epoch) override;
  void own_state(SchedulerState& state) override;
  void check() const override;

 private:
  void restart_at(double epoch);

  std::int64_t T_0_, T_i_, T_mult_;
  double eta_min_;
  double T_cur_;
  bool T_cur_is_whole_ = true;  // an int in Python
};

}  // namespace tenon::optim::lr_scheduler
