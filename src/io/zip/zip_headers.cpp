// The headers in front of the entries of a zip archive, compared with its directory.
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/checked.h"
#include "io/read/byte_reader.h"
#include "io/zip/zip.h"
#include "io/zip/zip_extra.h"
#include "io/zip/zip_format.h"

namespace tenon {

using namespace zip_format;

namespace {

// Bytes of the file in the order of their places, fetched in pieces that hold many small entries.
class Window {
 public:
  // `tail` is what has been read already, from `tail_start` to the end.
  Window(const Source& source, std::span<const std::byte> tail, std::uint64_t tail_start)
      : source_(source), tail_(tail), tail_start_(tail_start) {}
  // `n` bytes at an offset, or what there is up to `limit`.
  std::span<const std::byte> at(std::uint64_t offset, std::uint64_t n, std::uint64_t limit) {
    n = offset >= limit ? 0 : std::min(n, limit - offset);
    if (offset >= tail_start_)
      return tail_.subspan(static_cast<std::size_t>(offset - tail_start_),
                           static_cast<std::size_t>(n));
    if (offset < start_ || offset + n > start_ + held_.size()) {
      // Entries that lie close together are worth more and more bytes at once; behind a large one
      // it begins again.
      const bool near =
          !held_.empty() && offset >= start_ && offset - start_ <= held_.size() + kSmall;
      size_ = near ? std::min(size_ * 4, kLarge) : kSmall;
      const std::uint64_t wanted = std::min(std::max(n, size_), limit - std::min(offset, limit));
      held_.resize(static_cast<std::size_t>(wanted));
      source_.read_at(offset, held_);
      start_ = offset;
    }
    return std::span(held_).subspan(static_cast<std::size_t>(offset - start_),
                                    static_cast<std::size_t>(n));
  }

 private:
  static constexpr std::uint64_t kSmall = 5120, kLarge = 65536;
  const Source& source_;
  std::span<const std::byte> tail_;
  std::uint64_t tail_start_;
  std::vector<std::byte> held_;
  std::uint64_t start_ = 0, size_ = kSmall;
};

}  // namespace

void Zip::check_local_extra(std::span<const std::byte> header, const ZipEntry& entry,
                            std::size_t name_length, std::size_t extra_length,
                            bool needs_wide) const {
  const std::size_t at = static_cast<std::size_t>(kLocalSize) + name_length;
  if (header.size() < at + extra_length) fail(entry.header, "an entry reaches into the directory");
  bool is_wide = false;
  read_extra(ByteReader(header.subspan(at, extra_length), entry.header + at, source_->name()),
             [&](ByteReader field) {
               is_wide = true;
               // PyTorch writes those numbers that are large, also where the header is, and 0 for
               // what it does not know yet.
               while (field.left() >= 8) {
                 const std::uint64_t number = field.u64();
                 if (number != entry.size && number != entry.stored && number != entry.header &&
                     !(number == 0 && (entry.flags & kHasDescriptor) != 0))
                   field.fail("an entry and the directory disagree about its size");
               }
             });
  if (needs_wide && !is_wide) fail(entry.header + 18, "a zip64 field is missing");
}

void Zip::read_local_headers() {
  std::vector<std::uint32_t> order(entries_.size());
  std::iota(order.begin(), order.end(), 0u);
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    return entries_[a].header < entries_[b].header;
  };
  if (!std::is_sorted(order.begin(), order.end(), before))
    std::sort(order.begin(), order.end(), before);
  Window window(*source_, tail_, tail_start_);
  const std::string& file = source_->name();
  std::uint64_t expected = 0;
  for (const std::uint32_t i : order) {
    ZipEntry& entry = entries_[i];
    if (entry.header != expected) {
      fail(std::min(entry.header, expected), entry.header < expected
                                                 ? "two entries overlap"
                                                 : "bytes between entries that belong to none");
    }
    const std::uint64_t at = entry.header;
    const std::uint64_t most = kLocalSize + folder_.size() + 1 + entry.name.size() + 512;
    ByteReader reader(window.at(at, most, directory_start_), at, file);
    if (reader.u32() != kLocal) reader.fail_at(at, "the directory names an entry that is not here");
    if (reader.u16() > kNewestVersion) reader.fail_at(at + 4, "an entry of a version to come");
    const std::uint16_t flags = reader.u16(), method = reader.u16();
    reader.u32();  // time and date
    const std::uint32_t crc = reader.u32(), stored = reader.u32(), size = reader.u32();
    const std::uint16_t name_length = reader.u16(), extra_length = reader.u16();
    if (name_length != folder_.size() + 1 + entry.name.size())
      reader.fail_at(at + 26, "an entry and the directory disagree about its name");
    const std::string_view name = reader.text(name_length);
    if (!name.starts_with(folder_) || !name.ends_with(entry.name) || name[folder_.size()] != '/')
      reader.fail_at(at + kLocalSize, "an entry and the directory disagree about its name");
    if ((flags & ~(kHasDescriptor | kUtf8 | kDeflateHints)) != 0)
      reader.fail_at(at + 6, "an encrypted, patched or otherwise special entry");
    if ((flags & (kHasDescriptor | kUtf8)) != entry.flags)
      reader.fail_at(at + 6, "an entry and the directory disagree about its flags");
    if ((method == 8) != entry.deflated || (method != 0 && method != 8))
      reader.fail_at(at + 8, "an entry and the directory disagree about its compression");
    entry.data = at + kLocalSize + name_length + extra_length;
    // What is in the file may be all zeros where a descriptor follows.
    const bool described = (flags & kHasDescriptor) != 0;
    const auto agrees = [&](std::uint64_t narrow, std::uint64_t real) {
      return narrow == real || narrow == kSaturated32 || (described && narrow == 0);
    };
    if (!agrees(stored, entry.stored) || !agrees(size, entry.size))
      reader.fail_at(at + 18, "an entry and the directory disagree about its size");
    if (crc != entry.crc && !(described && crc == 0))
      reader.fail_at(at + 14, "an entry and the directory disagree about its checksum");
    check_local_extra(window.at(at, kLocalSize + name_length + extra_length, directory_start_),
                      entry, name_length, extra_length,
                      size == kSaturated32 || stored == kSaturated32);
    const auto end = checked_add(entry.data, entry.stored);
    if (!end || *end > directory_start_) reader.fail_at(at, "an entry reaches into the directory");
    expected = *end;
    if (described) {
      ByteReader behind(window.at(expected, 24, directory_start_), expected, file);
      if (behind.u32() != kDescriptor)
        behind.fail_at(expected, "the descriptor of an entry is missing");
      if (behind.u32() != entry.crc)
        behind.fail_at(expected + 4, "an entry and the directory disagree about its checksum");
      // Sizes of 32 or of 64 bits: the ones that are followed by what should follow.
      std::uint32_t narrow[2] = {behind.u32(), behind.u32()};
      const bool fits = narrow[0] == entry.stored && narrow[1] == entry.size;
      if (fits) {
        expected += 16;
      } else {
        std::uint64_t wide[2] = {narrow[0] | std::uint64_t{narrow[1]} << 32, 0};
        if (behind.left() >= 8) wide[1] = behind.u64();
        if (wide[0] != entry.stored || wide[1] != entry.size)
          behind.fail_at(expected + 8, "an entry and the directory disagree about its size");
        expected += 24;
      }
    }
  }
  if (expected != directory_start_)
    fail(expected, "bytes before the directory that belong to no entry");
}

}  // namespace tenon
