// The entries of a zip archive that stores them as they are, read by way of its directory. As small
// as it can be, and nothing of src/io: it looks at what we write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tenon {

// By their names. std::runtime_error if it is no such archive.
inline std::map<std::string, std::string_view> stored_entries(std::string_view archive) {
  const auto number = [&](std::size_t at, std::size_t bytes) {
    if (at + bytes > archive.size()) throw std::runtime_error("an archive that ends too early");
    std::uint64_t value = 0;
    for (std::size_t i = bytes; i-- > 0;)
      value = value << 8 | static_cast<std::uint8_t>(archive[at + i]);
    return static_cast<std::size_t>(value);
  };
  const std::size_t end = archive.rfind("PK\5\6");
  if (end == archive.npos) throw std::runtime_error("no archive");
  std::map<std::string, std::string_view> entries;
  std::size_t at = number(end + 16, 4);
  for (std::size_t left = number(end + 10, 2); left > 0; --left) {
    if (number(at, 4) != 0x02014b50) throw std::runtime_error("a directory that is none");
    if (number(at + 10, 2) != 0) throw std::runtime_error("an entry that is deflated");
    const std::size_t size = number(at + 24, 4), name = number(at + 28, 2);
    const std::size_t header = number(at + 42, 4);
    const std::size_t data = header + 30 + number(header + 26, 2) + number(header + 28, 2);
    if (data + size > archive.size() || at + 46 + name > archive.size())
      throw std::runtime_error("an entry outside the archive");
    entries.emplace(archive.substr(at + 46, name), archive.substr(data, size));
    at += 46 + name + number(at + 30, 2) + number(at + 32, 2);
  }
  return entries;
}

}  // namespace tenon
