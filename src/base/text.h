// Building messages: concat("expected ", 3, " but got ", shape). No streams, so no locale and no
// cost worth naming.
#pragma once

#include <charconv>
#include <concepts>
#include <span>
#include <string>
#include <string_view>

#include "tenon/detail/api.h"

namespace tenon {

inline void append(std::string& out, std::string_view text) { out += text; }
inline void append(std::string& out, const char* text) { out += text; }
inline void append(std::string& out, const std::string& text) { out += text; }
inline void append(std::string& out, char c) { out += c; }
inline void append(std::string& out, bool value) { out += value ? "True" : "False"; }

template <std::integral I>
  requires(!std::same_as<I, bool> && !std::same_as<I, char>)
void append(std::string& out, I value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

// The shortest text that reads back as the same number, as Python prints it: 0.5, 1e-05, inf, 3.0.
TENON_API void append(std::string& out, double value);

// Any type with a repr() prints as that.
template <class T>
  requires requires(const T& value) {
    { value.repr() } -> std::convertible_to<std::string_view>;
  }
void append(std::string& out, const T& value) {
  out += value.repr();
}

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (append(out, parts), ...);
  return out;
}

// "[2, 3]": how PyTorch shows sizes and strides inside a message.
TENON_API std::string bracketed(std::span<const std::int64_t> values);

}  // namespace tenon
