// What is recorded about how a tensor came to be: the nodes of the graph, and the scopes that
// switch recording.
//
// Every operator on a tensor that requires grad makes a node, which tensors it gives name as their
// grad_fn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenon/api.h"
#include "tenon/ref.h"

namespace tenon {

class Node;

// Where a gradient goes: into that input of that node. A null node takes none.
struct TENON_API Edge {
  Ref<Node> node;
  std::uint32_t input = 0;
};

class TENON_API Node : public RefCounted {
 public:
  ~Node() override;
  // "ViewBackward0": PyTorch's name, which tensors print.
  virtual std::string name() const = 0;

  // One edge for each tensor argument of the operator, in order; one that is not there has an edge
  // to nowhere. Set once, by the dispatcher.
  const std::vector<Edge>& next_edges() const noexcept { return next_edges_; }
  void set_next_edges(std::vector<Edge> edges) noexcept { next_edges_ = std::move(edges); }

 private:
  std::vector<Edge> next_edges_;
};

TENON_API bool is_grad_enabled() noexcept;

// Nothing is recorded on this thread while it lives.
class TENON_API NoGradScope {
 public:
  NoGradScope() noexcept;
  ~NoGradScope();
  NoGradScope(const NoGradScope&) = delete;
  NoGradScope& operator=(const NoGradScope&) = delete;

 private:
  bool saved_;
};

// Recording on (inside a NoGradScope) or off, by a flag: torch.set_grad_enabled.
class TENON_API GradModeScope {
 public:
  explicit GradModeScope(bool enabled) noexcept;
  ~GradModeScope();
  GradModeScope(const GradModeScope&) = delete;
  GradModeScope& operator=(const GradModeScope&) = delete;

 private:
  bool saved_;
};

}  // namespace tenon
