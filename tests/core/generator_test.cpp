#include "tenon/generator.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "support/matchers.h"
#include "tenon/ops/random.h"

namespace tenon {
namespace {

TEST(Generator, StartsWithTheSeedOfPyTorch) {
  const Generator g;
  EXPECT_EQ(g.initial_seed(), 67280421310721U);
  EXPECT_EQ(g.device(), Device::cpu());
}

TEST(Generator, TheSameSeedIsTheSameStream) {
  const Generator a, b;
  a.manual_seed(12);
  b.manual_seed(12);
  EXPECT_TRUE(equal(randn({20}, {.generator = a}), randn({20}, {.generator = b})));
  EXPECT_EQ(a.manual_seed(static_cast<std::uint64_t>(-5)).initial_seed(), 18446744073709551611U);
}

TEST(Generator, SeedDrawsAnotherOneEachTime) {
  const Generator g;
  const std::uint64_t first = g.seed();
  EXPECT_EQ(g.initial_seed(), first);
  EXPECT_NE(g.seed(), first);
}

TEST(Generator, CopiesDrawFromOneStreamAndClonesFromTheirOwn) {
  const Generator g;
  const Generator copy = g, clone = g.clone_state();
  EXPECT_TRUE(copy.is(g));
  EXPECT_FALSE(clone.is(g));
  const Tensor first = rand({3}, {.generator = g});
  EXPECT_FALSE(equal(rand({3}, {.generator = copy}), first));
  EXPECT_TRUE(equal(rand({3}, {.generator = clone}), first));
}

TEST(Generator, AStateTakesTheStreamUpWhereItStood) {
  const Generator g;
  g.manual_seed(3);
  randn({3}, {.generator = g});  // a normal number waits
  const Tensor state = g.get_state();
  EXPECT_EQ(state.shape(), Shape({5056}));
  EXPECT_EQ(state.dtype(), uint8);
  const Tensor next = randn({3}, {.generator = g});
  const Generator other;
  other.set_state(state);
  EXPECT_TRUE(equal(randn({3}, {.generator = other}), next));
  EXPECT_TRUE(equal(other.get_state(), g.get_state()));
}

TEST(Generator, WhatIsNoStateIsRefusedAndChangesNothing) {
  const Generator g;
  const Tensor before = g.get_state();
  expect_error<ValueError>([&] { g.set_state(zeros({10}, {.dtype = uint8})); }, "5056", "10");
  expect_error<ValueError>([&] { g.set_state(zeros({5048}, {.dtype = uint8})); }, "5056", "5048");
  expect_error<ValueError>([&] { g.set_state(zeros({5056}, {.dtype = uint8})); }, "mt19937");
  expect_error<DTypeError>([&] { g.set_state(zeros({5056})); }, "ByteTensor", "float32");
  expect_error<DTypeError>([&] { g.set_state(zeros({5056}, {.dtype = uint8, .device = "meta"})); },
                           "meta");
  expect_error<ValueError>(
      [&] { g.set_state(zeros({10112}, {.dtype = uint8}).slice(0, {}, {}, 2)); }, "contiguous");
  // Counts that would read behind the words.
  const Tensor wrong = before.clone();
  const std::int32_t left = 600;
  std::memcpy(wrong.data<std::uint8_t>() + 8, &left, sizeof left);
  expect_error<ValueError>([&] { g.set_state(wrong); }, "left is 600");
  EXPECT_TRUE(equal(g.get_state(), before));
}

TEST(RngScope, LeavesTheDefaultGeneratorWhereItStood) {
  manual_seed(5);
  Tensor inside;
  {
    const RngScope scope;
    inside = rand({4});
  }
  EXPECT_TRUE(equal(rand({4}), inside));
}

TEST(DefaultGenerator, IsOneForTheProcess) {
  manual_seed(1);
  EXPECT_EQ(initial_seed(), 1U);
  EXPECT_EQ(default_generator().initial_seed(), 1U);
  const Tensor state = get_rng_state(), drawn = rand({2});
  set_rng_state(state);
  EXPECT_TRUE(equal(rand({2}), drawn));
  const std::uint64_t chosen = seed();
  EXPECT_EQ(initial_seed(), chosen);
}

TEST(DefaultGenerator, AForkedChildGoesOnFromTheSamePlaceAndIsNotLocked) {
  manual_seed(8);
  std::atomic<bool> stop{false};
  std::thread busy([&] {  // holds the lock most of the time
    const Tensor t = empty({1000});
    while (!stop) t.uniform_();
  });
  int children = 0;
  for (int i = 0; i < 5; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);
      rand({1});
      ::_exit(0);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    children += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  stop = true;
  busy.join();
  EXPECT_EQ(children, 5);
}

TEST(Generator, ThreadsDrawWholeTensorsFromIt) {
  const Generator g;
  g.manual_seed(4);
  std::vector<Tensor> tensors(4);
  std::vector<std::thread> threads;
  for (Tensor& tensor : tensors) {
    threads.emplace_back([&tensor, &g] { tensor = rand({1000}, {.generator = g}); });
  }
  for (std::thread& thread : threads) thread.join();
  // In some order, the four quarters of what one thread would have drawn.
  const Generator alone;
  alone.manual_seed(4);
  const Tensor whole = rand({4, 1000}, {.generator = alone});
  for (std::int64_t row = 0; row < 4; ++row) {
    int found = 0;
    for (const Tensor& tensor : tensors) found += equal(tensor, whole[row]) ? 1 : 0;
    EXPECT_EQ(found, 1) << row;
  }
}

}  // namespace
}  // namespace tenon
