#include "base/warn.h"

#include <memory>
#include <mutex>
#include <utility>

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

std::shared_ptr<const WarningHandler> listener() {
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
  if (const auto call = listener()) {
    const std::lock_guard one_at_a_time(handler().calling);
    (*call)(message);
  }
}

void warn_once(std::atomic<bool>& said, const std::string& message) {
  if (listener() && !said.exchange(true, std::memory_order_relaxed)) warn(message);
}

}  // namespace tenon
