// Source: bytes of a file, a part of one, or memory. All reading of checkpoints goes through one,
// so that tests can make any read fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/mapping.h"
#include "tenon/detail/api.h"

namespace tenon {

class TENON_API Source {
 public:
  virtual ~Source();
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  const std::string& name() const noexcept { return name_; }  // for messages
  std::uint64_t size() const noexcept { return size_; }
  // Where it begins in what map() gives.
  virtual std::uint64_t start() const noexcept { return 0; }

  // Exactly these bytes, from any thread. IoError if the system refuses; FormatError if the file
  // has become shorter than it was.
  virtual void read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
  // The bytes in memory. Null for a source that cannot be mapped.
  virtual Ref<Mapping> map(Mapping::Mode mode) const;
  // FormatError if the file is not the one that was opened any more: its size or times changed.
  virtual void check_unchanged() const {}
  // Device and inode of the file. Two sources with the same are one file, whatever its names are.
  // None for memory.
  virtual std::optional<std::pair<std::uint64_t, std::uint64_t>> identity() const { return {}; }

 protected:
  Source(std::string name, std::uint64_t size) : name_(std::move(name)), size_(size) {}

 private:
  std::string name_;
  std::uint64_t size_;
};

// A regular file. IoError if there is none, or it is something else (a directory, a pipe, a
// device).
TENON_API std::shared_ptr<Source> open_file(const std::string& path);
// The same by a descriptor, which it takes over. The name is for messages.
TENON_API std::shared_ptr<Source> open_taken(int descriptor, std::string name);
// The part of an open file that begins at an offset. The descriptor is duplicated.
TENON_API std::shared_ptr<Source> open_file(int descriptor, std::uint64_t offset, std::string name);
// Memory that outlives it.
TENON_API std::shared_ptr<Source> open_memory(std::span<const std::byte> bytes, std::string name);

}  // namespace tenon
