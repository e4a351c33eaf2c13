#include "tenon/optim/rmsprop.h"

#include "kernels/optimizer.h"
#include "optim/fused_update.h"
#include "optim/options.h"
#include "tenon/arithmetic.h"
#include "tenon/factories.h"
#include "tenon/fused.h"
#include "tenon/ops.h"

namespace tenon::optim {

namespace {

NamedValues defaults_of(const RMSpropOptions& options) {
  return NamedValues({{"lr", options.lr},
                      {"momentum", number(options.momentum)},
                      {"alpha", options.alpha},
                      {"eps", options.eps},
                      {"centered", options.centered},
                      {"weight_decay", number(options.weight_decay)},
                      {"capturable", false},
                      {"foreach", flag(options.foreach)},
                      {"maximize", options.maximize},
                      {"differentiable", false}});
}

ParamGroup param_group(const RMSpropGroup& group) {
  GivenOptions given;
  given.add("lr", group.lr).add("alpha", group.alpha).add("eps", group.eps);
  given.add("weight_decay", group.weight_decay).add("momentum", group.momentum);
  given.add("centered", group.centered).add("maximize", group.maximize);
  return {group.params, given.take()};
}

struct Numbers {
  bool maximize;
  double lr, alpha, eps, weight_decay, momentum;
};

// The same as rmsprop_step, for tensors of every kind.
void update_one(const Numbers& s, Tensor parameter, Tensor grad, Tensor square_average,
                Tensor average, Tensor buffer) {
  if (s.maximize) grad = -grad;
  if (s.weight_decay != 0) grad = grad.add(parameter, {.alpha = s.weight_decay});
  if (is_complex(parameter.dtype())) {
    for (Tensor* tensor : {&parameter, &grad, &square_average, &average, &buffer}) {
      if (tensor->defined()) *tensor = view_as_real(*tensor);
    }
  }
  square_average.mul_(s.alpha).addcmul_(grad, grad, {.value = 1 - s.alpha});
  Tensor divisor;
  if (average.defined()) {
    average.lerp_(grad, 1 - s.alpha);
    divisor = square_average.addcmul(average, average, {.value = -1}).sqrt_();
  } else {
    divisor = square_average.sqrt();
  }
  divisor.add_(s.eps);
  if (buffer.defined()) {
    buffer.mul_(s.momentum).addcdiv_(grad, divisor);
    parameter.add_(buffer, {.alpha = -s.lr});
  } else {
    parameter.addcdiv_(grad, divisor, {.value = -s.lr});
  }
}

}  // namespace

RMSprop::RMSprop(Params params, const RMSpropOptions& options)
    : RMSprop(std::vector<RMSpropGroup>{{.params = std::move(params)}}, options) {}
RMSprop::RMSprop(const std::vector<RMSpropGroup>& groups, const RMSpropOptions& options)
    : Optimizer("RMSprop", defaults_of(options)) {
  std::vector<ParamGroup> all;
  for (const RMSpropGroup& group : groups) all.push_back(param_group(group));
  add_groups(std::move(all));
}
RMSprop::~RMSprop() = default;

void RMSprop::add_param_group(const RMSpropGroup& group) { add_param_group(param_group(group)); }

void RMSprop::check(const ParamGroup& group) const {
  check_not_negative(group, "lr", "learning rate");
  check_not_negative(group, "eps", "epsilon value");
  check_not_negative(group, "momentum", "momentum value");
  check_not_negative(group, "weight_decay", "weight_decay value");
  check_not_negative(group, "alpha", "alpha value");
  check_way(group);
}

std::vector<Optimizer::Kept> RMSprop::kept(const ParamGroup& group) const {
  std::vector<Kept> all{{.name = "step", .like_parameter = false}, {.name = "square_avg"}};
  if (group.real("momentum") > 0) all.push_back({.name = "momentum_buffer"});
  if (group.boolean("centered")) all.push_back({.name = "grad_avg"});
  return all;
}

void RMSprop::update(ParamGroup& group) {
  const Numbers s{group.boolean("maximize"), group.real("lr"),           group.real("alpha"),
                  group.real("eps"),         group.real("weight_decay"), group.real("momentum")};
  const bool centered = group.boolean("centered");
  const RmspropStep step{{s.maximize, static_cast<float>(s.weight_decay)},
                         static_cast<float>(s.alpha),
                         static_cast<float>(1 - s.alpha),
                         static_cast<float>(s.eps),
                         static_cast<float>(s.momentum),
                         static_cast<float>(-s.lr)};
  Updates<RmspropStep, 3> updates(rmsprop_step);
  for (const Tensor& parameter : group.params()) {
    const Tensor grad = parameter.grad();
    if (!grad.defined()) continue;
    NamedValues& kept = state(parameter);
    if (kept.empty()) {
      kept["step"] = no_steps();
      kept["square_avg"] = zeros_like(parameter);
      if (s.momentum > 0) kept["momentum_buffer"] = zeros_like(parameter);
      if (centered) kept["grad_avg"] = zeros_like(parameter);
    }
    kept.tensor("step").add_(1);
    const Tensor square_average = kept.tensor("square_avg"),
                 average = centered ? kept.tensor("grad_avg") : Tensor(),
                 buffer = s.momentum > 0 ? kept.tensor("momentum_buffer") : Tensor();
    if (updates.take(step, parameter, grad, {square_average, average, buffer})) continue;
    update_one(s, parameter, grad, square_average, average, buffer);
  }
  updates.run();
}

}  // namespace tenon::optim
