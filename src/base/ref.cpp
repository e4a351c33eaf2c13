#include "tenon/extend/ref.h"

#include <bit>
#include <utility>

#include "base/releases.h"

namespace tenon {

namespace {

// Objects whose last reference is gone while another one is being destroyed on this thread.
struct Waiting {
  const RefCounted* next = nullptr;
  bool destroying = false;
};
constinit thread_local Waiting waiting;

}  // namespace

RefCounted::~RefCounted() = default;

bool RefCounted::retain_if_alive() const noexcept {
  std::int64_t count = count_.load(std::memory_order_relaxed);
  while (count > 0) {
    if (count_.compare_exchange_weak(count, count + 1, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void RefCounted::destroy() const noexcept {
  Waiting& here = waiting;
  if (here.destroying) {
    // The link is stored negated, so that retain_if_alive() never takes it for a count.
    count_.store(-std::bit_cast<std::int64_t>(here.next), std::memory_order_relaxed);
    here.next = this;
    return;
  }
  here.destroying = true;
  delete this;
  while (here.next != nullptr) {
    const RefCounted* object = here.next;
    here.next = std::bit_cast<const RefCounted*>(-object->count_.load(std::memory_order_relaxed));
    __builtin_prefetch(here.next);
    delete object;
  }
  here.destroying = false;
}

Releases::Scope::Scope(Releases& into) noexcept : into_(into), collects_(!waiting.destroying) {
  if (!collects_) return;
  waiting.destroying = true;
  waiting.next = into.first_;
}

Releases::Scope::~Scope() {
  if (!collects_) return;
  into_.first_ = std::exchange(waiting.next, nullptr);
  waiting.destroying = false;
}

Releases::~Releases() {
  // Those inside of a destructor are behind it already.
  if (first_ != nullptr) waiting.next = first_;
}

}  // namespace tenon
