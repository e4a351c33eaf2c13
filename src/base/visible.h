// Text from files, made safe for people to read: in messages, in logs, on terminals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "tenon/detail/api.h"

namespace tenon {

// One character of UTF-8.
struct Character {
  std::uint32_t code;
  std::size_t length;  // in bytes
  bool whole;          // otherwise it is one byte that belongs to no character, and `code` is it
};

// The first character of a text that is not empty.
TENON_API Character first_character(std::string_view text) noexcept;

// Whether a reader could not see the character for what it is: control characters, which a terminal
// acts on; marks that turn the direction of text around; characters without any looks; private use
// and what will never be a character.
TENON_API bool is_hidden(std::uint32_t code) noexcept;

// The text on one line: hidden characters as \u{...}, bytes that are no UTF-8 as \x.. , and if that
// is more than `most` bytes, the beginning and "...". Text that went through it stays what it is.
TENON_API std::string visible(std::string_view text, std::size_t most = ~std::size_t{0});

// The same, but for new lines and tabs, which stay.
TENON_API std::string visible_lines(std::string_view text);

}  // namespace tenon
