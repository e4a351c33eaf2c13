#include "io/zip/compression.h"

#include <libdeflate.h>

#include <memory>
#include <new>

#include "io/zip/crc32_fold.h"

namespace tenon {

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  const Folded folded = fold_crc32(bytes, ~before);
  // A register of 0 is a checksum of all ones.
  if (folded.consumed != 0) before = libdeflate_crc32(0xffffffff, folded.bytes, folded.used);
  const auto rest = bytes.subspan(folded.consumed);
  return libdeflate_crc32(before, rest.data(), rest.size());
}

namespace {

// Polynomials over two elements modulo that of CRC-32, the highest power in the lowest bit.
constexpr std::uint32_t kOne = 1u << 31;

std::uint32_t product(std::uint32_t a, std::uint32_t b) noexcept {
  constexpr std::uint32_t kModulus = 0xedb88320;
  std::uint32_t sum = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) sum ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kModulus : 0);
  }
  return sum;
}

// x to the power of 8 n: what n bytes behind them do to the checksum of others.
std::uint32_t shift_by_bytes(std::uint64_t n) noexcept {
  std::uint32_t power = kOne >> 8, result = kOne;  // x^8, and 1
  for (; n != 0; n >>= 1) {
    if ((n & 1) != 0) result = product(result, power);
    power = product(power, power);
  }
  return result;
}

}  // namespace

std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second,
                           std::uint64_t second_bytes) noexcept {
  return product(shift_by_bytes(second_bytes), first) ^ second;
}

bool inflate(std::span<const std::byte> from, std::span<std::byte> to) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> machine(
      libdeflate_alloc_decompressor(), &libdeflate_free_decompressor);
  if (!machine) throw std::bad_alloc();
  std::size_t read = 0, written = 0;
  return libdeflate_deflate_decompress_ex(machine.get(), from.data(), from.size(), to.data(),
                                          to.size(), &read, &written) == LIBDEFLATE_SUCCESS &&
         read == from.size() && written == to.size();
}

}  // namespace tenon
