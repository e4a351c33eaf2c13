#include "live_bytes.h"

#include <atomic>

#if defined(__SANITIZE_ADDRESS__)
#define TENON_COUNTS_LIVE_BYTES
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TENON_COUNTS_LIVE_BYTES
#endif
#endif
#ifdef TENON_COUNTS_LIVE_BYTES
#include <sanitizer/allocator_interface.h>
#endif

namespace tenon {

namespace {

std::atomic<std::int64_t> live{0}, most{0};
#ifdef TENON_COUNTS_LIVE_BYTES
std::atomic<bool> counting{false};

void allocated(const volatile void* /*address*/, std::size_t size) {
  if (!counting) return;
  const std::int64_t now =
      live.fetch_add(static_cast<std::int64_t>(size)) + static_cast<std::int64_t>(size);
  std::int64_t before = most.load();
  while (now > before && !most.compare_exchange_weak(before, now)) {
  }
}

void freed(const volatile void* address) {
  if (!counting || address == nullptr) return;
  live -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(address));
}

void count(bool counts) {
  [[maybe_unused]] static const int installed =
      __sanitizer_install_malloc_and_free_hooks(allocated, freed);
  counting = counts;
}
#else
void count(bool /*counts*/) {}
#endif

}  // namespace

LiveBytes::LiveBytes() {
  live = most = 0;
  count(true);
}

LiveBytes::~LiveBytes() { count(false); }

std::int64_t LiveBytes::peak() noexcept { return most; }

}  // namespace tenon
