#include "tenon/storage.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <typeinfo>
#include <utility>

#include "base/device_names.h"
#include "base/huge_pages.h"
#include "base/text.h"
#include "core/device_table.h"
#include "core/free_list.h"
#include "core/mapped_storage.h"
#include "tenon/error.h"
#include "tenon/packed_weights.h"

namespace tenon {

namespace {

// Accounting.

constexpr int kCountedIndices = 16;

struct Counter {
  std::atomic<std::int64_t> now{0};
  std::atomic<std::int64_t> peak{0};

  void add(std::size_t nbytes) noexcept {
    const auto bytes = static_cast<std::int64_t>(nbytes);
    const std::int64_t total = now.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::int64_t seen = peak.load(std::memory_order_relaxed);
    while (total > seen && !peak.compare_exchange_weak(seen, total, std::memory_order_relaxed)) {
    }
  }
  void remove(std::size_t nbytes) noexcept {
    now.fetch_sub(static_cast<std::int64_t>(nbytes), std::memory_order_relaxed);
  }
};

Counter& counter(Device device) noexcept {
  constinit static std::array<std::array<Counter, kCountedIndices>, kMaxDeviceTypes> counters{};
  const auto index = static_cast<std::size_t>(device.index().value_or(0)) % kCountedIndices;
  return counters[static_cast<std::size_t>(device.type())][index];
}

[[noreturn]] void out_of_memory(std::size_t nbytes, Device device) {
  throw OutOfMemoryError(concat("cannot allocate ", nbytes, " bytes on ", device.str(), ": ",
                                memory_allocated(device), " bytes are in use by tensors"),
                         nbytes);
}

// Kinds of storage.

// Note [One block]
// An owned storage is one allocation: slack, a pointer to its beginning, the object, the data at a
// multiple of 64. The object sits just before the data, so that its address is known from the
// aligned one.
class OwnedStorage final : public detail::StorageImpl {
 public:
  static OwnedStorage* create(std::size_t nbytes, bool zeroed);

  ~OwnedStorage() override { counter(device).remove(nbytes); }
  static void operator delete(void* object) noexcept { std::free(static_cast<void**>(object)[-1]); }

 private:
  OwnedStorage(void* data, std::size_t nbytes) noexcept : StorageImpl(data, nbytes, Device::cpu()) {
    counter(device).add(nbytes);
  }
  static void* operator new(std::size_t, void* at) noexcept { return at; }
};

OwnedStorage* OwnedStorage::create(std::size_t nbytes, bool zeroed) {
  constexpr std::size_t kBefore = sizeof(void*) + sizeof(OwnedStorage);
  constexpr std::size_t kExtra = kBefore + Storage::kAlignment - 1;
  static_assert(alignof(OwnedStorage) <= alignof(void*) &&
                sizeof(OwnedStorage) % alignof(void*) == 0);
  // An allocation of this size cannot succeed, and its rounding must not wrap.
  const bool absurd =
      nbytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - kExtra;
  const auto ask = [&] {
    return zeroed ? std::calloc(nbytes + kExtra, 1) : std::malloc(nbytes + kExtra);
  };
  void* block = absurd ? nullptr : ask();
  if (block == nullptr && !absurd && packed_weights_bytes() != 0) {
    drop_packed_weights();
    block = ask();
  }
  if (block == nullptr) out_of_memory(nbytes, Device::cpu());
  const auto data = (reinterpret_cast<std::uintptr_t>(block) + kExtra) & ~(Storage::kAlignment - 1);
  void* object = reinterpret_cast<void*>(data - sizeof(OwnedStorage));
  static_cast<void**>(object)[-1] = block;
  if (nbytes >= kHugePagesFrom) advise_huge_pages(reinterpret_cast<void*>(data), nbytes);
  return new (object) OwnedStorage(reinterpret_cast<void*>(data), nbytes);
}

class BorrowedStorage final : public detail::StorageImpl {
 public:
  BorrowedStorage(void* data, std::size_t nbytes, Device device,
                  std::function<void(void*)> deleter) noexcept
      : StorageImpl(data, nbytes, device), deleter_(std::move(deleter)) {}
  ~BorrowedStorage() override {
    if (deleter_) deleter_(data);
  }

 private:
  std::function<void(void*)> deleter_;
};

class BackendStorage final : public detail::StorageImpl {
 public:
  BackendStorage(DeviceBackend& backend, std::size_t nbytes, Device device)
      : StorageImpl(nbytes != 0 ? backend.allocate(nbytes, device) : nullptr, nbytes, device),
        backend_(backend) {
    counter(device).add(nbytes);
  }
  ~BackendStorage() override {
    counter(device).remove(nbytes);
    if (data != nullptr) backend_.deallocate(data, nbytes, device);
  }

 private:
  DeviceBackend& backend_;
};

class MappedStorage final : public detail::StorageImpl {
 public:
  MappedStorage(Ref<Mapping> mapping, std::size_t offset, std::size_t nbytes) noexcept
      : StorageImpl(nbytes != 0 ? mapping->data() + offset : nullptr, nbytes, Device::cpu()),
        mapping_(std::move(mapping)) {}
  // A checkpoint has one for every tensor.
  static void* operator new(std::size_t size) { return FreeList<MappedStorage>::allocate(size); }
  static void operator delete(void* memory, std::size_t size) noexcept {
    FreeList<MappedStorage>::release(memory, size);
  }

 private:
  Ref<Mapping> mapping_;
};

template <class S>
Storage handle(S* impl) {
  return Storage(Ref<detail::StorageImpl>::adopt(impl));
}

}  // namespace

detail::StorageImpl::~StorageImpl() {
  if (packed.load(std::memory_order_acquire) != nullptr) destroy_packed(*this);
}

Storage Storage::allocate(std::size_t nbytes, Device device) {
  if (device.is_cpu()) return handle(OwnedStorage::create(nbytes, false));
  if (device.is_meta()) return without_data(nbytes, Device::meta());
  const Device usable = usable_device(device);
  return handle(new BackendStorage(*find_backend(usable.type()), nbytes, usable));
}

Storage Storage::allocate_zeroed(std::size_t nbytes) {
  return handle(OwnedStorage::create(nbytes, true));
}

Storage Storage::borrow(void* data, std::size_t nbytes, std::function<void(void*)> deleter,
                        Device device) {
  return handle(new BorrowedStorage(data, nbytes, device, std::move(deleter)));
}

Storage Storage::without_data(std::size_t nbytes, Device device) {
  return handle(new detail::StorageImpl(nullptr, nbytes, device));
}

Storage mapped_storage(Ref<Mapping> mapping, std::size_t offset, std::size_t nbytes) {
  const std::size_t size = mapping->size();
  if (offset > size || nbytes > size - offset) {
    throw ValueError(concat("bytes ", offset, " to ", offset + nbytes,
                            " are not inside a mapping of ", size, " bytes"));
  }
  return handle(new MappedStorage(std::move(mapping), offset, nbytes));
}

bool detail::is_plain_memory(const StorageImpl& storage) noexcept {
  const std::type_info& type = typeid(storage);
  return type == typeid(OwnedStorage) || type == typeid(MappedStorage) ||
         type == typeid(StorageImpl);
}

std::int64_t memory_allocated(Device device) noexcept {
  return counter(device).now.load(std::memory_order_relaxed);
}

std::int64_t max_memory_allocated(Device device) noexcept {
  return counter(device).peak.load(std::memory_order_relaxed);
}

void reset_peak_memory_stats(Device device) noexcept {
  Counter& c = counter(device);
  c.peak.store(c.now.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace tenon
