// What is recorded about how a tensor came to be: the nodes of the graph, and the scopes that
// switch recording. Running it backwards is tenon/backward.h.
//
// Every operator on a tensor that requires grad makes a node, which tensors it gives name as their
// grad_fn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/dtype.h"
#include "tenon/extend/ref.h"
#include "tenon/layout.h"
#include "tenon/removable_handle.h"
#include "tenon/shape.h"

namespace tenon {

class Node;
class Tensor;

// Where a gradient goes: into that input of that node. A null node takes none.
struct TENON_API Edge {
  Ref<Node> node;
  std::uint32_t input = 0;
};

// A function of a gradient; what it returns takes the gradient's place, unless it is undefined.
using GradientHook = std::function<Tensor(const Tensor& grad)>;

class TENON_API Node : public RefCounted {
 public:
  // What a result of the operator looks like, and therefore its gradient.
  struct Output {
    Shape shape;
    DType dtype = float32;
    Device device;
  };

  Node() noexcept;
  ~Node() override;
  // "ViewBackward0": PyTorch's name, which tensors print.
  virtual std::string name() const = 0;

  // The gradients of the operator's arguments, one for each of next_edges(), from those of its
  // results. An undefined one stands for zeros, or for what nobody asks for.
  // NotImplementedError if there is none.
  virtual std::vector<Tensor> apply(std::vector<Tensor> grads);
  // Lets go of what was saved for apply(), which then says so if it is asked again.
  virtual void free_saved() noexcept {}

  // What a result of the operator has as its history: this node, or the one that stands for it.
  virtual Ref<Node> history_of_result();
  // Its operator wrote into a view: the node of the view's base stands for it, which keeps it.
  void set_stand_in(Node* node) noexcept { stand_in_ = node; }

  // One edge for each tensor argument of the operator, in order; one that is not there has an edge
  // to nowhere. Set once, by the dispatcher.
  const std::vector<Edge>& next_edges() const noexcept { return next_edges_; }
  void set_next_edges(std::vector<Edge> edges) noexcept { next_edges_ = std::move(edges); }
  const std::vector<Output>& outputs() const noexcept { return outputs_; }
  void set_output(std::uint32_t number, const Layout& layout);
  // Later nodes of a thread have larger numbers, and run first.
  std::uint64_t sequence() const noexcept { return sequence_; }

  // Hooks on the gradients of results, which run before apply().
  struct Hook {
    std::shared_ptr<detail::HookSwitch> wanted;
    std::uint32_t output;
    bool last;  // after all others: it keeps the gradient
    GradientHook hook;
  };
  const std::vector<Hook>* hooks() const noexcept { return hooks_.get(); }
  void add_hook(Hook hook);

 protected:
  explicit Node(std::uint64_t sequence) noexcept : sequence_(sequence) {}

 private:
  std::vector<Edge> next_edges_;
  std::vector<Output> outputs_;
  std::unique_ptr<std::vector<Hook>> hooks_;
  Node* stand_in_ = nullptr;
  std::uint64_t sequence_;
};

TENON_API bool is_grad_enabled() noexcept;
TENON_API bool is_inference_mode_enabled() noexcept;
namespace detail {
// Whether operators are recorded: neither is off.
TENON_API bool is_recording() noexcept;
}  // namespace detail

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

// Nothing is recorded on this thread while it lives, whatever GradModeScope says in it, and what is
// made in it can never be: those tensors are not saved for a backward pass, and outside of it they
// neither require grad nor are written to. A clone() made outside is like any other tensor. By a
// flag: torch.inference_mode.
class TENON_API InferenceModeScope {
 public:
  explicit InferenceModeScope(bool enabled = true) noexcept;
  ~InferenceModeScope();
  InferenceModeScope(const InferenceModeScope&) = delete;
  InferenceModeScope& operator=(const InferenceModeScope&) = delete;

 private:
  bool saved_, saved_grad_;
};

}  // namespace tenon
