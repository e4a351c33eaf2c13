#include "io/write/file_payload.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <set>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "io/read/inflated_slot.h"
#include "io/read/source.h"
#include "io/read/storage_reader.h"
#include "io/zip/compression.h"
#include "kernels/cast.h"
#include "tenon/error.h"

namespace tenon {

namespace {

class FilePayload final : public Payload {
 public:
  FilePayload(const StorageRecord& record, std::shared_ptr<InflatedSlot> slot)
      : Payload(record.nbytes), record_(record), slot_(std::move(slot)) {}

  bool divisible() const noexcept override { return !record_.deflated; }
  InMemory hold() override { return record_.deflated ? inflated() : Payload::hold(); }
  void read(std::uint64_t offset, std::span<std::byte> into) override {
    if (record_.deflated) {
      const InMemory all = inflated();
      if (!into.empty()) std::memcpy(into.data(), all.data + offset, into.size());
      return;
    }
    // Without its checksum finish() compares the whole.
    const std::uint64_t unit = record_.big_endian ? swapped_together(record_.dtype) : 1;
    const bool ends = offset + into.size() == size();
    if (offset % unit != 0 || (into.size() % unit != 0 && !ends))
      return read_part(record_, offset, into);
    record_.source->read_at(record_.offset + offset, into);
    if (record_.has_crc) {
      const Piece piece{offset, into.size(), crc32(into)};
      const std::lock_guard lock(mutex_);
      pieces_.push_back(piece);
    }
    if (record_.big_endian) swap_bytes(into, record_.dtype);
  }
  // The pieces came in any order; their checksums together are the storage's.
  void finish() override {
    if (!record_.has_crc || record_.deflated) return;
    const std::lock_guard lock(mutex_);
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.offset < b.offset; });
    std::uint32_t crc = 0;
    std::uint64_t at = 0;
    for (const Piece& piece : pieces_) {
      if (piece.offset != at) break;
      crc = at == 0 ? piece.crc : crc32_joined(crc, piece.crc, piece.size);
      at += piece.size;
    }
    // Not from end to end, or not once: two tensors needed it.
    if (at != record_.nbytes) return compare_once(record_, *compared_);
    check_crc(record_, crc);
  }
  std::shared_ptr<Payload> slice(std::uint64_t offset, std::uint64_t size) const override;

 private:
  // Kept by the slot, for the next that wants it.
  InMemory inflated() const {
    InMemory all{{}, slot_->get(record_)};
    all.data = static_cast<const std::byte*>(all.storage.data());
    return all;
  }
  struct Piece {
    std::uint64_t offset, size;
    std::uint32_t crc;
  };
  StorageRecord record_;
  std::shared_ptr<InflatedSlot> slot_;
  std::mutex mutex_;
  std::vector<Piece> pieces_;
  std::shared_ptr<std::once_flag> compared_ = std::make_shared<std::once_flag>();
};

// A part of a storage: the whole has to be read for its checksum, once for all parts of it.
class FileSlice final : public Payload {
 public:
  FileSlice(const StorageRecord& record, std::shared_ptr<std::once_flag> compared,
            std::shared_ptr<InflatedSlot> slot, std::uint64_t start, std::uint64_t size)
      : Payload(size),
        record_(record),
        compared_(std::move(compared)),
        slot_(std::move(slot)),
        start_(start) {}
  bool divisible() const noexcept override { return !record_.deflated; }
  std::uint64_t streamed() const noexcept override { return held(); }
  std::uint64_t held() const noexcept override {
    return record_.deflated ? record_.nbytes : size();
  }
  InMemory hold() override {
    if (!record_.deflated) return Payload::hold();
    InMemory all{{}, slot_->get(record_)};
    all.data = static_cast<const std::byte*>(all.storage.data()) + start_;
    return all;
  }
  void read(std::uint64_t offset, std::span<std::byte> into) override {
    if (record_.deflated) {
      const InMemory all = hold();
      if (!into.empty()) std::memcpy(into.data(), all.data + offset, into.size());
      return;
    }
    compare_once(record_, *compared_);
    read_part(record_, start_ + offset, into);
  }
  std::shared_ptr<Payload> slice(std::uint64_t offset, std::uint64_t size) const override {
    return std::make_shared<FileSlice>(record_, compared_, slot_, start_ + offset, size);
  }

 private:
  StorageRecord record_;
  std::shared_ptr<std::once_flag> compared_;
  std::shared_ptr<InflatedSlot> slot_;
  std::uint64_t start_;
};

std::shared_ptr<Payload> FilePayload::slice(std::uint64_t offset, std::uint64_t size) const {
  return std::make_shared<FileSlice>(record_, compared_, slot_, offset, size);
}

constexpr std::size_t kElementsAtOnce = std::size_t{1} << 15;

