// Where files can go: under a name, into an open file, into memory.
#pragma once

#include <vector>

#include "io/write/atomic_file.h"
#include "io/write/file_writer.h"

namespace tenon {

class AtomicOutput final : public Output {
 public:
  explicit AtomicOutput(const AtomicFile& file) noexcept : file_(file) {}
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const override {
    file_.write_at(offset, bytes);
  }

 private:
  const AtomicFile& file_;
};

class MemoryOutput final : public Output {
 public:
  explicit MemoryOutput(std::vector<std::byte>& bytes) noexcept : bytes_(bytes) {}
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const override;

 private:
  std::vector<std::byte>& bytes_;
};

// From the position the open file has. A pipe is written in order.
class DescriptorOutput final : public Output {
 public:
  DescriptorOutput(FileSystem& system, int descriptor);
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const override;
  bool in_order() const noexcept override { return start_ < 0; }
  // Puts the position behind so many bytes, and waits for the disk.
  void finish(std::uint64_t size, bool durable) const;

 private:
  FileSystem& system_;
  int descriptor_;
  std::int64_t start_;  // -1: it has no positions
};

}  // namespace tenon
