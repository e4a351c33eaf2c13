#include "io/support/sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tenon {

namespace {

constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using State = std::array<std::uint32_t, 8>;

void plain_block(State& state, const std::byte* at) noexcept {
  std::uint32_t words[64];
  for (std::size_t i = 0; i < 16; ++i) {
    std::uint32_t word;
    std::memcpy(&word, at + i * 4, 4);
    words[i] = __builtin_bswap32(word);
  }
  for (int i = 16; i < 64; ++i) {
    const std::uint32_t x = words[i - 15], y = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) + words[i - 7] +
               (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    const std::uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                              ((e & f) ^ (~e & g)) + kRound[i] + words[i];
    const std::uint32_t two =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + two;
  }
  const std::uint32_t sums[] = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += sums[i];
}

void plain_blocks(State& state, const std::byte* at, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) plain_block(state, at + i * 64);
}

#if defined(__x86_64__)
// With the processor's own instructions, which keep the state as a b e f and c d g h.
__attribute__((target("sha,sse4.1"))) void fast_blocks(State& state, const std::byte* at,
                                                       std::size_t count) noexcept {
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  const auto load = [](const void* from) __attribute__((target("sha,sse4.1"))) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  const __m128i cdab = _mm_shuffle_epi32(load(state.data()), 0xb1);
  const __m128i efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1b);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
  for (; count != 0; --count, at += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i words[4];
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i) {
      if (i < 4) {
        words[i] = _mm_shuffle_epi8(load(at + i * 16), big_endian);
      } else {
        const __m128i one = words[(i - 1) & 3], two = words[(i - 2) & 3];
        const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(words[i & 3], words[(i - 3) & 3]),
                                          _mm_alignr_epi8(one, two, 4));
        words[i & 3] = _mm_sha256msg2_epu32(sum, one);
      }
      const __m128i keyed = _mm_add_epi32(words[i & 3], load(kRound + i * 4));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, keyed);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(keyed, 0x0e));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

bool has_instructions() noexcept {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool wide = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_1) != 0;
  return wide && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & bit_SHA) != 0;
}
#endif

using Blocks = void (*)(State&, const std::byte*, std::size_t) noexcept;
Blocks best() noexcept {
#if defined(__x86_64__)
  if (has_instructions()) return fast_blocks;
#endif
  return plain_blocks;
}

}  // namespace

void Sha256::blocks(const std::byte* at, std::size_t count) noexcept {
  static const Blocks chosen = best();
  (plain_ ? plain_blocks : chosen)(state_, at, count);
}

std::string Sha256::hex_by_plain_code(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.plain_ = true;
  hash.add(bytes);
  return hash.hex();
}

void Sha256::add(std::span<const std::byte> bytes) noexcept {
  std::size_t used = length_ % 64;
  length_ += bytes.size();
  if (used != 0) {
    const std::size_t n = std::min(64 - used, bytes.size());
    std::memcpy(held_.data() + used, bytes.data(), n);
    bytes = bytes.subspan(n);
    if (used + n < 64) return;
    blocks(held_.data(), 1);
  }
  blocks(bytes.data(), bytes.size() / 64);
  bytes = bytes.subspan(bytes.size() / 64 * 64);
  if (!bytes.empty()) std::memcpy(held_.data(), bytes.data(), bytes.size());
}

std::string Sha256::hex() noexcept {
  const std::uint64_t bits = length_ * 8;
  std::byte end[72] = {std::byte{0x80}};
  const std::size_t padding = (length_ % 64 < 56 ? 56 : 120) - length_ % 64;
  const std::uint64_t big_endian = __builtin_bswap64(bits);
  std::memcpy(end + padding, &big_endian, 8);
  add({end, padding + 8});
  std::string out;
  for (const std::uint32_t word : state_) {
    for (int shift = 28; shift >= 0; shift -= 4)
      out.push_back("0123456789abcdef"[word >> shift & 15]);
  }
  return out;
}

}  // namespace tenon
