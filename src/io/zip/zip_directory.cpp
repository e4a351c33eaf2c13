// The end of a zip archive and its directory.
#include <algorithm>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/huge_pages.h"
#include "base/text.h"
#include "io/read/byte_reader.h"
#include "io/support/utf8.h"
#include "io/zip/zip.h"
#include "io/zip/zip_extra.h"
#include "io/zip/zip_format.h"

namespace tenon {

using namespace zip_format;

namespace {

// Tensors of zeros deflate to a thousandth; files of nothing else are bombs.
constexpr std::uint64_t kLargestRatio = 200, kSmallInflated = std::uint64_t{64} << 20;
constexpr std::size_t kTail = 8192;  // bytes of the end of the file that are read first
constexpr std::size_t kLongestComment = 65535;
constexpr std::uint64_t kLargestDirectory = std::uint64_t{256} << 20;
constexpr std::size_t kLongestName = 4096;

// Empty, or what is wrong with it, which is a name or the end of one of so many bytes.
std::string_view wrong_name(std::string_view name, std::size_t length) {
  if (length > kLongestName) return "is longer than 4096 bytes";
  bool plain = true;
  for (std::size_t at = 0, i = 0; i <= name.size(); ++i) {
    if (i < name.size() && name[i] != '/') {
      const auto c = static_cast<unsigned char>(name[i]);
      if (c < 0x20 || c == 0x7f) return "has control characters";
      if (c == '\\') return "has a backslash";
      plain = plain && c < 0x80;
      continue;
    }
    const std::string_view part = name.substr(at, i - at);
    if (part.empty() || part == "." || part == "..") return "is not the path of a file in a folder";
    at = i + 1;
  }
  if (!plain && !is_utf8(name)) return "is not UTF-8";
  return {};
}

// Sizes and place that did not fit the 32-bit fields.
struct Wide {
  std::uint64_t size, stored, header;
};

constexpr const char* kTwoEnds = "two end records: the archive could be read in two ways";

// Calls `found` with the place of every end record in these bytes, which begin at `start`, whose
// comment goes to the end of a file of that size.
template <class Found>
void for_each_end(std::span<const std::byte> bytes, std::uint64_t start, std::uint64_t size,
                  Found&& found) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // By its last letter, as every entry of the directory begins with the first two.
  for (std::size_t last = text.find(kEndText.back()); last != text.npos;
       last = text.find(kEndText.back(), last + 1)) {
    if (!text.substr(0, last + 1).ends_with(kEndText)) continue;
    const std::size_t i = last + 1 - kEndText.size();
    if (bytes.size() - i < kEndSize) return;
    std::uint16_t comment = 0;
    std::memcpy(&comment, bytes.data() + i + kEndSize - 2, 2);
    if (start + i + kEndSize + comment == size) found(start + i);
  }
}

// Files have the mode of files, or none.
bool is_special_file(std::uint32_t attributes) {
  const std::uint32_t kind = attributes >> 16 & 0170000;
  return kind != 0 && kind != 0100000;
}

}  // namespace

void Zip::read_tail(std::uint64_t most) {
  const std::uint64_t size = source_->size();
  tail_.resize(static_cast<std::size_t>(std::min(size, most)));
  tail_start_ = size - tail_.size();
  source_->read_at(tail_start_, tail_);
}

// Note [Which end record]
// The end record is the last thing in the file but for a comment, and readers look for it from the
// end. PyTorch writes no comment, so nearly always the file ends with the record itself. An earlier
// one, whose comment the rest of the file would be, is then looked for in the directory and in what
// is read anyway. Before these are only bytes of entries, which fill the file without gaps: what
// they hold is a tensor's affair, and no reader that begins at the end sees it.
std::uint64_t Zip::find_end() {
  const std::uint64_t size = source_->size();
  bool plain = false;
  read_tail(kTail);
  const auto last = std::span(tail_).last(kEndSize);
  for_each_end(last, size - kEndSize, size, [&](std::uint64_t) { plain = true; });
  if (!plain) read_tail(kEndSize + kLongestComment);
  std::optional<std::uint64_t> end;
  for_each_end(tail_, tail_start_, size, [&](std::uint64_t at) {
    if (end) fail(*end, kTwoEnds);
    end = at;
  });
  if (!end) {
    fail(size,
         "the end of the zip archive is missing: the file is cut short, or was not downloaded "
         "to its end, or has something behind it");
  }
  return *end;
}

