#include "io/support/utf8.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tenon {

bool is_utf8(std::string_view text) noexcept {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  const std::size_t n = text.size();
  for (std::size_t i = 0; i < n;) {
    std::uint64_t eight = 0;
    if (n - i >= 8 && (std::memcpy(&eight, bytes + i, 8), (eight & 0x8080808080808080u) == 0)) {
      i += 8;
      continue;
    }
    const unsigned char first = bytes[i];
    if (first < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || n - i < length) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((bytes[i + k] & 0xc0) != 0x80) return false;
    }
    const unsigned char second = bytes[i + 1];
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
      return false;
    }
    i += length;
  }
  return true;
}

}  // namespace tenon
