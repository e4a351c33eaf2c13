#include <thread>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(Version, EveryWriteCounts) {
  const Tensor t = zeros({3});
  EXPECT_EQ(t.version(), 0);
  t.fill_(1);
  t.zero_().copy_(ones({3}));
  EXPECT_EQ(t.version(), 3);
}

TEST(Version, ViewsAndDetachedAliasesShareIt) {
  const Tensor t = zeros({4});
  t.fill_(1);
  const Tensor view = t.view({2, 2}), alias = t.detach();
  EXPECT_EQ(view.version(), 1);
  EXPECT_EQ(alias.version(), 1);
  view.fill_(2);
  alias.fill_(3);
  EXPECT_EQ(t.version(), 3);
  EXPECT_EQ(view.select(0, 0).version(), 3);
}

TEST(Version, DataHasOneOfItsOwn) {
  const Tensor t = zeros({4});
  t.fill_(1);
  const Tensor data = t.variable_data();
  EXPECT_EQ(data.version(), 0);
  data.fill_(5);
  EXPECT_EQ(t.version(), 1);
  EXPECT_EQ(t.select(0, 0).item<float>(), 5.0f);
}

TEST(Version, SetDataKeepsIt) {
  const Tensor t = zeros({4});
  t.fill_(1);
  t.set_data(zeros({2}));
  EXPECT_EQ(t.version(), 1);
}

TEST(Version, MetaTensorsCountToo) {
  const Tensor t = zeros({4}, {.device = "meta"});
  t.fill_(1);
  EXPECT_EQ(t.view({2, 2}).version(), 1);
}

TEST(Version, SharingFromManyThreadsAtOnceKeepsTheCount) {
  for (int round = 0; round < 100; ++round) {
    const Tensor t = zeros({4});
    t.fill_(1);
    Tensor views[4];
    {
      std::vector<std::jthread> threads;
      for (Tensor& view : views) threads.emplace_back([&] { view = t.view({2, 2}); });
    }
    t.fill_(2);
    for (const Tensor& view : views) EXPECT_EQ(view.version(), 2);
  }
}

}  // namespace
}  // namespace tenon
