#include "tenon/optim/adagrad.h"

#include <complex>

#include "kernels/optimizer.h"
#include "optim/fused_update.h"
#include "optim/options.h"
#include "tenon/arithmetic.h"
#include "tenon/factories.h"
#include "tenon/fused.h"
#include "tenon/ops.h"

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
  given.add("weight_decay", group.weight_decay).add("eps", group.eps);
  given.add("maximize", group.maximize);
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
    : Adagrad(std::vector<AdagradGroup>{{.params = std::move(params)}}, options) {}
Adagrad::Adagrad(const std::vector<AdagradGroup>& groups, const AdagradOptions& options)
    : Optimizer("Adagrad", defaults_of(options)) {
  std::vector<ParamGroup> all;
  for (const AdagradGroup& group : groups) all.push_back(param_group(group));
  add_groups(std::move(all));
  for (const ParamGroup& group : param_groups()) {
    for (const Tensor& parameter : group.params()) begun(group, parameter);
  }
}
Adagrad::~Adagrad() = default;

void Adagrad::add_param_group(const AdagradGroup& group) { add_param_group(param_group(group)); }

void Adagrad::check(const ParamGroup& group) const {
  check_not_negative(group, "lr", "learning rate");
  check_not_negative(group, "lr_decay", "lr_decay value");
  check_not_negative(group, "weight_decay", "weight_decay value");
  check_not_negative(group, "initial_accumulator_value", "initial_accumulator_value value");
  check_not_negative(group, "eps", "epsilon value");
  check_way(group);
}

std::vector<Optimizer::Kept> Adagrad::kept(const ParamGroup& /*group*/) const {
  return {{.name = "step", .like_parameter = false}, {.name = "sum"}};
}

NamedValues& Adagrad::begun(const ParamGroup& group, const Tensor& parameter) {
  NamedValues& kept = state(parameter);
  if (!kept.empty()) return kept;
  const double first = group.real("initial_accumulator_value");
  kept["step"] = no_steps();
  kept["sum"] = is_complex(parameter.dtype())
                    ? full_like(parameter, std::complex<double>(first, first))
                    : full_like(parameter, first);
  return kept;
}

void Adagrad::update(ParamGroup& group) {
  const double weight_decay = group.real("weight_decay"), eps = group.real("eps");
  const bool maximize = group.boolean("maximize");
  Updates<AdagradStep, 1> updates(adagrad_step);
  for (const Tensor& parameter : group.params()) {
    const Tensor grad = parameter.grad();
    if (!grad.defined()) continue;
    const NamedValues& kept = begun(group, parameter);
    const double count = kept.tensor("step").add_(1).item<double>();
    const double lr = group.real("lr") / (1 + (count - 1) * group.real("lr_decay"));
    const AdagradStep step{{maximize, static_cast<float>(weight_decay)},
                           static_cast<float>(eps),
                           static_cast<float>(-lr)};
    const Tensor sum = kept.tensor("sum");
    if (updates.take(step, parameter, grad, {sum})) continue;
    update_one(maximize, weight_decay, eps, lr, parameter, grad, sum);
  }
  updates.run();
}

}  // namespace tenon::optim
