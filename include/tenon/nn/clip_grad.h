// Keeping gradients from growing too large, between backward() and an optimizer's step().
#pragma once

#include <optional>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/tensor.h"
#include "tenon/tensor_list.h"

namespace tenon::nn::utils {

struct ClipGradNormOptions {
  double norm_type = 2;  // infinity: the largest
  // ValueError for a total that is infinite or no number; else the gradients are multiplied all the
  // same.
  bool error_if_nonfinite = false;
  std::optional<bool> foreach = {};  // of no effect: there is one way here
};
using TotalNormOptions = ClipGradNormOptions;
struct ClipGradOptions {
  std::optional<bool> foreach = {};
};

// The norm of all of them as if they were one. 0 of none.
TENON_API Tensor get_total_norm(TensorList tensors, const TotalNormOptions& options = {});
// Multiplies the gradients so that their norm together is max_norm at most; one that is less is
// left alone. Gives the norm there was. Parameters without a gradient do not matter.
TENON_API Tensor clip_grad_norm_(TensorList parameters, double max_norm,
                                 const ClipGradNormOptions& options = {});
TENON_API void clip_grads_with_norm_(TensorList parameters, double max_norm,
                                     const Tensor& total_norm, const ClipGradOptions& options = {});
// Every number of the gradients becomes one from -clip_value to clip_value.
TENON_API void clip_grad_value_(TensorList parameters, double clip_value,
                                const ClipGradOptions& options = {});

}  // namespace tenon::nn::utils
