#include "base/warn.h"

#include <mutex>
#include <utility>

#include "tenon/warning.h"

namespace tenon {

namespace {

struct Handler {
  std::mutex mutex;
  WarningHandler call;
};

Handler& handler() {
  static Handler the_handler;
  return the_handler;
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler replacement) {
  Handler& current = handler();
  const std::lock_guard lock(current.mutex);
  return std::exchange(current.call, std::move(replacement));
}

void warn(const std::string& message) {
  Handler& current = handler();
  const std::lock_guard lock(current.mutex);
  if (current.call) current.call(message);
}

void warn_once(std::atomic<bool>& said, const std::string& message) {
  Handler& current = handler();
  const std::lock_guard lock(current.mutex);
  if (current.call && !said.exchange(true, std::memory_order_relaxed)) current.call(message);
}

}  // namespace tenon
