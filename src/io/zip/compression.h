// Checksums and deflate, by libdeflate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon {

// CRC-32 as in zip archives, of bytes that follow those `before` was made of.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

// The checksum of bytes followed by others, from the checksums of both and how many the others are.
std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second,
                           std::uint64_t second_bytes) noexcept;

// Fills `to` with what `from` was made of. False if that is not exactly so many bytes.
bool inflate(std::span<const std::byte> from, std::span<std::byte> to);

}  // namespace tenon
