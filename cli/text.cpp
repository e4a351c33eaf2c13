#include "text.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "base/visible.h"

namespace tenon::cli {

std::string escaped(std::string_view text) { return visible(text); }

namespace {

// As JSON has it: what is beyond the 65,536 characters of the first plane takes two.
void append_unit(std::string& out, std::uint32_t code) {
  if (code >= 0x10000) {
    append_unit(out, 0xd800 + ((code - 0x10000) >> 10));
    append_unit(out, 0xdc00 + ((code - 0x10000) & 0x3ff));
    return;
  }
  char buffer[16];
  std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(code));
  out += buffer;
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const Character c = first_character(text);
    if (!c.whole) {
      out += "\\ufffd";
    } else if (c.code == '"' || c.code == '\\') {
      out += '\\';
      out += text[0];
    } else if (is_hidden(c.code)) {
      append_unit(out, c.code);
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
