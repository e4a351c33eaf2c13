// Archives compared but for what differs in each.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace tenon {

// An archive without what is its own in every file: the digits of its id, and their checksum behind
// them and in the directory.
inline std::string without_id(std::string bytes) {
  const std::string name = "/.data/serialization_id";
  const auto number = [&](std::size_t at) {
    return static_cast<unsigned char>(bytes.at(at)) |
           static_cast<std::size_t>(static_cast<unsigned char>(bytes.at(at + 1))) << 8;
  };
  const std::size_t local = bytes.rfind("PK\3\4", bytes.find(name));
  const std::size_t data = local + 30 + number(local + 26) + number(local + 28);
  EXPECT_LT(data + 48, bytes.size());
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_TRUE(bytes.at(data + i) >= '0' && bytes.at(data + i) <= '9');
    bytes[data + i] = '0';
  }
  bytes.replace(data + 44, 4, 4, '\0');
  bytes.replace(bytes.rfind("PK\1\2") + 16, 4, 4, '\0');
  return bytes;
}

}  // namespace tenon
