// Schedules made of others: one after the other, or all at once.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/optim/lr_scheduler.h"

namespace tenon::optim::lr_scheduler {

// A scheduler that another one steps: held by reference, and then it must outlive that one, or
// shared.
class TENON_API SchedulerPart {
 public:
  SchedulerPart(LRScheduler& scheduler) : scheduler_(std::shared_ptr<LRScheduler>(), &scheduler) {}
  template <std::derived_from<LRScheduler> S>
  SchedulerPart(std::shared_ptr<S> scheduler) : scheduler_(std::move(scheduler)) {}

  LRScheduler* get() const noexcept { return scheduler_.get(); }

 private:
  std::shared_ptr<LRScheduler> scheduler_;
};

struct SequentialLROptions {
  std::int64_t last_epoch = -1;
};
// The next scheduler from each milestone on, where it begins with its epoch 0:
//
//   LinearLR warmup(optimizer, {.start_factor = 0.1, .total_iters = 5});
//   CosineAnnealingLR decay(optimizer, 95);
//   SequentialLR scheduler(optimizer, {warmup, decay}, {5});
class TENON_API SequentialLR final : public LRScheduler {
 public:
  // Note [Braces with names].
  template <std::same_as<std::vector<SchedulerPart>> V>
  SequentialLR(Optimizer& optimizer, V schedulers, const Dims& milestones,
               const SequentialLROptions& options = {})
      : SequentialLR(Listed{}, optimizer, std::move(schedulers), milestones, options) {}
  template <std::size_t N>
  SequentialLR(Optimizer& optimizer, const SchedulerPart (&schedulers)[N], const Dims& milestones,
               const SequentialLROptions& options = {})
      : SequentialLR(Listed{}, optimizer, {schedulers, schedulers + N}, milestones, options) {}
  ~SequentialLR() override;

  void step() { LRScheduler::step(); }

 protected:
  void advance(std::optional<double> epoch) override;
  void state(SchedulerState& state) override;
  void check() const override;
  void undo() override;
  void begin() override;
  std::vector<LRScheduler*> parts() const override;

 private:
  struct Listed {};
  SequentialLR(Listed, Optimizer& optimizer, std::vector<SchedulerPart> schedulers,
               const Dims& milestones, const SequentialLROptions& options);
  std::size_t index_at(std::int64_t epoch) const;

  std::vector<SchedulerPart> schedulers_;
  std::vector<std::int64_t> milestones_;
};

struct ChainedSchedulerOptions {
  Optimizer* optimizer = nullptr;  // that of the schedulers
};
// All of them at every step. If one throws, those before it have been stepped.
class TENON_API ChainedScheduler final : public LRScheduler {
 public:
  // Note [Braces with names].
  template <std::same_as<std::vector<SchedulerPart>> V>
  explicit ChainedScheduler(V schedulers, const ChainedSchedulerOptions& options = {})
      : ChainedScheduler(Listed{}, std::move(schedulers), options) {}
  template <std::size_t N>
  explicit ChainedScheduler(const SchedulerPart (&schedulers)[N],
                            const ChainedSchedulerOptions& options = {})
      : ChainedScheduler(Listed{}, {schedulers, schedulers + N}, options) {}
  ~ChainedScheduler() override;

  void step() { LRScheduler::step(); }

 protected:
  void advance(std::optional<double> epoch) override;
  void state(SchedulerState& state) override;
  void check() const override;
  void undo() override;
  void begin() override;
  std::vector<LRScheduler*> parts() const override;

 private:
  struct Listed {};
  ChainedScheduler(Listed, std::vector<SchedulerPart> schedulers,
                   const ChainedSchedulerOptions& options);

  std::vector<SchedulerPart> schedulers_;
};

}  // namespace tenon::optim::lr_scheduler
