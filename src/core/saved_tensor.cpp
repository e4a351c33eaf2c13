#include "tenon/extend/saved_tensor.h"

#include <utility>

#include "base/text.h"
#include "core/alias.h"
#include "core/autograd_meta.h"
#include "core/body_editor.h"
#include "tenon/error.h"

namespace tenon {

SavedTensor::SavedTensor(const Tensor& tensor, Role role, std::uint32_t output)
    : version_(tensor.body().version()), output_(output), role_(role) {
  Body& body = tensor.body();
  if (body.is_inference()) {
    throw AutogradError(
        "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
        "inference mode in computation tracked by autograd. To work around this, you can make a "
        "clone to get a normal tensor and use it in autograd, or use a NoGradScope instead of an "
        "InferenceModeScope");
  }
  // A user-defined tensor is more than its layout and storage; its body is kept whole.
  alias_ = body.is_wrapper() ? Ref<Body>::share(&body) : alias_body(body, Layout(body.layout()));
  if (body.is_wrapped_number()) BodyEditor::set_wrapped_number(*alias_);
  if (role == Role::input) {
    edge_ = gradient_edge(tensor);
    counter_ = BodyEditor::save_counter(body);
    // Operators save views of what they are given: linear the transpose of its weight.
    if (const Ref<Body>& base = BodyEditor::base(body)) {
      base_counter_ = BodyEditor::save_counter(*base);
      base_counter_->value.fetch_add(1, std::memory_order_relaxed);
    }
    counter_->value.fetch_add(1, std::memory_order_relaxed);
  }
}

SavedTensor::~SavedTensor() {
  for (const auto* counter : {&counter_, &base_counter_}) {
    if (*counter) (*counter)->value.fetch_sub(1, std::memory_order_release);
  }
}

SavedTensor& SavedTensor::operator=(SavedTensor&& other) noexcept {
  std::swap(alias_, other.alias_);
  std::swap(counter_, other.counter_);
  std::swap(base_counter_, other.base_counter_);
  std::swap(edge_, other.edge_);
  std::swap(version_, other.version_);
  std::swap(output_, other.output_);
  std::swap(role_, other.role_);
  return *this;
}

Tensor SavedTensor::unpack(std::string_view op, Ref<Node> self) const {
  if (!alias_) {
    throw AutogradError(
        concat("Trying to backward through the graph a second time (or directly access saved "
               "tensors after they have already been freed). Saved intermediate values of the "
               "graph are freed when you call .backward() or autograd::grad(). Specify "
               "{.retain_graph = true} if you need to backward through the graph a second time or "
               "if you need to access saved tensors after calling backward. (What was freed is ",
               op, "'s.)"));
  }
  if (alias_->version() != version_) {
    throw AutogradError(
        concat("one of the variables needed for gradient computation has been modified by an "
               "inplace operation: a ",
               bracketed(alias_->layout().shape), " tensor that '", op, "' saved is at version ",
               alias_->version(), "; expected version ", version_, " instead"));
  }
  if (alias_->is_wrapper()) return BodyEditor::tensor_of(alias_);
  Tensor tensor(alias_body(*alias_, Layout(alias_->layout())));
  if (alias_->is_wrapped_number()) BodyEditor::set_wrapped_number(tensor.body());
  Edge edge = role_ == Role::output ? Edge{std::move(self), output_} : edge_;
  if (edge.node && is_differentiable(tensor.dtype()))
    BodyEditor::set_edge(tensor.body(), std::move(edge));
  return tensor;
}

}  // namespace tenon
