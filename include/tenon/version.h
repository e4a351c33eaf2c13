// Which Tenon this is. The build reads its version from here.
#pragma once

#include <string_view>

namespace tenon {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace tenon
