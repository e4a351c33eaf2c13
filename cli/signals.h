// Ctrl-C and its kin, as a stop that is asked for: what is half written is removed before the end.
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

namespace tenon::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP request a stop; a second one ends the process at once.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  std::stop_token token() const noexcept { return source_.get_token(); }
  int received() const noexcept { return received_; }  // 0: none

 private:
  std::stop_source source_;
  std::atomic<int> received_ = 0;
  std::jthread thread_;
};

}  // namespace tenon::cli
