#include "optim/options.h"

#include <cmath>

#include "base/text.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"
#include "tenon/factories.h"

namespace tenon::optim {

void check_not_negative(const ParamGroup& group, std::string_view name, std::string_view what) {
  const double value = group.real(name);
  if (!(value >= 0) || !std::isfinite(value)) {
    throw ValueError(concat("Invalid ", what, ": ", group.at(name).repr(),
                            ": it must be a finite number, and not below 0"));
  }
}

void check_finite(const ParamGroup& group, std::string_view name, std::string_view what) {
  if (!std::isfinite(group.real(name))) {
    throw ValueError(
        concat("Invalid ", what, ": ", group.at(name).repr(), ": it must be a finite number"));
  }
}

void check_way(const ParamGroup& group) {
  for (const char* name : {"differentiable", "capturable"}) {
    if (group.contains(name) && group.boolean(name)) {
      throw NotImplementedError(concat("an optimizer with ", name,
                                       "=True is not supported: set it to False in the group"));
    }
  }
}

Tensor no_steps() {
  const DType dtype = get_default_dtype() == float64 ? float64 : float32;
  return zeros({}, {.dtype = dtype, .device = Device::cpu()});
}

}  // namespace tenon::optim
