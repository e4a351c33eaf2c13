// The conversions that models are made of, many elements at once: between float32 and the 16-bit
// floating dtypes. Bits are those of base/element_cast.h.
#pragma once

#include <cstdint>

#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

// src and dst are packed and aligned to their elements. `stream` writes past the caches: right for
// more than they hold.
using PackedCast = void (*)(const void* src, void* dst, std::int64_t n, bool stream);

// Null where there is none.
TENON_API PackedCast packed_cast(DType dst, DType src);

}  // namespace tenon
