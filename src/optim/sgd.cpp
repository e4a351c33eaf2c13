#include "tenon/optim/sgd.h"

#include <unordered_map>

#include "kernels/optimizer.h"
#include "optim/fused_update.h"
#include "optim/options.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"

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
  given.add("maximize", group.maximize).add("foreach", group.foreach).add("fused", group.fused);
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
  add_groups(one_group(std::move(params)));
}
SGD::SGD(std::span<const SGDGroup> groups, const SGDOptions& options)
    : Optimizer("SGD", defaults_of(options)) {
  add_groups(param_groups_of(groups, param_group));
}
SGD::~SGD() = default;

void SGD::add_param_group(const SGDGroup& group) { add_param_group(param_group(group)); }

void SGD::check(const ParamGroup& group, bool fresh) const {
  check_number(group, "lr", "learning rate", fresh);
  check_number(group, "momentum", "momentum value", fresh);
  check_number(group, "dampening", "dampening value", false);
  check_number(group, "weight_decay", "weight_decay value", fresh);
  check_flags(group, {"nesterov", "maximize"});
  if (fresh && group.boolean("nesterov") &&
      (group.real("momentum") <= 0 || group.real("dampening") != 0)) {
    throw ValueError("Nesterov momentum requires a momentum and zero dampening");
  }
}

void SGD::complete(ParamGroup& group) const {
  for (const char* name : {"nesterov", "maximize"}) group.set_default(name, false);
  group.set_default("foreach", Value());
  for (const char* name : {"differentiable", "fused"}) group.set_default(name, false);
}

std::vector<Optimizer::Kept> SGD::kept(const ParamGroup& /*group*/) const {
  return {{.name = "momentum_buffer", .optional = true}};
}

void SGD::update(ParamGroup& group) {
  // What is kept is looked up for all of them before anything is written.
  struct Work {
    Tensor parameter, grad, buffer = {};
    bool first = false;
  };
  auto all = with_gradients<Work>(group);
  const HeldOptions options(group);
  const double lr = options->real("lr"), momentum = options->real("momentum"),
               undamped = 1 - options->real("dampening"),
               weight_decay = options->real("weight_decay");
  SgdStep step;
  step.gradient = {options->boolean("maximize"), static_cast<float>(weight_decay)};
  step.has_momentum = momentum != 0;
  step.nesterov = options->boolean("nesterov");
  step.momentum = static_cast<float>(momentum);
  step.undamped = static_cast<float>(undamped);
  step.negative_lr = static_cast<float>(-lr);
  const Guard guard(static_cast<const void*>(this), kStepping);
  std::unordered_map<const void*, Tensor> fresh;
  for (Work& work : all) {
    if (!step.has_momentum) break;
    const NamedValues* kept = find_state(work.parameter);
    const Value* buffer = kept == nullptr ? nullptr : kept->find("momentum_buffer");
    work.first = buffer == nullptr || buffer->is_none();
    work.buffer = work.first ? empty_like(work.parameter) : kept->tensor("momentum_buffer");
    guard.check();
    // One that is there a second time finds the buffer of the first.
    if (work.first) {
      const auto [place, alone] = fresh.try_emplace(work.parameter.cell().get(), work.buffer);
      work.first = alone;
      work.buffer = place->second;
    }
  }
  for (const Work& work : all) {
    if (step.has_momentum)
      KeptBeside(work.parameter, work.grad).check("momentum_buffer", work.buffer);
  }
  Updates<SgdStep, 1> updates(sgd_step);
  for (const Work& work : all) {
    step.first = work.first;
    if (!updates.take(step, work.parameter, work.grad, {work.buffer}))
      update_one(step, work.parameter, work.grad, lr, momentum, undamped, weight_decay,
                 work.buffer);
  }
  updates.run();
  guard.check();
  for (const Work& work : all) {
    if (work.first) state(work.parameter)["momentum_buffer"] = work.buffer;
  }
}

}  // namespace tenon::optim
