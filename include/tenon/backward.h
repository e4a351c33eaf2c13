// Running a graph backwards: gradients into the leaves, or as results.
//
//   Tensor loss = (net(x) - y).square().mean();
//   loss.backward();                                  // adds to the grads of the parameters
//   Tensor gx = autograd::grad({loss}, {x})[0];       // or of any tensors, added to nothing
//
// A graph is run once, unless retain_graph keeps what its nodes have saved. With create_graph the
// gradients have a history of their own, and can be differentiated again.
//
// Threads: several may run graphs at once, also graphs that end in the same leaves. The same nodes
// are for one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/detail/api.h"
#include "tenon/tensor.h"
#include "tenon/tensor_list.h"

namespace tenon {

struct BackwardOptions {
  // The gradient of the tensor itself. May be left out of one with a single element: 1.
  Tensor gradient = {};
  std::optional<bool> retain_graph = {};  // what create_graph says
  bool create_graph = false;
  // If not empty, grads are added to these alone.
  TensorList inputs = {};
};

namespace autograd {

struct BackwardOptions {
  TensorList grad_tensors = {};  // one for each tensor; an undefined one is left out
  std::optional<bool> retain_graph = {};
  bool create_graph = false;
  TensorList inputs = {};
};

struct GradOptions {
  TensorList grad_outputs = {};
  std::optional<bool> retain_graph = {};
  bool create_graph = false;
  bool allow_unused = false;       // an input that nothing depends on has an undefined gradient
  bool materialize_grads = false;  // or zeros
};

// Errors are AutogradError, with PyTorch's words.
TENON_API void backward(TensorList tensors, const BackwardOptions& options = {});
TENON_API std::vector<Tensor> grad(TensorList outputs, TensorList inputs,
                                   const GradOptions& options = {});

}  // namespace autograd

}  // namespace tenon
