// What belongs to a replica while it runs: its random numbers, and what autocast has converted.
#include <atomic>
#include <set>
#include <thread>

#include "support/matchers.h"
#include "support/threads.h"
#include "tenon/nn/replicate.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

using Replicas = std::vector<std::shared_ptr<Identity>>;

double draw() { return rand({1}, {.dtype = float64}).item<double>(); }

// One number in each: streams that began where another one has gone on would show.
TEST(StreamsOfReplicas, HaveNoNumberInCommonFromCallToCall) {
  for (const std::size_t first_that_draws : {0u, 1u}) {
    manual_seed(3);
    const Replicas replicas = replicate(Identity(), 4);
    std::multiset<double> drawn;
    for (int call = 0; call < 6; ++call) {
      for (const double number : parallel_apply(replicas, [&](Identity&, std::size_t i) {
             return i < first_that_draws ? -1 : draw();
           })) {
        if (number >= 0) drawn.insert(number);
      }
    }
    for (const double number : drawn) EXPECT_EQ(drawn.count(number), 1) << number;
  }
}

TEST(StreamsOfReplicas, InsideOfReplicasAreTheirOwn) {
  manual_seed(3);
  const Replicas outer = replicate(Identity(), 3), inner = replicate(Identity(), 3);
  std::multiset<double> drawn;
  for (const auto& numbers : parallel_apply(outer, [&](Identity&, std::size_t) {
         return parallel_apply(inner,
                               [&](Identity&, std::size_t i) { return i == 0 ? -1 : draw(); });
       })) {
    drawn.insert(numbers.begin() + 1, numbers.end());
  }
  for (const double number : parallel_apply(outer, [&](Identity&, std::size_t) { return draw(); }))
    drawn.insert(number);
  for (const double number : drawn) EXPECT_EQ(drawn.count(number), 1) << number;
}

// Replicas on threads of their own wait for each other, and then want the parameters all at once.
TEST(ReplicasWithAutocast, AreTheSameInEveryRun) {
  const Threads threads(4);
  manual_seed(5);
  Sequential net{make<Linear>(512, 512), make<ReLU>(), make<Linear>(512, 512)};
  std::atomic<int> begun = 0, together = 4;
  net.register_forward_pre_hook([&](Module&, const auto&) {
    ++begun;
    // (If the system gives no threads it does not wait forever.)
    for (int i = 0; i < 100'000 && begun < together; ++i) std::this_thread::yield();
  });
  const Tensor x = randn({64, 512});
  std::vector<Tensor> expected;
  for (int run = 0; run < 20; ++run) {
    together = run == 0 ? 1 : 4;
    set_num_threads(together);
    begun = 0;
    net.zero_grad();
    {
      const AutocastScope autocast("cpu");
      data_parallel(net, x, {.replicas = 4}).to(float32).square().mean().backward();
    }
    std::vector<Tensor> grads;
    for (const Tensor& parameter : net.parameters()) grads.push_back(parameter.grad());
    if (run == 0) expected = grads;
    for (std::size_t i = 0; i < grads.size(); ++i) {
      EXPECT_EQ(grads[i].dtype(), float32);
      ASSERT_TRUE(equal(grads[i], expected[i])) << "run " << run << ", gradient " << i;
    }
  }
}

}  // namespace
}  // namespace tenon::nn
