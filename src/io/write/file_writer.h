// Writes the bytes of a file that has been planned: payloads at known places, with what comes
// before and behind each, on all threads, checksums made in the same pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/support/meter.h"
#include "io/write/payload.h"

namespace tenon {

// Where a file goes.
class Output {
 public:
  virtual ~Output();
  virtual void write_at(std::uint64_t offset, std::span<const std::byte> bytes) const = 0;
  // Whether bytes can only be written one behind the other: a pipe.
  virtual bool in_order() const noexcept { return false; }
};

struct PlannedRecord {
  std::uint64_t start = 0;  // where its lead begins
  std::string lead;         // what comes before its bytes
  std::shared_ptr<Payload> payload;
  std::uint32_t behind = 0;  // how many bytes come behind them
  bool counts = true;        // as work: bytes of tensors do, what the format says of them does not
};

struct FilePlan {
  std::vector<PlannedRecord> records;  // one behind the other
  std::uint64_t size = 0;              // of the whole file
  // What comes behind a record, made of its checksum. None: checksums are not needed.
  std::function<std::string(std::size_t record, std::uint32_t crc)> behind;
  // What comes behind all of them.
  std::function<std::string(std::span<const std::uint32_t> crcs)> tail;
};

// Of all payloads that count as work.
std::uint64_t payload_bytes(const FilePlan& plan);

void write_file(const FilePlan& plan, const Output& output, Meter& meter);

}  // namespace tenon
