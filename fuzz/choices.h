// Choices made by the fuzzer's bytes. When they are used up, every choice is the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenon {

class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool empty() const noexcept { return size_ == 0; }
  std::uint8_t byte() noexcept {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  std::size_t below(std::size_t n) noexcept { return byte() % n; }
  bool one_in(std::size_t n) noexcept { return !empty() && below(n) == 0; }
  template <class T, std::size_t N>
  const T& of(const T (&table)[N]) noexcept {
    return table[below(N)];
  }
  // Mostly small, sometimes anything.
  std::int64_t number() noexcept {
    const std::uint8_t kind = byte();
    if (kind < 240) return static_cast<std::int64_t>(kind % 13) - 2;
    std::uint64_t any = 0;
    for (int i = 0; i < 8; ++i) any = any << 8 | byte();
    return static_cast<std::int64_t>(any);
  }
  // Up to n bytes of anything.
  std::string bytes(std::size_t n) {
    std::string out;
    for (std::size_t left = below(n + 1); left > 0 && !empty(); --left)
      out.push_back(static_cast<char>(byte()));
    return out;
  }
  std::string letters(std::size_t n) {
    std::string out = bytes(n);
    for (char& c : out) c = static_cast<char>(c & 0x7f);
    return out;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace tenon
