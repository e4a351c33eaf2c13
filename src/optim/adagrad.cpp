#include "tenon/optim/adagrad.h"

#include <complex>

#include "kernels/optimizer.h"
#include "optim/fused_update.h"
#include "optim/options.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/lerp.h"
#include "tenon/ops/ops.h"

namespace tenon::optim {

namespace {

NamedValues defaults_of(const AdagradOptions& options) {
  return NamedValues({{"lr", options.lr},
                      {"lr_decay", number(options.lr_decay)},
                      {"eps", options.eps},
                      {"weight_decay", number(options.weight_decay)},
                      {"initial_accumulator_value", number(options.initial_accumulator_value)},
                      {"foreach", flag(options.foreach)},
                      {"maximize", options.maximize},
                      {"differentiable", false},
                      {"fused", flag(options.fused)}});
}

ParamGroup param_group(const AdagradGroup& group) {
  GivenOptions given;
  given.add("lr", group.lr).add("lr_decay", group.lr_decay);
  given.add("weight_decay", group.weight_decay);
  given.add("initial_accumulator_value", group.initial_accumulator_value).add("eps", group.eps);
  given.add("foreach", group.foreach).add("maximize", group.maximize).add("fused", group.fused);
  return {group.params, given.take()};
}

// The same as adagrad_step, for tensors of every kind.
void update_one(bool maximize, double weight_decay, double eps, double lr, Tensor parameter,
                Tensor grad, Tensor sum) {
  if (maximize) grad = -grad;
  if (weight_decay != 0) grad = grad.add(parameter, {.alpha = weight_decay});
  if (is_complex(parameter.dtype())) {
    for (Tensor* tensor : {&parameter, &grad, &sum}) *tensor = view_as_real(*tensor);
  }
  sum.addcmul_(grad, grad);
  parameter.addcdiv_(grad, sum.sqrt().add_(eps), {.value = -lr});
}

}  // namespace

Adagrad::Adagrad(Params params, const AdagradOptions& options)
    : Adagrad(one_group(std::move(params)), options) {}
Adagrad::Adagrad(std::span<const AdagradGroup> groups, const AdagradOptions& options)
    : Adagrad(param_groups_of(groups, param_group), options) {}
Adagrad::Adagrad(std::vector<ParamGroup> groups, const AdagradOptions& options)
    : Optimizer("Adagrad", defaults_of(options)) {
  add_groups(std::move(groups));
  for (const ParamGroup& group : param_groups()) {
    for (const Tensor& parameter : group.params())
      begun(group.real("initial_accumulator_value"), parameter);
  }
}
Adagrad::~Adagrad() = default;

void Adagrad::add_param_group(const AdagradGroup& group) { add_param_group(param_group(group)); }

void Adagrad::check(const ParamGroup& group, bool fresh) const {
  check_number(group, "lr", "learning rate", fresh);
  check_number(group, "lr_decay", "lr_decay value", fresh);
  check_number(group, "weight_decay", "weight_decay value", fresh);
  check_number(group, "initial_accumulator_value", "initial_accumulator_value value", fresh);
  check_number(group, "eps", "epsilon value", fresh);
  check_flags(group, {"maximize"});
}

void Adagrad::complete(ParamGroup& group) const {
  group.set_default("foreach", Value());
  for (const char* name : {"maximize", "differentiable"}) group.set_default(name, false);
  group.set_default("fused", Value());
}

std::vector<Optimizer::Kept> Adagrad::kept(const ParamGroup& /*group*/) const {
  return {{.name = "step", .like_parameter = false}, {.name = "sum"}};
}

NamedValues& Adagrad::begun(double first, const Tensor& parameter) {
  return optim::begun(*this, parameter, [&] {
    NamedValues fresh;
    fresh["step"] = no_steps();
    fresh["sum"] = is_complex(parameter.dtype())
                       ? full_like(parameter, std::complex<double>(first, first))
                       : full_like(parameter, first);
    return fresh;
  });
}

void Adagrad::update(ParamGroup& group) {
  // What is kept is looked up for all of them before anything is written.
  struct Work {
    Tensor parameter, grad, steps = {}, sum = {};
  };
  auto all = with_gradients<Work>(group);
  const HeldOptions options(group);
  const double weight_decay = options->real("weight_decay"), eps = options->real("eps"),
               first_lr = options->real("lr"), lr_decay = options->real("lr_decay"),
               first = options->real("initial_accumulator_value");
  const bool maximize = options->boolean("maximize");
  for (Work& work : all) {
    const NamedValues& kept = begun(first, work.parameter);
    work.steps = kept.tensor("step");
    work.sum = kept.tensor("sum");
  }
  for (const Work& work : all) {
    const KeptBeside beside(work.parameter, work.grad);
    beside.check_steps(work.steps);
    beside.check("sum", work.sum);
  }
  Updates<AdagradStep, 1> updates(adagrad_step);
  for (const Work& work : all) {
    updates.prepare_for(work.steps);
    const double count = work.steps.add_(1).item<double>();
    const double lr = first_lr / (1 + (count - 1) * lr_decay);
    const AdagradStep step{{maximize, static_cast<float>(weight_decay)},
                           static_cast<float>(eps),
                           static_cast<float>(-lr)};
    if (!updates.take(step, work.parameter, work.grad, {work.sum}))
      update_one(maximize, weight_decay, eps, lr, work.parameter, work.grad, work.sum);
  }
  updates.run();
}

}  // namespace tenon::optim
