// The one pool of threads. Work is a range of numbers; threads take chunks of it until none is
// left.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "tenon/detail/api.h"

namespace tenon {

// Calls work(first, last) for chunks that together are [begin, end), each at least `grain` long
// unless it is the last. The caller works too and returns when all is done. Inside a chunk, in a
// forked child, and for a range of one chunk, it is a plain call. The threads have the caller's
// thread state (tenon/device.h and others). If chunks throw, the rest is left undone and one of the
// exceptions comes out here.
TENON_API void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                            FunctionRef<void(std::int64_t first, std::int64_t last)> work);

}  // namespace tenon
