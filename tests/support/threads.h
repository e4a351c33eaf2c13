// Tests on another number of threads.
#pragma once

#include <gtest/gtest.h>

#include "tenon/tenon.h"

namespace tenon {

// So many threads of the pool while it lives.
class Threads {
 public:
  explicit Threads(int threads) : before_(get_num_threads()) { set_num_threads(threads); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

// A function gives the same tensors, bit by bit, on one thread and on five.
template <class F>
void expect_same_on_any_threads(F&& run) {
  const auto on = [&](int count) {
    const Threads threads(count);
    return run();
  };
  const std::vector<Tensor> one = on(1), five = on(5);
  ASSERT_EQ(one.size(), five.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(equal(one[i], five[i])) << i;
}

}  // namespace tenon
