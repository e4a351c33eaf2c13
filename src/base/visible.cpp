#include "base/visible.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace tenon {

namespace {

struct Range {
  std::uint32_t first, last;
};

// Unicode's categories Cc, Cf, Zl, Zp and Co, and its property Default_Ignorable_Code_Point, in
// ascending order. The last two of every 65,536 code points are no characters, and are not listed.
constexpr Range kHidden[] = {
    {0x0, 0x1f},         {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},
    {0x600, 0x605},      {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},
    {0x890, 0x891},      {0x8e2, 0x8e2},     {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180b, 0x180f},    {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},
    {0x3164, 0x3164},    {0xe000, 0xf8ff},   {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},    {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd},  {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0x10ffff},
};

void append_hex(std::string& out, std::uint32_t value, std::size_t least) {
  std::array<char, 8> digits{};
  std::size_t n = 0;
  for (; value != 0 || n < least; value >>= 4) digits[n++] = "0123456789abcdef"[value & 15];
  while (n > 0) out += digits[--n];
}

}  // namespace

Character first_character(std::string_view text) noexcept {
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

bool is_hidden(std::uint32_t code) noexcept {
  if (code >= 0x20 && code < 0x7f) return false;  // most of all text
  if ((code & 0xfffeu) == 0xfffeu) return true;
  const Range* const found = std::lower_bound(
      std::begin(kHidden), std::end(kHidden), code,
      [](const Range& range, std::uint32_t wanted) { return range.last < wanted; });
  return found != std::end(kHidden) && found->first <= code;
}

std::string visible_lines(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += visible(text.substr(0, end));
    if (end == text.size()) return out;
    out += text[end];
    text.remove_prefix(end + 1);
  }
}

std::string visible(std::string_view text, std::size_t most) {
  std::string out;
  out.reserve(std::min(text.size(), most));
  while (!text.empty()) {
    const Character c = first_character(text);
    const std::size_t before = out.size();
    if (!c.whole) {
      out += "\\x";
      append_hex(out, c.code, 2);
    } else if (is_hidden(c.code)) {
      out += "\\u{";
      append_hex(out, c.code, 1);
      out += '}';
    } else {
      out += text.substr(0, c.length);
    }
    if (out.size() > most) {
      out.resize(before);
      return out += "...";
    }
    text.remove_prefix(c.length);
  }
  return out;
}

}  // namespace tenon
