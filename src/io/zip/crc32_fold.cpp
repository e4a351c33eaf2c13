// Note [Folding a checksum]
// A message is a polynomial, and its checksum the remainder modulo P. Of two parts of a message
// that are D bits apart, the first may be replaced by anything congruent to it times x^D, added to
// the second. For a part of 128 bits that is two carry-less products: of its halves with x^(D+32)
// and x^(D-32) modulo P (bits are in reverse order in this checksum, which moves them by 32 and by
// one). Four registers of 512 bits keep the multipliers busy; D is 2048 then.
#include "io/zip/crc32_fold.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace tenon {

#if defined(__x86_64__)

namespace {

// x^n modulo P, its bits reversed, and moved by one.
constexpr std::uint64_t folding_constant(unsigned n) {
  constexpr std::uint32_t kModulus = 0x04c11db7;
  std::uint32_t power = 1;
  for (unsigned i = 0; i < n; ++i) power = power << 1 ^ (power >> 31 != 0 ? kModulus : 0);
  std::uint64_t reversed = 0;
  for (unsigned bit = 0; bit < 32; ++bit) reversed |= std::uint64_t{power >> bit & 1} << (32 - bit);
  return reversed;
}

constexpr unsigned kWide = 2048, kNarrow = 1024;  // bits in the registers that are folded at once

__attribute__((target("avx512f,avx512vl,avx512bw,vpclmulqdq,pclmul"))) Folded
fold_512(std::span<const std::byte> message, std::uint32_t register_before) noexcept {
  const auto low = static_cast<long long>(folding_constant(kWide + 32));
  const auto high = static_cast<long long>(folding_constant(kWide - 32));
  const __m512i factors = _mm512_set_epi64(high, low, high, low, high, low, high, low);
  const std::byte* at = message.data();
  __m512i parts[4];
  for (std::size_t i = 0; i < 4; ++i) parts[i] = _mm512_loadu_si512(at + i * 64);
  parts[0] = _mm512_xor_si512(
      parts[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(register_before))));
  std::size_t consumed = 256;
  for (; consumed + 256 <= message.size(); consumed += 256) {
    for (std::size_t i = 0; i < 4; ++i) {
      const __m512i first = _mm512_clmulepi64_epi128(parts[i], factors, 0x00);
      const __m512i second = _mm512_clmulepi64_epi128(parts[i], factors, 0x11);
      const __m512i next = _mm512_loadu_si512(at + consumed + i * 64);
      parts[i] = _mm512_ternarylogic_epi64(first, second, next, 0x96);  // all three added
    }
  }
  Folded out;
  std::memcpy(out.bytes, parts, sizeof parts);
  out.used = sizeof parts;
  out.consumed = consumed;
  return out;
}

__attribute__((target("avx2"))) __m256i load(const std::byte* from) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

__attribute__((target("avx2,vpclmulqdq,pclmul"))) Folded
fold_256(std::span<const std::byte> message, std::uint32_t register_before) noexcept {
  const auto low = static_cast<long long>(folding_constant(kNarrow + 32));
  const auto high = static_cast<long long>(folding_constant(kNarrow - 32));
  const __m256i factors = _mm256_set_epi64x(high, low, high, low);
  const std::byte* at = message.data();
  __m256i parts[4];
  for (std::size_t i = 0; i < 4; ++i) parts[i] = load(at + i * 32);
  parts[0] = _mm256_xor_si256(
      parts[0], _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(register_before))));
  std::size_t consumed = 128;
  for (; consumed + 128 <= message.size(); consumed += 128) {
    for (std::size_t i = 0; i < 4; ++i) {
      const __m256i first = _mm256_clmulepi64_epi128(parts[i], factors, 0x00);
      const __m256i second = _mm256_clmulepi64_epi128(parts[i], factors, 0x11);
      const __m256i next = load(at + consumed + i * 32);
      parts[i] = _mm256_xor_si256(_mm256_xor_si256(first, second), next);
    }
  }
  Folded out;
  std::memcpy(out.bytes, parts, sizeof parts);
  out.used = sizeof parts;
  out.consumed = consumed;
  return out;
}

}  // namespace

std::vector<Crc32Fold> crc32_folds() {
  std::vector<Crc32Fold> out;
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool multiplies = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & bit_VPCLMULQDQ) != 0;
  if (!multiplies || !__builtin_cpu_supports("pclmul")) return out;
  // These also ask whether the system saves the registers.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    out.push_back(fold_512);
  if (__builtin_cpu_supports("avx2")) out.push_back(fold_256);
  return out;
}

#else

std::vector<Crc32Fold> crc32_folds() { return {}; }

#endif

Folded fold_crc32(std::span<const std::byte> message, std::uint32_t register_before) {
  static const Crc32Fold chosen = [] {
    const auto all = crc32_folds();
    return all.empty() ? nullptr : all.front();
  }();
  if (chosen == nullptr || message.size() < kShortestToFold) return {};
  return chosen(message, register_before);
}

}  // namespace tenon
