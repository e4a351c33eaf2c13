#include "io/zip/zip.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "io/zip/compression.h"
#include "tenon/error.h"

namespace tenon {

namespace {

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

const ZipEntry* Zip::find(std::string_view name) const {
  if (const auto number = number_of(name); number && *number < numbered_.size()) {
    const std::uint32_t at = numbered_[static_cast<std::size_t>(*number)];
    return at == kNobody ? nullptr : &entries_[at];
  }
  const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), name,
                                      [&](std::uint32_t i, std::string_view wanted) {
                                        return compare_folded(entries_[i].name, wanted) < 0;
                                      });
  if (found == sorted_.end() || compare_folded(entries_[*found].name, name) != 0) return nullptr;
  // PyTorch finds names whatever their case is, and would see what we do not.
  if (entries_[*found].name != name) {
    fail(entries_[*found].header, concat("an entry ", folder_, "/", entries_[*found].name,
                                         ", whose name is not written as ", name));
  }
  return &entries_[*found];
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
