// Text as Python's repr() writes it.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

// In quotes, single ones unless the text has those and no double ones, with everything that is not
// printable escaped. Bytes that are not UTF-8 are written as \xNN.
std::string python_quoted(std::string_view text);

}  // namespace tenon
