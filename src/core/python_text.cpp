#include "core/python_text.h"

#include <cstdint>

namespace tenon {

namespace {

// Reads one code point from the front. Returns its length in bytes, 0 if the text does not begin
// with well-formed UTF-8.
std::size_t decode(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) {
    code = first;
    return 1;
  }
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kSmallest[length] || code > 0x10ffff || surrogate ? 0 : length;
}

// Controls, separators other than the space, formatting marks, private use: what would not be seen,
// or would move other text about.
bool is_printable(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad) return false;
  if (code >= 0x2000 && code <= 0x200f) return false;
  if (code >= 0x2028 && code <= 0x202f) return false;
  if (code >= 0x205f && code <= 0x206f) return false;
  if (code == 0x3000 || code == 0xfeff || code == 0x061c || code == 0x1680 || code == 0x180e)
    return false;
  if (code >= 0xfff0 && code <= 0xfffb) return false;
  if ((code & 0xfffeu) == 0xfffeu) return false;
  return !(code >= 0xe000 && code <= 0xf8ff) && code < 0xe0000;
}

void escape(std::string& out, std::uint32_t code) {
  constexpr char kDigits[] = "0123456789abcdef";
  const int digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
  out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += kDigits[(code >> shift) & 0xfu];
}

}  // namespace

std::string python_quoted(std::string_view text) {
  const bool has_single = text.find('\'') != std::string_view::npos;
  const char quote = has_single && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  while (!text.empty()) {
    std::uint32_t code = 0;
    const std::size_t length = decode(text, code);
    if (length == 0) {
      escape(out, static_cast<std::uint8_t>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    if (code == '\n') {
      out += "\\n";
    } else if (code == '\r') {
      out += "\\r";
    } else if (code == '\t') {
      out += "\\t";
    } else if (code == '\\' || code == static_cast<std::uint32_t>(quote)) {
      out += '\\';
      out += static_cast<char>(code);
    } else if (is_printable(code)) {
      out += text.substr(0, length);
    } else {
      escape(out, code);
    }
    text.remove_prefix(length);
  }
  return out += quote;
}

}  // namespace tenon
