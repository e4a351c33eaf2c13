#include "base/warn.h"

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "base/user_code.h"
#include "tenon/warning.h"

namespace tenon {

namespace {

// It is called without the lock, so that it may set another one, and wait for a thread that warns:
// that one leaves its warning here, and goes on.
struct Handler {
  std::mutex mutex;
  std::shared_ptr<const WarningHandler> call;
  bool is_running = false;
  std::deque<std::string> waiting;  // what other threads have warned of meanwhile
};

// Never destroyed: destructors that run when the process ends may warn.
Handler& handler() {
  static Handler* const the_handler = new Handler;
  return *the_handler;
}

// Whether this thread is in the handler. What that raises itself is not handed to it: it would be
// in the middle of its own call.
constinit thread_local bool in_handler = false;

bool has_listener() {
  if (in_handler) return false;
  Handler& current = handler();
  const std::lock_guard lock(current.mutex);
  return current.call != nullptr;
}

// The handler, for this thread to call it. Null if there is none, or another thread is in it, which
// then tells it this message, too.
std::shared_ptr<const WarningHandler> taken_handler(const std::string& message) {
  if (in_handler) return nullptr;
  Handler& current = handler();
  const std::lock_guard lock(current.mutex);
  if (!current.call) return nullptr;
  if (current.is_running) {
    current.waiting.push_back(message);
    return nullptr;
  }
  current.is_running = true;
  return current.call;
}

// While this thread calls the handler that it has taken. At the end it hands over what waits; not
// forever, for a handler that has other threads warn each time.
struct Calling {
  Calling() noexcept { in_handler = true; }
  ~Calling() {
    constexpr int kMost = 100;
    for (int told = 0; const auto call = next(told < kMost); ++told) {
      try {
        (*call)(message);
      } catch (...) {
        // Whoever has warned has gone on long since.
        continue;
      }
    }
    in_handler = false;
  }
  Calling(const Calling&) = delete;
  Calling& operator=(const Calling&) = delete;

 private:
  std::shared_ptr<const WarningHandler> next(bool goes_on) {
    Handler& current = handler();
    const std::lock_guard lock(current.mutex);
    if (!current.call) current.waiting.clear();
    if (current.waiting.empty() || !goes_on) {
      current.is_running = false;
      return nullptr;
    }
    message = std::move(current.waiting.front());
    current.waiting.pop_front();
    return current.call;
  }

  std::string message;
};

}  // namespace

WarningHandler set_warning_handler(WarningHandler replacement) {
  Handler& current = handler();
  auto call =
      replacement ? std::make_shared<const WarningHandler>(std::move(replacement)) : nullptr;
  {
    const std::lock_guard lock(current.mutex);
    current.call.swap(call);
    if (!current.is_running) current.waiting.clear();
  }
  return call ? *call : WarningHandler();
}

void warn(const std::string& message) {
  {
    const auto call = taken_handler(message);
    if (!call) return;
    const Calling here;
    (*call)(message);
  }
  after_user_code();
}

void warn_once(std::atomic<bool>& said, const std::string& message) {
  if (has_listener() && !said.exchange(true, std::memory_order_relaxed)) warn(message);
}

}  // namespace tenon
