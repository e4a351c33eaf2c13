// Replicas of modules: what they share, what they give, and that threads change nothing of it.
#include "tenon/nn/replicate.h"

#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/matchers.h"
#include "support/near.h"
#include "support/talker.h"
#include "support/threads.h"
#include "support/warnings.h"
#include "tenon/tenon.h"

namespace tenon::nn {
namespace {

class Net final : public Layer {
 public:
  explicit Net(double drop = 0) : dropout(this, "dropout", drop) {}
  Child<Linear> first{this, "first", 6, 8};
  Child<Linear> second{this, "second", 8, 8};
  Child<Dropout> dropout;
  Child<Linear> head{this, "head", 8, 3};

 protected:
  Tensor forward(const Tensor& x) override { return head(dropout(tanh(second(relu(first(x)))))); }
};

std::vector<Tensor> grads(const Module& module) {
  std::vector<Tensor> all;
  for (const Tensor& parameter : module.parameters()) all.push_back(parameter.grad());
  return all;
}
void expect_same_grads(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(equal(a[i], b[i])) << i;
}
void expect_near_grads(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    expect_near(a[i], b[i], "gradient " + std::to_string(i), 1e-6, 1);
}
Tensor loss_of(const Tensor& out) { return (out * out).mean(); }

TEST(Replicate, SharesParametersAndTheFirstSharesBuffers) {
  Sequential net{make<Linear>(3, 4), make<BatchNorm1d>(4)};
  net.eval();
  const auto replicas = replicate(net, 3);
  ASSERT_EQ(replicas.size(), 3);
  for (const auto& one : replicas) {
    EXPECT_NE(one.get(), &net);
    EXPECT_EQ(one->repr(), net.repr());
    EXPECT_FALSE(one->training());
    const auto ours = net.named_parameters(), theirs = one->named_parameters();
    ASSERT_EQ(theirs.size(), ours.size());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_EQ(theirs[i].first, ours[i].first);
      EXPECT_TRUE(theirs[i].second.is(ours[i].second));
    }
  }
  const Tensor mean = net.get_buffer("1.running_mean");
  EXPECT_TRUE(replicas[0]->get_buffer("1.running_mean").is(mean));
  EXPECT_FALSE(replicas[1]->get_buffer("1.running_mean").is(mean));
  EXPECT_FALSE(replicas[1]->get_buffer("1.running_mean").storage().is(mean.storage()));
  EXPECT_TRUE(equal(replicas[2]->get_buffer("1.running_mean"), mean));
  EXPECT_TRUE(replicate(net, 0).empty());
  expect_error<ValueError>([&] { replicate(net, -1); }, "got -1");
}

TEST(Replicate, CopiesParametersOnRequest) {
  Linear net(2, 3);
  net.weight->set_grad(ones({3, 2}));
  net.bias->requires_grad_(false);
  const auto replicas = replicate(net, 2, {.copy = true});
  for (const auto& one : replicas) {
    EXPECT_FALSE(one->weight->is(net.weight));
    EXPECT_FALSE(one->weight->storage().is(net.weight->storage()));
    EXPECT_TRUE(equal(one->weight, net.weight));
    EXPECT_TRUE(one->weight->is_parameter());
    EXPECT_TRUE(one->weight->requires_grad());
    EXPECT_FALSE(one->bias->requires_grad());
    EXPECT_FALSE(one->weight->grad().defined());
  }
}

class Tied final : public Layer {
 public:
  Child<Linear> in{this, "in", 4, 4, {.bias = false}};
  Child<Linear> out{this, "out", 4, 4, {.bias = false}};
  Child<Layer> again{this, "again", absent};
  Tied() {
    out->weight = in->weight;
    again = in;
  }

