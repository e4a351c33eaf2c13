// Text from files, made safe for terminals and for JSON.
#pragma once

#include <string>
#include <string_view>

namespace tenon::cli {

// On one line: characters that cannot be seen for what they are as \u{...}, bytes that are no UTF-8
// as \x.. (base/visible.h).
std::string escaped(std::string_view text);

// The same for the inside of a JSON string. What is no UTF-8 becomes U+FFFD.
void append_json(std::string& out, std::string_view text);

// "1.5 GB"
std::string human_bytes(unsigned long long bytes);

}  // namespace tenon::cli
