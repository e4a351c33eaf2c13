// Whether text is UTF-8: no stray or missing continuation, no longer form than needed, no half of a
// surrogate pair, nothing beyond U+10FFFF.
#pragma once

#include <string_view>

namespace tenon {

bool is_utf8(std::string_view text) noexcept;

}  // namespace tenon
