// SHA-256 (FIPS 180-4), for comparing with hashes that PyTorch's side wrote down.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tenon {

inline std::string sha256(std::span<const std::byte> data) {
  __extension__ using Wide = unsigned __int128;
  static constexpr std::array<std::uint32_t, 64> kRound = [] {
    // The fractional parts of the cube roots of the first 64 primes.
    std::array<std::uint32_t, 64> k{};
    std::size_t found = 0;
    for (std::uint64_t candidate = 2; found < k.size(); ++candidate) {
      bool prime = true;
      for (std::uint64_t d = 2; d * d <= candidate; ++d) prime = prime && candidate % d != 0;
      if (!prime) continue;
      // The largest r with r^3 <= candidate * 2^96, found bit by bit; 32 bits of it are fraction.
      Wide root = 0;
      for (int bit = 36; bit >= 0; --bit) {
        const Wide next = root | (static_cast<Wide>(1) << bit);
        if (next * next * next <= static_cast<Wide>(candidate) << 96) root = next;
      }
      k[found++] = static_cast<std::uint32_t>(root);
    }
    return k;
  }();
  std::array<std::uint32_t, 8> h{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::vector<std::uint8_t> padded;
  for (const std::byte b : data) padded.push_back(static_cast<std::uint8_t>(b));
  padded.push_back(0x80);
  while (padded.size() % 64 != 56) padded.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8)
    padded.push_back(static_cast<std::uint8_t>(std::uint64_t{data.size()} * 8 >> shift));

  for (std::size_t block = 0; block < padded.size(); block += 64) {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t b = 0; b < 4; ++b) w[i] = w[i] << 8 | padded[block + 4 * i + b];
    }
    for (std::size_t i = 16; i < 64; ++i) {
      const std::uint32_t a = w[i - 15], b = w[i - 2];
      w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
             (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
    }
    auto s = h;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::uint32_t t1 = s[7] +
                               (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                               ((s[4] & s[5]) ^ (~s[4] & s[6])) + kRound[i] + w[i];
      const std::uint32_t t2 = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                               ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
      s = {t1 + t2, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
    }
    for (std::size_t i = 0; i < 8; ++i) h[i] += s[i];
  }
  std::string out;
  for (const std::uint32_t word : h) {
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[word >> shift & 15];
  }
  return out;
}

}  // namespace tenon
