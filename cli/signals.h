// Ctrl-C and its kin, as a stop that is asked for: what is half written is removed before the end.
#pragma once

#include <atomic>
#include <mutex>
#include <stop_token>
#include <thread>

namespace tenon::cli {

// While it lives, SIGINT, SIGTERM and SIGHUP end the process: at once as long as nothing has been
// written, as there is nothing to remove; from writing() on the first one requests a stop, and a
// second one ends the process.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  // Before the first file is made. Calling it again does nothing.
  void writing();
  std::stop_token token() const noexcept { return source_.get_token(); }
  int received() const noexcept { return received_; }  // 0: none

 private:
  std::stop_source source_;
  std::atomic<int> received_ = 0;
  std::mutex phase_;  // no signal ends the process between writing() and the file that follows it
  bool writing_ = false;
  std::jthread thread_;
};

}  // namespace tenon::cli
