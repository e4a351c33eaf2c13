// A line on standard error that says how far long work has come.
#pragma once

#include <tenon/watch.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace tenon::cli {

// Nothing is shown unless standard error is a terminal, or before the work has taken a second.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();  // removes the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t done, std::uint64_t total);
  // Shows this line.
  Watch watch();

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  bool terminal_, shown_ = false;
  Clock::time_point begin_ = Clock::now(), last_ = begin_;
};

}  // namespace tenon::cli
