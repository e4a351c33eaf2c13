#include "core/packed_copies.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tenon/error.h"
#include "tenon/packed_weights.h"

namespace tenon {

namespace {

constexpr std::align_val_t kPackedAlignment{64};
// A weight is used in one way, or a few. One that is used in many is not worth it.
constexpr std::size_t kMostOfOneStorage = 64;

std::atomic<std::size_t> limit{[] {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return std::size_t{1} << 30;
  return static_cast<std::size_t>(pages) / 4 * static_cast<std::size_t>(size);
}()};
std::atomic<std::size_t> kept_bytes{0};

// Words all over the bytes.
using Sample = std::array<std::uint64_t, 16>;
Sample sample_of(const detail::StorageImpl& storage) noexcept {
  Sample sample{};
  const std::size_t words = storage.nbytes / sizeof(std::uint64_t);
  if (words == 0) return sample;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const std::size_t at = (words - 1) / (sample.size() - 1) * i;
    std::memcpy(&sample[i], static_cast<const std::byte*>(storage.data) + at * 8, 8);
  }
  return sample;
}

}  // namespace

namespace detail {

struct PackedCopies {
  struct Entry {
    PackedKey key;
    std::shared_ptr<const PackedCopy> copy;
  };
  std::vector<Entry> entries;
  Sample sample{};

  Entry* find(const PackedKey& key) noexcept {
    for (Entry& entry : entries) {
      if (entry.key == key) return &entry;
    }
    return nullptr;
  }
  void clear() noexcept {
    for (const Entry& entry : entries) {
      if (entry.copy) kept_bytes.fetch_sub(entry.copy->size(), std::memory_order_relaxed);
    }
    entries.clear();
  }
};

}  // namespace detail

namespace {

// One lock for all: it is taken once in a product. A fork waits for it, so that the child does not
// find it held by a thread it does not have.
std::mutex& mutex() {
  static std::mutex& the_mutex = []() -> std::mutex& {
    static std::mutex& own = *new std::mutex;
    ::pthread_atfork([] { own.lock(); }, [] { own.unlock(); }, [] { own.unlock(); });
    return own;
  }();
  return the_mutex;
}
// Of storages that are alive. Never destroyed: storages of static tensors go after it would.
std::unordered_set<detail::PackedCopies*>& all() {
  static auto& everything = *new std::unordered_set<detail::PackedCopies*>;
  return everything;
}

// With the lock held.
detail::PackedCopies& copies_of(detail::StorageImpl& storage) {
  if (auto* there = storage.packed.load(std::memory_order_relaxed)) return *there;
  auto fresh = std::make_unique<detail::PackedCopies>();
  all().insert(fresh.get());
  storage.packed.store(fresh.get(), std::memory_order_release);
  return *fresh.release();
}

}  // namespace

void detail::forget_packed(StorageImpl& storage) noexcept {
  const std::lock_guard lock(mutex());
  storage.packed.load(std::memory_order_relaxed)->clear();
}

void detail::destroy_packed(StorageImpl& storage) noexcept {
  const std::lock_guard lock(mutex());
  PackedCopies* copies = storage.packed.load(std::memory_order_relaxed);
  copies->clear();
  all().erase(copies);
  delete copies;
}

PackedCopy::PackedCopy(std::size_t bytes)
    : data_(static_cast<std::byte*>(
          ::operator new(std::max<std::size_t>(bytes, 1), kPackedAlignment, std::nothrow))),
      size_(bytes) {
  if (data_ == nullptr)
    throw OutOfMemoryError(concat("no memory to rearrange a weight of ", bytes, " bytes"), bytes);
}
PackedCopy::~PackedCopy() { ::operator delete(data_, kPackedAlignment); }

FoundCopy find_packed_copy(const Storage& storage, const PackedKey& key) {
  const std::lock_guard lock(mutex());
  detail::PackedCopies& copies = copies_of(*storage.impl());
  if (const Sample now = sample_of(*storage.impl()); now != copies.sample) {
    copies.clear();
    copies.sample = now;
  }
  if (const auto* entry = copies.find(key)) return {entry->copy, true};
  if (copies.entries.size() >= kMostOfOneStorage) copies.clear();
  copies.entries.push_back({key, nullptr});
  return {};
}

bool may_keep_packed(std::size_t bytes) noexcept {
  const std::size_t most = limit.load(std::memory_order_relaxed);
  const std::size_t now = kept_bytes.load(std::memory_order_relaxed);
  return now <= most && bytes <= most - now;
}

void keep_packed_copy(const Storage& storage, const PackedKey& key,
                      std::shared_ptr<const PackedCopy> copy) {
  const std::lock_guard lock(mutex());
  if (!may_keep_packed(copy->size())) return;
  detail::PackedCopies& copies = copies_of(*storage.impl());
  auto* entry = copies.find(key);
  if (entry == nullptr || entry->copy) return;
  kept_bytes.fetch_add(copy->size(), std::memory_order_relaxed);
  entry->copy = std::move(copy);
}

std::size_t packed_weights_bytes() noexcept { return kept_bytes.load(std::memory_order_relaxed); }
std::size_t packed_weights_limit() noexcept { return limit.load(std::memory_order_relaxed); }
void set_packed_weights_limit(std::size_t bytes) noexcept {
  limit.store(bytes, std::memory_order_relaxed);
}

void drop_packed_weights() noexcept {
  const std::lock_guard lock(mutex());
  for (detail::PackedCopies* copies : all()) copies->clear();
}

}  // namespace tenon
