// The zip format: the signatures, sizes and flags of its records, for reading and for writing.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::zip_format {

inline constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd64 = 0x06064b50,
                               kLocator64 = 0x07064b50, kDescriptor = 0x08074b50;
inline constexpr std::string_view kEndText = "PK\x05\x06";
inline constexpr std::uint64_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56,
                               kLocatorSize = 20;
// Not the format's, but ours: more are not read, and so not written.
inline constexpr std::uint64_t kMostEntries = 1'000'000;
inline constexpr std::uint32_t kSaturated32 = 0xffffffff;
inline constexpr std::uint16_t kSaturated16 = 0xffff;

inline constexpr std::uint16_t kHasDescriptor = 1u << 3, kUtf8 = 1u << 11;
inline constexpr std::uint16_t kDeflateHints = 3u << 1;

inline constexpr std::uint16_t kNewestVersion = 63;

// Extra fields.
inline constexpr std::uint16_t kZip64 = 1, kUnicodePath = 0x7075;

}  // namespace tenon::zip_format
