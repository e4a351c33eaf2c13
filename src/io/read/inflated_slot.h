// Deflated storages that were needed, kept as long as they are small together: many tensors may be
// in them, and read in turn.
//
// Note [Storages that are inflated again]
// In one pass over a file hardly anything needs to be inflated again and again; a file that makes
// us do so is a FormatError. A pass is a load, a conversion, or the first reading of each tensor of
// a checkpoint that is open. Who reads a tensor again asks for that work himself.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "base/text.h"
#include "io/read/records.h"
#include "io/read/source.h"
#include "io/read/storage_reader.h"
#include "tenon/error.h"
#include "tenon/storage.h"

namespace tenon {

class InflatedSlot {
 public:
  // Note [Storages that are inflated again]
  enum class Pass : std::uint8_t { first, again };

  // All bytes of it, compared with their checksum. From any thread.
  Storage get(const StorageRecord& record, Pass pass = Pass::first) {
    const std::lock_guard lock(mutex_);
    if (const auto found = places_.find({record.source, record.offset}); found != places_.end()) {
      kept_.splice(kept_.begin(), kept_, found->second);
      return kept_.front().bytes;
    }
    if (pass == Pass::first) charge(record);
    // Before there is another.
    while (!kept_.empty() && held_ + record.nbytes > kMostKept) {
      held_ -= kept_.back().bytes.nbytes();
      places_.erase({kept_.back().source, kept_.back().offset});
      kept_.pop_back();
    }
    const Storage all = Storage::allocate(static_cast<std::size_t>(record.nbytes));
    const StorageRead read{record, static_cast<std::byte*>(all.data())};
    read_storages({&read, 1}, true, {});
    kept_.push_front({record.source, record.offset, all});
    places_.emplace(std::pair(record.source, record.offset), kept_.begin());
    held_ += record.nbytes;
    return all;
  }

 private:
  struct Kept {
    const Source* source;
    std::uint64_t offset;
    Storage bytes;
  };
  // Each storage once, and some again as there was no room for all.
  void charge(const StorageRecord& record) {
    constexpr std::uint64_t kFree = std::uint64_t{256} << 20, kTimes = 64, kLarge = 4096;
    // The first time is what the reader was asked for.
    if (record.nbytes > kLarge && seen_.insert({record.source, record.offset}).second) return;
    inflated_ += record.nbytes;
    if (inflated_ / kTimes <= record.source->size() + kFree / kTimes) return;
    throw FormatError(record.source->name(), record.offset,
                      concat("its deflated storages were inflated to ", inflated_,
                             " bytes, as tensors of several are read in turn: unpack the archive, "
                             "and pack it without compression"));
  }

  // At least what a small file may inflate to.
  static constexpr std::uint64_t kMostKept = std::uint64_t{64} << 20;
  std::mutex mutex_;
  std::list<Kept> kept_;  // the last that was used first
  std::map<std::pair<const Source*, std::uint64_t>, std::list<Kept>::iterator> places_;
  std::set<std::pair<const Source*, std::uint64_t>> seen_;  // large ones
  std::uint64_t held_ = 0, inflated_ = 0;
};

}  // namespace tenon
