#include "io/zip.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/checked.h"
#include "base/huge_pages.h"
#include "base/text.h"
#include "io/byte_reader.h"
#include "io/compression.h"
#include "io/utf8.h"
#include "tenon/error.h"

namespace tenon {

namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50, kDescriptor = 0x08074b50;
constexpr std::string_view kEndText = "PK\x05\x06";
constexpr std::uint64_t kLocalSize = 30, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr std::uint32_t kSaturated32 = 0xffffffff;
constexpr std::uint16_t kSaturated16 = 0xffff;

constexpr std::uint16_t kHasDescriptor = 1u << 3, kUtf8 = 1u << 11;
constexpr std::uint16_t kDeflateHints = 3u << 1;

constexpr std::uint16_t kNewestVersion = 63;
// Tensors of zeros deflate to a thousandth; files of nothing else are bombs.
constexpr std::uint64_t kLargestRatio = 200, kSmallInflated = std::uint64_t{64} << 20;
constexpr std::size_t kTail = 8192;  // bytes of the end of the file that are read first
constexpr std::size_t kLongestComment = 65535;
constexpr std::uint64_t kMostEntries = 1'000'000;
constexpr std::uint64_t kLargestDirectory = std::uint64_t{256} << 20;
constexpr std::size_t kLongestName = 4096;
constexpr std::uint32_t kNobody = 0xffffffff;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
int compare_folded(std::string_view a, std::string_view b) {
  const std::size_t n = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < n; ++i) {
    const char x = lower(a[i]), y = lower(b[i]);
    if (x != y) return static_cast<unsigned char>(x) < static_cast<unsigned char>(y) ? -1 : 1;
  }
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

constexpr std::string_view kStorages = "data/";

// N, written as PyTorch writes it.
std::optional<std::uint64_t> number_in(std::string_view text) {
  if (text.empty() || text.size() > 18 || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  std::uint64_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}
// N of "data/N".
std::optional<std::uint64_t> number_of(std::string_view name) {
  return name.starts_with(kStorages) ? number_in(name.substr(kStorages.size())) : std::nullopt;
}

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

constexpr std::uint16_t kZip64 = 1, kUnicodePath = 0x7075;

// Calls `found` with the zip64 field among the extra fields, if there is one.
template <class Found>
void read_extra(ByteReader extra, Found&& found) {
  bool seen = false;
  while (extra.left() >= 4) {  // less is padding that some writers leave
    const std::uint16_t id = extra.u16(), length = extra.u16();
    const std::uint64_t at = extra.offset();
    if (length > extra.left()) extra.fail("an extra field is longer than all of them together");
    const auto field = extra.bytes(length);
    if (id == kUnicodePath) extra.fail_at(at, "an entry with a second name");
    if (id != kZip64) continue;
    if (seen) extra.fail_at(at, "two zip64 fields");
    seen = true;
    found(ByteReader(field, at, extra.file()));
  }
}

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

void Zip::fail(std::uint64_t offset, std::string_view reason) const {
  throw FormatError(source_->name(), offset, std::string(reason));
}

Zip::Zip(std::shared_ptr<const Source> source) : source_(std::move(source)) {
  find_directory();
  read_directory();
  index_names();
  read_local_headers();
}

void Zip::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  if (offset < tail_start_ || tail_.empty()) return source_->read_at(offset, into);
  const auto from = std::span(tail_).subspan(static_cast<std::size_t>(offset - tail_start_));
  if (from.size() < into.size()) return source_->read_at(offset, into);
  std::copy_n(from.begin(), into.size(), into.begin());
}

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
  if (count_ > kMostEntries) fail(end, concat(count_, " entries are more than a million"));
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

void Zip::index_names() {
  numbered_.assign(entries_.size(), kNobody);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) {
    const auto number = number_of(entries_[i].name);
    if (!number || *number >= numbered_.size()) {
      sorted_.push_back(i);
    } else if (numbered_[static_cast<std::size_t>(*number)] != kNobody) {
      fail(directory_start_, concat("two entries are named data/", *number));
    } else {
      numbered_[static_cast<std::size_t>(*number)] = i;
    }
  }
  std::sort(sorted_.begin(), sorted_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return compare_folded(entries_[a].name, entries_[b].name) < 0;
  });
  for (std::size_t i = 1; i < sorted_.size(); ++i) {
    // PyTorch looks names up whatever their case.
    if (compare_folded(entries_[sorted_[i - 1]].name, entries_[sorted_[i]].name) == 0)
      fail(directory_start_, "two entries have the same name");
  }
  // "DATA/0" beside "data/0".
  for (const std::uint32_t i : sorted_) {
    std::string folded(entries_[i].name);
    std::transform(folded.begin(), folded.end(), folded.begin(), lower);
    const auto number = number_of(folded);
    if (number && *number < numbered_.size() &&
        numbered_[static_cast<std::size_t>(*number)] != kNobody)
      fail(directory_start_, "two entries have the same name");
  }
}

const ZipEntry* Zip::find_storage(std::string_view key) const {
  if (const auto number = number_in(key); number && *number < numbered_.size()) {
    const std::uint32_t at = numbered_[static_cast<std::size_t>(*number)];
    return at == kNobody ? nullptr : &entries_[at];
  }
  return find(concat(kStorages, key));
}

const ZipEntry* Zip::find(std::string_view name) const noexcept {
  if (const auto number = number_of(name); number && *number < numbered_.size()) {
    const std::uint32_t at = numbered_[static_cast<std::size_t>(*number)];
    return at == kNobody ? nullptr : &entries_[at];
  }
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), name,
                                      [&](std::uint32_t i, std::string_view wanted) {
                                        return compare_folded(entries_[i].name, wanted) < 0;
                                      });
  if (found == sorted_.end() || entries_[*found].name != name) return nullptr;
  return &entries_[*found];
}

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

void Zip::check(const ZipEntry& entry, std::uint32_t crc) const {
  if (without_checksums_ || crc == entry.crc) return;
  throw ChecksumError(source_->name(), entry.data,
                      concat("the checksum of ", folder_, "/", entry.name, " does not match: its ",
                             entry.size, " bytes are damaged"));
}

std::vector<std::byte> Zip::read(const ZipEntry& entry, std::uint64_t limit) const {
  if (entry.size > limit) {
    fail(entry.header,
         concat(folder_, "/", entry.name, " has ", entry.size, " bytes, more than ", limit));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(entry.stored));
  read_at(entry.data, bytes);
  if (entry.deflated) {
    std::vector<std::byte> inflated(static_cast<std::size_t>(entry.size));
    if (!inflate(bytes, inflated))
      fail(entry.data, concat(folder_, "/", entry.name, " cannot be inflated"));
    bytes = std::move(inflated);
  }
  check(entry, crc32(bytes));
  return bytes;
}

}  // namespace tenon
