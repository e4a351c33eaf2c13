#include "base/warn.h"

#include <memory>
#include <mutex>
#include <utility>

#include "base/user_code.h"
#include "tenon/warning.h"

namespace tenon {

namespace {

// `call` runs outside the lock that guards the pointer, so that a handler may set another one; the
// lock of its own keeps it from running twice at once.
struct Handler {
  std::mutex mutex;
  std::mutex calling;
  std::shared_ptr<const WarningHandler> call;
};

Handler& handler() {
  static Handler the_handler;
  return the_handler;
}

// Whether this thread is in the handler. What that raises itself is not handed to it: it holds the
// lock.
constinit thread_local bool in_handler = false;

struct InHandler {
  InHandler() noexcept { in_handler = true; }
  ~InHandler() { in_handler = false; }
};

std::shared_ptr<const WarningHandler> listener() {
  if (in_handler) return nullptr;
  Handler& current = handler();
  const std::lock_guard lock(current.mutex);
  return current.call;
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler replacement) {
  Handler& current = handler();
  auto call =
      replacement ? std::make_shared<const WarningHandler>(std::move(replacement)) : nullptr;
  const std::lock_guard lock(current.mutex);
  current.call.swap(call);
  return call ? *call : WarningHandler();
}

void warn(const std::string& message) {
  const auto call = listener();
  if (!call) return;
  {
    const std::lock_guard one_at_a_time(handler().calling);
    const InHandler here;
    (*call)(message);
  }
  after_user_code();
}

void warn_once(std::atomic<bool>& said, const std::string& message) {
  if (listener() && !said.exchange(true, std::memory_order_relaxed)) warn(message);
}

}  // namespace tenon
