#include "base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/cpu_count.h"
#include "base/text.h"
#include "base/thread_state.h"
#include "tenon/error.h"
#include "tenon/threads.h"

namespace tenon {

namespace {

using Work = FunctionRef<void(std::int64_t, std::int64_t)>;

// Chunks each thread gets on average: more than one, so that a thread that is late or slow does not
// hold up the rest.
constexpr std::int64_t kChunksPerThread = 4;

// A range being worked on. Lives on the stack of the caller, who waits until nobody uses it.
struct Job {
  Work work;
  std::int64_t begin, end;
  std::int64_t chunk;   // numbers in one
  std::int64_t chunks;  // so that counting them cannot overflow, whatever the range
  std::atomic<std::int64_t> next{0};
  ThreadState state;
  std::atomic<bool> failed{false};
  std::exception_ptr failure;  // written by whoever sets failed
  int wanted;                  // threads that may still join; guarded by the pool's mutex, like
  int working = 0;             // those that have

  void run() noexcept {
    while (!failed.load(std::memory_order_relaxed)) {
      const std::int64_t number = next.fetch_add(1, std::memory_order_relaxed);
      if (number >= chunks) return;
      const std::int64_t first = begin + number * chunk;
      try {
        work(first, end - first > chunk ? first + chunk : end);
      } catch (...) {
        if (!failed.exchange(true, std::memory_order_acq_rel)) failure = std::current_exception();
      }
    }
  }
};

// Whether this thread is inside a chunk: what it starts there runs on it alone.
constinit thread_local bool inside_chunk = false;

// A child has this thread only, and the pool's mutex in whatever state it was: neither is touched
// again.
constinit std::atomic<bool> forked{false};
// Static objects of the program may still calculate after the pool is gone.
constinit std::atomic<bool> stopped{false};
constinit std::atomic<int> chosen_threads{0};  // 0: as many as there are CPUs

// Registered before main, so that a fork at any time is noticed.
[[maybe_unused]] const int registered =
    ::pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });

class Pool {
 public:
  // Ends the threads. Not in a child, where they do not exist and the lock may be held by one of
  // them.
  void stop() {
    if (forked.load(std::memory_order_relaxed)) return;
    {
      const std::lock_guard lock(mutex_);
      stopped.store(true, std::memory_order_relaxed);
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(Job& job) {
    {
      const std::lock_guard lock(mutex_);
      start_threads(job.wanted);
      jobs_.push_back(&job);
    }
    wake_.notify_all();
    inside_chunk = true;
    job.run();
    inside_chunk = false;
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job);
    done_.wait(lock, [&] { return job.working == 0; });
  }

 private:
  // If the system gives no more threads, the work is done by those there are.
  void start_threads(int needed) {
    while (static_cast<int>(threads_.size()) < needed) {
      try {
        threads_.emplace_back([this] { serve(); });
      } catch (const std::system_error&) {
        return;
      }
    }
  }

  void serve() {
    inside_chunk = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopped.load(std::memory_order_relaxed) || !jobs_.empty(); });
      if (stopped.load(std::memory_order_relaxed)) return;
      Job& job = *jobs_.front();
      ++job.working;
      if (--job.wanted == 0) jobs_.pop_front();
      lock.unlock();
      thread_state() = job.state;
      job.run();
      lock.lock();
      if (--job.working == 0) done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::deque<Job*> jobs_;  // those that want more threads
  std::vector<std::thread> threads_;
};

// Never destroyed, only stopped: a child that exits would wait for threads it does not have.
Pool& pool() {
  static Pool& the_pool = *new Pool;
  static const struct Stop {
    ~Stop() { the_pool.stop(); }
  } at_exit;
  return the_pool;
}

}  // namespace

int get_num_threads() {
  if (forked.load(std::memory_order_relaxed)) return 1;
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  if (chosen != 0) return chosen;
  static const int cpus = usable_cpus();
  return cpus;
}

void set_num_threads(int threads) {
  if (threads < 1)
    throw ValueError(concat("set_num_threads expects a positive number, got ", threads));
  chosen_threads.store(threads, std::memory_order_relaxed);
}

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, Work work) {
  if (begin >= end) return;
  const std::int64_t size = end - begin;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t threads =
      size <= grain || inside_chunk
          ? 1
          : std::min<std::int64_t>(get_num_threads(), (size - 1) / grain + 1);
  if (threads == 1 || stopped.load(std::memory_order_relaxed)) return work(begin, end);
  const std::int64_t chunk = std::max(grain, (size - 1) / (threads * kChunksPerThread) + 1);
  Job job{.work = work,
          .begin = begin,
          .end = end,
          .chunk = chunk,
          .chunks = (size - 1) / chunk + 1,
          .state = thread_state(),
          .failure = nullptr,
          .wanted = static_cast<int>(threads) - 1};
  pool().run(job);
  if (job.failed) std::rethrow_exception(job.failure);
}

}  // namespace tenon
