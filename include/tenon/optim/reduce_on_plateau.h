// ReduceLROnPlateau: a smaller learning rate when something measured no longer gets better.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/lr_scheduler.h"
#include "tenon/tensor.h"

namespace tenon::optim::lr_scheduler {

struct ReduceLROnPlateauOptions {
  std::string mode = "min";  // or "max"
  double factor = 0.1;
  std::int64_t patience = 10;
  double threshold = 1e-4;
  std::string threshold_mode = "rel";  // or "abs"
  std::int64_t cooldown = 0;
  PerGroup min_lr = 0;
  double eps = 1e-8;
};

// A measure that is not a number is none that is better.
class TENON_API ReduceLROnPlateau final : public LRScheduler {
 public:
  explicit ReduceLROnPlateau(Optimizer& optimizer, const ReduceLROnPlateauOptions& options = {});
  ~ReduceLROnPlateau() override;

  void step(double metrics);
  void step(const Tensor& metrics);  // of one element
  // A warning: PyTorch gives the epoch up.
  void step(double metrics, std::int64_t epoch);

  bool in_cooldown() const noexcept { return cooldown_counter_ > 0; }
  double best() const noexcept { return best_; }
  std::int64_t num_bad_epochs() const noexcept { return num_bad_epochs_; }
  // One for each group. Where they were given as a list, add one when a group is added.
  std::vector<double>& min_lrs() noexcept { return min_lrs_; }

 protected:
  void advance(std::optional<double> epoch) override;
  void state(SchedulerState& state) override;
  void check() const override;

 private:
  bool is_better(double metric) const;
  void measured(double metric, std::int64_t epoch);
  // At most as many as there are groups now.
  std::vector<double> reduced();

  double factor_;
  std::optional<double> default_min_lr_;
  std::vector<double> min_lrs_;
  std::int64_t patience_, cooldown_;
  double eps_;
  double mode_worse_, threshold_;
  std::string mode_, threshold_mode_;
  double best_;
  std::int64_t cooldown_counter_ = 0, num_bad_epochs_ = 0;
};

}  // namespace tenon::optim::lr_scheduler
