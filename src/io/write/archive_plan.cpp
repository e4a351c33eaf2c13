#include "io/write/archive_plan.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "base/visible.h"
#include "io/pickle/pickle.h"
#include "io/zip/compression.h"
#include "io/zip/zip_format.h"
#include "tenon/error.h"

namespace tenon {

using namespace zip_format;

namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kIdLength = 40;
constexpr std::string_view kId = ".data/serialization_id";
constexpr std::size_t kLongestName = 255;   // of a folder, on most systems
constexpr std::uint16_t kPadding = 0x4246;  // "FB", PyTorch's own

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// What both headers of an entry are made of.
struct Entry {
  std::string name;
  std::uint64_t header, size;

  bool is_large() const noexcept { return size >= kSaturated32; }
  bool is_far() const noexcept { return header >= kSaturated32; }
  std::uint16_t flags() const noexcept {
    return static_cast<std::uint16_t>(kUtf8 | (size != 0 ? kHasDescriptor : 0));
  }
  std::uint32_t descriptor_size() const noexcept {
    return size == 0 ? 0 : is_large() || is_far() ? 24 : 16;
  }
  // The sizes and the place that do not fit 32 bits. While the data has not been written, PyTorch
  // says 0 for what it will be stored in.
  std::string wide(bool written) const {
    std::string fields;
    if (is_large()) {
      put(fields, size);
      put(fields, written ? size : std::uint64_t{0});
    }
    if (is_far()) put(fields, header);
    if (fields.empty()) return {};
    std::string out;
    put(out, kZip64);
    put(out, static_cast<std::uint16_t>(fields.size()));
    return out + fields;
  }
};

std::string local_header(const Entry& entry) {
  std::string extra = entry.wide(false);
  const std::uint64_t start = entry.header + kLocalSize + entry.name.size() + extra.size() + 4;
  const std::uint64_t padding = (kAlignment - start % kAlignment) % kAlignment;
  put(extra, kPadding);
  put(extra, static_cast<std::uint16_t>(padding));
  extra.append(static_cast<std::size_t>(padding), 'Z');
  std::string out;
  put(out, kLocal);
  put(out, std::uint16_t{0});  // version
  put(out, entry.flags());
  put(out, std::uint16_t{0});  // not compressed
  put(out, std::uint32_t{0});  // time and date
  put(out, std::uint32_t{0});  // checksum and sizes are in the descriptor
  put(out, std::uint32_t{0});
  put(out, std::uint32_t{0});
  put(out, static_cast<std::uint16_t>(entry.name.size()));
  put(out, static_cast<std::uint16_t>(extra.size()));
  return out + entry.name + extra;
}

std::string descriptor(const Entry& entry, std::uint32_t crc) {
  std::string out;
  if (entry.size == 0) return out;
  put(out, kDescriptor);
  put(out, crc);
  for (int i = 0; i < 2; ++i) {
    if (entry.descriptor_size() == 24)
      put(out, entry.size);
    else
      put(out, static_cast<std::uint32_t>(entry.size));
  }
  return out;
}

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, kSaturated32));
}

std::uint64_t directory_size(const Entry& entry) {
  return kCentralSize + entry.name.size() + entry.wide(true).size();
}

std::string directory_entry(const Entry& entry, std::uint32_t crc) {
  const std::string extra = entry.wide(true);
  std::string out;
  put(out, kCentral);
  put(out, std::uint32_t{0});  // versions
  put(out, entry.flags());
  put(out, std::uint16_t{0});
  put(out, std::uint32_t{0});
  put(out, crc);
  put(out, narrow(entry.size));
  put(out, narrow(entry.size));
  put(out, static_cast<std::uint16_t>(entry.name.size()));
  put(out, static_cast<std::uint16_t>(extra.size()));
  put(out, std::uint16_t{0});  // comment
  put(out, std::uint16_t{0});  // disk
  put(out, std::uint16_t{0});  // attributes
  put(out, std::uint32_t{0});
  put(out, narrow(entry.header));
  return out + entry.name + extra;
}

std::string end_records(std::uint64_t count, std::uint64_t start, std::uint64_t length) {
  std::string out;
  put(out, kEnd64);
  put(out, kEnd64Size - 12);
  put(out, std::uint16_t{0x031e});  // made by version 3.0 on Unix
  put(out, std::uint16_t{45});      // needs zip64
  put(out, std::uint64_t{0});       // disks
  put(out, count);
  put(out, count);
  put(out, length);
  put(out, start);
  put(out, kLocator64);
  put(out, std::uint32_t{0});
  put(out, start + length);
  put(out, std::uint32_t{1});
  out += kEndText;
  put(out, std::uint32_t{0});
  const auto clamped = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, kSaturated16));
  put(out, clamped);
  put(out, clamped);
  put(out, narrow(length));
  put(out, narrow(start));
  put(out, std::uint16_t{0});  // comment
  return out;
}

