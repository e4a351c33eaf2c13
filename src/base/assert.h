// TENON_ASSERT states what must hold if Tenon itself is right. It is never reachable from what a
// caller passes or a file holds; those are exceptions with a sentence. Compiled out unless
// TENON_ASSERTIONS is on.
#pragma once

#include "tenon/detail/api.h"

namespace tenon::detail {
[[noreturn]] TENON_API void assertion_failed(const char* condition, const char* file, int line);
}  // namespace tenon::detail

#ifdef TENON_ASSERTIONS
#define TENON_ASSERT(condition) \
  (static_cast<bool>(condition) \
       ? void(0)                \
       : ::tenon::detail::assertion_failed(#condition, __FILE__, __LINE__))
#else
#define TENON_ASSERT(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif
