#include "core/secret_hash.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

namespace tenon {

namespace {

const std::array<std::uint64_t, 2>& own_numbers() {
  static const std::array<std::uint64_t, 2> own = [] {
    std::random_device device;
    const auto word = [&] { return (std::uint64_t{device()} << 32 | device()) | 1; };
    return std::array<std::uint64_t, 2>{word(), word()};
  }();
  return own;
}

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::size_t hash_text(std::string_view text) {
  const auto& own = own_numbers();
  std::uint64_t hash = own[0] ^ text.size();
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t n = std::min(text.size(), sizeof word);
    std::memcpy(&word, text.data(), n);
    hash = fold(hash ^ word, own[1]) + own[0];
    text.remove_prefix(n);
  }
  return fold(hash, own[1]);
}

std::size_t hash_number(std::uint64_t number, std::size_t before) {
  const auto& own = own_numbers();
  return fold(fold(number ^ own[0], own[1]) ^ before, own[1]);
}

}  // namespace tenon