// Forty digits that are the same for the same names and checksums, and hardly for others.
std::string serialization_id(const std::vector<Entry>& entries,
                             std::span<const std::uint32_t> crcs) {
  const auto mix = [](std::uint64_t seed, std::uint64_t value) {
    seed ^= value + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2);
    return seed * 0xbf58476d1ce4e5b9;
  };
  std::uint64_t names = 0, contents = 0;
  for (std::size_t i = 0; i < crcs.size(); ++i) {
    names = mix(names, crc32(std::as_bytes(std::span(entries[i].name))));
    contents = mix(contents, crcs[i]);
  }
  char digits[kIdLength + 1];
  std::snprintf(digits, sizeof digits, "%020llu%020llu", static_cast<unsigned long long>(names),
                static_cast<unsigned long long>(contents));
  return digits;
}

}  // namespace

std::string archive_name(const std::string& path) {
  constexpr char kAnother[] = "archive";
  for (const char c : path) {
    if (static_cast<unsigned char>(c) >= 0x80) return kAnother;
  }
  std::string name = path.substr(path.find_last_of("/\\") + 1);
  const std::size_t dot = name.rfind('.');
  if (dot != name.npos) name.resize(dot);
  if (name.empty())
    throw ValueError(
        concat("save: invalid file name: ", visible(path, kLongestName),
               ": the folder in the archive is named after what is before its last dot, "
               "and that is nothing"));
  // Whoever unpacks the archive makes a folder of this name, on any system: it must not lead out of
  // where it is, and we must be able to read it back.
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != ':'; };
  const bool only_dots = name.find_first_not_of('.') == name.npos;
  if (only_dots || name.size() > kLongestName || !std::all_of(name.begin(), name.end(), is_plain))
    return kAnother;
  return name;
}

FilePlan plan_archive(const std::string& archive, Pickled pickled, ReadMeter& meter) {
  constexpr std::uint64_t kBeside = 6;  // the entries that are no storages
  if (pickled.program.size() > kLargestPickle) {
    throw ValueError(concat("save: values beside the tensors' data that take ",
                            pickled.program.size(), " bytes are more than would be read again, ",
                            kLargestPickle, ": put large numbers of values into tensors"));
  }
  if (pickled.storages.size() + kBeside > zip_format::kMostEntries) {
    throw ValueError(concat("save: ", pickled.storages.size(),
                            " storages are more than would be read again, a million with what is "
                            "beside them: write several files with .shard_size"));
  }
  // Headers before the data and, when they are written, in the directory, each with its name.
  constexpr std::uint64_t kHeaders = kLocalSize + kCentralSize + 2 * kAlignment;
  meter.memory((pickled.storages.size() + kBeside) *
               (sizeof(PlannedRecord) + sizeof(Entry) + kHeaders + 3 * archive.size()));
  FilePlan plan;
  auto entries = std::make_shared<std::vector<Entry>>();
  plan.records.reserve(pickled.storages.size() + kBeside);
  entries->reserve(pickled.storages.size() + kBeside);
  std::uint64_t at = 0;
  const auto add = [&](std::string_view name, std::shared_ptr<Payload> payload, bool counts) {
    Entry entry{concat(archive, "/", name), at, payload->size()};
    PlannedRecord record{at, local_header(entry), std::move(payload), entry.descriptor_size(),
                         counts};
    at += record.lead.size() + entry.size + record.behind;
    entries->push_back(std::move(entry));
    plan.records.push_back(std::move(record));
  };
  add("data.pkl", payload_of(std::move(pickled.program)), false);
  add(".format_version", payload_of("1"), false);
  add(".storage_alignment", payload_of(std::to_string(kAlignment)), false);
  add("byteorder", payload_of("little"), false);
  for (std::size_t i = 0; i < pickled.storages.size(); ++i)
    add(concat("data/", i), std::move(pickled.storages[i]), true);
  add("version", payload_of("3\n"), false);

  // The id is made of the checksums, so it is known last, with the directory.
  const Entry last{concat(archive, "/", kId), at, kIdLength};
  const std::string last_header = local_header(last);
  const std::uint64_t start = at + last_header.size() + kIdLength + last.descriptor_size();
  std::uint64_t length = directory_size(last);
  for (const Entry& entry : *entries) length += directory_size(entry);
  plan.size = start + length + kEnd64Size + kLocatorSize + kEndSize;
  plan.behind = [entries](std::size_t record, std::uint32_t crc) {
    return descriptor((*entries)[record], crc);
  };
  plan.tail = [entries, last, last_header, start](std::span<const std::uint32_t> crcs) {
    const std::string id = serialization_id(*entries, crcs);
    const std::uint32_t crc = crc32(std::as_bytes(std::span(id)));
    std::string out = last_header + id + descriptor(last, crc);
    const std::size_t before = out.size();
    for (std::size_t i = 0; i < entries->size(); ++i)
      out += directory_entry((*entries)[i], crcs[i]);
    out += directory_entry(last, crc);
    return out + end_records(entries->size() + 1, start, out.size() - before);
  };
  return plan;
}

}  // namespace tenon