void Zip::find_directory() {
  const std::uint64_t size = source_->size();
  if (size < kEndSize + kLocalSize) fail(0, "too short to be a zip archive");
  std::uint32_t first = 0;
  source_->read_at(0, std::as_writable_bytes(std::span(&first, 1)));
  if (first != kLocal) fail(0, "no zip archive: it does not begin with an entry");

  const std::uint64_t end = find_end();
  const std::span<const std::byte> tail(tail_);
  ByteReader reader(tail.subspan(static_cast<std::size_t>(end - tail_start_)), end,
                    source_->name());
  reader.u32();
  const std::uint16_t disk = reader.u16(), directory_disk = reader.u16(), here = reader.u16(),
                      total = reader.u16();
  const std::uint32_t length = reader.u32(), start = reader.u32();
  if (disk != 0 && disk != kSaturated16) fail(end + 4, "an archive on several disks");
  if (directory_disk != 0 && directory_disk != kSaturated16)
    fail(end + 6, "an archive on several disks");
  if (here != total) fail(end + 8, "an archive on several disks");

  std::uint64_t directory_end = end;
  std::uint64_t wide_length = length, wide_start = start;
  count_ = total;
  bool has_wide = false;
  if (end >= kLocatorSize) {
    std::byte locator[kLocatorSize];
    read_at(end - kLocatorSize, locator);
    ByteReader at(locator, end - kLocatorSize, source_->name());
    if (at.u32() == kLocator64) {
      has_wide = true;
      if (at.u32() != 0) fail(end - 16, "an archive on several disks");
      const std::uint64_t where = at.u64();
      if (at.u32() != 1) fail(end - 4, "an archive on several disks");
      if (end < kLocatorSize + kEnd64Size || where != end - kLocatorSize - kEnd64Size)
        fail(end - 12, "the zip64 end record is not where it should be");
      std::byte record[kEnd64Size];
      read_at(where, record);
      ByteReader wide(record, where, source_->name());
      if (wide.u32() != kEnd64) fail(where, "the zip64 end record is not where it should be");
      if (wide.u64() != kEnd64Size - 12) fail(where + 4, "a zip64 end record of unusual size");
      wide.u32();  // versions
      if (wide.u32() != 0 || wide.u32() != 0) fail(where + 16, "an archive on several disks");
      const std::uint64_t wide_here = wide.u64();
      count_ = wide.u64();
      wide_length = wide.u64();
      wide_start = wide.u64();
      const auto agrees = [](std::uint64_t narrow, std::uint64_t real, std::uint64_t saturated) {
        return narrow == saturated || narrow == real;
      };
      if (wide_here != count_ || !agrees(total, count_, kSaturated16) ||
          !agrees(length, wide_length, kSaturated32) || !agrees(start, wide_start, kSaturated32))
        fail(where, "the two end records disagree");
      directory_end = where;
    }
  }
  if (!has_wide && (total == kSaturated16 || length == kSaturated32 || start == kSaturated32))
    fail(end, "the zip64 end record is missing");
  const auto stop = checked_add(wide_start, wide_length);
  if (!stop || *stop != directory_end)
    fail(end, "the directory does not lie between the entries and the end record");
  if (wide_length > kLargestDirectory) fail(end, "the directory is larger than 256 MiB");
  if (count_ > zip_format::kMostEntries)
    fail(end, concat(count_, " entries are more than a million"));
  if (count_ == 0) fail(end, "the archive is empty");
  directory_start_ = wide_start;
  if (wide_start >= tail_start_) {
    directory_ = tail.subspan(static_cast<std::size_t>(wide_start - tail_start_),
                              static_cast<std::size_t>(wide_length));
    return;
  }
  directory_memory_.resize(static_cast<std::size_t>(wide_length));
  read_at(wide_start, directory_memory_);
  directory_ = directory_memory_;
  const auto last = directory_.last(std::min(directory_.size(), kLongestComment));
  for_each_end(last, directory_end - last.size(), size,
               [&](std::uint64_t at) { fail(at, kTwoEnds); });
}

