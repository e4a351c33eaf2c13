// The last deflated storage that was needed, kept: many tensors may be in it, and no more than one
// stays in memory.
#pragma once

#include <cstdint>
#include <mutex>

#include "io/records.h"
#include "io/storage_reader.h"
#include "tenon/storage.h"

namespace tenon {

class InflatedSlot {
 public:
  // All bytes of it, compared with their checksum. From any thread.
  Storage get(const StorageRecord& record) {
    const std::lock_guard lock(mutex_);
    if (!bytes_.defined() || source_ != record.source || offset_ != record.offset) {
      bytes_ = {};  // before there is another
      const Storage all = Storage::allocate(static_cast<std::size_t>(record.nbytes));
      const StorageRead read{record, static_cast<std::byte*>(all.data())};
      read_storages({&read, 1}, true, {});
      bytes_ = all;
      source_ = record.source;
      offset_ = record.offset;
    }
    return bytes_;
  }

 private:
  std::mutex mutex_;
  Storage bytes_;
  const Source* source_ = nullptr;
  std::uint64_t offset_ = 0;
};

}  // namespace tenon
