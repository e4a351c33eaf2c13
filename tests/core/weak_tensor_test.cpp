#include <thread>

#include "support/matchers.h"

namespace tenon {
namespace {

TEST(WeakTensor, NamesATensorWithoutKeepingIt) {
  WeakTensor weak;
  EXPECT_FALSE(weak.lock().defined());
  {
    const Tensor tensor = arange(3);
    weak = tensor;
    EXPECT_TRUE(weak.lock().is(tensor));
  }
  EXPECT_FALSE(weak.lock().defined());
  EXPECT_FALSE(WeakTensor(Tensor()).lock().defined());
}

TEST(WeakTensor, SurvivesNeitherStopsNorMissesASwap) {
  const Tensor a = arange(2), b = arange(3);
  const WeakTensor weak = a, copy = weak;
  swap_tensors(a, b);
  EXPECT_EQ(weak.lock().shape(), Shape({3}));
  EXPECT_TRUE(copy.lock().is(a));
}

TEST(WeakTensor, MayBeAskedWhileTheTensorGoes) {
  for (int round = 0; round < 500; ++round) {
    Tensor tensor = arange(3);
    const WeakTensor weak = tensor;
    std::jthread asker([&] {
      const Tensor found = weak.lock();
      if (found.defined()) {
        EXPECT_EQ(found.numel(), 3);
      }
    });
    tensor = Tensor();
  }
}

}  // namespace
}  // namespace tenon
