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

// Does something when the last that holds it goes.
struct AtTheEnd {
  explicit AtTheEnd(std::function<void()> f) : deed(std::move(f)) {}
  ~AtTheEnd() { deed(); }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  std::function<void()> deed;
};

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

// Removed hooks go when another is registered, and with them what they hold.
TEST(AutogradUserCode, OfAHooksDestructorMayRegisterHooks) {
  for (const bool of_grad : {true, false}) {
    const Tensor x = ones({2}).requires_grad_();
    int deeds = 0, calls = 0;
    const auto add = [&](const std::shared_ptr<AtTheEnd>& held) {
      if (of_grad) {
        return x.register_hook([held, &calls](const Tensor&) {
          ++calls;
          return Tensor();
        });
      }
      return x.register_post_accumulate_grad_hook([held, &calls](const Tensor&) { ++calls; });
    };
    std::vector<RemovableHandle> handles;
    for (int i = 0; i < 4; ++i) {
      handles.push_back(add(std::make_shared<AtTheEnd>([&] {
        if (++deeds != 1) return;
        for (int k = 0; k < 50; ++k) add(nullptr);
      })));
    }
    for (RemovableHandle& handle : handles) handle.remove();
    add(nullptr);
    EXPECT_EQ(deeds, 4);
    (x * 2).sum().backward();
    EXPECT_EQ(calls, 51);
  }
}

TEST(AutogradUserCode, OfAHooksDestructorMayDestroyTheTensor) {
  auto x = std::make_unique<Tensor>(ones({2}).requires_grad_());
  x->register_hook([held = std::make_shared<AtTheEnd>([&] { x.reset(); })](const Tensor&) {
     return Tensor();
   }).remove();
  const RemovableHandle handle = x->register_hook([](const Tensor&) { return Tensor(); });
  EXPECT_EQ(x, nullptr);
  EXPECT_GT(handle.id(), 0U);
}

// The list is copied for a backward pass, but not what somebody has put into it.
TEST(AutogradUserCode, IsNotCopiedForABackwardPass) {
  struct Counts {
    Counts() = default;
    Counts(const Counts& other) : copies(other.copies) { ++*copies; }
    Counts(Counts&&) noexcept = default;
    Counts& operator=(const Counts&) = delete;
    Counts& operator=(Counts&&) = delete;
    ~Counts() = default;
    Tensor operator()(const Tensor&) const { return {}; }
    std::shared_ptr<int> copies = std::make_shared<int>(0);
  };
  const Tensor x = ones({2}).requires_grad_(), y = x * 2;
  const Counts counts;
  x.register_hook(counts);
  y.register_hook(counts);
  const int before = *counts.copies;
  y.sum().backward();
  EXPECT_EQ(*counts.copies, before);
}

// Before, it was destroyed under the lock that asking for a history takes.
TEST(AutogradUserCode, OfAViewsOldHooksMayAskForItsHistoryOrDestroyIt) {
  for (const bool destroy : {false, true}) {
    const Tensor x = ones({4}).requires_grad_(), y = x * 2;
    auto view = std::make_unique<Tensor>(y.view({2, 2}));
    bool done = false;
    auto held = std::make_shared<AtTheEnd>([&] {
      EXPECT_EQ(view->grad_fn()->name(), "AsStridedBackward0");
      if (destroy) view.reset();
      done = true;
    });
    view->register_hook([held](const Tensor&) { return Tensor(); });
    held.reset();
    y.mul_(3);
    EXPECT_EQ(view->grad_fn()->name(), "AsStridedBackward0");
    EXPECT_TRUE(done);
  }
}

}  // namespace
}  // namespace tenon
