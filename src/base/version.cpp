#include "tenon/version.h"

namespace tenon {

std::string_view library_version() noexcept { return kVersion; }

void detail::TENON_ABI(TENON_VERSION_MAJOR, TENON_VERSION_MINOR)() noexcept {}

}  // namespace tenon