class CastPayload final : public Payload {
 public:
  CastPayload(std::shared_ptr<Payload> payload, DType from, DType to)
      : Payload(payload->size() / static_cast<std::uint64_t>(itemsize(from)) *
                static_cast<std::uint64_t>(itemsize(to))),
        payload_(std::move(payload)),
        from_(from),
        to_(to),
        cast_(to, from) {}
  bool divisible() const noexcept override { return payload_->divisible(); }
  std::uint64_t streamed() const noexcept override {
    return payload_->memory() != nullptr ? 0 : payload_->streamed();
  }
  // Converted piece by piece: both dtypes are never there as a whole, unless it is only read so.
  InMemory hold() override {
    InMemory all;
    all.own.resize(static_cast<std::size_t>(size()));
    std::byte* at = all.own.data();
    stream(
        [&](std::span<const std::byte> piece) { at = std::copy(piece.begin(), piece.end(), at); });
    finish();
    all.data = all.own.data();
    return all;
  }
  std::uint64_t held() const noexcept override { return size() + streamed(); }
  void finish() override { payload_->finish(); }
  void stream(FunctionRef<void(std::span<const std::byte>)> piece) override {
    const auto old = static_cast<std::size_t>(itemsize(from_)),
               size = static_cast<std::size_t>(itemsize(to_));
    std::vector<std::byte> converted(kElementsAtOnce * size);
    payload_->stream([&](std::span<const std::byte> elements) {
      while (elements.size() >= old) {
        const std::size_t n = std::min(elements.size() / old, kElementsAtOnce);
        cast_({converted.data(), itemsize(to_), elements.data(), itemsize(from_),
               static_cast<std::int64_t>(n)});
        piece(std::span(converted).first(n * size));
        elements = elements.subspan(n * old);
      }
    });
  }
  void read(std::uint64_t offset, std::span<std::byte> into) override {
    const auto size = static_cast<std::size_t>(itemsize(to_));
    const std::size_t n = into.size() / size;
    const std::uint64_t start = offset / size * static_cast<std::uint64_t>(itemsize(from_));
    const std::size_t bytes = n * static_cast<std::size_t>(itemsize(from_));
    std::vector<std::byte> own;
    const std::byte* from = payload_->memory();
    if (from != nullptr) {
      from += start;
    } else {
      own.resize(bytes);
      payload_->read(start, own);
      from = own.data();
    }
    cast_({into.data(), itemsize(to_), from, itemsize(from_), static_cast<std::int64_t>(n)});
  }
  std::shared_ptr<Payload> slice(std::uint64_t offset, std::uint64_t size) const override {
    const auto unit = static_cast<std::uint64_t>(itemsize(to_));
    const auto old = static_cast<std::uint64_t>(itemsize(from_));
    return cast_payload(payload_->slice(offset / unit * old, size / unit * old), from_, to_);
  }
  // Packed before it is converted, which needs less memory. The negative of an element is not
  // always what the negative is converted to.
  std::shared_ptr<Payload> packed(const Layout& layout) const override {
    if (layout.conj || layout.neg) return Payload::packed(layout);
    Layout before = layout;
    before.dtype = from_;
    return cast_payload(payload_->packed(before), from_, to_);
  }

 private:
  std::shared_ptr<Payload> payload_;
  DType from_, to_;
  Cast cast_;
};

}  // namespace

std::shared_ptr<Payload> cast_payload(std::shared_ptr<Payload> payload, DType from, DType to) {
  return std::make_shared<CastPayload>(std::move(payload), from, to);
}

void FileSupply::check_unchanged() const {
  std::set<const Source*> sources;
  for (const auto& [identity, left] : records_) sources.insert(left.record.source);
  for (const Source* source : sources) source->check_unchanged();
}

FileSupply::FileSupply(const LeftInFile& records, bool any_size)
    : records_(records), any_size_(any_size), slot_(std::make_shared<InflatedSlot>()) {
  for (const auto& [identity, left] : records) stored_ += left.record.stored;
}

void FileSupply::will_write(std::uint64_t bytes) {
  constexpr std::uint64_t kFree = std::uint64_t{1} << 30, kTimes = 64;
  written_ = checked_add(written_, bytes).value_or(std::numeric_limits<std::uint64_t>::max());
  if (any_size_ || written_ / kTimes <= stored_ + kFree / kTimes) return;
  throw ValueError(concat("convert: ", stored_, " bytes of storages would become at least ",
                          written_,
                          ", as tensors repeat them or they are deflated, or are read for ",
                          "tensors whose elements lie apart: choose some ",
                          "with .filter (--filter), or allow it with .any_size (--any-size)"));
}

bool FileSupply::has_bytes(const Tensor& tensor) const {
  return records_.contains(tensor.storage().identity());
}
std::shared_ptr<Payload> FileSupply::storage(const Tensor& tensor) {
  const void* identity = tensor.storage().identity();
  auto& known = payloads_[identity];
  if (known == nullptr) known = std::make_shared<FilePayload>(records_.at(identity).record, slot_);
  return known;
}
std::string FileSupply::location(const Tensor& tensor) const {
  return std::string(records_.at(tensor.storage().identity()).record.location);
}

}  // namespace tenon
