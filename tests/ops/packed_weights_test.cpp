// Weights that are kept in another order: used when they should be, and never when they are old.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "core/packed_copies.h"
#include "support/matchers.h"

namespace tenon {
namespace {

Tensor values(const Shape& shape, double step) {
  return (arange(shape.numel()) * step + 0.1).sin().reshape(shape);
}

// A layer's worth of arithmetic, done with a weight that has been used before and with a new one of
// the same values.
struct Use {
  const char* name;
  Shape weight;
  std::function<Tensor(const Tensor& weight)> apply;
};
std::vector<Use> uses() {
  const Tensor picture = values({1, 16, 12, 12}, 0.7), rows = values({70, 96}, 0.7);
  return {
      {"convolution", {32, 16, 3, 3}, [=](const Tensor& w) { return conv2d(picture, w); }},
      {"transposed convolution",
       {16, 32, 3, 3},
       [=](const Tensor& w) { return conv_transpose2d(picture, w); }},
      {"linear", {200, 96}, [=](const Tensor& w) { return linear(rows, w); }},
  };
}

class PackedWeights : public testing::Test {
 protected:
  PackedWeights() { drop_packed_weights(); }

  // What the weight gives now is what its values give, though copies were kept before `change`.
  static void expect_fresh(const std::function<void(const Tensor& weight)>& change) {
    for (const Use& use : uses()) {
      const NoGradScope inference;
      const Tensor weight = nn::make_parameter(values(use.weight, 0.3));
      for (int i = 0; i < 3; ++i) use.apply(weight);
      ASSERT_GT(packed_weights_bytes(), 0u) << use.name;
      const Tensor before = use.apply(weight);
      change(weight);
      for (int i = 0; i < 3; ++i) {
        const Tensor after = use.apply(weight);
        const Tensor expected = use.apply(weight.detach().clone());
        EXPECT_TRUE(equal(after, expected)) << use.name;
        EXPECT_FALSE(allclose(after, before, {.rtol = 1e-4, .atol = 1e-4})) << use.name;
      }
    }
  }
};

TEST_F(PackedWeights, AreGoneWhenTheWeightIsWrittenTo) {
  expect_fresh([](const Tensor& w) { w.mul_(2); });
  expect_fresh([](const Tensor& w) { w.copy_(values(w.shape(), 0.11)); });
}
TEST_F(PackedWeights, AreGoneWhenAViewIsWrittenTo) {
  expect_fresh([](const Tensor& w) { w.select(0, 1).fill_(5); });
}
TEST_F(PackedWeights, AreGoneWhenAnAliasWithAVersionOfItsOwnIsWrittenTo) {
  expect_fresh([](const Tensor& w) { w.variable_data().add_(1); });
  expect_fresh([](const Tensor& w) { w.detach().select(0, 3).zero_(); });
}
TEST_F(PackedWeights, AreGoneWhenAResultIsWrittenIntoTheWeight) {
  expect_fresh([](const Tensor& w) { add_out(w.detach(), w, w); });
}
TEST_F(PackedWeights, AreOfTheOldDataAfterSetData) {
  expect_fresh([](const Tensor& w) { w.set_data(values(w.shape(), 0.17)); });
}
TEST_F(PackedWeights, AreSwappedWithTheTensor) {
  expect_fresh([](const Tensor& w) {
    const Tensor other = nn::make_parameter(values(w.shape(), 0.19));
    for (const Use& use : uses()) {
      if (use.weight == w.shape()) use.apply(other), use.apply(other);
    }
    swap_tensors(w, other);
  });
}
TEST_F(PackedWeights, OfAWeightThatIsOverwrittenThroughAPointerAreNoticed) {
  expect_fresh([](const Tensor& w) {
    auto* data = w.data<float>();
    for (std::int64_t i = 0; i < w.numel(); ++i) data[i] = static_cast<float>(i % 7);
  });
}
TEST_F(PackedWeights, CanBeDroppedAfterAFewElementsWereWrittenThroughAPointer) {
  expect_fresh([](const Tensor& w) {
    w.data<float>()[5] = 1000;
    drop_packed_weights();
    EXPECT_EQ(packed_weights_bytes(), 0u);
  });
}

TEST_F(PackedWeights, AreOfTheNewValuesAfterALoad) {
  for (const bool assign : {false, true}) {
    const NoGradScope inference;
    nn::Linear layer(96, 200);
    const Tensor rows = values({70, 96}, 0.7);
    for (int i = 0; i < 3; ++i) layer(rows);
    EXPECT_GT(packed_weights_bytes(), 0u);
    nn::Linear other(96, 200);
    other.weight->copy_(values({200, 96}, 0.21));
    other.bias->copy_(values({200}, 0.5));
    const StateDict state = other.state_dict();
    layer.load_state_dict(state, {.assign = assign});
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(allclose(layer(rows),
                           rows.matmul(values({200, 96}, 0.21).t()) + values({200}, 0.5),
                           {.rtol = 1e-4, .atol = 1e-4}))
          << assign << i;
    }
  }
}

TEST_F(PackedWeights, GoWithTheWeight) {
  for (const Use& use : uses()) {
    const NoGradScope inference;
    {
      const Tensor weight = nn::make_parameter(values(use.weight, 0.3));
      for (int i = 0; i < 3; ++i) use.apply(weight);
      EXPECT_GE(packed_weights_bytes(), static_cast<std::size_t>(use.weight.numel()) * 4);
    }
    EXPECT_EQ(packed_weights_bytes(), 0u) << use.name;
  }
}

TEST_F(PackedWeights, OfALinearLayerAreMadeWhenItIsUsedTwice) {
  const NoGradScope inference;
  const Tensor rows = values({70, 96}, 0.7);
  const Tensor weight = nn::make_parameter(values({200, 96}, 0.3));
  linear(rows, weight);
  EXPECT_EQ(packed_weights_bytes(), 0u);
  linear(rows, weight);
  const std::size_t bytes = packed_weights_bytes();
  EXPECT_GT(bytes, 0u);
  linear(values({5, 96}, 0.7).expand({50, 5, 96}), weight);
  EXPECT_EQ(packed_weights_bytes(), bytes);
  // One that changes between uses, as in training, is not rearranged.
  weight.mul_(1.5);
  EXPECT_EQ(packed_weights_bytes(), 0u);
  for (int i = 0; i < 4; ++i) {
    linear(rows, weight);
    weight.mul_(1.5);
  }
  EXPECT_EQ(packed_weights_bytes(), 0u);
  // Neither is one of a few rows, or what is no parameter.
  for (int i = 0; i < 4; ++i) linear(rows.narrow(0, 0, 1), weight);
  for (int i = 0; i < 4; ++i) linear(rows, weight.detach().clone());
  EXPECT_EQ(packed_weights_bytes(), 0u);
}

TEST_F(PackedWeights, KeepToTheirLimit) {
  const std::size_t before = packed_weights_limit();
  set_packed_weights_limit(0);
  for (const Use& use : uses()) {
    const NoGradScope inference;
    const Tensor weight = nn::make_parameter(values(use.weight, 0.3));
    const Tensor first = use.apply(weight);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(equal(use.apply(weight), first));
    EXPECT_EQ(packed_weights_bytes(), 0u);
  }
  set_packed_weights_limit(before);
}

TEST_F(PackedWeights, AreDroppedWhenATensorFindsNoMemory) {
  const NoGradScope inference;
  const Use use = uses()[0];
  const Tensor weight = nn::make_parameter(values(use.weight, 0.3));
  const Tensor first = use.apply(weight);
  EXPECT_GT(packed_weights_bytes(), 0u);
  EXPECT_THROW(Storage::allocate(std::size_t{1} << 60), OutOfMemoryError);
  EXPECT_EQ(packed_weights_bytes(), 0u);
  EXPECT_TRUE(equal(use.apply(weight), first));
}

TEST_F(PackedWeights, AreDroppedWhereThereIsNoMemoryForAnother) {
  const NoGradScope inference;
  const Use use = uses()[0];
  const Tensor weight = nn::make_parameter(values(use.weight, 0.3));
  const Tensor first = use.apply(weight);
  EXPECT_GT(packed_weights_bytes(), 0u);
  EXPECT_EQ(PackedCopy::make(std::size_t{1} << 60), nullptr);
  EXPECT_EQ(packed_weights_bytes(), 0u);
  EXPECT_TRUE(equal(use.apply(weight), first));
}

// The weight is a part of a storage of which the rest must not be touched: not looked at here, and
// in a mapped file not read from the disk.
TEST_F(PackedWeights, ReadNothingOfTheStorageButTheWeight) {
  const NoGradScope inference;
  const Use use = uses()[2];
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t bytes = static_cast<std::size_t>(use.weight.numel()) * sizeof(float);
  const std::size_t pages = (bytes + page - 1) / page * page, all = pages + 2 * page;
  auto* memory = static_cast<std::byte*>(
      ::mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  {
    const Tensor whole = from_blob(memory, {static_cast<std::int64_t>(all / sizeof(float))});
    const Tensor weight =
        whole.narrow(0, static_cast<std::int64_t>(page / sizeof(float)), use.weight.numel())
            .view(use.weight);
    weight.copy_(values(use.weight, 0.3));
    ASSERT_EQ(::mprotect(memory, page, PROT_NONE), 0);
    ASSERT_EQ(::mprotect(memory + page + pages, page, PROT_NONE), 0);
    const Tensor parameter = nn::make_parameter(weight.detach());
    const Tensor first = use.apply(parameter);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(equal(use.apply(parameter), first));
    EXPECT_GT(packed_weights_bytes(), 0u);
  }
  ::munmap(memory, all);
}

TEST_F(PackedWeights, OfLinearLayersGiveTheSameForEveryNumberOfRowsAndColumns) {
  const NoGradScope inference;
  for (const std::int64_t columns : {16, 63, 64, 65, 129, 200}) {
    for (const std::int64_t depth : {96, 333}) {
      const Tensor weight = nn::make_parameter(values({columns, depth}, 0.3));
      const Tensor bias = values({columns}, 0.9);
      for (const std::int64_t rows : {1, 4, 15, 16, 17, 63, 64, 65, 100, 128, 1000}) {
        const Tensor x = values({rows, depth}, 0.7);
        const Tensor expected =
            (x.to(float64).matmul(weight.to(float64).t()) + bias.to(float64)).to(float32);
        for (int i = 0; i < 3; ++i) {
          EXPECT_TRUE(allclose(linear(x, weight, bias), expected, {.rtol = 1e-5, .atol = 1e-4}))
              << rows << "x" << depth << "x" << columns << " use " << i;
          EXPECT_TRUE(allclose(linear(x, weight), expected - bias, {.rtol = 1e-5, .atol = 1e-4}));
        }
      }
    }
  }
}

// Whether a weight was rearranged before or is on the way is nobody's business.
TEST_F(PackedWeights, ChangeNoBitOfWhatIsCalculated) {
  for (const Use& use : uses()) {
    const NoGradScope inference;
    const Tensor weight = nn::make_parameter(values(use.weight, 0.3));
    const Tensor first = use.apply(weight);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(equal(use.apply(weight), first)) << use.name;
    EXPECT_TRUE(equal(use.apply(weight.detach().clone()), first)) << use.name;
  }
}

TEST_F(PackedWeights, AreReadAndDroppedOnManyThreadsAtOnce) {
  for (const Use& use : uses()) {
    const Tensor weight = nn::make_parameter(values(use.weight, 0.3));
    Tensor expected;
    {
      const NoGradScope inference;
      expected = use.apply(weight);
    }
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const NoGradScope inference;
        for (int i = 0; i < 20; ++i) {
          if (!equal(use.apply(weight), expected)) ++wrong;
          if (t == 0) drop_packed_weights();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << use.name;
  }
}

TEST_F(PackedWeights, ServeAForkedChild) {
  const NoGradScope inference;
  for (const Use& use : uses()) {
    const Tensor weight = nn::make_parameter(values(use.weight, 0.3));
    const Tensor first = use.apply(weight);
    const pid_t child = ::fork();
    if (child == 0) {
      bool same = equal(use.apply(weight), first);
      drop_packed_weights();
      same = same && equal(use.apply(weight), first);
      ::_exit(same ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << use.name;
  }
}

TEST_F(PackedWeights, AreTheSameOnAnyNumberOfThreads) {
  const NoGradScope inference;
  const int before = get_num_threads();
  const Tensor weight = nn::make_parameter(values({300, 256}, 0.3)), x = values({200, 256}, 0.7);
  linear(x, weight);
  const Tensor first = linear(x, weight);
  for (const int threads : {1, 2, 7}) {
    set_num_threads(threads);
    EXPECT_TRUE(equal(linear(x, weight), first));
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace tenon
