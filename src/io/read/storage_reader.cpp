#include "io/read/storage_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/stored_dtype.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "io/read/source.h"
#include "io/support/meter.h"
#include "io/zip/compression.h"
#include "tenon/error.h"

namespace tenon {

void check_crc(const StorageRecord& record, std::uint32_t crc) {
  if (crc == record.crc) return;
  throw ChecksumError(record.source->name(), record.offset,
                      concat("the checksum of record ", record.key, " does not match: its ",
                             record.nbytes, " bytes are damaged"));
}

std::uint64_t swapped_together(DType dtype) noexcept {
  return static_cast<std::uint64_t>(is_pair(dtype) ? itemsize(dtype) / 2 : itemsize(dtype));
}

void swap_bytes(std::span<std::byte> bytes, DType dtype) {
  const auto unit = static_cast<std::size_t>(swapped_together(dtype));
  if (unit < 2) return;
  for (std::size_t i = 0; i + unit <= bytes.size(); i += unit)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(i),
                 bytes.begin() + static_cast<std::ptrdiff_t>(i + unit));
}

void read_part(const StorageRecord& record, std::uint64_t offset, std::span<std::byte> into) {
  const std::uint64_t unit = record.big_endian ? swapped_together(record.dtype) : 1;
  while (!into.empty()) {
    const std::uint64_t inside = offset % unit;
    std::size_t taken = into.size() / unit * unit;
    if (inside == 0 && taken != 0) {
      record.source->read_at(record.offset + offset, into.first(taken));
      if (unit > 1) swap_bytes(into.first(taken), record.dtype);
    } else {
      // The element that the part begins or ends in. Behind the last one are bytes of none.
      std::array<std::byte, 16> element{};
      const std::uint64_t begin = offset - inside;
      const auto all =
          std::span(element).first(static_cast<std::size_t>(std::min(unit, record.nbytes - begin)));
      record.source->read_at(record.offset + begin, all);
      swap_bytes(all, record.dtype);
      taken = std::min(into.size(), all.size() - static_cast<std::size_t>(inside));
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(inside), taken, into.begin());
    }
    offset += taken;
    into = into.subspan(taken);
  }
}

namespace {

// A thread takes so many bytes of a storage at a time, a multiple of every element's size.
constexpr std::uint64_t kPart = std::uint64_t{8} << 20;
// One read, which stays in the cache for the checksum.
constexpr std::uint64_t kRead = std::uint64_t{256} << 10;
// Storages up to this size that lie close together are fetched with one read.
constexpr std::uint64_t kSmall = std::uint64_t{32} << 10;
constexpr std::uint64_t kGap = 4096;

// What a thread does at once: a part of one storage, or several small ones.
struct Unit {
  std::uint32_t first, count;  // in the order of places
  std::uint64_t begin, bytes;  // of a part
  std::uint32_t crc = 0;       // of a part
};

class Reader {
 public:
  Reader(std::span<const StorageRead> reads, bool verify, const Watch& watch)
      : reads_(reads), verify_(verify), watch_(watch) {
    order_.resize(reads.size());
    std::iota(order_.begin(), order_.end(), 0u);
    const auto place = [&](std::uint32_t i) {
      return std::pair(reads_[i].record.source, reads_[i].record.offset);
    };
    const auto before = [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); };
    if (!std::is_sorted(order_.begin(), order_.end(), before))
      std::sort(order_.begin(), order_.end(), before);
    divide();
    meter_.emplace(watch_, total_, "reading was stopped on request");
  }

