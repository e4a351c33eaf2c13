#include "base/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "base/thread_state.h"
#include "support/matchers.h"
#include "tenon/threads.h"

namespace tenon {
namespace {

class ThreadPool : public testing::Test {
 protected:
  void SetUp() override { set_num_threads(4); }
  void TearDown() override { set_num_threads(before_); }
  int before_ = get_num_threads();
};

TEST_F(ThreadPool, EveryNumberIsVisitedOnce) {
  for (const std::int64_t n : {0, 1, 7, 1000, 100'003}) {
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
    parallel_for(0, n, 10, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) ++visits[static_cast<std::size_t>(i)];
    });
    for (const auto& count : visits) ASSERT_EQ(count, 1);
  }
}

TEST_F(ThreadPool, ARangeNeedNotBeginAtZero) {
  std::atomic<std::int64_t> sum{0};
  parallel_for(-50, 51, 3, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) sum += i;
  });
  EXPECT_EQ(sum, 0);
}

TEST_F(ThreadPool, ChunksAreAtLeastTheGrain) {
  std::mutex mutex;
  std::vector<std::int64_t> sizes;
  parallel_for(0, 1000, 100, [&](std::int64_t first, std::int64_t last) {
    const std::lock_guard lock(mutex);
    sizes.push_back(last - first);
  });
  for (const std::int64_t size : sizes) EXPECT_GE(size, 100);
}

TEST_F(ThreadPool, SmallWorkStaysOnTheCaller) {
  std::thread::id where;
  parallel_for(0, 100, 100,
               [&](std::int64_t, std::int64_t) { where = std::this_thread::get_id(); });
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST_F(ThreadPool, SeveralThreadsTakePart) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> inside{0};
  parallel_for(0, 4, 1, [&](std::int64_t, std::int64_t) {
    {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    // Whoever is here first waits for company, so that the caller cannot do it all alone.
    ++inside;
    for (int i = 0; i < 2000 && inside < 2; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_GE(seen.size(), 2U);
}

TEST_F(ThreadPool, AnExceptionComesOutAtTheCaller) {
  expect_error<ValueError>(
      [] {
        parallel_for(0, 1000, 1, [](std::int64_t first, std::int64_t) {
          if (first > 400) throw ValueError("chunk failed");
        });
      },
      "chunk failed");
  std::atomic<int> ran{0};  // and the pool is as good as before
  parallel_for(0, 100, 1, [&](std::int64_t first, std::int64_t last) {
    ran += static_cast<int>(last - first);
  });
  EXPECT_EQ(ran, 100);
}

TEST_F(ThreadPool, WorkInsideWorkRunsInPlace) {
  std::atomic<int> total{0};
  parallel_for(0, 8, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const auto outer = std::this_thread::get_id();
      parallel_for(0, 100, 1, [&](std::int64_t a, std::int64_t b) {
        EXPECT_EQ(std::this_thread::get_id(), outer);
        total += static_cast<int>(b - a);
      });
    }
  });
  EXPECT_EQ(total, 800);
}

TEST_F(ThreadPool, ThreadsTakeOverTheStateOfTheCaller) {
  const DeviceScope scope("meta");
  std::atomic<int> wrong{0};
  parallel_for(0, 64, 1, [&](std::int64_t, std::int64_t) {
    if (get_default_device() != Device::meta()) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

TEST_F(ThreadPool, ManyCallersShareIt) {
  std::atomic<std::int64_t> total{0};
  {
    std::vector<std::jthread> callers;
    for (int t = 0; t < 4; ++t) {
      callers.emplace_back([&] {
        for (int round = 0; round < 50; ++round) {
          parallel_for(0, 1000, 10,
                       [&](std::int64_t first, std::int64_t last) { total += last - first; });
        }
      });
    }
  }
  EXPECT_EQ(total, 4 * 50 * 1000);
}

TEST_F(ThreadPool, NumberOfThreadsIsAtLeastOne) {
  expect_error<ValueError>([] { set_num_threads(0); }, "0");
  set_num_threads(3);
  EXPECT_EQ(get_num_threads(), 3);
  set_num_threads(1);
  const auto caller = std::this_thread::get_id();
  parallel_for(0, 1000, 1,
               [&](std::int64_t, std::int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST_F(ThreadPool, AForkedChildWorksAlone) {
  parallel_for(0, 1000, 1, [](std::int64_t, std::int64_t) {});  // the pool has threads now
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::int64_t sum = 0;
    const auto caller = std::this_thread::get_id();
    bool alone = get_num_threads() == 1;
    parallel_for(0, 1000, 1, [&](std::int64_t first, std::int64_t last) {
      alone = alone && std::this_thread::get_id() == caller;
      for (std::int64_t i = first; i < last; ++i) sum += i;
    });
    if (!alone || sum != 499'500) ::_exit(1);
    ::alarm(20);
    std::exit(0);  // runs destructors: nothing may wait for the parent's threads
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(ThreadPool, AChildForkedBeforeThePoolStartsIsAloneToo) {
  // In a process that has done nothing yet: this test's own may have a pool already.
  EXPECT_EXIT(
      {
        set_num_threads(4);
        const pid_t child = ::fork();
        if (child == 0) ::_exit(get_num_threads());
        int status = 0;
        ::waitpid(child, &status, 0);
        ::_exit(WEXITSTATUS(status));
      },
      ::testing::ExitedWithCode(1), "");
}

TEST_F(ThreadPool, RangesUpToTheLargestNumberAreCutWithoutOverflow) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> least{kMost}, most{0};
  parallel_for(1, kMost, 1 << 20, [&](std::int64_t first, std::int64_t last) {
    std::int64_t seen = least.load();
    while (first < seen && !least.compare_exchange_weak(seen, first)) {
    }
    seen = most.load();
    while (last > seen && !most.compare_exchange_weak(seen, last)) {
    }
  });
  EXPECT_EQ(least, 1);
  EXPECT_EQ(most, kMost);
}

}  // namespace
}  // namespace tenon
