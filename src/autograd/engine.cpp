#include "autograd/engine.h"

#include <unordered_set>
#include <utility>

#include "autograd/accumulate.h"
#include "base/text.h"
#include "core/autograd_meta.h"
#include "ops/elementwise/operands.h"
#include "ops/support/gradients.h"
#include "tenon/error.h"
#include "tenon/ops/arithmetic.h"

namespace tenon {

namespace {

// The gradient as the argument is: summed where that was broadcast, and converted.
Tensor fitted(const Node& node, std::size_t index, Tensor&& grad) {
  const Edge& edge = node.next_edges()[index];
  const Node::Output& argument = edge.node->outputs()[edge.input];
  const auto invalid = [&](auto&&... why) {
    return AutogradError(concat("Function ", node.name(), " returned an invalid gradient at index ",
                                index, " - ", why...));
  };
  if (grad.device() != argument.device)
    throw invalid("expected device ", argument.device.str(), " but got ", grad.device().str());
  if (grad.shape() != argument.shape) {
    if (!broadcasts_to(argument.shape, grad.shape())) {
      throw invalid("got ", bracketed(grad.shape()), " but expected shape compatible with ",
                    bracketed(argument.shape));
    }
    grad = sum_to(grad, argument.shape);
  }
  if (grad.dtype() != argument.dtype) {
    if (grad.is_complex() && !is_complex(argument.dtype)) grad = grad.real();
    grad = grad.to(argument.dtype);
  }
  return std::move(grad);
}

void run_hooks(const Node& node, std::vector<Tensor>& grads) {
  if (node.hooks() == nullptr) return;
  const std::vector<Node::Hook> hooks = *node.hooks();  // they may change the list
  for (const bool last : {false, true}) {
    for (const Node::Hook& hook : hooks) {
      if (hook.last != last || hook.wanted->removed()) continue;
      Tensor& grad = grads[hook.output];
      if (!grad.defined()) continue;
      if (Tensor replaced = hook.hook(grad); replaced.defined()) {
        check_hook(grad, replaced);
        grad = std::move(replaced);
      }
    }
  }
}

}  // namespace

void Engine::add_root(Edge edge, Tensor grad) {
  add(edge, std::move(grad));
  roots_.push_back(std::move(edge));
}

void Engine::capture(const Edge& edge, Tensor& into) {
  selective_ = true;
  State& state = states_[edge.node.get()];
  if (state.captures.empty()) state.executes = false;
  state.captures.push_back({edge.input, &into});
  state.needed = true;
}

void Engine::keep_leaf(const Edge& edge) {
  selective_ = true;
  states_[edge.node.get()].needed = true;
}

void Engine::count_dependencies() {
  std::vector<Node*> stack;
  const auto visit = [&](Node* node) {
    State& state = states_[node];
    if (std::exchange(state.seen, true)) return;
    state.node = Ref<Node>::share(node);
    stack.push_back(node);
  };
  for (const Edge& root : roots_) visit(root.node.get());
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->next_edges()) {
      if (!edge.node) continue;
      ++states_[edge.node.get()].dependencies;
      visit(edge.node.get());
    }
  }
}

// What leads to a target is needed: children are looked at before those that lead to them.
void Engine::find_needed() {
  struct Frame {
    Node* node;
    std::size_t next = 0;
  };
  std::unordered_set<Node*> done;
  std::vector<Frame> stack;
  for (const Edge& root : roots_) {
    if (done.insert(root.node.get()).second) stack.push_back({root.node.get()});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.node->next_edges().size()) {
        stack.pop_back();
        continue;
      }
      Node* child = frame.node->next_edges()[frame.next].node.get();
      if (child != nullptr && done.insert(child).second) {
        stack.push_back({child});
        continue;  // and looked at again when it is done
      }
      ++frame.next;
      if (child != nullptr && states_[child].needed) {
        State& state = states_[frame.node];
        state.needed = state.executes = true;
      }
    }
  }
}

void Engine::run() {
  count_dependencies();
  if (selective_) find_needed();
  for (const Edge& root : roots_) {
    State& state = states_[root.node.get()];
    // Not one that another leads to, nor twice.
    if (state.dependencies == 0 && std::exchange(state.seen, false)) ready_.push(root.node.get());
  }
  while (!ready_.empty()) {
    Node* node = ready_.top();
    ready_.pop();
    const auto found = states_.find(node);
    State state = std::move(found->second);
    states_.erase(found);
    if (!selective_ || state.needed) run_one(*node, std::move(state));
  }
}

void Engine::run_one(Node& node, State state) {
  std::vector<Tensor> grads = std::move(state.grads);
  grads.resize(node.outputs().size());
  // What was asked for is what arrived, before hooks, where it is passed on to something else that
  // was asked for, and what they made of it where it ends here: as in PyTorch.
  const auto hand_out = [&] {
    for (const Capture& capture : state.captures) *capture.into = grads[capture.input];
  };
  if (state.executes) hand_out();
  auto* leaf = dynamic_cast<AccumulateGrad*>(&node);
  if (leaf != nullptr) {
    leaf->check_not_poisoned();
    if (grads[0].defined()) grads[0] = with_leaf_hooks(*leaf, std::move(grads[0]));
    leaf->check_not_poisoned();  // by a hook that swaps the leaf
  } else {
    run_hooks(node, grads);
  }
  if (!state.executes) return hand_out();
  if (leaf != nullptr) {
    if (grads[0].defined()) accumulate(*leaf, std::move(grads[0]));
    return;
  }
  std::vector<Tensor> out = node.apply(std::move(grads));
  if (!keep_graph_) node.free_saved();
  pass_on(node, std::move(out));
}

void Engine::pass_on(Node& node, std::vector<Tensor>&& grads) {
  if (grads.size() != node.next_edges().size()) {
    throw AutogradError(concat("Function ", node.name(), " returned ", grads.size(),
                               " gradients, and has ", node.next_edges().size(), " arguments"));
  }
  // Adding up may run user code, which may set other edges: a new one leads to no counted node.
  for (std::size_t i = 0; i < node.next_edges().size() && i < grads.size(); ++i) {
    const Edge edge = node.next_edges()[i];
    const auto found = edge.node ? states_.find(edge.node.get()) : states_.end();
    if (found == states_.end()) continue;
    State& state = found->second;  // stays where it is while others are added
    if (grads[i].defined() && (!selective_ || state.needed))
      add(edge, fitted(node, i, std::move(grads[i])));
    if (--state.dependencies == 0) ready_.push(edge.node.get());
  }
}

void Engine::add(const Edge& edge, Tensor&& grad) {
  std::vector<Tensor>& grads = states_[edge.node.get()].grads;
  if (grads.size() <= edge.input) grads.resize(edge.input + 1);
  Tensor& place = grads[edge.input];
  place = place.defined() ? sum_of(std::move(place), grad) : std::move(grad);
}

}  // namespace tenon
