// Saying a warning (tenon/warning.h).
#pragma once

#include <atomic>
#include <string>

#include "tenon/detail/api.h"

namespace tenon {

TENON_API void warn(const std::string& message);

// Says it the first time only, for as long as `said` lives. A warning nobody listens to does not
// count as said.
TENON_API void warn_once(std::atomic<bool>& said, const std::string& message);

}  // namespace tenon
