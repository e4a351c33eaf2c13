// Archives of torch.save made by hand: pickle programs in pieces, and the records beside them, for
// what no version of PyTorch writes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "deflated.h"
#include "io/zip/compression.h"
#include "support/program_archive.h"

namespace tenon::hand_made {

// The lowest bytes of a number, the lowest first.
inline std::string little(std::uint64_t number, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i)
    out.push_back(i < sizeof number ? static_cast<char>(number >> (8 * i)) : '\0');
  return out;
}

// ---- pieces of a program: each pushes one value

using program::global;
using program::text;
inline std::string number(std::int64_t value) {
  return "\x8a\x08" + little(static_cast<std::uint64_t>(value), 8);
}
inline std::string tuple(std::initializer_list<std::string> items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
inline std::string numbers(const std::vector<std::int64_t>& values) {
  std::string out = "(";
  for (const std::int64_t value : values) out += number(value);
  return out + "t";
}
inline std::string dict(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string out = "}(";
  for (const auto& [key, value] : entries) out += text(key) + value;
  return out + "u";
}
// "FloatStorage", or "UntypedStorage", with so many elements as the program says.
inline std::string storage(const std::string& name, const std::string& key, std::int64_t numel) {
  const bool untyped = name == "UntypedStorage";
  return tuple({text("storage"), global(untyped ? "torch.storage" : "torch", name), text(key),
                text("cpu"), number(numel)}) +
         "Q";
}
// What tensors are made by. A dtype ("uint16") makes it the newer call, which names it.
inline std::string tensor(const std::string& storage, std::int64_t offset,
                          const std::vector<std::int64_t>& sizes,
                          const std::vector<std::int64_t>& strides, const std::string& dtype = "") {
  const std::string hooks = global("collections", "OrderedDict") + ")R";
  const std::string call =
      global("torch._utils", dtype.empty() ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
  return call + "(" + storage + number(offset) + numbers(sizes) + numbers(strides) + "\x89" +
         hooks + (dtype.empty() ? "" : global("torch", dtype)) + "tR";
}

// ---- the archive

struct Archive {
  std::string value;                                          // pushes what is saved
  std::vector<std::pair<std::string, std::string>> storages;  // their keys and bytes
  std::string byte_order = "little";
  std::size_t alignment = 64;  // of storages, as PyTorch has it
  std::uint64_t inflated = 0;  // if not 0, storages are said to be so many bytes, deflated
  bool deflates = false;       // the program and storages are deflated

  std::string bytes() const {
    std::string out, directory;
    std::size_t count = 0;
    const auto add = [&](const std::string& name, const std::string& data, bool is_storage) {
      const std::string full = "archive/" + name;
      const bool packs = deflates && (is_storage || name == "data.pkl");
      const bool announced = is_storage && inflated != 0;
      const std::string stored = packs ? deflated(data) : data;
      const std::string facts =
          little(0, 2) + little(packs || announced ? 8 : 0, 2) + little(0, 4) +
          little(crc32(std::as_bytes(std::span(data))), 4) + little(stored.size(), 4) +
          little(announced ? inflated : data.size(), 4) + little(full.size(), 2);
      const std::size_t start = out.size(), behind = start + 30 + full.size() + 4;
      const std::size_t align = is_storage ? alignment : 1;
      const std::size_t padding = (align - behind % align) % align;
      directory += "PK\1\2" + little(0, 4) + facts + little(0, 12) + little(start, 4) + full;
      out += "PK\3\4" + little(0, 2) + facts + little(padding + 4, 2) + full + "FB" +
             little(padding, 2) + std::string(padding, 'Z') + stored;
      ++count;
    };
    add("data.pkl", "\x80\x02" + value + ".", false);
    add("byteorder", byte_order, false);
    for (const auto& [key, data] : storages) add("data/" + key, data, true);
    add("version", "3\n", false);
    const std::size_t start = out.size();
    return out + directory + "PK\5\6" + little(0, 4) + little(count, 2) + little(count, 2) +
           little(directory.size(), 4) + little(start, 4) + little(0, 2);
  }
};

}  // namespace tenon::hand_made
