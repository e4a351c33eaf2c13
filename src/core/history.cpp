// What tensors were calculated by, and how it changes when they are written to.
//
// Note [Histories of views]
// Writing into a view changes its base, and all other views of it. The operator is therefore part
// of the base's history (CopySlices), and the history of every view, the written one included, is
// out of date: it is now "a part of the base as it is". The base counts how often its history was
// changed by writing; a view that remembers another count makes its history anew, as AsStrided of
// the base, when somebody next asks for it. That may be several threads that only read, so it
// happens under the view's lock.
#include <atomic>
#include <utility>

#include "base/text.h"
#include "core/autograd_meta.h"
#include "core/body_editor.h"
#include "core/view_nodes.h"
#include "tenon/error.h"

namespace tenon {

namespace {

constinit std::atomic<const ViewNodes*> view_nodes{nullptr};

const ViewNodes& nodes_of_views() { return *view_nodes.load(std::memory_order_acquire); }

// Whether a part of the base by sizes and strides alone is what the view is.
bool is_strided_part(const Body& base, const Body& view) {
  const Layout &whole = base.layout(), &part = view.layout();
  return !base.is_wrapper() && !view.is_wrapper() && whole.dtype == part.dtype &&
         whole.conj == part.conj && whole.neg == part.neg;
}

void check_strided_part(std::string_view what, const Body& base, const Body& view) {
  if (is_strided_part(base, view)) return;
  throw NotImplementedError(
      concat(what,
             " cannot be recorded: the view has another dtype than its base, conjugates it, or is "
             "a user-defined tensor. Write into the base, or into a clone()"));
}

// How a view was made, and what has happened to it: the first half of PyTorch's messages.
std::string how_made(const Body& view, const Edge& edge, std::string_view modified) {
  const bool inference = BodyEditor::is_inference_view(view);
  if (edge.node) {
    std::string name = edge.node->name();
    if (const auto end = name.rfind("Backward"); end != std::string::npos) name.resize(end);
    const char* origin = inference ? " of a view which was created in inference mode"
                         : BodyEditor::is_unrecorded_view(view)
                             ? " of a view which was created in no_grad mode"
                             : "";
    const char* now = inference                              ? " inplace in normal mode"
                      : BodyEditor::is_unrecorded_view(view) ? " inplace with grad mode enabled"
                                                             : " inplace";
    return concat("Output ", edge.input, " of ", name, " is a view", origin, " and ", modified, now,
                  ".");
  }
  return concat("A view was created in ", inference ? "inference" : "no_grad", " mode and ",
                modified,
                inference ? " inplace in normal mode." : " inplace with grad mode enabled.");
}

void check_view(const Body& view, const Edge& edge, std::string_view modified) {
  if (BodyEditor::is_one_of_several(view)) {
    throw AutogradError(concat(
        how_made(view, edge, modified),
        " This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by "
        "an out-of-place one."));
  }
  const bool inference = BodyEditor::is_inference_view(view);
  if (!inference && !BodyEditor::is_unrecorded_view(view)) return;
  throw AutogradError(concat(how_made(view, edge, modified),
                             " Given that this use case is ambiguous and error-prone, it is "
                             "forbidden. You can clarify your code "
                             "by moving both the view and the inplace either both inside the ",
                             inference ? "inference_mode" : "no_grad",
                             " block (if you don't want the inplace to be tracked) or both outside "
                             "(if you want the inplace to be "
                             "tracked)."));
}

// The hook that keeps the gradient of a tensor goes along with its history.
void move_kept_gradient(const detail::AutogradMeta& meta, Node& node, std::uint32_t output) {
  if (!meta.retained || !meta.edge.node || !meta.edge.node->hooks()) return;
  for (const Node::Hook& hook : *meta.edge.node->hooks()) {
    if (!hook.last || hook.output != meta.edge.input || hook.wanted->removed()) continue;
    hook.wanted->remove(0);
    node.add_hook({std::make_shared<detail::HookSwitch>(), output, true, hook.hook});
  }
}

// See Note [Histories of views]. Nodes are named, and what hooks hold is let go of, without the
// lock: that may be somebody's code, which asks for this history.
[[gnu::cold, gnu::noinline]] Edge history_made_anew(Body& view) {
  detail::AutogradMeta& meta = BodyEditor::need_autograd(view);
  const auto known = [&] {
    const std::lock_guard lock(meta.mutex);
    return meta.edge;
  };
  check_view(view, known(), "its base or another view of its base has been modified");
  Edge before;  // the last to go: the view may go with it
  const std::lock_guard lock(meta.mutex);
  if (!BodyEditor::is_outdated(view)) return meta.edge;
  Body& base = *BodyEditor::base(view);
  check_strided_part("a view of what was written to", base, view);
  Ref<Node> node = nodes_of_views().as_strided(base.layout(), view.layout());
  node->set_next_edges({gradient_edge(base)});
  node->set_output(0, view.layout());
  move_kept_gradient(meta, *node, 0);
  before = std::exchange(meta.edge, {std::move(node), 0});
  BodyEditor::set_up_to_date(view);
  return meta.edge;
}

}  // namespace

void set_view_nodes(const ViewNodes& nodes) noexcept {
  view_nodes.store(&nodes, std::memory_order_release);
}

Edge history_of(Body& body) {
  if (BodyEditor::is_outdated(body)) [[unlikely]]
    return history_made_anew(body);
  const detail::AutogradMeta* meta = BodyEditor::autograd(body);
  return meta == nullptr ? Edge() : meta->edge;
}

Edge gradient_edge(const Tensor& tensor) { return gradient_edge(tensor.body()); }

Edge gradient_edge(Body& body) {
  if (!body.is_tracked()) return {};
  if (Edge edge = history_of(body); edge.node) return edge;
  // A view that was made with recording off requires grad as its base does, and has none itself.
  if (!BodyEditor::has_history(body)) return {};
  detail::AutogradMeta& meta = BodyEditor::need_autograd(body);
  // Several threads may record operators on one leaf; they get the same accumulator.
  const std::lock_guard lock(meta.mutex);
  if (auto live = Ref<AccumulateGrad>::if_alive(meta.accumulator)) return {std::move(live), 0};
  auto fresh = make_ref<AccumulateGrad>(Ref<Body>::share(&body));
  meta.accumulator = fresh.get();
  return {std::move(fresh), 0};
}

void set_history(Body& body, const Ref<Node>& node, std::uint32_t output) {
  node->set_output(output, body.layout());
  if (const detail::AutogradMeta* meta = BodyEditor::autograd(body))
    move_kept_gradient(*meta, *node, output);
  BodyEditor::set_edge(body, {node, output});
}

void set_written_history(Body& body, const Ref<Node>& node) {
  const Ref<Body>& base = BodyEditor::base(body);
  if (!base) {
    set_history(body, node, 0);
    BodyEditor::count_write(body);
    return;
  }
  node->set_output(0, body.layout());
  std::vector<Edge> edges = node->next_edges();
  edges[0] = gradient_edge(*base);
  const Ref<Node> slices = nodes_of_views().copy_slices(base->layout(), body.layout(), node);
  slices->set_next_edges(std::move(edges));
  set_history(*base, slices, 0);
  BodyEditor::count_write(*base);
}

void check_written(std::string_view op, Body& body) {
  const auto refused = [&](const char* what) {
    return AutogradError(concat(what, " is being used in an in-place operation ('", op,
                                "'). Do it inside a NoGradScope, or on a clone()"));
  };
  if (const Ref<Body>& base = BodyEditor::base(body)) {
    check_view(body, history_of(body), "is being modified");
    if (body.is_tracked() && !history_of(*base).node)
      throw refused("a view of a leaf Variable that requires grad");
    check_strided_part(concat("'", op, "' into a view"), *base, body);
  }
  if (body.is_tracked() && !history_of(body).node)
    throw refused("a leaf Variable that requires grad");
}

}  // namespace tenon
