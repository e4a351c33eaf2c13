#include "core/python_text.h"

#include <cstdint>

#include "base/visible.h"

namespace tenon {

namespace {

// As Python sees it: what cannot be seen for what it is, and separators other than the space, is
// not. Some letters and marks have no looks, and are printable all the same.
bool is_printable(std::uint32_t code) {
  if (code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x202f ||
      code == 0x205f || code == 0x3000)
    return false;
  if (code == 0x34f || code == 0x115f || code == 0x1160 || code == 0x17b4 || code == 0x17b5 ||
      (code >= 0x180b && code <= 0x180f && code != 0x180e) || code == 0x3164 ||
      (code >= 0xfe00 && code <= 0xfe0f) || code == 0xffa0)
    return true;
  return !is_hidden(code);
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
    const auto [code, length, whole] = first_character(text);
    if (!whole) {
      escape(out, code);
    } else if (code == '\n') {
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
