#include "optim/options.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "core/value_text.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"
#include "tenon/extend/body.h"
#include "tenon/ops/factories.h"

namespace tenon::optim {

std::vector<ParamGroup> one_group(Params params) {
  if (params.tensors().empty()) throw ValueError("optimizer got an empty parameter list");
  std::vector<ParamGroup> groups;
  groups.emplace_back(std::move(params), NamedValues());
  return groups;
}

void check_number(const ParamGroup& group, std::string_view name, std::string_view what,
                  bool fresh) {
  const double value = group.real(name);
  if (!std::isfinite(value) || (fresh && value < 0)) {
    throw ValueError(concat("Invalid ", what, ": ", short_repr(group.at(name)),
                            ": it must be a finite number", fresh ? ", and not below 0" : ""));
  }
}

void check_flags(const ParamGroup& group, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) group.boolean(name);
  for (const char* name : {"differentiable", "capturable"}) {
    if (group.contains(name) && group.boolean(name)) {
      throw NotImplementedError(
          concat("an optimizer with ", name, " is not supported: set it to false in the group"));
    }
  }
}

bool has_user_code(const NamedValues& options) {
  return std::any_of(options.begin(), options.end(), [](const NamedValues::Entry& option) {
    if (!option.second.is_tensor()) return false;
    const Tensor& tensor = option.second.as_tensor();
    return tensor.body().is_wrapper() || !tensor.is_cpu();  // a device may be somebody's
  });
}

HeldOptions::HeldOptions(const NamedValues& options) : options_(options) {
  if (has_user_code(options)) copy_ = options;
}

Tensor no_steps() {
  const DType dtype = get_default_dtype() == float64 ? float64 : float32;
  return zeros({}, {.dtype = dtype, .device = Device::cpu()});
}

}  // namespace tenon::optim
