#include "live_bytes.h"

#include <sanitizer/allocator_interface.h>

#include <atomic>

namespace tenon {

namespace {

std::atomic<std::int64_t> live{0}, most{0};
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

}  // namespace

LiveBytes::LiveBytes() {
  [[maybe_unused]] static const int installed =
      __sanitizer_install_malloc_and_free_hooks(allocated, freed);
  live = most = 0;
  counting = true;
}

LiveBytes::~LiveBytes() { counting = false; }

std::int64_t LiveBytes::peak() noexcept { return most; }

}  // namespace tenon
