#include "tenon/optim/rmsprop.h"

#include "kernels/optimizer.h"
#include "optim/fused_update.h"
#include "optim/options.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/lerp.h"
#include "tenon/ops/ops.h"

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
  given.add("centered", group.centered).add("foreach", group.foreach);
  given.add("maximize", group.maximize);
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
    : RMSprop(one_group(std::move(params)), options) {}
RMSprop::RMSprop(std::span<const RMSpropGroup> groups, const RMSpropOptions& options)
    : RMSprop(param_groups_of(groups, param_group), options) {}
RMSprop::RMSprop(std::vector<ParamGroup> groups, const RMSpropOptions& options)
    : Optimizer("RMSprop", defaults_of(options)) {
  add_groups(std::move(groups));
}
RMSprop::~RMSprop() = default;

void RMSprop::add_param_group(const RMSpropGroup& group) { add_param_group(param_group(group)); }

void RMSprop::check(const ParamGroup& group, bool fresh) const {
  check_number(group, "lr", "learning rate", fresh);
  check_number(group, "eps", "epsilon value", fresh);
  check_number(group, "momentum", "momentum value", fresh);
  check_number(group, "weight_decay", "weight_decay value", fresh);
  check_number(group, "alpha", "alpha value", fresh);
  check_flags(group, {"centered", "maximize"});
}

void RMSprop::complete(ParamGroup& group) const {
  group.set_default("momentum", 0);
  group.set_default("centered", false);
  group.set_default("foreach", Value());
  for (const char* name : {"maximize", "differentiable", "capturable"})
    group.set_default(name, false);
}

std::vector<Optimizer::Kept> RMSprop::kept(const ParamGroup& group) const {
  return {{.name = "step", .like_parameter = false},
          {.name = "square_avg"},
          {.name = "momentum_buffer", .optional = group.real("momentum") <= 0},
          {.name = "grad_avg", .optional = !group.boolean("centered")}};
}

void RMSprop::update(ParamGroup& group) {
  // What is kept is looked up for all of them before anything is written.
  struct Work {
    Tensor parameter, grad, steps = {}, square_average = {}, average = {}, buffer = {};
  };
  auto all = with_gradients<Work>(group);
  const HeldOptions options(group);
  const Numbers s{options->boolean("maximize"),  options->real("lr"),
                  options->real("alpha"),        options->real("eps"),
                  options->real("weight_decay"), options->real("momentum")};
  const bool centered = options->boolean("centered");
  const RmspropStep step{{s.maximize, static_cast<float>(s.weight_decay)},
                         static_cast<float>(s.alpha),
                         static_cast<float>(1 - s.alpha),
                         static_cast<float>(s.eps),
                         static_cast<float>(s.momentum),
                         static_cast<float>(-s.lr)};
  for (Work& work : all) {
    const NamedValues& kept = begun(*this, work.parameter, [&] {
      NamedValues fresh;
      fresh["step"] = no_steps();
      fresh["square_avg"] = zeros_like(work.parameter);
      if (s.momentum > 0) fresh["momentum_buffer"] = zeros_like(work.parameter);
      if (centered) fresh["grad_avg"] = zeros_like(work.parameter);
      return fresh;
    });
    work.steps = kept.tensor("step");
    work.square_average = kept.tensor("square_avg");
    if (centered) work.average = kept.tensor("grad_avg");
    if (s.momentum > 0) work.buffer = kept.tensor("momentum_buffer");
  }
  for (const Work& work : all) {
    const KeptBeside beside(work.parameter, work.grad);
    beside.check_steps(work.steps);
    beside.check("square_avg", work.square_average);
    if (centered) beside.check("grad_avg", work.average, true);
    if (s.momentum > 0) beside.check("momentum_buffer", work.buffer);
  }
  Updates<RmspropStep, 3> updates(rmsprop_step);
  for (const Work& work : all) {
    updates.prepare_for(work.steps);
    work.steps.add_(1);
    if (!updates.take(step, work.parameter, work.grad,
                      {work.square_average, work.average, work.buffer}))
      update_one(s, work.parameter, work.grad, work.square_average, work.average, work.buffer);
  }
  updates.run();
}

}  // namespace tenon::optim