  void run() {
    parallel_for(0, static_cast<std::int64_t>(units_.size()), 1,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t i = first; i < last; ++i)
                     work(units_[static_cast<std::size_t>(i)]);
                 });
    compare_parts();
    const Source* before = nullptr;
    for (const std::uint32_t i : order_) {
      const Source* source = reads_[i].record.source;
      if (source != before) source->check_unchanged();
      before = source;
    }
    meter_->finish();
  }

 private:
  const StorageRead& at(std::size_t place) const { return reads_[order_[place]]; }
  bool compares(const StorageRecord& record) const {
    return record.has_crc && (verify_ || record.deflated);
  }

  void divide() {
    for (std::uint32_t i = 0; i < order_.size();) {
      const StorageRecord& record = at(i).record;
      total_ += record.nbytes;
      if (record.deflated) {
        units_.push_back({i++, 1, 0, record.nbytes});
        continue;
      }
      if (record.nbytes > kSmall) {
        for (std::uint64_t begin = 0; begin < record.nbytes; begin += kPart)
          units_.push_back({i, 1, begin, std::min(kPart, record.nbytes - begin)});
        ++i;
        continue;
      }
      Unit run{i, 1, 0, record.nbytes};
      for (++i; i < order_.size() && follows(run, at(i).record); ++i, ++run.count)
        total_ += at(i).record.nbytes;
      units_.push_back(run);
    }
  }
  // Whether a storage is small and near enough to those of a run.
  bool follows(const Unit& run, const StorageRecord& next) const {
    const StorageRecord& first = at(run.first).record;
    const StorageRecord& last = at(run.first + run.count - 1).record;
    return !next.deflated && next.nbytes <= kSmall && next.source == first.source &&
           next.offset <= last.offset + last.nbytes + kGap &&
           next.offset + next.nbytes - first.offset <= kRead;
  }

  void work(Unit& unit) {
    meter_->stop_if_asked();
    const StorageRead& read = at(unit.first);
    if (read.record.deflated)
      inflate_whole(read);
    else if (unit.count > 1)
      several(unit);
    else
      part(unit, read);
    tell(unit);
  }

  // Memory of this thread's own, for bytes that go nowhere else or to several places.
  static std::span<std::byte> scratch() {
    thread_local std::vector<std::byte> bytes(kRead);
    return bytes;
  }

  void part(Unit& unit, const StorageRead& read) const {
    const StorageRecord& record = read.record;
    // What is not compared, and has a place to go, needs no cache.
    const std::uint64_t most = compares(record) || read.into == nullptr ? kRead : kPart;
    for (std::uint64_t done = 0; done < unit.bytes; done += most) {
      const auto n = static_cast<std::size_t>(std::min(most, unit.bytes - done));
      const std::span<std::byte> piece =
          read.into != nullptr ? std::span(read.into + unit.begin + done, n) : scratch().first(n);
      record.source->read_at(record.offset + unit.begin + done, piece);
      if (compares(record)) unit.crc = crc32(piece, unit.crc);
      if (record.big_endian && read.into != nullptr) swap_bytes(piece, record.dtype);
      meter_->stop_if_asked();
    }
  }

  void several(const Unit& unit) const {
    const StorageRecord& first = at(unit.first).record;
    std::uint64_t end = 0;
    for (std::uint32_t i = 0; i < unit.count; ++i)
      end = std::max(end, at(unit.first + i).record.offset + at(unit.first + i).record.nbytes);
    const auto bytes = scratch().first(static_cast<std::size_t>(end - first.offset));
    first.source->read_at(first.offset, bytes);
    for (std::uint32_t i = 0; i < unit.count; ++i) {
      const auto& [record, into] = at(unit.first + i);
      const auto own = bytes.subspan(static_cast<std::size_t>(record.offset - first.offset),
                                     static_cast<std::size_t>(record.nbytes));
      if (compares(record)) check_crc(record, crc32(own));
      if (into == nullptr || own.empty()) continue;
      std::memcpy(into, own.data(), own.size());
      if (record.big_endian) swap_bytes({into, own.size()}, record.dtype);
    }
  }

  void inflate_whole(const StorageRead& read) const {
    const StorageRecord& record = read.record;
    std::vector<std::byte> stored(static_cast<std::size_t>(record.stored));
    record.source->read_at(record.offset, stored);
    std::vector<std::byte> own(read.into == nullptr ? static_cast<std::size_t>(record.nbytes) : 0);
    const std::span<std::byte> all(read.into == nullptr ? own.data() : read.into,
                                   static_cast<std::size_t>(record.nbytes));
    if (!inflate(stored, all)) {
      throw FormatError(record.source->name(), record.offset,
                        concat("storage ", record.key, " cannot be inflated"));
    }
    if (compares(record)) check_crc(record, crc32(all));
    if (record.big_endian) swap_bytes(all, record.dtype);
  }

  // The parts of a storage were read by any threads; their checksums together are its own.
  void compare_parts() const {
    for (std::size_t i = 0; i < units_.size();) {
      const StorageRecord& record = at(units_[i].first).record;
      const bool parts = !record.deflated && units_[i].count == 1 && compares(record);
      std::uint32_t crc = units_[i].crc;
      std::size_t next = i + 1;
      for (; parts && next < units_.size() && units_[next].first == units_[i].first; ++next)
        crc = crc32_joined(crc, units_[next].crc, units_[next].bytes);
      if (parts) check_crc(record, crc);
      i = next;
    }
  }

  void tell(const Unit& unit) {
    std::uint64_t bytes = unit.bytes;
    for (std::uint32_t i = 1; i < unit.count; ++i) bytes += at(unit.first + i).record.nbytes;
    meter_->add(bytes);
  }

  std::span<const StorageRead> reads_;
  bool verify_;
  const Watch& watch_;
  std::vector<std::uint32_t> order_;  // numbers of reads by their places in the file
  std::vector<Unit> units_;
  std::uint64_t total_ = 0;
  std::optional<Meter> meter_;  // when the total is known
};

}  // namespace

void compare_once(const StorageRecord& record, std::once_flag& compared) {
  if (!record.has_crc) return;
  std::call_once(compared, [&] {
    const StorageRead read{record, nullptr};
    read_storages({&read, 1}, true, {});
  });
}

void read_storages(std::span<const StorageRead> reads, bool verify, const Watch& watch) {
  if (reads.empty()) {
    if (watch.progress) watch.progress(0, 0);
    return;
  }
  Reader(reads, verify, watch).run();
}

}  // namespace tenon
