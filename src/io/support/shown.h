// Names from files in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/python_text.h"

namespace tenon {

inline constexpr std::size_t kMostShown = 200;  // bytes of a name

// Quoted as in Python, and not all of a long one.
inline std::string shown(std::string_view name) {
  return python_quoted(name.substr(0, kMostShown));
}

}  // namespace tenon
