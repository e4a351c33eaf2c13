// What schedules that go up and down have in common: limits for each group, and the momentum.
#pragma once

#include <vector>

#include "tenon/optim/lr_scheduler.h"

namespace tenon::optim::lr_scheduler {

// One for each group. ValueError if there are not as many, or one is not finite.
std::vector<double> for_groups(const char* name, const PerGroup& given, std::size_t groups);

// Whether the momentum is the first of "betas". ValueError if the optimizer has none at all.
bool cycles_beta1(const Optimizer& optimizer);

// What the group's "momentum" or "betas" become.
Value cycled(const ParamGroup& group, bool beta1, double momentum);

}  // namespace tenon::optim::lr_scheduler
