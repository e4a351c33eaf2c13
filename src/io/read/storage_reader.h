// The bytes of storages from files into memory, on all threads, each byte compared with its
// checksum while it is in the cache.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "io/read/records.h"
#include "tenon/watch.h"

namespace tenon {

struct StorageRead {
  StorageRecord record;
  std::byte* into = nullptr;  // null: the bytes are only compared
};

// ChecksumError, naming the first storage that is wrong; IoError, FormatError and CancelledError.
// After an error the memory holds anything.
void read_storages(std::span<const StorageRead> reads, bool verify, const Watch& watch);

// ChecksumError if it is not the record's.
void check_crc(const StorageRecord& record, std::uint32_t crc);

// Reads all of a storage for its checksum, the first time it is asked to.
void compare_once(const StorageRecord& record, std::once_flag& compared);

// Elements of the other byte order become ours.
void swap_bytes(std::span<std::byte> bytes, DType dtype);
// How many bytes that reverses together: an element, or a half of a complex one.
std::uint64_t swapped_together(DType dtype) noexcept;

// A tensor that lies in its file as it is wanted is handed on in pieces of so many bytes.
inline constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
// A part of a storage that is not deflated, in our byte order, also where the part begins or ends
// inside of an element. Not compared with a checksum.
void read_part(const StorageRecord& record, std::uint64_t offset, std::span<std::byte> into);

}  // namespace tenon
