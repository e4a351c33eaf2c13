// What goes on after a call on a device, whose backend and kernels are user code: out forms,
// gradients that are added up, optimizers that let steps wait. Sanitizers find what is not expected
// here; tests/dispatch/device_user_code_test.cpp has the operators.
#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "support/matchers.h"
#include "support/talking_device.h"

namespace tenon {
namespace {

// Runs `walk` again and again, the deed done at the first step of the backend, the second, and so
// on, until there are no more.
void at_each_step(const std::function<void(const std::function<void()>& deed)>& walk,
                  const std::function<std::function<void()>()>& make_deed) {
  for (int when = 1; when < 200; ++when) {
    SCOPED_TRACE(when);
    int calls = 0;
    const std::function<void()> deed = make_deed();
    walk([&] {
      if (++calls == when) deed();
    });
    if (calls < when) return;
  }
  ADD_FAILURE() << "there are always more steps";
}

struct Operands {
  std::unique_ptr<Tensor> out, a, b;
};
using OutForm = void (*)(const Tensor& out, const Tensor& a, const Tensor& b);

void check_out_form(const Shape& size, float expected, OutForm form) {
  const Device device = TalkingBackend::device();
  Operands own;
  Tensor out;
  at_each_step(
      [&](const std::function<void()>& step) {
        const auto made = [&](const Shape& shape, double value) {
          return std::make_unique<Tensor>(full(shape, value).to(device));
        };
        own = {made(size, 0), made({2, 2}, 1), made({2, 2}, 2)};
        out = *own.out;
        {
          const TalkingBackend::Steps steps(step);
          EXPECT_NO_THROW(form(*own.out, *own.a, *own.b));
        }
        EXPECT_FLOAT_EQ(out.cpu().flatten()[0].item<float>(), expected);
      },
      [&] { return [&] { own = {}; }; });
}

TEST(OutFormsOnADevice, WriteIntoWhatTheyWereGivenWhateverBecomesOfTheVariables) {
  for (const Shape& size : {Shape{2, 2}, Shape{0}}) {
    check_out_form(size, 3,
                   [](const Tensor& out, const Tensor& a, const Tensor& b) { add_out(out, a, b); });
    check_out_form(size, 4,
                   [](const Tensor& out, const Tensor& a, const Tensor& b) { mm_out(out, a, b); });
  }
  check_out_form({0}, std::exp(1.0f),
                 [](const Tensor& out, const Tensor& a, const Tensor& /*b*/) { exp_out(out, a); });
}

// (The gradient was added under a lock, which a kernel that calls backward() waited for itself.)
TEST(GradientsOnADevice, AreAddedWhileTheirKernelCallsBackward) {
  const Device device = TalkingBackend::device();
  Tensor leaf, two;
  const auto backward = [&] {
    const GradModeScope recording(true);  // a backward pass has it off
    (leaf * two).sum().backward();
  };
  at_each_step(
      [&](const std::function<void()>& step) {
        leaf = ones({2}).to(device).requires_grad_();
        two = full({2}, 2.0).to(device);
        backward();
        const Tensor grad = leaf.grad();
        {
          const TalkingBackend::Steps steps(step);
          backward();
        }
        // In place, as whoever holds it expects.
        EXPECT_TRUE(leaf.grad().is(grad));
        EXPECT_GE(grad.cpu()[0].item<double>(), 4.0);
      },
      [&] { return backward; });
}

TEST(GradientsOnADevice, OfALeafThatItsKernelSwapsAreRefused) {
  const Device device = TalkingBackend::device();
  const Tensor leaf = ones({2}).to(device).requires_grad_();
  const Tensor loss = (leaf * leaf).sum();
  leaf.set_grad(zeros({2}).to(device));
  bool swapped = false;
  const TalkingBackend::Steps steps([&] {
    if (std::exchange(swapped, true)) return;
    try {
      swap_tensors(leaf, ones({2}).to(device).requires_grad_());
    } catch (const SwapError&) {  // something holds it
    }
  });
  try {
    loss.backward();
  } catch (const Error&) {  // the node of the leaf is not to be run any more
  }
}

// A step counter on a device, whose addition runs while updates of other parameters wait.
TEST(OptimizersOnADevice, UpdateNothingThatHasOtherDataByThen) {
  const Device device = TalkingBackend::device();
  const Tensor p = ones({4}).requires_grad_(), q = ones({4}).requires_grad_();
  for (const Tensor& parameter : {p, q}) parameter.set_grad(ones({4}));
  optim::Adam adam(optim::Params{p, q});
  adam.step();
  adam.state(q)["step"] = ones({}).to(device);
  const Tensor large = ones({1 << 16});
  const TalkingBackend::Steps steps([&] { p.set_data(large); });
  try {
    adam.step();
  } catch (const Error&) {  // what is kept has another shape
  }
}

// A hook on the way that takes what leads on out of the graph.
TEST(Graphs, NodesThatAHookCutsOffStayUntilTheBackwardPassEnds) {
  const Tensor x = ones({3}).requires_grad_();
  Tensor y = x * 2.0;
  const Tensor z = y.exp().sum();
  const Ref<Node> exp = z.grad_fn()->next_edges()[0].node;
  y.register_hook([&](const Tensor&) {
    y = Tensor();
    exp->set_next_edges({});
    return Tensor();
  });
  try {
    z.backward();
  } catch (const AutogradError&) {
  }
}

}  // namespace
}  // namespace tenon
