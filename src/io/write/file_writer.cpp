#include "io/write/file_writer.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/thread_pool.h"
#include "io/zip/compression.h"

namespace tenon {

Output::~Output() = default;

namespace {

// A thread takes so many bytes of a record at a time.
constexpr std::uint64_t kPart = std::uint64_t{4} << 20;
// One write, which stays in the cache between the checksum and the copy.
constexpr std::uint64_t kWrite = std::uint64_t{256} << 10;
// Records up to this size are put together for one write.
constexpr std::uint64_t kSmall = std::uint64_t{64} << 10;
constexpr std::uint64_t kRun = std::uint64_t{512} << 10;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// What a thread does at once: several small records, or a part of one.
struct Unit {
  std::size_t first, count;
  std::uint64_t begin = 0, bytes = 0;  // of a part
  std::uint32_t crc = 0;               // of a part
};

class Writer {
 public:
  Writer(const FilePlan& plan, const Output& output, Meter& meter)
      : plan_(plan), output_(output), meter_(meter), crcs_(plan.records.size()) {
    divide();
  }

  void run() {
    if (output_.in_order()) {
      for (std::size_t i = 0; i < units_.size(); ++i) {
        work(units_[i]);
        close_if_last(i);
      }
    } else {
      parallel_for(0, static_cast<std::int64_t>(units_.size()), 1,
                   [&](std::int64_t first, std::int64_t last) {
                     for (std::int64_t i = first; i < last; ++i)
                       work(units_[static_cast<std::size_t>(i)]);
                   });
      for (std::size_t i = 0; i < units_.size(); ++i) close_if_last(i);
    }
    const std::string tail = plan_.tail ? plan_.tail(crcs_) : std::string();
    if (!tail.empty()) output_.write_at(plan_.size - tail.size(), bytes_of(tail));
  }

 private:
  static std::uint64_t whole(const PlannedRecord& record) {
    return record.lead.size() + record.payload->size() + record.behind;
  }
  static bool is_small(const PlannedRecord& record) { return record.payload->size() <= kSmall; }

  void divide() {
    const auto& records = plan_.records;
    for (std::size_t i = 0; i < records.size();) {
      if (!is_small(records[i])) {
        const std::uint64_t size = records[i].payload->size();
        const std::uint64_t part = records[i].payload->divisible() ? kPart : size;
        for (std::uint64_t begin = 0; begin < size; begin += part)
          units_.push_back({i, 1, begin, std::min(part, size - begin)});
        ++i;
        continue;
      }
      Unit run{i, 0};
      for (std::uint64_t bytes = 0; i < records.size() && is_small(records[i]) && bytes < kRun;
           ++i) {
        bytes += whole(records[i]);
        ++run.count;
      }
      units_.push_back(run);
    }
  }

  void work(Unit& unit) {
    meter_.stop_if_asked();
    if (is_small(plan_.records[unit.first]))
      several(unit);
    else
      part(unit);
  }

  // Memory of this thread's own.
  static std::span<std::byte> scratch(std::uint64_t n) {
    thread_local std::vector<std::byte> bytes;
    if (bytes.size() < n) bytes.resize(static_cast<std::size_t>(n));
    return std::span(bytes).first(static_cast<std::size_t>(n));
  }

  void several(const Unit& unit) {
    const auto records = std::span(plan_.records).subspan(unit.first, unit.count);
    std::uint64_t all = 0, data = 0;
    for (const PlannedRecord& record : records) all += whole(record);
    const auto memory = scratch(all);
    std::byte* at = memory.data();
    const auto put = [&](const std::string& text) {
      if (!text.empty()) std::memcpy(at, text.data(), text.size());
      at += text.size();
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
      Payload& payload = *records[i].payload;
      const std::span<std::byte> own(at + records[i].lead.size(),
                                     static_cast<std::size_t>(payload.size()));
      put(records[i].lead);
      std::unique_lock lock(one_at_once_, std::defer_lock);
      if (!payload.divisible() && payload.streamed() > kRun) lock.lock();
      payload.read(0, own);
      payload.finish();
      at += own.size();
      if (records[i].counts) data += own.size();
      if (plan_.behind) {
        crcs_[unit.first + i] = crc32(own);
        put(plan_.behind(unit.first + i, crcs_[unit.first + i]));
      }
    }
    output_.write_at(records[0].start, memory);
    if (data != 0) meter_.add(data);
  }

  void part(Unit& unit) {
    const PlannedRecord& record = plan_.records[unit.first];
    Payload& payload = *record.payload;
    const std::uint64_t start = record.start + record.lead.size();
    if (unit.begin == 0 && !record.lead.empty())
      output_.write_at(record.start, bytes_of(record.lead));
    std::uint64_t done = 0;
    const auto write = [&](std::span<const std::byte> piece) {
      if (plan_.behind) unit.crc = crc32(piece, unit.crc);
      output_.write_at(start + unit.begin + done, piece);
      done += piece.size();
      if (record.counts) meter_.add(piece.size());
      meter_.stop_if_asked();
    };
    if (!payload.divisible()) {
      const std::lock_guard lock(one_at_once_);  // not all of them in memory together
      payload.stream([&](std::span<const std::byte> all) {
        for (std::size_t at = 0; at < all.size(); at += kWrite)
          write(all.subspan(at, std::min<std::size_t>(kWrite, all.size() - at)));
      });
      return;
    }
    const std::byte* memory = payload.memory();
    while (done < unit.bytes) {
      const auto n = static_cast<std::size_t>(std::min(kWrite, unit.bytes - done));
      if (memory != nullptr) {
        write({memory + unit.begin + done, n});
      } else {
        const auto own = scratch(kWrite).first(n);
        payload.read(unit.begin + done, own);
        write(own);
      }
    }
  }

  // When the last part of a record has been written.
  void close_if_last(std::size_t last) {
    const std::size_t number = units_[last].first;
    if (last + 1 < units_.size() && units_[last + 1].first == number) return;
    const PlannedRecord& record = plan_.records[number];
    if (is_small(record)) return;
    record.payload->finish();
    if (!plan_.behind) return;
    std::size_t i = last;
    while (i > 0 && units_[i - 1].first == number) --i;
    std::uint32_t crc = units_[i].crc;
    for (++i; i <= last; ++i) crc = crc32_joined(crc, units_[i].crc, units_[i].bytes);
    crcs_[number] = crc;
    const std::string behind = plan_.behind(number, crc);
    output_.write_at(record.start + record.lead.size() + record.payload->size(), bytes_of(behind));
  }

  const FilePlan& plan_;
  std::mutex one_at_once_;
  const Output& output_;
  Meter& meter_;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> crcs_;
};

}  // namespace

std::uint64_t payload_bytes(const FilePlan& plan) {
  std::uint64_t bytes = 0;
  for (const PlannedRecord& record : plan.records) {
    if (record.counts) bytes += record.payload->size();
  }
  return bytes;
}

void write_file(const FilePlan& plan, const Output& output, Meter& meter) {
  Writer(plan, output, meter).run();
}

}  // namespace tenon
