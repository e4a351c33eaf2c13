// The version of these headers, and of the library that is linked.
//
//   #if TENON_VERSION >= 200  // 0.2.0
//
// The headers and the library of a program have the same minor version (0.1, 0.2, ...): between two
// of them classes may change their layout. A program of other headers does not link, and one that
// is started with another shared library does not start: tenon::detail::abi_0_1 is missing.
// Patch versions of one minor version can be exchanged for each other.
#pragma once

#include <string_view>

#include "tenon/detail/api.h"

#define TENON_VERSION_MAJOR 0
#define TENON_VERSION_MINOR 1
#define TENON_VERSION_PATCH 0
#define TENON_VERSION \
  (TENON_VERSION_MAJOR * 10000 + TENON_VERSION_MINOR * 100 + TENON_VERSION_PATCH)

#define TENON_VERSION_TEXT_OF(number) #number
#define TENON_VERSION_TEXT(major, minor, patch) \
  TENON_VERSION_TEXT_OF(major)                  \
  "." TENON_VERSION_TEXT_OF(minor) "." TENON_VERSION_TEXT_OF(patch)
#define TENON_ABI_OF(major, minor) abi_##major##_##minor
#define TENON_ABI(major, minor) TENON_ABI_OF(major, minor)

namespace tenon {

// Of these headers.
inline constexpr std::string_view kVersion =
    TENON_VERSION_TEXT(TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH);
// Of the library.
TENON_API std::string_view library_version() noexcept;

namespace detail {

TENON_API void TENON_ABI(TENON_VERSION_MAJOR, TENON_VERSION_MINOR)() noexcept;
// Every file that includes this asks for it, also where a linker leaves out what nothing uses.
#if __has_cpp_attribute(gnu::retain)
[[gnu::retain]]
#endif
[[gnu::used]] inline void (*const the_abi)() noexcept = &TENON_ABI(TENON_VERSION_MAJOR,
                                                                   TENON_VERSION_MINOR);

}  // namespace detail

}  // namespace tenon
