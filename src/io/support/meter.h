// Meter: tells a Watch how far work on several threads has come, and ends the work when asked to.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "tenon/error.h"
#include "tenon/watch.h"

namespace tenon {

class Meter {
 public:
  // `stopped` is what the error says when a stop was asked for.
  Meter(const Watch& watch, std::uint64_t total, const char* stopped) noexcept
      : watch_(watch), total_(total), stopped_(stopped) {}

  void stop_if_asked() const {
    if (watch_.stop.stop_requested()) throw CancelledError(stopped_);
  }
  // So many bytes more. While one thread tells, others go on.
  void add(std::uint64_t bytes) {
    done_ += bytes;
    if (!watch_.progress || !telling_.try_lock()) return;
    const std::lock_guard lock(telling_, std::adopt_lock);
    const std::uint64_t done = done_;
    if (told_ == done) return;  // another thread told it with its own
    told_ = done;
    watch_.progress(told_, total_);
  }
  // When all threads are through: another may have been telling when the last bytes were there.
  void finish() {
    if (watch_.progress && told_ != total_) watch_.progress(total_, total_);
    told_ = total_;
  }

 private:
  const Watch& watch_;
  std::uint64_t total_;
  const char* stopped_;
  std::atomic<std::uint64_t> done_ = 0;
  std::mutex telling_;
  std::uint64_t told_ = 0;
};

}  // namespace tenon
