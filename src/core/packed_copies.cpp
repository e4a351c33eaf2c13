#include "core/packed_copies.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/memory_limit.h"
#include "tenon/packed_weights.h"

namespace tenon {

namespace {

constexpr std::align_val_t kPackedAlignment{64};
// A weight is used in one way, or a few. One that is used in many is not worth it.
constexpr std::size_t kMostOfOneStorage = 64;

// A quarter of the memory, unless somebody has said otherwise.
std::size_t default_limit() {
  static const std::size_t quarter =
      static_cast<std::size_t>(usable_memory().value_or(std::uint64_t{4} << 30) / 4);
  return quarter;
}
constexpr std::size_t kNotSaid = static_cast<std::size_t>(-1);
std::atomic<std::size_t> limit{kNotSaid};
std::atomic<std::size_t> kept_bytes{0};

// Words all over the weight's bytes, and of nothing else.
using Sample = std::array<std::uint64_t, 16>;
Sample sample_of(const Tensor& weight) noexcept {
  Sample sample{};
  const Layout& layout = weight.layout();
  std::int64_t last = 0;  // element
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    if (layout.shape[d] == 0) return sample;
    last += (layout.shape[d] - 1) * layout.strides[d];
  }
  const std::size_t words =
      static_cast<std::size_t>((last + 1) * layout.itemsize()) / sizeof(std::uint64_t);
  if (words == 0) return sample;
  const auto* data = static_cast<const std::byte*>(weight.data_ptr());
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const std::size_t at = (words - 1) / (sample.size() - 1) * i;
    std::memcpy(&sample[i], data + at * 8, 8);
  }
  return sample;
}

}  // namespace

namespace detail {

struct PackedCopies {
  struct Entry {
    PackedKey key;
    Sample sample;
    std::shared_ptr<const PackedCopy> copy;

    void drop() noexcept {
      if (copy) kept_bytes.fetch_sub(copy->size(), std::memory_order_relaxed);
      copy.reset();
    }
  };
  std::vector<Entry> entries;

  Entry* find(const PackedKey& key) noexcept {
    for (Entry& entry : entries) {
      if (entry.key == key) return &entry;
    }
    return nullptr;
  }
  void clear() noexcept {
    for (Entry& entry : entries) entry.drop();
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

std::shared_ptr<PackedCopy> PackedCopy::make(std::size_t bytes) {
  const auto allocate = [bytes] {
    return static_cast<std::byte*>(
        ::operator new(std::max<std::size_t>(bytes, 1), kPackedAlignment, std::nothrow));
  };
  std::byte* data = allocate();
  if (data == nullptr) {
    drop_packed_weights();
    data = allocate();
  }
  if (data == nullptr) return nullptr;
  return std::shared_ptr<PackedCopy>(new PackedCopy(data, bytes));
}
PackedCopy::~PackedCopy() { ::operator delete(data_, kPackedAlignment); }

FoundCopy find_packed_copy(const Tensor& weight, const PackedKey& key) {
  const std::lock_guard lock(mutex());
  detail::PackedCopies& copies = copies_of(*weight.storage().impl());
  const Sample now = sample_of(weight);
  if (auto* entry = copies.find(key)) {
    if (entry->sample == now) return {entry->copy, true};
    entry->drop();
    entry->sample = now;
    return {};
  }
  if (copies.entries.size() >= kMostOfOneStorage) copies.clear();
  copies.entries.push_back({key, now, nullptr});
  return {};
}

bool may_keep_packed(std::size_t bytes) noexcept {
  const std::size_t most = packed_weights_limit();
  const std::size_t now = kept_bytes.load(std::memory_order_relaxed);
  return now <= most && bytes <= most - now;
}

void keep_packed_copy(const Tensor& weight, const PackedKey& key,
                      std::shared_ptr<const PackedCopy> copy) {
  const std::lock_guard lock(mutex());
  if (!may_keep_packed(copy->size())) return;
  detail::PackedCopies& copies = copies_of(*weight.storage().impl());
  auto* entry = copies.find(key);
  if (entry == nullptr || entry->copy) return;
  kept_bytes.fetch_add(copy->size(), std::memory_order_relaxed);
  entry->copy = std::move(copy);
}

std::size_t packed_weights_bytes() noexcept { return kept_bytes.load(std::memory_order_relaxed); }
std::size_t packed_weights_limit() noexcept {
  const std::size_t said = limit.load(std::memory_order_relaxed);
  return said == kNotSaid ? default_limit() : said;
}
void set_packed_weights_limit(std::size_t bytes) noexcept {
  limit.store(std::min(bytes, kNotSaid - 1), std::memory_order_relaxed);
}

void drop_packed_weights() noexcept {
  const std::lock_guard lock(mutex());
  for (detail::PackedCopies* copies : all()) copies->clear();
}

}  // namespace tenon
