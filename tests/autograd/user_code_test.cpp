// Hooks on tensors that change what a backward pass is going through.
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/matchers.h"
#include "tenon/tenon.h"

namespace tenon {
namespace {

struct Deliberate {};

// Tensors of a small graph, any of which a hook may drop.
struct Graph {
  std::optional<Tensor> x, y, z, loss;
  std::vector<RemovableHandle> handles;
  int when = 0, calls = 0;
  std::function<void(Graph&)> deed;

  Tensor happen(const Tensor& /*grad*/) {
    if (++calls == when) deed(*this);
    return {};
  }
};

bool run(const std::function<void(Graph&)>& deed, int when) {
  Graph graph;
  graph.when = when;
  graph.deed = deed;
  graph.x = ones({3}).requires_grad_();
  graph.y = *graph.x * 2.0;
  graph.z = graph.y->exp() * *graph.x;
  graph.loss = graph.z->sum();
  const auto hook = [&graph](const Tensor& grad) { return graph.happen(grad); };
  for (const auto* tensor : {&graph.x, &graph.y, &graph.z}) {
    for (int i = 0; i < 3; ++i) graph.handles.push_back((*tensor)->register_hook(hook));
  }
  for (int i = 0; i < 2; ++i) {
    graph.handles.push_back(graph.x->register_post_accumulate_grad_hook(
        [&graph](const Tensor& leaf) { graph.happen(leaf); }));
  }
  const Tensor leaf = *graph.x;
  try {
    graph.loss->backward();
  } catch (const Error&) {
  } catch (const Deliberate&) {
  }
  const bool done = graph.calls >= when;
  graph.when = -1;
  // What is left can be used.
  if (leaf.requires_grad()) {
    leaf.set_grad({});
    (leaf * 3.0).sum().backward();
    EXPECT_EQ(leaf.grad().numel(), leaf.numel());
  }
  return done;
}

TEST(AutogradUserCode, MayDoAnythingInAHook) {
  const std::vector<std::function<void(Graph&)>> deeds{
      [](Graph& g) {
        for (RemovableHandle& handle : g.handles) handle.remove();
      },
      [](Graph& g) {
        for (int i = 0; i < 30; ++i) {
          if (g.x) g.x->register_hook([](const Tensor&) { return Tensor(); });
          if (g.y) g.y->register_hook([](const Tensor&) { return Tensor(); });
        }
      },
      [](Graph& g) {
        for (int i = 0; i < 30; ++i) g.x->register_post_accumulate_grad_hook([](const Tensor&) {});
      },
      [](Graph& g) {
        g.x.reset();
        g.y.reset();
        g.z.reset();
        g.loss.reset();
      },
      [](Graph& g) { g.loss->backward(); },
      [](Graph& g) { g.loss->backward({.retain_graph = true}); },
      [](Graph& g) { (g.x->exp() * 2.0).sum().backward(); },
      [](Graph& g) { g.x->set_grad({}); },
      [](Graph& g) { g.x->set_grad(ones({3})); },
      [](Graph& g) { swap_tensors(*g.x, ones({5}).requires_grad_()); },
      [](Graph& g) { g.x->detach().add_(1.0); },
      [](Graph& g) { g.x->requires_grad_(false); },
      [](Graph&) { throw Deliberate(); },
      [](Graph&) { throw ValueError("thrown"); },
  };
  for (std::size_t i = 0; i < deeds.size(); ++i) {
    int steps = 0;
    for (int when = 1; when < 100; ++when) {
      SCOPED_TRACE(testing::Message() << "deed " << i << " at step " << when);
      if (!run(deeds[i], when)) break;
      steps = when;
    }
    EXPECT_GE(steps, 11);
  }
}

// The tensor that the graph leads to is another one now, and its gradient would be the other's.
TEST(AutogradUserCode, ThatSwapsALeafInAHookOfItIsAnErrorAsInPyTorch) {
  const Tensor x = ones({2}).requires_grad_(), other = ones({3}).requires_grad_();
  const auto handle = x.register_hook([&](const Tensor&) {
    swap_tensors(x, other);
    return Tensor();
  });
  expect_error<SwapError>([&] { x.sum().backward(); }, "poisoned");
  EXPECT_FALSE(x.grad().defined());
  EXPECT_FALSE(other.grad().defined());
}

TEST(AutogradUserCode, ThatGivesATensorOtherDataDoesNotLeaveAGradientOfAnotherShapeOnIt) {
  const Tensor x = ones({2}).requires_grad_();
  const auto retained = [&] {
    const Tensor y = x * 2;
    y.retain_grad();
    return y;
  };
  const Tensor early = retained();
  early.set_data(ones({5}));
  expect_error<AutogradError>([&] { early.sum().backward(); },
                              "got [5] but expected shape compatible with [2]");
  EXPECT_FALSE(early.grad().defined());
  const Tensor late = retained();
  const Tensor sum = late.sum();
  late.set_data(ones({5}));
  expect_error<AutogradError>([&] { sum.backward(); }, "shape [2]", "shape [5]");
  EXPECT_FALSE(late.grad().defined());
}

}  // namespace
}  // namespace tenon
