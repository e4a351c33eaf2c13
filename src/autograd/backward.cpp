#include "tenon/backward.h"

#include <utility>

#include "autograd/engine.h"
#include "base/text.h"
#include "core/autograd_meta.h"
#include "tenon/error.h"
#include "tenon/ops/factories.h"

namespace tenon::autograd {

namespace {

std::string size_of(const Tensor& tensor) {
  return concat("torch.Size(", bracketed(tensor.shape()), ")");
}

// The gradients to begin with: those given, and 1 for what has a single element.
void add_roots(Engine& engine, std::span<const Tensor> outputs, std::span<const Tensor> grads) {
  if (!grads.empty() && grads.size() != outputs.size()) {
    throw AutogradError(
        concat("got ", outputs.size(), " tensors and ", grads.size(), " gradients"));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& output = outputs[i];
    if (!output.defined()) throw AutogradError(concat("element ", i, " of tensors is undefined"));
    Edge edge = gradient_edge(output);
    if (!edge.node) {
      throw AutogradError(
          concat("element ", i, " of tensors does not require grad and does not have a grad_fn"));
    }
    Tensor grad = grads.empty() ? Tensor() : grads[i];
    if (!grad.defined()) {
      if (output.numel() != 1)
        throw AutogradError("grad can be implicitly created only for scalar outputs");
      if (!output.is_floating_point()) {
        throw AutogradError(
            concat("grad can be implicitly created only for real scalar outputs but got ",
                   tenon::repr(output.dtype())));
      }
      grad = ones_like(output.detach());
    } else if (grad.shape() != output.shape()) {
      throw AutogradError(concat("Mismatch in shape: grad_output[", i, "] has a shape of ",
                                 size_of(grad), " and output[", i, "] has a shape of ",
                                 size_of(output), "."));
    } else if (grad.is_complex() != output.is_complex()) {
      throw AutogradError(concat(
          "For complex Tensors, both grad_output and output are required to have the same dtype. "
          "Mismatch in dtype: grad_output[",
          i, "] has a dtype of ", tenon::repr(grad.dtype()), " and output[", i, "] has a dtype of ",
          tenon::repr(output.dtype()), "."));
    }
    engine.add_root(std::move(edge),
                    grad.dtype() == output.dtype() ? grad : grad.to(output.dtype()));
  }
}

}  // namespace

void backward(TensorList tensors, const BackwardOptions& given) {
  const BackwardOptions options = given;  // hooks may destroy what they were given as
  Engine engine(options.retain_graph.value_or(options.create_graph));
  add_roots(engine, tensors, options.grad_tensors);
  for (const Tensor& input : options.inputs) {
    const Edge edge = gradient_edge(input);
    if (!edge.node) throw AutogradError("One of the differentiated Tensors does not require grad");
    if (!input.is_leaf()) input.retain_grad();
    engine.keep_leaf(edge);
  }
  const GradModeScope recording(options.create_graph);
  engine.run();
}

std::vector<Tensor> grad(TensorList outputs, TensorList inputs, const GradOptions& given) {
  const GradOptions options = given;  // the same
  Engine engine(options.retain_graph.value_or(options.create_graph));
  add_roots(engine, outputs, options.grad_outputs);
  if (inputs.empty()) throw AutogradError("grad requires non-empty inputs.");
  std::vector<Tensor> grads(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Edge edge = gradient_edge(inputs[i]);
    if (!edge.node) throw AutogradError("One of the differentiated Tensors does not require grad");
    engine.capture(edge, grads[i]);
  }
  {
    const GradModeScope recording(options.create_graph);
    engine.run();
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (grads[i].defined()) continue;
    if (options.materialize_grads) {
      grads[i] = zeros_like(inputs[i].detach());
    } else if (!options.allow_unused) {
      throw AutogradError(
          "One of the differentiated Tensors appears to not have been used in the graph. Set "
          "{.allow_unused = true} if this is the desired behavior.");
    }
  }
  return grads;
}

}  // namespace tenon::autograd

namespace tenon {

void Tensor::backward() const { backward(BackwardOptions()); }

void Tensor::backward(const BackwardOptions& options) const {
  autograd::BackwardOptions all{.retain_graph = options.retain_graph,
                                .create_graph = options.create_graph,
                                .inputs = options.inputs};
  if (options.gradient.defined()) all.grad_tensors = {options.gradient};
  autograd::backward({*this}, all);
}

}  // namespace tenon
