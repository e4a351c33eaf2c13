// The engine: runs the nodes of a graph, each when all gradients that lead to it are there.
#pragma once

#include <cstdint>
#include <queue>
#include <unordered_map>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/tensor.h"

namespace tenon {

class Engine {
 public:
  // Recording while it runs is what is_grad_enabled() says. Nodes let go of what they saved, unless
  // the graph is kept.
  explicit Engine(bool keep_graph) noexcept : keep_graph_(keep_graph) {}

  // Where to begin, with what.
  void add_root(Edge edge, Tensor grad);
  // From now on only what leads to one of the targets is run. A captured gradient is put there
  // instead of being passed on; a leaf that is kept is added to.
  void capture(const Edge& edge, Tensor& into);
  void keep_leaf(const Edge& edge);

  void run();

 private:
  struct Capture {
    std::uint32_t input;
    Tensor* into;
  };
  struct State {
    Ref<Node> node;  // a hook may take it out of the graph
    std::uint32_t dependencies = 0;
    bool seen = false;
    bool needed = false;   // it leads to a target
    bool executes = true;  // not only to have its gradients captured
    std::vector<Tensor> grads;
    std::vector<Capture> captures;
  };
  struct Later {
    bool operator()(const Node* a, const Node* b) const noexcept {
      return a->sequence() < b->sequence();
    }
  };

  void count_dependencies();
  void find_needed();
  void run_one(Node& node, State state);
  void pass_on(Node& node, std::vector<Tensor>&& grads);
  void add(const Edge& edge, Tensor&& grad);

  bool keep_graph_;
  bool selective_ = false;
  std::vector<Edge> roots_;
  std::unordered_map<Node*, State> states_;
  std::priority_queue<Node*, std::vector<Node*>, Later> ready_;
};

}  // namespace tenon
