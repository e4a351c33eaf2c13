// Gradients compared with differences of nearby values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tenon/tenon.h"

namespace tenon {

using Differentiated = std::function<Tensor(const std::vector<Tensor>&)>;

struct GradcheckOptions {
  double eps = 1e-6;
  double atol = 1e-6;
  double rtol = 1e-5;
};

// Empty, or where the gradient of f is not what differences say. The arguments are float64; those
// that require grad are looked at. The result is weighted, so that no two elements of it look the
// same.
std::string gradient_differs(const Differentiated& f, const std::vector<Tensor>& arguments,
                             const GradcheckOptions& options = {});
// The same of the gradients themselves.
std::string second_gradient_differs(const Differentiated& f, const std::vector<Tensor>& arguments,
                                    const GradcheckOptions& options = {});

void expect_gradient(const Differentiated& f, const std::vector<Tensor>& arguments,
                     const GradcheckOptions& options = {});
// And of second ones.
void expect_gradients(const Differentiated& f, const std::vector<Tensor>& arguments,
                      const GradcheckOptions& options = {});

}  // namespace tenon
