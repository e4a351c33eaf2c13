#include "tenon/optim/adam.h"

#include <cmath>

#include "base/text.h"
#include "core/value_text.h"
#include "kernels/optimizer.h"
#include "optim/fused_update.h"
#include "optim/options.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/lerp.h"
#include "tenon/ops/ops.h"

namespace tenon::optim {

namespace {

NamedValues defaults_of(const AdamOptions& options) {
  return NamedValues({{"lr", options.lr},
                      {"betas", Value::tuple({options.betas.first, options.betas.second})},
                      {"eps", options.eps},
                      {"weight_decay", number(options.weight_decay)},
                      {"amsgrad", options.amsgrad},
                      {"maximize", options.maximize},
                      {"foreach", flag(options.foreach)},
                      {"capturable", false},
                      {"differentiable", false},
                      {"fused", flag(options.fused)},
                      {"decoupled_weight_decay", options.decoupled_weight_decay}});
}

ParamGroup param_group(const AdamGroup& group) {
  GivenOptions given;
  given.add("lr", group.lr).add("betas", group.betas).add("eps", group.eps);
  given.add("weight_decay", group.weight_decay).add("amsgrad", group.amsgrad);
  given.add("maximize", group.maximize).add("foreach", group.foreach).add("fused", group.fused);
  given.add("decoupled_weight_decay", group.decoupled_weight_decay);
  return {group.params, given.take()};
}

AdamOptions decoupled(const AdamWOptions& options) {
  return {.lr = options.lr,
          .betas = options.betas,
          .eps = options.eps,
          .weight_decay = options.weight_decay,
          .amsgrad = options.amsgrad,
          .foreach = options.foreach,
          .maximize = options.maximize,
          .fused = options.fused,
          .decoupled_weight_decay = true};
}

std::pair<double, double> betas_of(const NamedValues& group) {
  const Value& betas = group.at("betas");
  if ((betas.kind() != Value::Kind::tuple && betas.kind() != Value::Kind::list) ||
      betas.items().size() != 2) {
    throw TypeError(concat("'betas' must be two numbers, but is ", short_repr(betas)));
  }
  return {betas.items()[0].as_real(), betas.items()[1].as_real()};
}

// What a step of one parameter is calculated with, in double precision.
struct Numbers {
  bool maximize, decoupled;
  double lr, beta1, beta2, eps, weight_decay;
  double correction2, step_size;  // of this step
};

// The same as adam_step, for tensors of every kind.
void update_one(const Numbers& s, Tensor parameter, Tensor grad, Tensor average,
                Tensor square_average, Tensor largest) {
  if (s.maximize) grad = -grad;
  if (s.weight_decay != 0) {
    if (s.decoupled) {
      parameter.mul_(1 - s.lr * s.weight_decay);
    } else {
      grad = grad.add(parameter, {.alpha = s.weight_decay});
    }
  }
  if (is_complex(parameter.dtype())) {
    for (Tensor* tensor : {&parameter, &grad, &average, &square_average, &largest}) {
      if (tensor->defined()) *tensor = view_as_real(*tensor);
    }
  }
  average.lerp_(grad, 1 - s.beta1);
  square_average.mul_(s.beta2).addcmul_(grad, grad, {.value = 1 - s.beta2});
  if (largest.defined()) maximum_out(largest, largest, square_average);
  const Tensor divisor =
      ((largest.defined() ? largest : square_average).sqrt() / s.correction2).add_(s.eps);
  parameter.addcdiv_(average, divisor, {.value = -s.step_size});
}

}  // namespace

Adam::Adam(std::string type_name, const AdamOptions& options, std::vector<ParamGroup> groups)
    : Optimizer(std::move(type_name), defaults_of(options)) {
  add_groups(std::move(groups));
}
Adam::Adam(Params params, const AdamOptions& options)
    : Adam("Adam", options, one_group(std::move(params))) {}
Adam::Adam(std::span<const AdamGroup> groups, const AdamOptions& options)
    : Adam("Adam", options, param_groups_of(groups, param_group)) {}
Adam::~Adam() = default;

AdamW::AdamW(Params params, const AdamWOptions& options)
    : Adam("AdamW", decoupled(options), one_group(std::move(params))) {}
AdamW::AdamW(std::span<const AdamWGroup> groups, const AdamWOptions& options)
    : Adam("AdamW", decoupled(options), param_groups_of(groups, param_group)) {}
AdamW::~AdamW() = default;

void AdamW::complete(ParamGroup& group) const {
  Adam::complete(group);
  group["decoupled_weight_decay"] = true;
}

void Adam::add_param_group(const AdamGroup& group) { add_param_group(param_group(group)); }

void Adam::check(const ParamGroup& group, bool fresh) const {
  check_number(group, "lr", "learning rate", fresh);
  check_number(group, "eps", "epsilon value", fresh);
  const auto [beta1, beta2] = betas_of(group);
  int index = 0;
  for (const double beta : {beta1, beta2}) {
    if (!std::isfinite(beta) || (fresh && (beta < 0 || beta >= 1))) {
      throw ValueError(concat("Invalid beta parameter at index ", index, ": ", Value(beta).repr(),
                              ": it must be from 0 to less than 1"));
    }
    ++index;
  }
  check_number(group, "weight_decay", "weight_decay value", fresh);
  check_flags(group, {"amsgrad", "maximize", "decoupled_weight_decay"});
}

void Adam::complete(ParamGroup& group) const {
  for (const char* name : {"amsgrad", "maximize"}) group.set_default(name, false);
  group.set_default("foreach", Value());
  for (const char* name : {"capturable", "differentiable", "decoupled_weight_decay"})
    group.set_default(name, false);
  group.set_default("fused", Value());
}

std::vector<Optimizer::Kept> Adam::kept(const ParamGroup& group) const {
  return {{.name = "step", .like_parameter = false},
          {.name = "exp_avg"},
          {.name = "exp_avg_sq"},
          {.name = "max_exp_avg_sq", .optional = !group.boolean("amsgrad")}};
}

void Adam::update(ParamGroup& group) {
  // What is kept is looked up for all of them before anything is written.
  struct Work {
    Tensor parameter, grad, steps = {}, average = {}, square_average = {}, largest = {};
  };
  auto all = with_gradients<Work>(group);
  const HeldOptions options(group);
  const auto [beta1, beta2] = betas_of(*options);
  Numbers s{};
  s.maximize = options->boolean("maximize");
  s.decoupled = options->boolean("decoupled_weight_decay");
  s.lr = options->real("lr");
  s.beta1 = beta1;
  s.beta2 = beta2;
  s.eps = options->real("eps");
  s.weight_decay = options->real("weight_decay");
  const bool amsgrad = options->boolean("amsgrad");
  for (Work& work : all) {
    const NamedValues& kept = begun(*this, work.parameter, [&] {
      NamedValues fresh;
      fresh["step"] = no_steps();
      for (const char* name : {"exp_avg", "exp_avg_sq"}) fresh[name] = zeros_like(work.parameter);
      if (amsgrad) fresh["max_exp_avg_sq"] = zeros_like(work.parameter);
      return fresh;
    });
    work.steps = kept.tensor("step");
    work.average = kept.tensor("exp_avg");
    work.square_average = kept.tensor("exp_avg_sq");
    if (amsgrad) work.largest = kept.tensor("max_exp_avg_sq");
  }
  for (const Work& work : all) {
    const KeptBeside beside(work.parameter, work.grad);
    beside.check_steps(work.steps);
    beside.check("exp_avg", work.average, true);
    beside.check("exp_avg_sq", work.square_average);
    if (amsgrad) beside.check("max_exp_avg_sq", work.largest);
  }
  Updates<AdamStep, 3> updates(adam_step);
  for (const Work& work : all) {
    updates.prepare_for(work.steps);
    const double count = work.steps.add_(1).item<double>();
    s.correction2 = std::sqrt(1 - std::pow(s.beta2, count));
    s.step_size = s.lr / (1 - std::pow(s.beta1, count));
    AdamStep step;
    step.gradient = {s.maximize, s.decoupled ? 0 : static_cast<float>(s.weight_decay)};
    if (s.decoupled && s.weight_decay != 0)
      step.shrink = static_cast<float>(1 - s.lr * s.weight_decay);
    step.weight1 = static_cast<float>(1 - s.beta1);
    step.beta2 = static_cast<float>(s.beta2);
    step.weight2 = static_cast<float>(1 - s.beta2);
    step.correction2 = static_cast<float>(s.correction2);
    step.eps = static_cast<float>(s.eps);
    step.negative_step = static_cast<float>(-s.step_size);
    if (!updates.take(step, work.parameter, work.grad,
                      {work.average, work.square_average, work.largest}))
      update_one(s, work.parameter, work.grad, work.average, work.square_average, work.largest);
  }
  updates.run();
}

}  // namespace tenon::optim
