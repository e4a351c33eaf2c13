// Storage: the bytes that tensors are views of. A handle; copies share the bytes, and the last one
// to go frees them.
//
// The bytes are owned (aligned to 64), borrowed from somebody else with a deleter, or a slice of a
// mapped file. On the meta device there are none, however many there would be. Handles may be
// copied and dropped on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "tenon/detail/api.h"
#include "tenon/device.h"
#include "tenon/extend/ref.h"

namespace tenon {

namespace detail {

struct PackedCopies;

// What a handle refers to. How the bytes are given back is the business of derived classes.
class TENON_API StorageImpl : public RefCounted {
 public:
  StorageImpl(void* bytes, std::size_t size, Device where) noexcept
      : data(bytes), nbytes(size), device(where) {}
  ~StorageImpl() override;

  void* const data;
  const std::size_t nbytes;
  const Device device;
  // Copies of the bytes in another order (tenon/packed_weights.h). Owned; null if there are none.
  std::atomic<PackedCopies*> packed{nullptr};
};

// The bytes were written to, or are on their way out: with copies only.
TENON_API void forget_packed(StorageImpl& storage) noexcept;
TENON_API void destroy_packed(StorageImpl& storage) noexcept;

}  // namespace detail

class TENON_API Storage {
 public:
  // Where owned bytes begin is a multiple of this.
  static constexpr std::size_t kAlignment = 64;

  // No storage.
  Storage() noexcept = default;
  explicit Storage(Ref<detail::StorageImpl> impl) noexcept : impl_(std::move(impl)) {}

  // Uninitialised bytes on a device. OutOfMemoryError with the bytes asked for if they are not to
  // be had; DeviceError if there is no backend for the device.
  static Storage allocate(std::size_t nbytes, Device device = Device::cpu());
  // Bytes that are zero, on the CPU. Large ones cost nothing until they are touched.
  static Storage allocate_zeroed(std::size_t nbytes);
  // Somebody else's bytes. The deleter, if there is one, is called once with the pointer when the
  // last handle is gone, on whatever thread that happens; it must not throw.
  static Storage borrow(void* data, std::size_t nbytes, std::function<void(void*)> deleter = {},
                        Device device = Device::cpu());
  // A size and a device without bytes: what a meta tensor or a user-defined one has.
  static Storage without_data(std::size_t nbytes, Device device);

  bool defined() const noexcept { return static_cast<bool>(impl_); }
  // Null when there are no bytes to point at (meta, user-defined tensors). So are the other facts
  // of a storage that is not defined.
  void* data() const noexcept { return impl_ ? impl_->data : nullptr; }
  std::size_t nbytes() const noexcept { return impl_ ? impl_->nbytes : 0; }
  Device device() const noexcept { return impl_ ? impl_->device : Device::cpu(); }
  std::int64_t use_count() const noexcept { return impl_ ? impl_->use_count() : 0; }
  // Whether two handles are of the same bytes.
  bool is(const Storage& other) const noexcept { return impl_ == other.impl_; }
  // The same for such handles, and for no other storage that is alive. Null if not defined.
  const void* identity() const noexcept { return impl_.get(); }
  detail::StorageImpl* impl() const noexcept { return impl_.get(); }

 private:
  Ref<detail::StorageImpl> impl_;
};

// Bytes that storages own on a device right now, and the most there have been since the process
// started or the peak was reset. Borrowed and mapped bytes do not count.
TENON_API std::int64_t memory_allocated(Device device = Device::cpu()) noexcept;
TENON_API std::int64_t max_memory_allocated(Device device = Device::cpu()) noexcept;
TENON_API void reset_peak_memory_stats(Device device = Device::cpu()) noexcept;

}  // namespace tenon
