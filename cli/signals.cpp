#include "signals.h"

#include <unistd.h>

#include <csignal>
#include <ctime>

namespace tenon::cli {

namespace {

sigset_t signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) {
    // What somebody has made us ignore (nohup, a job in the background) stays ignored.
    struct sigaction now{};
    if (sigaction(one, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    sigaddset(&set, one);
  }
  return set;
}

}  // namespace

// Blocked before there are threads, so that all of them inherit it and only one waits for them.
StopOnSignal::StopOnSignal() {
  const sigset_t set = signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::jthread([this, set](const std::stop_token& end) {
    const timespec moment{0, 50'000'000};
    while (!end.stop_requested()) {
      const int got = sigtimedwait(&set, nullptr, &moment);
      if (got <= 0) continue;
      const std::lock_guard lock(phase_);
      if (!writing_) {
        // The destructors of what is being read would only cost time.
        constexpr char kText[] = "tenon: interrupted, and nothing was written\n";
        static_cast<void>(::write(STDERR_FILENO, kText, sizeof kText - 1) != 0);
        ::_exit(128 + got);
      }
      if (received_.exchange(got) != 0) {
        std::signal(got, SIG_DFL);
        pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
        std::raise(got);
      }
      source_.request_stop();
    }
  });
}

void StopOnSignal::writing() {
  const std::lock_guard lock(phase_);
  writing_ = true;
}

StopOnSignal::~StopOnSignal() {
  thread_.request_stop();
  thread_.join();
  const sigset_t set = signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace tenon::cli
