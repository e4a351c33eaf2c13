// The zip container of checkpoints, read strictly: what two readers could understand differently is
// refused.
//
// The directory and every local header are read and compared here, once; afterwards an entry is a
// stretch of the file that overlaps no other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/read/source.h"
#include "tenon/detail/api.h"

namespace tenon {

struct ZipEntry {
  std::string_view name;  // without the folder all entries are in; into the directory's bytes
  std::uint64_t header;   // where its local header is
  std::uint64_t data;     // where its bytes are, as stored
  std::uint64_t size;     // of the bytes
  std::uint64_t stored;   // of what is in the file: less, if they are deflated
  std::uint32_t crc;
  std::uint16_t flags;
  bool deflated;
};

class TENON_API Zip {
 public:
  // FormatError if it is no zip, or one that could be read in two ways.
  explicit Zip(std::shared_ptr<const Source> source);

  const Source& source() const noexcept { return *source_; }
  std::string_view folder() const noexcept { return folder_; }
  const std::vector<ZipEntry>& entries() const noexcept { return entries_; }
  // Null if there is none.
  const ZipEntry* find(std::string_view name) const;
  // The same for the storage "data/KEY".
  const ZipEntry* find_storage(std::string_view key) const;
  // Whether no entry has a checksum: PyTorch was told not to write them.
  bool without_checksums() const noexcept { return without_checksums_; }

  // The bytes of an entry that is no tensor: read, inflated, and compared with their checksum. Of
  // at most `limit` bytes.
  std::vector<std::byte> read(const ZipEntry& entry, std::uint64_t limit) const;
  // FormatError if the bytes are not what the checksum was made of.
  void check(const ZipEntry& entry, std::uint32_t crc) const;

 private:
  void read_at(std::uint64_t offset, std::span<std::byte> into) const;
  void read_tail(std::uint64_t most);
  std::uint64_t find_end();
  void find_directory();
  void read_directory();
  void index_names();
  void read_local_headers();
  void check_local_extra(std::span<const std::byte> header, const ZipEntry& entry,
                         std::size_t name_length, std::size_t extra_length, bool needs_wide) const;
  [[noreturn, gnu::cold]] void fail(std::uint64_t offset, std::string_view reason) const;

  std::shared_ptr<const Source> source_;
  std::vector<std::byte> tail_;  // the end of the file
  std::uint64_t tail_start_ = 0;
  std::vector<std::byte> directory_memory_;  // if it is not in the tail
  std::span<const std::byte> directory_;
  std::uint64_t directory_start_ = 0;
  std::uint64_t count_ = 0;
  std::string_view folder_;
  std::vector<ZipEntry> entries_;
  // Entry numbers: of "data/N" by N, and of the others sorted by name. No hashing of names that a
  // file chooses.
  std::vector<std::uint32_t> numbered_;
  std::vector<std::uint32_t> sorted_;
  bool without_checksums_ = false;
};

}  // namespace tenon
