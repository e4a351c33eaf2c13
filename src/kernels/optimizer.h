// Steps of optimizers over packed floats: every number is read and written once.
//
// Each does to an element what PyTorch's sequence of operators does to it, with the same roundings:
// a product that is added is not rounded in between, a quotient is.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"

namespace tenon {

// All of them begin with these. Numbers are rounded to float before they are used.
struct GradientOptions {
  bool maximize = false;   // the gradient is negated
  float weight_decay = 0;  // so many times the parameter is added to it
};

struct SgdStep {
  GradientOptions gradient;
  bool has_momentum = false, first = false;  // first: the buffer becomes the gradient
  bool nesterov = false;
  float momentum = 0, undamped = 1, negative_lr = 0;
};
TENON_API void sgd_step(const SgdStep& step, std::int64_t n, float* parameter, const float* grad,
                        float* momentum);

struct AdamStep {
  GradientOptions gradient;
  float shrink = 1;  // decoupled weight decay: the parameter is multiplied by it first
  float weight1 = 0, beta2 = 0, weight2 = 0;  // weights are 1 - beta
  float correction2 = 1, eps = 0, negative_step = 0;
};
// `largest` may be null: then there is no amsgrad.
TENON_API void adam_step(const AdamStep& step, std::int64_t n, float* parameter, const float* grad,
                         float* average, float* square_average, float* largest);

struct AdagradStep {
  GradientOptions gradient;
  float eps = 0, negative_lr = 0;
};
TENON_API void adagrad_step(const AdagradStep& step, std::int64_t n, float* parameter,
                            const float* grad, float* sum);

struct RmspropStep {
  GradientOptions gradient;
  float alpha = 0, weight = 0;  // 1 - alpha
  float eps = 0, momentum = 0, negative_lr = 0;
};
// `average` is null unless it is centered, `momentum` unless there is some.
TENON_API void rmsprop_step(const RmspropStep& step, std::int64_t n, float* parameter,
                            const float* grad, float* square_average, float* average,
                            float* momentum);

}  // namespace tenon
