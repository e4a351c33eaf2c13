#include "archive.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace tenon {

namespace {

std::uint32_t checksum(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> out{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xedb88320u : 0);
      out[i] = value;
    }
    return out;
  }();
  std::uint32_t sum = 0xffffffff;
  for (const char c : bytes) sum = sum >> 8 ^ table[(sum ^ static_cast<std::uint8_t>(c)) & 0xff];
  return ~sum;
}

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::string in_blocks(std::string_view content) {
  std::string out;
  do {
    const std::size_t n = std::min<std::size_t>(content.size(), 0xffff);
    put(out, n == content.size() ? 1 : 0, 1);
    put(out, n, 2);
    put(out, ~n, 2);
    out += content.substr(0, n);
    content.remove_prefix(n);
  } while (!content.empty());
  return out;
}

}  // namespace

std::string archive_of(const std::vector<ArchiveEntry>& entries) {
  std::string out, directory;
  for (const ArchiveEntry& entry : entries) {
    const std::string stored = entry.deflated ? in_blocks(entry.content) : entry.content;
    std::string common;
    put(common, 20, 2);
    put(common, 0, 2);
    put(common, entry.deflated ? 8 : 0, 2);
    put(common, 0x00210000, 4);  // the first day there is
    put(common, checksum(entry.content), 4);
    put(common, stored.size(), 4);
    put(common, entry.content.size(), 4);
    put(common, entry.name.size(), 2);
    put(common, 0, 2);
    directory += "PK\1\2";
    put(directory, 20, 2);
    directory += common;
    directory.append(10, '\0');  // comment, disk, attributes
    put(directory, out.size(), 4);
    directory += entry.name;
    out += "PK\3\4" + common + entry.name + stored;
  }
  const std::size_t start = out.size();
  out += directory + "PK\5\6";
  put(out, 0, 4);
  put(out, entries.size(), 2);
  put(out, entries.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

}  // namespace tenon
