#include "text.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace tenon::cli {

namespace {

// Characters that a terminal would act on, or that turn the direction of text around.
bool is_dangerous(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

struct Character {
  std::uint32_t code;
  std::size_t length;
  bool whole;  // else it is one byte that belongs to none
};

Character first_of(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80    ? 1
                             : first >= 0xf5 ? 0
                             : first >= 0xf0 ? 4
                             : first >= 0xe0 ? 3
                             : first >= 0xc2 ? 2
                                             : 0;
  if (length == 0 || text.size() < length) return {first, 1, false};
  std::uint32_t code = length == 1 ? first : first & (0x7fu >> length);
  for (std::size_t k = 1; k < length; ++k) {
    const auto next = static_cast<unsigned char>(text[k]);
    if ((next & 0xc0) != 0x80) return {first, 1, false};
    code = code << 6 | (next & 0x3fu);
  }
  const bool short_form = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (short_form || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {first, 1, false};
  return {code, length, true};
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  char buffer[16];
  for (; !text.empty();) {
    const Character c = first_of(text);
    if (!c.whole) {
      std::snprintf(buffer, sizeof buffer, "\\x%02x", static_cast<unsigned>(c.code));
      out += buffer;
    } else if (is_dangerous(c.code)) {
      std::snprintf(buffer, sizeof buffer, "\\u{%x}", static_cast<unsigned>(c.code));
      out += buffer;
    } else {
      out += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
  return out;
}

void append_json(std::string& out, std::string_view text) {
  char buffer[16];
  for (; !text.empty();) {
    const Character c = first_of(text);
    if (!c.whole) {
      out += "\\ufffd";
    } else if (c.code == '"' || c.code == '\\') {
      out += '\\';
      out += text[0];
    } else if (is_dangerous(c.code)) {
      std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(c.code));
      out += buffer;
    } else {
      out += text.substr(0, c.length);
    }
    text.remove_prefix(c.length);
  }
}

std::string human_bytes(unsigned long long bytes) {
  constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 999.95 && unit + 1 < std::size(kUnits); value /= 1000) ++unit;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return buffer;
}

}  // namespace tenon::cli
