// What belongs to a replica while it runs: its random numbers, and what autocast has converted.
#include <atomic>
#include <set>
#include <thread>

#include "support/matchers.h"
#include "tenon/nn/replicate.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

class Threads {
 public:
  explicit Threads(int threads) : before_(get_num_threads()) { set_num_threads(threads); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

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

// As in PyTorch, whose LSTM has a kernel for plain batches, and none for the others.
TEST(RecurrentLayersWithAutocast, GiveTheDtypesOfPyTorch) {
  const AutocastScope autocast("cpu");
  const auto check = [](auto& net, DType given, bool packed, std::vector<DType> expected) {
    const Tensor x = randn({5, 2, 3}).to(given);
    std::vector<DType> dtypes;
    const auto note = [&](const Tensor& out, const auto& state) {
      dtypes.push_back(out.dtype());
      if constexpr (requires { std::get<1>(state); }) {
        dtypes.push_back(std::get<0>(state).dtype());
        dtypes.push_back(std::get<1>(state).dtype());
      } else {
        dtypes.push_back(state.dtype());
      }
    };
    if (packed) {
      const auto [out, state] = net(pack_padded_sequence(x, tensor({5, 3})));
      note(out.data, state);
    } else {
      const auto [out, state] = net(x);
      note(out, state);
    }
    EXPECT_EQ(dtypes, expected) << net.repr() << repr(given) << packed;
  };
  LSTM lstm(3, 4), projected(3, 4, {.proj_size = 2});
  GRU gru(3, 4);
  RNN rnn(3, 4);
  const DType f = float32, b = bfloat16;
  for (const bool packed : {false, true}) {
    check(lstm, b, packed, {b, b, b});
    check(projected, f, packed, {b, b, f});
    check(projected, b, packed, {b, b, b});
    check(gru, f, packed, {f, f});
    check(gru, b, packed, {b, b});
    check(rnn, f, packed, {b, b});
    check(rnn, b, packed, {b, b});
  }
  check(lstm, f, false, {b, b, b});
  check(lstm, f, true, {f, f, f});
}

}  // namespace
}  // namespace tenon::nn
