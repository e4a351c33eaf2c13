#include "tenon/nn/dropout.h"

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/nn/flatten.h"
#include "tenon/ops/functional.h"

namespace tenon::nn {

Dropout::Dropout(const Options& options) : p(options.p), inplace(options.inplace) {
  if (!(p >= 0 && p <= 1))
    throw ValueError(concat("dropout probability has to be between 0 and 1, but got ", p));
}

std::string Dropout::extra_repr() const { return concat("p=", p, ", inplace=", inplace); }

Tensor Dropout::forward(const Tensor& input) {
  return dropout(input, {.p = p, .training = training(), .inplace = inplace});
}

Tensor Dropout1d::forward(const Tensor& input) {
  return dropout1d(input, {.p = p, .training = training(), .inplace = inplace});
}
Tensor Dropout2d::forward(const Tensor& input) {
  return dropout2d(input, {.p = p, .training = training(), .inplace = inplace});
}
Tensor Dropout3d::forward(const Tensor& input) {
  return dropout3d(input, {.p = p, .training = training(), .inplace = inplace});
}
Tensor AlphaDropout::forward(const Tensor& input) {
  return alpha_dropout(input, {.p = p, .training = training()});
}
Tensor FeatureAlphaDropout::forward(const Tensor& input) {
  return feature_alpha_dropout(input, {.p = p, .training = training()});
}

std::string Flatten::extra_repr() const {
  return concat("start_dim=", start_dim, ", end_dim=", end_dim);
}

std::string Unflatten::extra_repr() const {
  return concat("dim=", dim, ", unflattened_size=", unflattened_size.Dims::repr());
}

}  // namespace tenon::nn
