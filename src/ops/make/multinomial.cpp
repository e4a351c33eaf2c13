// Numbers drawn with weights.
#include <algorithm>
#include <vector>

#include "base/text.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/operands.h"
#include "tenon/autograd.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"
#include "tenon/ops/arithmetic.h"
#include "tenon/ops/factories.h"
#include "tenon/ops/ops.h"
#include "tenon/ops/random.h"
#include "tenon/ops/reductions.h"
#include "tenon/ops/sort.h"

namespace tenon {

constinit OpInfo op::multinomial::info{"multinomial", kind};

namespace {

void check_weights(const Tensor& self, std::int64_t num_samples, bool replacement) {
  if (self.dim() < 1 || self.dim() > 2) {
    throw ShapeError(concat("multinomial: prob_dist must be 1 or 2 dim, but its shape is ",
                            bracketed(self.shape())));
  }
  if (!self.is_floating_point()) {
    throw DTypeError(concat("multinomial only supports floating-point dtypes for input, got: ",
                            repr(self.dtype())));
  }
  (void)infer_unary(UnaryFunction::isfinite, self);  // they are asked about
  if (num_samples <= 0)
    throw ValueError(concat("multinomial: cannot sample n_sample <= 0 samples: ", num_samples));
  if (!replacement && num_samples > self.size(-1)) {
    throw ValueError(concat(
        "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement: ",
        num_samples, " of ", self.size(-1)));
  }
}

void check_values(const Tensor& self) {
  if (!self.isfinite().all().item<bool>() || (self < 0).any().item<bool>()) {
    throw ValueError("multinomial: probability tensor contains either `inf`, `nan` or element < 0");
  }
  if ((self.sum(-1) <= 0).any().item<bool>())
    throw ValueError("multinomial: invalid multinomial distribution (sum of probabilities <= 0)");
}

// A uniform number each, and where it falls among the sums up to each weight.
Tensor drawn_again(const Tensor& self, std::int64_t num_samples, const Generator& generator) {
  const DType dtype = self.dtype() == float64 ? float64 : float32;
  const Tensor weights = self.to(dtype).reshape({-1, self.size(-1)}).contiguous();
  const std::int64_t rows = weights.size(0), n = weights.size(1);
  const Tensor uniform = empty({rows, num_samples}, {.dtype = float64, .device = Device::cpu()});
  uniform.uniform_(0, 1, generator);
  const Tensor out = empty({rows, num_samples}, {.dtype = int64, .device = Device::cpu()});
  const auto draw = [&]<class T>() {
    std::vector<T> sums(static_cast<std::size_t>(n));
    for (std::int64_t row = 0; row < rows; ++row) {
      const T* own = weights.data<T>() + row * n;
      T sum = 0;
      for (std::int64_t i = 0; i < n; ++i) sums[static_cast<std::size_t>(i)] = sum += own[i];
      for (T& part : sums) part /= sum;
      sums.back() = 1;
      for (std::int64_t i = 0; i < num_samples; ++i) {
        const double at = uniform.data<double>()[row * num_samples + i];
        const auto found = std::lower_bound(sums.begin(), sums.end(), at, [](T part, double value) {
          return static_cast<double>(part) < value;
        });
        out.data<std::int64_t>()[row * num_samples + i] =
            std::min<std::int64_t>(found - sums.begin(), n - 1);
      }
    }
  };
  if (dtype == float64) {
    draw.operator()<double>();
  } else {
    draw.operator()<float>();
  }
  return self.dim() == 1 ? out.view({num_samples}) : out;
}

}  // namespace

template <>
struct Rule<op::multinomial> {
  static Tensor compose(const Tensor& self, std::int64_t num_samples, bool replacement,
                        const Generator& generator) {
    check_weights(self, num_samples, replacement);
    Shape shape = self.shape();
    shape.back() = num_samples;
    if (self.is_meta() || self.numel() == 0)
      return empty(shape, {.dtype = int64, .device = self.device()});
    const NoGradScope unrecorded;
    const Tensor weights = self.detach();
    check_values(weights);
    if (replacement && num_samples > 1) return drawn_again(weights, num_samples, generator);
    // Of weights divided by exponential numbers the largest is each with its probability.
    const Tensor race = weights / empty_like(weights).exponential_(1, generator);
    if (num_samples == 1) return argmax(race, -1, {.keepdim = true});
    return std::get<1>(topk(race, num_samples));
  }
};

Tensor multinomial(const Tensor& self, std::int64_t num_samples,
                   const MultinomialFunctionOptions& options) {
  return call<op::multinomial>(self, num_samples, options.replacement,
                               options.generator ? *options.generator : default_generator());
}

}  // namespace tenon
