// SHA-256, as FIPS 180-4 describes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tenon/detail/api.h"

namespace tenon {

class TENON_API Sha256 {
 public:
  void add(std::span<const std::byte> bytes) noexcept;
  // The hash of everything that was added, as hexadecimal. Once.
  std::string hex() noexcept;
  // The same without the processor's own instructions, for tests.
  static std::string hex_by_plain_code(std::span<const std::byte> bytes);

 private:
  void blocks(const std::byte* at, std::size_t count) noexcept;

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> held_{};
  std::uint64_t length_ = 0;
  bool plain_ = false;
};

}  // namespace tenon
