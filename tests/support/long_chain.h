// How long a chain is that whatever recurses along it runs out of stack.
#pragma once

namespace tenon {

#ifdef TENON_SANITIZED
inline constexpr int kLongChain = 200'000;  // where frames are larger, and every step takes longer
#else
inline constexpr int kLongChain = 1'000'000;
#endif

}  // namespace tenon
