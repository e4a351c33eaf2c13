// The parts of the dispatcher that are the same for every operator.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "core/alias.h"
#include "core/body_editor.h"
#include "core/element_copy.h"
#include "core/uninitialized.h"
#include "tenon/error.h"
#include "tenon/extend/custom_op.h"

namespace tenon::detail {

namespace {

// A step of the graph that is known by name only.
class NamedNode : public Node {
 public:
  explicit NamedNode(std::string_view name) : name_(name) {}
  std::string name() const override { return std::string(name_); }

 private:
  std::string_view name_;  // of a Rule, which lives as long as the program
};

// Between an operator and an argument that was given data of another shape (Tensor::set_data) after
// it was calculated. The operator's gradient has the shape that it saw; the engine compares it with
// the one that was calculated, and names the operator and the argument if they do not fit.
class OtherDataNode final : public Node {
 public:
  OtherDataNode(std::string user, std::size_t number, Edge edge) : user_(std::move(user)) {
    std::vector<Edge> edges(number + 1);
    edges.back() = std::move(edge);
    set_next_edges(std::move(edges));
  }
  std::string name() const override { return user_; }
  std::vector<Tensor> apply(std::vector<Tensor> grads) override {
    std::vector<Tensor> out(next_edges().size());
    out.back() = std::move(grads[0]);
    return out;
  }

 private:
  std::string user_;
};

class OverwritingNode final : public NamedNode {
 public:
  using NamedNode::NamedNode;
  std::vector<Tensor> apply(std::vector<Tensor> grads) override {
    std::vector<Tensor> out(next_edges().size());
    if (!grads[0].defined()) return out;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Edge& edge = next_edges()[i];
      if (!edge.node) continue;
      // The zeros of an argument that is broadcast, or has another dtype, are of its own kind.
      const Node::Output& argument = edge.node->outputs()[edge.input];
      if (i == 0) {
        out[i] = grads[0].detach().clone().zero_();
      } else {
        out[i] = allocate_tensor(Layout::packed(argument.shape, argument.dtype, argument.device))
                     .zero_();
      }
    }
    return out;
  }
};

}  // namespace

void Scan::undefined_argument(const OpInfo& info) {
  throw Error(concat(
      info.name(),
      ": a tensor argument is undefined: it was default-constructed, and names no tensor yet"));
}

Tensor value_to_tensor(const Value& value, const OpInfo& info) {
  if (!value.is_tensor()) {
    throw TypeError(concat("a user-defined tensor answered '", info.name(),
                           "' with a value of type ", value.type_name(),
                           " where a Tensor is expected"));
  }
  return value.as_tensor();
}

std::vector<Tensor> value_to_tensors(const Value& value, const OpInfo& info,
                                     std::optional<std::size_t> count) {
  const bool sequence = value.kind() == Value::Kind::list || value.kind() == Value::Kind::tuple;
  if (!sequence || (count && value.items().size() != *count)) {
    throw TypeError(concat(
        "a user-defined tensor answered '", info.name(), "' with ",
        sequence ? concat(value.items().size(), " values")
                 : concat("a value of type ", value.type_name()),
        " where ", count ? concat(*count, " tensors are") : std::string("a list of tensors is"),
        " expected"));
  }
  std::vector<Tensor> tensors;
  for (const Value& item : value.items()) tensors.push_back(value_to_tensor(item, info));
  return tensors;
}

Tensor allocate_output(Layout layout) { return allocate_tensor(std::move(layout)); }

Tensor make_view(const Tensor& self, Layout&& layout, bool has_base, bool one_of_several) {
  Body& body = self.body();
  Tensor view(alias_body(body, std::move(layout)));
  if (has_base) BodyEditor::set_base(view.body(), body);
  if (one_of_several) BodyEditor::set_one_of_several(view.body());
  return view;
}

Tensor resolve_math_bits(const Tensor& tensor) {
  const Layout& layout = tensor.layout();
  if (!layout.conj && !layout.neg) return tensor;
  Tensor plain = allocate_tensor(Layout::packed_like(layout));
  if (!layout.device.is_meta()) copy_tensor(plain, tensor);
  return plain;
}

