#include "tenon/optim/sgd.h"

#include "kernels/optimizer.h"
#include "optim/fused_update.h"
#include "optim/options.h"
#include "tenon/arithmetic.h"
#include "tenon/error.h"
#include "tenon/factories.h"
#include "tenon/ops.h"

namespace tenon::optim {

namespace {

NamedValues defaults_of(const SGDOptions& options) {
  return NamedValues({{"lr", options.lr},
                      {"momentum", number(options.momentum)},
                      {"dampening", number(options.dampening)},
                      {"weight_decay", number(options.weight_decay)},
                      {"nesterov", options.nesterov},
                      {"maximize", options.maximize},
                      {"foreach", flag(options.foreach)},
                      {"differentiable", false},
                      {"fused", flag(options.fused)}});
}

ParamGroup param_group(const SGDGroup& group) {
  GivenOptions given;
  given.add("lr", group.lr).add("momentum", group.momentum).add("dampening", group.dampening);
  given.add("weight_decay", group.weight_decay).add("nesterov", group.nesterov);
  given.add("maximize", group.maximize);
  return {group.params, given.take()};
}

// The same as sgd_step, for tensors of every kind.
void update_one(const SgdStep& step, const Tensor& parameter, const Tensor& grad, double lr,
                double momentum, double undamped, double weight_decay, const Tensor& buffer) {
  Tensor g = step.gradient.maximize ? -grad : grad;
  if (weight_decay != 0) g = g.add(parameter, {.alpha = weight_decay});
  if (step.has_momentum) {
    if (step.first) {
      buffer.copy_(g);
    } else {
      buffer.mul_(momentum).add_(g, {.alpha = undamped});
    }
    g = step.nesterov ? g.add(buffer, {.alpha = momentum}) : buffer;
  }
  parameter.add_(g, {.alpha = -lr});
}

}  // namespace

SGD::SGD(Params params, const SGDOptions& options) : Optimizer("SGD", defaults_of(options)) {
  add_groups({{std::move(params), {}}});
}
SGD::SGD(const std::vector<SGDGroup>& groups, const SGDOptions& options)
    : Optimizer("SGD", defaults_of(options)) {
  std::vector<ParamGroup> all;
  for (const SGDGroup& group : groups) all.push_back(param_group(group));
  add_groups(std::move(all));
}
SGD::~SGD() = default;

void SGD::add_param_group(const SGDGroup& group) { add_param_group(param_group(group)); }

void SGD::check(const ParamGroup& group) const {
  check_not_negative(group, "lr", "learning rate");
  check_not_negative(group, "momentum", "momentum value");
  check_not_negative(group, "weight_decay", "weight_decay value");
  check_finite(group, "dampening", "dampening value");
  if (group.boolean("nesterov") && (group.real("momentum") <= 0 || group.real("dampening") != 0)) {
    throw ValueError("Nesterov momentum requires a momentum and zero dampening");
  }
  check_way(group);
}

std::vector<Optimizer::Kept> SGD::kept(const ParamGroup& /*group*/) const {
  return {{.name = "momentum_buffer", .optional = true}};
}

void SGD::update(ParamGroup& group) {
  const double lr = group.real("lr"), momentum = group.real("momentum"),
               undamped = 1 - group.real("dampening"), weight_decay = group.real("weight_decay");
  SgdStep step;
  step.gradient = {group.boolean("maximize"), static_cast<float>(weight_decay)};
  step.has_momentum = momentum != 0;
  step.nesterov = group.boolean("nesterov");
  step.momentum = static_cast<float>(momentum);
  step.undamped = static_cast<float>(undamped);
  step.negative_lr = static_cast<float>(-lr);
  Updates<SgdStep, 1> updates(sgd_step);
  for (const Tensor& parameter : group.params()) {
    const Tensor grad = parameter.grad();
    if (!grad.defined()) continue;
    Tensor buffer;
    step.first = false;
    if (step.has_momentum) {
      Value& kept = state(parameter)["momentum_buffer"];
      step.first = kept.is_none();
      if (step.first) kept = empty_like(parameter);
      buffer = kept.as_tensor();
    }
    if (updates.take(step, parameter, grad, {buffer})) continue;
    update_one(step, parameter, grad, lr, momentum, undamped, weight_decay, buffer);
  }
  updates.run();
}

}  // namespace tenon::optim
