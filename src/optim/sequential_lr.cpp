#include "tenon/optim/sequential_lr.h"

#include <algorithm>

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/optim/reduce_on_plateau.h"

namespace tenon::optim::lr_scheduler {

using nn::detail::Guard;

namespace {

constexpr const char* kDuring = "the scheduler took a step";

std::vector<LRScheduler*> pointers(const std::vector<SchedulerPart>& parts) {
  std::vector<LRScheduler*> all;
  for (const SchedulerPart& part : parts) all.push_back(part.get());
  return all;
}

// Each of them may be a class of the user's. One that is shared lives while it is at work.
template <class F>
void for_each_part(const std::vector<SchedulerPart>& parts, const Guard& guard, F f) {
  for (const SchedulerPart& part : parts) {
    const SchedulerPart held = part;
    f(*held.get());
    guard.check_return();
  }
}

void check_parts(const char* type, const std::vector<SchedulerPart>& parts,
                 const Optimizer& optimizer) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const LRScheduler* part = parts[i].get();
    if (part == nullptr) throw ValueError(concat(type, " was given no scheduler at index ", i));
    if (dynamic_cast<const ReduceLROnPlateau*>(part) != nullptr) {
      throw ValueError(concat(type,
                              " does not support `ReduceLROnPlateau` scheduler as it requires "
                              "additional kwargs to be specified when calling `step`, but got one "
                              "at index ",
                              i, " in the given schedulers sequence."));
    }
    if (&part->optimizer() != &optimizer) {
      throw ValueError(concat(type,
                              " expects all schedulers to belong to the same optimizer, but got "
                              "scheduler ",
                              part->type_name(), " at index ", i, " that belongs to another"));
    }
  }
}

// What PyTorch leaves in such a scheduler when another one begins with it.
void mark_as_begun(NamedValues& others) {
  others["_step_count"] = 0;
  others["_is_initial"] = false;
}

Optimizer& optimizer_of(const std::vector<SchedulerPart>& parts,
                        const ChainedSchedulerOptions& options) {
  if (parts.empty() || parts[0].get() == nullptr) {
    throw ValueError(
        "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.");
  }
  return options.optimizer != nullptr ? *options.optimizer : parts[0].get()->optimizer();
}

}  // namespace

SequentialLR::SequentialLR(Listed /*tag*/, Optimizer& optimizer,
                           std::vector<SchedulerPart> schedulers, const Dims& milestones,
                           const SequentialLROptions& options)
    : LRScheduler("SequentialLR", optimizer, options.last_epoch),
      schedulers_(std::move(schedulers)),
      milestones_(milestones.begin(), milestones.end()) {
  if (schedulers_.empty())
    throw ValueError("SequentialLR expects at least one scheduler, but got no scheduler.");
  check_parts("SequentialLR", schedulers_, optimizer);
  for (std::size_t i = 1; i < schedulers_.size(); ++i) {
    const LRScheduler* part = schedulers_[i].get();
    if (dynamic_cast<const SequentialLR*>(part) != nullptr ||
        dynamic_cast<const ChainedScheduler*>(part) != nullptr) {
      throw NotImplementedError(concat("SequentialLR cannot begin with epoch 0 of ",
                                       part->type_name(), " at index ", i,
                                       ": such a scheduler can only be the first"));
    }
  }
  check();
  ++last_epoch_;
  for (std::size_t i = 0; i < groups().size(); ++i)
    set_option(i, "lr", groups()[i].at("initial_lr"));
  SequentialLR::undo();
  with_guards(kDuring, [&](const Guard& guard) {
    const SchedulerPart held = schedulers_[index_at(0)];
    LRScheduler* first = held.get();
    first->begin();
    guard.check_return();
    last_lr_ = first->get_last_lr();
  });
}
SequentialLR::~SequentialLR() = default;

void SequentialLR::check() const {
  if (milestones_.size() + 1 != schedulers_.size()) {
    throw ValueError(concat(
        "Sequential Schedulers expects number of schedulers provided to be one more than "
        "the number of milestone points, but got number of schedulers ",
        schedulers_.size(), " and the number of milestones to be equal to ", milestones_.size()));
  }
  const auto wrong = std::ranges::is_sorted_until(milestones_);
  if (wrong != milestones_.end()) {
    throw ValueError(concat("SequentialLR expects milestones that increase, but got ", *wrong,
                            " after ", *(wrong - 1)));
  }
  with_guards(kDuring, [&](const Guard& guard) {
    for_each_part(schedulers_, guard, [](LRScheduler& part) { part.check(); });
  });
}

std::vector<LRScheduler*> SequentialLR::parts() const { return pointers(schedulers_); }

std::size_t SequentialLR::index_at(std::int64_t epoch) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(milestones_, epoch) -
                                  milestones_.begin());
}

void SequentialLR::advance(std::optional<double> epoch) {
  if (epoch) throw TypeError("SequentialLR.step() takes no epoch");
  with_guards(kDuring, [&](const Guard& guard) {
    const std::size_t index = index_at(last_epoch_ + 1);
    const SchedulerPart held = schedulers_[index];
    LRScheduler* part = held.get();
    if (index > 0 && milestones_[index - 1] == last_epoch_ + 1) {
      part->update(0);
    } else {
      part->advance({});
    }
    guard.check_return();
    ++last_epoch_;
    last_lr_ = part->get_last_lr();
  });
}

void SequentialLR::undo() {
  with_guards(kDuring, [&](const Guard& guard) {
    for_each_part(schedulers_, guard, [](LRScheduler& part) { part.undo(); });
  });
}
void SequentialLR::begin() {
  mark_as_begun(others_);
  advance({});
}

void SequentialLR::state(SchedulerState& state) {
  state.integers("_milestones", milestones_);
  state.integer("last_epoch", last_epoch_);
  state.reals("_last_lr", last_lr_, {}, SchedulerState::Need::if_there);
  state.others(others_);
  state.parts("_schedulers", pointers(schedulers_));
}

ChainedScheduler::ChainedScheduler(Listed /*tag*/, std::vector<SchedulerPart> schedulers,
                                   const ChainedSchedulerOptions& options)
    : LRScheduler("ChainedScheduler", optimizer_of(schedulers, options)),
      schedulers_(std::move(schedulers)) {
  check_parts("ChainedScheduler", schedulers_, optimizer());
  keep_last_lr();
}
ChainedScheduler::~ChainedScheduler() = default;

void ChainedScheduler::check() const {
  with_guards(kDuring, [&](const Guard& guard) {
    for_each_part(schedulers_, guard, [](LRScheduler& part) { part.check(); });
  });
}

std::vector<LRScheduler*> ChainedScheduler::parts() const { return pointers(schedulers_); }

void ChainedScheduler::advance(std::optional<double> epoch) {
  if (epoch) throw TypeError("ChainedScheduler.step() takes no epoch");
  with_guards(kDuring, [&](const Guard& guard) {
    for_each_part(schedulers_, guard, [](LRScheduler& part) { part.advance({}); });
  });
  keep_last_lr();
}

void ChainedScheduler::undo() {
  with_guards(kDuring, [&](const Guard& guard) {
    for_each_part(schedulers_, guard, [](LRScheduler& part) { part.undo(); });
  });
}
void ChainedScheduler::begin() {
  mark_as_begun(others_);
  advance({});
}

void ChainedScheduler::state(SchedulerState& state) {
  state.reals("_last_lr", last_lr_, {}, SchedulerState::Need::if_there);
  state.others(others_);
  state.parts("_schedulers", pointers(schedulers_));
}

}  // namespace tenon::optim::lr_scheduler
