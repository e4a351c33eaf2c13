// Names from files in messages.
#pragma once

#include <string>
#include <string_view>

#include "core/python_text.h"

namespace tenon {

// Quoted as in Python, and not all of a long one.
inline std::string shown(std::string_view name) { return python_quoted(name.substr(0, 200)); }

}  // namespace tenon
