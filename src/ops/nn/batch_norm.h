// What batch_norm is made of.
#pragma once

#include <optional>

#include "tenon/tensor.h"

namespace tenon {

struct BatchNormParts {
  Tensor output;
  Tensor mean, var;  // of each channel, the latter divided by the number of elements
};
// With the input's own statistics where it is training, else with the running ones. Everything has
// been checked.
BatchNormParts native_batch_norm(const Tensor& input, const std::optional<Tensor>& weight,
                                 const std::optional<Tensor>& bias,
                                 const std::optional<Tensor>& running_mean,
                                 const std::optional<Tensor>& running_var, bool training,
                                 double eps);

}  // namespace tenon