void copy_back(const Tensor& into, const Tensor& from) {
  if (!into.is_meta()) copy_tensor(into, from);
  bump_version(into);
}

void bump_version(const Tensor& tensor) noexcept { BodyEditor::bump_version(tensor.body()); }

void no_kernel(const OpInfo& info, Device device) {
  if (device.is_meta()) {
    throw NotImplementedError(
        concat("'", info.name(), "' needs the data of its tensors, and a meta tensor has none"));
  }
  throw NotImplementedError(
      concat("'", info.name(), "' has no kernel for device ", device.str(),
             ": copy the tensors with cpu(), or fill one in with set_kernel"));
}

void check_inplace(const OpInfo& info, const Tensor& self) {
  // Before what a history forbids: no other way of writing would do either.
  if (is_uninitialized(self.body()))
    throw_uninitialized_use(concat("'", info.name(), "'"), self.body());
  check_written(info.name(), self.body());
}

void check_inference(const Tensor& /*self*/) {
  if (is_inference_mode_enabled()) return;
  throw AutogradError(
      "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a "
      "clone to get a normal tensor before doing inplace update");
}

bool any_defined(std::span<const Tensor> grads) noexcept {
  return std::ranges::any_of(grads, [](const Tensor& grad) { return grad.defined(); });
}

// A user-defined tensor is saved whole, and has the node that saves it as its history: they would
// hold each other. What is saved is one without history.
SavedTensor save_result(const Tensor& result, std::uint32_t output) {
  if (!result.body().is_wrapper()) return SavedTensor(result, SavedTensor::Role::output, output);
  const NoGradScope unrecorded;
  const Tensor alone = result.detach();
  if (!alone.is(result) && alone.cell()->use_count() == 1)
    BodyEditor::share_version(alone.body(), result.body());
  return SavedTensor(alone, SavedTensor::Role::output, output);
}

Tensor unpack_result(const SavedTensor& saved, std::string_view op, Node& node,
                     std::uint32_t output) {
  const Tensor result = saved.unpack(op, node.history_of_result());
  if (!result.body().is_wrapper()) return result;
  const NoGradScope unrecorded;
  Tensor fresh = result.detach();
  if (!fresh.is(result)) BodyEditor::set_edge(fresh.body(), {node.history_of_result(), output});
  return fresh;
}

Ref<Node> named_node(std::string_view name) { return make_ref<NamedNode>(name); }

Ref<Node> overwriting_node(std::string_view name) { return make_ref<OverwritingNode>(name); }

Edge edge_of(const Tensor& tensor, const Node& node, std::size_t number) {
  Edge edge = gradient_edge(tensor);
  if (!edge.node || edge.node->outputs()[edge.input].shape == tensor.layout().shape) return edge;
  const Ref<Node> between = make_ref<OtherDataNode>(node.name(), number, std::move(edge));
  between->set_output(0, tensor.layout());
  return {between, 0};
}

Tensor fresh_result(Tensor result) {
  const Body& body = result.body();
  if (result.cell()->use_count() == 1 && !BodyEditor::has_history(body) && !body.is_parameter())
    return result;
  if (body.is_wrapper()) return result.detach();
  return Tensor(alias_body(result.body(), Layout(body.layout())));
}

void set_history(const Tensor& result, const Ref<Node>& node, std::uint32_t output) {
  tenon::set_history(result.body(), node, output);
}

void set_written_history(const Tensor& self, const Ref<Node>& node) {
  tenon::set_written_history(self.body(), node);
}

void attach_base(const Tensor& result, const Tensor& self) {
  if (result.cell()->use_count() != 1 || result.is_view()) return;
  BodyEditor::set_base(result.body(), self.body());
}

}  // namespace tenon::detail

namespace tenon {

Tensor Gradient::result(std::size_t number) const {
  return detail::unpack_result(results_[number], op_, node_, static_cast<std::uint32_t>(number));
}

}  // namespace tenon