void Zip::read_directory() {
  ByteReader reader(directory_, directory_start_, source_->name());
  if (count_ > directory_.size() / 46)
    reader.fail("more entries are announced than fit the directory");
  reserve_in_huge_pages(entries_, static_cast<std::size_t>(count_));
  bool any_checksum = false;
  std::uint64_t deflated = 0, inflated = 0;  // bytes of all that are
  for (std::uint64_t i = 0; i < count_; ++i) {
    const std::uint64_t at = reader.offset();
    if (reader.u32() != kCentral) reader.fail_at(at, "an entry of the directory is missing");
    reader.u16();  // of the program that made it
    if (reader.u16() > kNewestVersion) reader.fail_at(at + 6, "an entry of a version to come");
    const std::uint16_t flags = reader.u16(), method = reader.u16();
    reader.u32();  // time and date
    ZipEntry entry{};
    entry.flags = flags & (kHasDescriptor | kUtf8);
    entry.crc = reader.u32();
    const std::uint32_t stored = reader.u32(), size = reader.u32();
    const std::uint16_t name_length = reader.u16(), extra_length = reader.u16(),
                        comment_length = reader.u16(), disk = reader.u16();
    reader.u16();  // internal attributes
    const std::uint32_t attributes = reader.u32(), header = reader.u32();
    const std::string_view name = reader.text(name_length);
    if ((flags & ~(kHasDescriptor | kUtf8 | kDeflateHints)) != 0)
      reader.fail_at(at + 8, "an encrypted, patched or otherwise special entry");
    if (method != 0 && method != 8)
      reader.fail_at(at + 10, concat("compression method ", method, ", and only deflate is known"));
    if (disk != 0) reader.fail_at(at + 34, "an archive on several disks");
    if ((attributes & 0x10) != 0 || name.ends_with('/'))
      reader.fail_at(at, "a folder where only files should be");
    if (is_special_file(attributes)) reader.fail_at(at + 38, "a link or a device, and no file");
    // Below the folder that was looked at with the first name, only the rest is new.
    const bool below = !folder_.empty() && name.size() > folder_.size() + 1 &&
                       name.starts_with(folder_) && name[folder_.size()] == '/';
    const std::string_view unknown = below ? name.substr(folder_.size() + 1) : name;
    if (const std::string_view wrong = wrong_name(unknown, name.size()); !wrong.empty())
      reader.fail_at(at + 46, concat("the name of an entry ", wrong));
    Wide wide{size, stored, header};
    const std::uint64_t extra_at = reader.offset();
    bool is_wide = false;
    read_extra(ByteReader(reader.bytes(extra_length), extra_at, source_->name()),
               [&](ByteReader field) {
                 is_wide = true;
                 if (size == kSaturated32) wide.size = field.u64();
                 if (stored == kSaturated32) wide.stored = field.u64();
                 if (header == kSaturated32) wide.header = field.u64();
               });
    if (!is_wide && (size == kSaturated32 || stored == kSaturated32 || header == kSaturated32))
      reader.fail_at(extra_at, "a zip64 field is missing");
    reader.bytes(comment_length);
    entry.size = wide.size;
    entry.stored = wide.stored;
    entry.header = wide.header;
    entry.deflated = method == 8;
    if (entry.deflated && entry.size / 1032 > entry.stored)  // what deflate can do at most
      reader.fail_at(at + 20,
                     "an entry announces more bytes than deflate can make of what is there");
    if (entry.deflated) {
      deflated += entry.stored;
      inflated += entry.size;
      if (inflated / kLargestRatio > deflated + kSmallInflated / kLargestRatio)
        reader.fail_at(at + 20, concat("entries that are deflated to less than a ", kLargestRatio,
                                       "th, which no real ones are"));
    }
    if (!entry.deflated && entry.size != entry.stored)
      reader.fail_at(at + 20, "an entry that is not compressed has two sizes");
    if (entry.header >= directory_start_) reader.fail_at(at + 42, "an entry behind the directory");
    const std::size_t slash = name.find('/');
    if (slash == name.npos) {
      reader.fail_at(at + 46,
                     "an entry that is in no folder: an ordinary zip archive, and no checkpoint");
    }
    if (i == 0) folder_ = name.substr(0, slash);
    if (name.substr(0, slash) != folder_)
      reader.fail_at(at + 46, "entries in two folders: an ordinary zip archive, and no checkpoint");
    entry.name = name.substr(slash + 1);
    any_checksum = any_checksum || (entry.crc != 0 && entry.size != 0);
    entries_.push_back(entry);
  }
  if (reader.left() != 0) reader.fail("more in the directory than its entries");
  without_checksums_ = !any_checksum;
}

}  // namespace tenon
