#include "support/gradcheck.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenon {

std::string gradient_differs(const Differentiated& f, const std::vector<Tensor>& arguments,
                             const GradcheckOptions& options) {
  const Tensor result = f(arguments);
  const Tensor weights =
      (arange(result.numel(), {.dtype = float64}) * 0.7 + 0.3).sin().reshape(result.shape());
  const auto weighted = [&] {
    const NoGradScope unrecorded;
    return (f(arguments) * weights).sum().item<double>();
  };
  std::vector<Tensor> wanted;
  for (const Tensor& argument : arguments) {
    if (argument.requires_grad()) wanted.push_back(argument);
  }
  const auto grads = autograd::grad(std::vector<Tensor>{result}, wanted,
                                    {.grad_outputs = {weights}, .materialize_grads = true});
  for (std::size_t a = 0; a < wanted.size(); ++a) {
    const Tensor& argument = wanted[a];
    if (grads[a].shape() != argument.shape()) return "the gradient has another shape";
    const Tensor places = argument.detach();
    for (std::int64_t i = 0; i < argument.numel(); ++i) {
      // Through the strides the argument has.
      Tensor place = places;
      std::int64_t rest = i;
      std::vector<std::int64_t> index(static_cast<std::size_t>(argument.dim()));
      for (std::int64_t d = argument.dim() - 1; d >= 0; --d) {
        index[static_cast<std::size_t>(d)] = rest % argument.size(d);
        rest /= argument.size(d);
      }
      for (const std::int64_t at : index) place = place.select(0, at);
      const double before = place.item<double>();
      place.fill_(before + options.eps);
      const double above = weighted();
      place.fill_(before - options.eps);
      const double below = weighted();
      place.fill_(before);
      const double expected = (above - below) / (2 * options.eps);
      const double actual = grads[a].reshape({-1}).select(0, i).item<double>();
      if (!(std::abs(actual - expected) <= options.atol + options.rtol * std::abs(expected))) {
        return "argument " + std::to_string(a) + ", element " + std::to_string(i) + ": " +
               std::to_string(actual) + ", and differences say " + std::to_string(expected);
      }
    }
  }
  return {};
}

std::string second_gradient_differs(const Differentiated& f, const std::vector<Tensor>& arguments,
                                    const GradcheckOptions& options) {
  const Differentiated first = [&](const std::vector<Tensor>& at) {
    const GradModeScope recording(true);
    const Tensor result = f(at);
    const Tensor weights =
        (arange(result.numel(), {.dtype = float64}) * 0.9 + 0.1).cos().reshape(result.shape());
    std::vector<Tensor> wanted;
    for (const Tensor& argument : at) {
      if (argument.requires_grad()) wanted.push_back(argument);
    }
    // Of a linear function the gradient depends on nothing; then what is asked about is zero.
    std::vector<Tensor> flat;
    for (const Tensor& argument : wanted) flat.push_back((argument * 0).sum().reshape({1}));
    for (const Tensor& grad : autograd::grad(
             std::vector<Tensor>{result}, wanted,
             {.grad_outputs = {weights}, .create_graph = true, .materialize_grads = true}))
      flat.push_back(grad.reshape({-1}));
    return cat(flat);
  };
  return gradient_differs(first, arguments, options);
}

void expect_gradient(const Differentiated& f, const std::vector<Tensor>& arguments,
                     const GradcheckOptions& options) {
  EXPECT_EQ(gradient_differs(f, arguments, options), "");
}
void expect_gradients(const Differentiated& f, const std::vector<Tensor>& arguments,
                      const GradcheckOptions& options) {
  EXPECT_EQ(gradient_differs(f, arguments, options), "");
  EXPECT_EQ(second_gradient_differs(f, arguments, options), "");
}

}  // namespace tenon
