// Writing one element over and over into packed memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon {

// nbytes of the element of `itemsize` (a power of two up to 16), past the caches. dst is aligned to
// the element.
void stream_fill(std::byte* dst, std::int64_t nbytes, const std::byte* element,
                 std::int64_t itemsize) noexcept;

}  // namespace tenon
