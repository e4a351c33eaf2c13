// Whether a file begins as a tar archive.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon {

// Note [Tar archives]
// torch.load asks Python's tarfile first about everything that is no zip archive, as PyTorch before
// 0.1.10 saved such. What that takes for one is never read here as something else: the two would
// see other tensors. All that tarfile looks for is a checksum: the field at 148, read as leniently
// as Python reads octal numbers, is the sum of the first 512 bytes with spaces in its place.
inline constexpr std::size_t kTarBlock = 512;

namespace tar {

inline constexpr std::size_t kField = 148, kFieldSize = 8;

// As int(text, 8): spaces around it, a sign, 0o, and single underscores between digits.
inline std::optional<std::int64_t> octal(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\v\f\r\x1c\x1d\x1e\x1f";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == text.npos) return 0;
  text = text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.starts_with("0o") || text.starts_with("0O")) {
    text.remove_prefix(2);
    if (text.starts_with('_')) text.remove_prefix(1);
  }
  std::int64_t value = 0;
  bool digit_before = false;
  for (const char c : text) {
    if (c == '_' && digit_before) {
      digit_before = false;
      continue;
    }
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + (c - '0');
    digit_before = true;
  }
  if (!digit_before) return std::nullopt;
  return negative ? -value : value;
}

// A number as headers have it: octal, up to a NUL, or base 256 behind a byte that says so.
inline std::optional<std::int64_t> number(std::string_view field) {
  const auto first = static_cast<unsigned char>(field[0]);
  if (first != 0x80 && first != 0xff) return octal(field.substr(0, field.find('\0')));
  std::int64_t value = 0;  // of seven bytes
  for (const char c : field.substr(1)) value = value * 256 + static_cast<unsigned char>(c);
  return first == 0xff ? value - (std::int64_t{1} << 56) : value;
}

}  // namespace tar

// Of the first bytes of a file.
inline bool begins_as_tar(std::string_view head) {
  if (head.size() < kTarBlock) return false;
  const auto expected = tar::number(head.substr(tar::kField, tar::kFieldSize));
  if (!expected) return false;
  std::int64_t as_unsigned = 0, as_signed = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const char c = i - tar::kField < tar::kFieldSize ? ' ' : head[i];
    as_unsigned += static_cast<unsigned char>(c);
    as_signed += static_cast<signed char>(c);
  }
  return *expected == as_unsigned || *expected == as_signed;
}

}  // namespace tenon