 protected:
  Tensor forward(const Tensor& x) override { return again(out(tanh(in(x)))); }
};

TEST(Replicate, KeepsTiesWithinAReplica) {
  Tied net;
  for (const bool copy : {false, true}) {
    for (const auto& one : replicate(net, 2, {.copy = copy})) {
      EXPECT_TRUE(one->out->weight->is(one->in->weight));
      EXPECT_EQ(one->again.get(), one->in.get());
      EXPECT_NE(one->in.get(), net.in.get());
      EXPECT_EQ(one->parameters().size(), 1);
      EXPECT_EQ(one->in->weight->is(net.in->weight), !copy);
    }
  }
}

// A buffer that leads to something that is trained is part of the graph.
TEST(Replicate, SharesBuffersThatRequireGrad) {
  class Buffered final : public Layer {
   public:
    Buffer scale{this, "scale", ones({2})};

   protected:
    Tensor forward(const Tensor& x) override { return x * scale.get(); }
  };
  Buffered net;
  const Tensor leaf = ones({2}, {.requires_grad = true});
  net.scale = leaf * 3;
  const Tensor out = data_parallel(net, ones({4, 2}), {.replicas = 4});
  out.sum().backward();
  EXPECT_TRUE(equal(leaf.grad(), full({2}, 12)));
}

TEST(DataParallel, GivesTheGradientsOfTheWholeBatch) {
  const Threads threads(4);
  manual_seed(3);
  Net net;
  const Tensor x = randn({13, 6}), x2 = x.clone();
  x.requires_grad_();
  x2.requires_grad_();
  const Tensor whole = net(x);
  loss_of(whole).backward();
  const auto expected = grads(net);
  for (const std::int64_t n : {1, 2, 3, 5, 13, 40}) {
    net.zero_grad();
    x2.set_grad(Tensor());
    const Tensor out = data_parallel(net, x2, {.replicas = n});
    expect_near(out, whole.detach(), "out", 1e-6);
    loss_of(out).backward();
    expect_near_grads(grads(net), expected);
    expect_near(x2.grad(), x.grad(), "x", 1e-6);
  }
  // One replica is the module itself, bit by bit.
  EXPECT_TRUE(equal(data_parallel(net, x2, {.replicas = 1}), whole));
}

// As comm.scatter: chunk's sizes, and no more replicas than chunks.
TEST(DataParallel, CutsAsChunkDoes) {
  class Sizes final : public Layer {
   public:
    std::shared_ptr<std::array<std::atomic<int>, 8>> seen =
        std::make_shared<std::array<std::atomic<int>, 8>>();

   protected:
    Tensor forward(const Tensor& x) override {
      ++(*seen)[static_cast<std::size_t>(x.size(0))];
      return x.clone();
    }
  };
  const auto cut = [](std::int64_t batch, std::int64_t replicas) {
    Sizes net;
    const Tensor x = arange(batch * 2).view({batch, 2});
    EXPECT_TRUE(equal(data_parallel(net, x, {.replicas = replicas}), x));
    return std::vector<int>(net.seen->begin(), net.seen->end());
  };
  EXPECT_THAT(cut(7, 3), testing::ElementsAre(0, 1, 0, 2, 0, 0, 0, 0));  // 3, 3, 1
  EXPECT_THAT(cut(5, 4), testing::ElementsAre(0, 1, 2, 0, 0, 0, 0, 0));  // 2, 2, 1
  EXPECT_THAT(cut(2, 5), testing::ElementsAre(0, 2, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(cut(0, 3), testing::ElementsAre(3, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(cut(7, 1), testing::ElementsAre(0, 0, 0, 0, 0, 0, 0, 1));
}

TEST(DataParallel, CutsAlongAnyDimension) {
  Identity net;
  const Tensor x = randn({3, 7, 2});
  EXPECT_TRUE(equal(data_parallel(net, x, {.replicas = 3, .dim = 1}), x));
  EXPECT_TRUE(equal(data_parallel(net, x, {.replicas = 2, .dim = -1}), x));
  expect_error<IndexError>([&] { data_parallel(net, x, {.replicas = 2, .dim = 3}); }, "3");
  expect_error<ValueError>([&] { data_parallel(net, x, {.replicas = 0}); }, "at least one", "0");
  expect_error<Error>([&] { data_parallel(net, tensor(1.0), {.replicas = 2}); },
                      "at least a 1-dimensional");
}

TEST(DataParallel, NumbersBecomeAVector) {
  class Total final : public Layer {
   protected:
    Tensor forward(const Tensor& x) override { return x.sum(); }
  };
  Total net;
  const Warnings warnings;
  EXPECT_TRUE(equal(data_parallel(net, arange(6.0), {.replicas = 3}), tensor({1.0, 5.0, 9.0})));
  ASSERT_EQ(warnings.said.size(), 1);
  EXPECT_THAT(warnings.said[0], testing::HasSubstr("all input tensors were scalars"));
}

// An operator of a user-defined tensor destroys the variable that it was given.
TEST(DataParallel, KeepsTheCallersInputWhateverBecomesOfIt) {
  const Threads one(1);
  for (const std::int64_t rows : {1, 3}) {
    const Tensor values = arange(static_cast<double>(2 * rows)).view({rows, 2});
    for (int when = 1; when < 20; ++when) {
      auto input = std::make_unique<Tensor>(make_tensor<Talker>(values.clone()));
      Identity module;
      Tensor out;
      int calls = 0;
      {
        const Talker::Steps steps([&] {
          if (++calls == when) input.reset();
        });
        out = data_parallel(module, *input, {.replicas = 2});
      }
      EXPECT_TRUE(equal(Talker::unwrap(out), values)) << rows << " rows, step " << when;
      if (calls < when) break;
    }
  }
}

TEST(DataParallel, WorksWithoutRecordingAndOnMeta) {
  Net net;
  const Tensor x = randn({6, 6});
  {
    const NoGradScope no_grad;
    EXPECT_FALSE(data_parallel(net, x, {.replicas = 3}).requires_grad());
  }
  {
    const InferenceModeScope inference;
    EXPECT_TRUE(data_parallel(net, x, {.replicas = 3}).is_inference());
  }
  const auto nowhere = with_device("meta", [] { return make<Net>(); });
  const Tensor out =
      data_parallel(*nowhere, empty({7, 6}, {.device = Device::meta()}), {.replicas = 3});
  EXPECT_TRUE(out.is_meta());
  EXPECT_EQ(out.shape(), Shape({7, 3}));
  EXPECT_TRUE(out.requires_grad());
}

TEST(DataParallel, OfNothingHasTheShapeAndGradientsOfNothing) {
  Net net;
  const Tensor out = data_parallel(net, empty({0, 6}), {.replicas = 4});
  EXPECT_EQ(out.shape(), Shape({0, 3}));
  out.sum().backward();
  EXPECT_TRUE(equal(net.first->weight->grad(), zeros({8, 6})));
}

// What PyTorch says of DataParallel: statistics are those of the first device.
TEST(DataParallel, StatisticsAreThoseOfTheFirstPart) {
  const Threads threads(3);
  Sequential net{make<BatchNorm1d>(4)}, alone{make<BatchNorm1d>(4)};
  const Tensor x = randn({12, 4});
  for (int step = 1; step <= 3; ++step) {
    data_parallel(net, x, {.replicas = 3});
    alone(x.narrow(0, 0, 4));
    EXPECT_TRUE(equal(net.get_buffer("0.running_mean"), alone.get_buffer("0.running_mean")));
    EXPECT_TRUE(equal(net.get_buffer("0.running_var"), alone.get_buffer("0.running_var")));
    EXPECT_EQ(net.get_buffer("0.num_batches_tracked").item<std::int64_t>(), step);
  }
  const auto replicas = replicate(net, 2);
  parallel_apply(replicas, {x, x});
  EXPECT_EQ(net.get_buffer("0.num_batches_tracked").item<std::int64_t>(), 4);
  EXPECT_EQ(replicas[1]->get_buffer("0.num_batches_tracked").item<std::int64_t>(), 4);
}

TEST(DataParallel, TiedParametersGetAllGradients) {
  manual_seed(2);
  Tied net;
  const Tensor x = randn({9, 4});
  loss_of(net(x)).backward();
  const auto expected = grads(net);
  net.zero_grad();
  loss_of(data_parallel(net, x, {.replicas = 3})).backward();
  expect_near_grads(grads(net), expected);
}

// Gradients that meet at a parameter are added in one order, whichever thread ran which replica:
// one runs all of them, or one the first and the last, and another those in between.
TEST(DataParallel, IsTheSameInEveryRun) {
  const Threads threads(2);
  manual_seed(5);
  Net net(0.4);
  const Tensor x = randn({24, 6});
  std::atomic<int> begun = 0, waited = 0;
  net.first->register_forward_pre_hook([&](Module&, const auto& args) {
    ++begun;
    if (get_num_threads() == 1) return;
    const Tensor row = std::get<0>(args)[0];
    const int until = equal(row, x[0]) ? 5 : equal(row, x[16]) ? 6 : 0;
    // (If the system gives no threads it does not wait forever.)
    for (int i = 0; i < 100'000 && begun < until; ++i) std::this_thread::yield();
    waited += until == 6 && begun == 6;
  });
  std::vector<Tensor> expected;
  Tensor expected_out;
  for (int run = 0; run < 20; ++run) {
    set_num_threads(run % 3 + 1);
    begun = 0;
    manual_seed(9);
    net.zero_grad();
    const Tensor out = data_parallel(net, x, {.replicas = 6});
    loss_of(out).backward();
    if (run == 0) {
      expected = grads(net);
      expected_out = out.detach();
      continue;
    }
    ASSERT_TRUE(equal(out, expected_out)) << run;
    expect_same_grads(grads(net), expected);
  }
  EXPECT_GT(waited, 0);
}

// Weights that are kept in oneDNN's order are used by all, and made anew after each step.
TEST(DataParallel, TrainsANetworkOfConvolutions) {
  const Threads threads(4);
  const auto train = [](std::int64_t replicas, std::vector<double>& losses) {
    manual_seed(6);
    Sequential net{make<Conv2d>(2, 8, 3, {.padding = 1}),
                   make<ReLU>(),
                   make<MaxPool2d>(2),
                   make<Conv2d>(8, 8, 3),
                   make<Tanh>(),
                   make<Flatten>(),
                   make<Linear>(8 * 2 * 2, 5)};
    optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9});
    for (int step = 0; step < 4; ++step) {
      const Tensor x = randn({15, 2, 8, 8}), y = randint(0, 5, {15});
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(data_parallel(net, x, {.replicas = replicas}), y);
      loss.backward();
      optimizer.step();
      losses.push_back(loss.item<double>());
    }
    return net.state_dict();
  };
  std::vector<double> expected, losses;
  const StateDict whole = train(1, expected), parts = train(4, losses);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(losses[i], expected[i], 1e-6) << i;
  for (const auto& [name, value] : whole)
    expect_near(parts.tensor(name), value.as_tensor(), name, 1e-6, 1);
}

TEST(DataParallel, ReplicasDrawFromStreamsOfTheirOwn) {
  const Threads threads(4);
  Dropout net(0.5);
  const Tensor x = ones({4, 1000});
  manual_seed(1);
  const Tensor first = data_parallel(net, x, {.replicas = 4});
  const Tensor next = data_parallel(net, x, {.replicas = 4});
  const Tensor after = rand({3});
  // No two alike, and others every time.
  std::vector<Tensor> masks = first.unbind(0);
  for (const Tensor& mask : next.unbind(0)) masks.push_back(mask);
  for (std::size_t i = 0; i < masks.size(); ++i) {
    EXPECT_NEAR(masks[i].mean().item<double>(), 1, 0.2);
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(equal(masks[i], masks[j])) << i << " " << j;
  }
  manual_seed(1);
  EXPECT_TRUE(equal(data_parallel(net, x, {.replicas = 4}), first));
  EXPECT_TRUE(equal(data_parallel(net, x, {.replicas = 4}), next));
  EXPECT_TRUE(equal(rand({3}), after));
  // The first draws what the module alone would.
  manual_seed(1);
  EXPECT_TRUE(equal(net(x.narrow(0, 0, 1)), first.narrow(0, 0, 1)));
  // Who draws nothing leaves everything as it was.
  manual_seed(1);
  const Tensor state = get_rng_state();
  net.eval();
  data_parallel(net, x, {.replicas = 4});
  EXPECT_TRUE(equal(get_rng_state(), state));
}

TEST(ParallelApply, OnlyTheOthersDrawingIsEnoughForOtherNumbers) {
  const auto replicas = replicate(Identity(), 2);
  const auto draw = [&] {
    return parallel_apply(
        replicas, [](Identity&, std::size_t i) { return i == 1 ? rand({4}) : Tensor(); })[1];
  };
  const Tensor once = draw();
  EXPECT_FALSE(equal(draw(), once));
}

// A seed that a replica sets is its own, and a scope leaves no trace.
TEST(ParallelApply, SeedsOfReplicasStayThere) {
  const Threads threads(2);
  const auto replicas = replicate(Identity(), 2);
  manual_seed(4);
  const auto drawn = parallel_apply(replicas, [](Identity&, std::size_t i) {
    if (i == 1) manual_seed(7);
    return rand({3});
  });
  manual_seed(7);
  EXPECT_TRUE(equal(rand({3}), drawn[1]));
  manual_seed(4);
  EXPECT_TRUE(equal(rand({3}), drawn[0]));
}

TEST(ParallelApply, GivesResultsInOrderAndTakesOverTheCallersState) {
  const Threads threads(4);
  const auto replicas = replicate(Identity(), 9);
  std::vector<Tensor> inputs;
  for (int i = 0; i < 9; ++i) inputs.push_back(full({2}, i));
  const auto outputs = parallel_apply(replicas, inputs);
  for (std::size_t i = 0; i < 9; ++i) EXPECT_TRUE(outputs[i].is(inputs[i]));
  const NoGradScope no_grad;
  const DeviceScope device(Device::meta());
  const DTypeScope dtype(float64);
  const auto states = parallel_apply(replicas, [](Identity&, std::size_t) {
    const Tensor made = zeros({1});
    return !is_grad_enabled() && made.is_meta() && made.dtype() == float64;
  });
  EXPECT_EQ(states, std::vector<bool>(9, true));
  expect_error<ValueError>([&] { parallel_apply(replicas, std::vector<Tensor>(2)); },
                           "The number of modules 9 is not equal to the number of inputs 2");
}

TEST(ParallelApply, TakesModulesOfSeveralArgumentsAndResults) {
  class Both final : public Callable<std::pair<Tensor, double>(const Tensor&, double)> {
   protected:
    std::pair<Tensor, double> forward(const Tensor& x, double by) override { return {x * by, by}; }
  };
  const auto replicas = replicate(Both(), 2);
  const auto given = parallel_apply(
      replicas, std::vector<std::tuple<Tensor, double>>{{ones({1}), 2.0}, {ones({1}), 3.0}});
  EXPECT_EQ(given[1].first.item<double>(), 3);
  EXPECT_EQ(given[0].second, 2);
  // Of classes that are only known at run time.
  const std::vector<std::shared_ptr<Module>> any{make<Identity>(), make<ReLU>()};
  EXPECT_EQ(parallel_apply(any, {full({1}, -1), full({1}, -1)})[1].item<double>(), 0);
}

TEST(ParallelApply, HooksRunForEveryReplica) {
  Net net;
  std::atomic<int> calls = 0;
  net.head->register_forward_hook([&](Module&, const auto&, Tensor& result) {
    ++calls;
    result = result * 2;
  });
  const Tensor x = randn({4, 6});
  const Tensor expected = net(x);
  calls = 0;
  expect_near(data_parallel(net, x, {.replicas = 4}), expected.detach(), "out", 1e-6);
  EXPECT_EQ(calls, 4);
}

TEST(ParallelApply, ThrowsWhatTheFirstOfThemThrewWhenAllHaveEnded) {
  const Threads threads(3);
  Net net;
  std::atomic<int> ended = 0;
  net.head->register_forward_hook([&](Module&, const auto&, Tensor&) { ++ended; });
  const auto replicas = replicate(net, 4);
  const auto run = [&] {
    parallel_apply(replicas, {ones({1, 6}), ones({1, 5}), ones({1, 6}), ones({1, 4})});
  };
  expect_error<ShapeError>(run, "Caught ShapeError in replica 1: ", "1x5", "(in first: Linear(");
  EXPECT_EQ(ended, 2);
  // Of a module that holds them, too; and errors that came from no layer.
  class Outer final : public Layer {
   public:
    Child<Net> inner{this, "inner"};

   protected:
    Tensor forward(const Tensor& x) override {
      return data_parallel(*inner, x, {.replicas = 2, .dim = 1});
    }
  };
  Outer outer;
  expect_error<ShapeError>([&] { outer(ones({2, 6})); },
                           "Caught ShapeError in replica 0: ", "(in inner.first: Linear(");
  const auto fail = [&](auto error) {
    parallel_apply(replicas, [&](Net&, std::size_t i) {
      if (i == 2) throw error;
    });
  };
  EXPECT_EQ(message_of<TypeError>([&] { fail(TypeError("no")); }),
            "Caught TypeError in replica 2: no");
  const std::vector<std::shared_ptr<Module>> null{make<Identity>(), nullptr};
  EXPECT_EQ(message_of<ValueError>([&] { parallel_apply(null, {ones({1}), ones({1})}); }),
            "Caught ValueError in replica 1: the module is null");
  EXPECT_EQ(message_of<std::logic_error>([&] { fail(std::logic_error("other")); }), "other");
}

TEST(DataParallel, OfAModuleThatUserCodeDestroysIsAnError) {
  const Threads threads(1);
  for (const std::int64_t replicas : {1, 3}) {
    auto net = std::make_unique<Net>();
    int calls = 0;
    net->register_forward_pre_hook([&](Module&, std::tuple<Tensor>&) {
      if (++calls == 1) net.reset();
    });
    EXPECT_THROW(data_parallel(*net, ones({3, 6}), {.replicas = replicas}), Error);
    EXPECT_EQ(net, nullptr);
  }
}

TEST(ParallelApply, KeepsTheModulesAndInputsThatItWasGiven) {
  const Threads threads(1);
  auto replicas = replicate(Identity(), 3);
  std::vector<Tensor> inputs{ones({1}), ones({2}), ones({3})};
  replicas[0]->register_forward_hook([&](Module&, const auto&, Tensor&) {
    replicas.clear();
    inputs.clear();
  });
  const std::vector<Tensor> outputs = parallel_apply(replicas, inputs);
  EXPECT_TRUE(replicas.empty());
  EXPECT_EQ(outputs.at(2).numel(), 3);
}

TEST(ParallelApply, InsideOfItselfWorks) {
  const Threads threads(2);
  const auto outer = replicate(Identity(), 3);
  const auto sums = parallel_apply(outer, [&](Identity& one, std::size_t i) {
    const auto inner = replicate(one, 2);
    const auto both = parallel_apply(inner, {full({1}, i), full({1}, 10 * i)});
    return (both[0] + both[1]).item<double>();
  });
  EXPECT_EQ(sums, (std::vector<double>{0, 11, 22}));
}

TEST(ReduceGradients, GivesTheGradientsOfTheWholeBatchInOneOrder) {
  const Threads threads(4);
  manual_seed(8);
  Net net;
  const Tensor x = randn({10, 6});
  const auto sum_of_squares = [](const Tensor& out) { return (out * out).sum(); };
  sum_of_squares(net(x)).backward();
  const auto expected = grads(net);
  const std::vector<Tensor> parts = x.chunk(5);
  std::vector<Tensor> first;
  for (int run = 0; run < 20; ++run) {
    net.zero_grad();
    const auto replicas = replicate(net, 5, {.copy = true});
    parallel_apply(replicas,
                   [&](Net& one, std::size_t i) { sum_of_squares(one(parts[i])).backward(); });
    EXPECT_FALSE(net.head->weight->grad().defined());
    reduce_gradients(net, replicas);
    if (run == 0) {
      first = grads(net);
      expect_near_grads(first, expected);
    }
    expect_same_grads(grads(net), first);
    EXPECT_FALSE(replicas[0]->head->weight->grad().defined());
    // There is nothing left to add.
    reduce_gradients(net, replicas);
    expect_same_grads(grads(net), first);
  }
  // To what is there.
  const Tensor held = net.head->bias->grad(), before = held.clone();
  const auto replicas = replicate(net, 2, {.copy = true});
  replicas[1]->head->bias->set_grad(ones({3}));
  reduce_gradients(net, replicas);
  EXPECT_TRUE(equal(held, before + 1));
  EXPECT_TRUE(net.head->bias->grad().is(held));
}

TEST(ReduceGradients, RefusesWhatIsNoReplicaWithParametersOfItsOwn) {
  Linear net(2, 3);
  expect_error<ValueError>([&] { reduce_gradients(net, replicate(net, 2)); }, "replica 0",
                           "'weight' is the module's");
  const std::vector<std::shared_ptr<Linear>> others{make<Linear>(2, 4)};
  expect_error<ValueError>([&] { reduce_gradients(net, others); }, "[4, 2]", "[3, 2]");
  const std::vector<std::shared_ptr<Linear>> fewer{make<Linear>(2, 3, {.bias = false})};
  expect_error<ValueError>([&] { reduce_gradients(net, fewer); }, "1 parameters");
  reduce_gradients(Identity(), replicate(Identity(), 2));
}

}  // namespace
}  // namespace tenon::nn
