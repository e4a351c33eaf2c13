#include "optim/cycled_momentum.h"

#include "base/text.h"
#include "optim/schedule_arithmetic.h"
#include "tenon/error.h"

namespace tenon::optim::lr_scheduler {

std::vector<double> for_groups(const char* name, const PerGroup& given, std::size_t groups) {
  std::vector<double> values = given.values();
  if (!given.is_list()) values.assign(groups, values[0]);
  if (values.size() != groups) {
    throw ValueError(concat(name, " must have the same length as optimizer.param_groups. ", name,
                            " has ", values.size(), " values, param_groups has ", groups, "."));
  }
  for (const double value : values) check_finite(name, value);
  return values;
}

bool cycles_beta1(const Optimizer& optimizer) {
  const NamedValues& defaults = optimizer.defaults();
  if (defaults.contains("betas")) return true;
  if (defaults.contains("momentum")) return false;
  throw ValueError(concat(
      "optimizer must support momentum or beta1 with `cycle_momentum` option enabled, which ",
      optimizer.type_name(), " does not"));
}

Value cycled(const ParamGroup& group, bool beta1, double momentum) {
  if (!beta1) return momentum;
  const Value& betas = group.at("betas");
  std::vector<Value> all(betas.items().begin(), betas.items().end());
  if (all.empty()) throw TypeError("'betas' must be two numbers, but is empty");
  all[0] = momentum;
  return Value::tuple(std::move(all));
}

}  // namespace tenon::optim::lr_scheduler
