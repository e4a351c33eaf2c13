// The part of a body that only tensors with a history have.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/autograd.h"
#include "tenon/detail/api.h"
#include "tenon/extend/body.h"
#include "tenon/tensor.h"
#include "tenon/value.h"

namespace tenon {

// Collects the gradient of a leaf: the engine does (src/autograd). One at a time for a leaf, made
// when an operator first needs it; it holds the body, so that a graph stays right when the tensor's
// body is exchanged, and is held by the graph alone.
class TENON_API AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(Ref<Body> leaf);
  ~AccumulateGrad() override;
  std::string name() const override { return "AccumulateGrad"; }

  Body& leaf() const noexcept { return *leaf_; }
  void poison() noexcept { poisoned_.store(true, std::memory_order_relaxed); }
  // To be asked before it runs. SwapError if the leaf was swapped after the forward pass.
  void check_not_poisoned() const;

 private:
  Ref<Body> leaf_;
  std::atomic<bool> poisoned_{false};
};

namespace detail {

struct LeafHook {
  std::shared_ptr<HookSwitch> wanted;
  GradientHook hook;
};
// Called with the leaf when its grad has been added to.
struct AccumulatedHook {
  std::shared_ptr<HookSwitch> wanted;
  std::function<void(const Tensor& leaf)> hook;
};

// Names a body without keeping it. Where a WeakTensor stays with its cell, this goes along when
// tensors are swapped. Any thread may ask.
class TENON_API WeakBody {
 public:
  explicit WeakBody(Body& body) noexcept : body_(&body) {}
  // Null once it is gone.
  Ref<Body> lock() {
    const std::lock_guard lock(mutex_);
    return Ref<Body>::if_alive(body_);
  }
  // The body is on its way out.
  void forget() noexcept {
    const std::lock_guard lock(mutex_);
    body_ = nullptr;
  }

 private:
  std::mutex mutex_;
  Body* body_;
};

struct AutogradMeta {
  AutogradMeta() = default;
  ~AutogradMeta() {
    if (retained) retained->forget();
  }
  AutogradMeta(const AutogradMeta&) = delete;
  AutogradMeta& operator=(const AutogradMeta&) = delete;

  bool requires_grad = false;  // of a leaf; anything with an edge requires grad
  Tensor grad;
  Edge edge;  // what this tensor was calculated by
  // Of a tensor that keeps its gradient: its own body, which the hook on its node looks for.
  std::shared_ptr<WeakBody> retained;
  std::vector<LeafHook> hooks;               // of a leaf, in order of registration
  std::vector<AccumulatedHook> accumulated;  // likewise
  std::mutex mutex;                          // guards the next one
  // Not owned; it takes itself out when it goes.
  std::atomic<AccumulateGrad*> accumulator{nullptr};
};

// Whether there is a grad, and it could be one of a tensor with that layout.
bool grad_fits(const AutogradMeta& meta, const Layout& layout) noexcept;

struct Attributes {
  std::vector<std::pair<std::string, Value>> values;
};

}  // namespace detail

// Where a gradient of the tensor goes: its node, its accumulator if it is a leaf that requires
// grad, or nowhere.
TENON_API Edge gradient_edge(const Tensor& tensor);
TENON_API Edge gradient_edge(Body& body);
// What the tensor was calculated by: its edge, or none if it is a leaf.
TENON_API Edge history_of(Body& body);
// Makes it the history of a body. The hook that keeps the gradient of a tensor goes along.
TENON_API void set_history(Body& body, const Ref<Node>& node, std::uint32_t output);
// The same of a body that the node's operator has written into. If it is a view, its base has the
// history.
TENON_API void set_written_history(Body& body, const Ref<Node>& node);
// To be asked before it is recorded that an operator writes into the body. AutogradError if that is
// not allowed, or cannot be told.
TENON_API void check_written(std::string_view op, Body& body);

}  // namespace tenon
