// Copying elements between strided operands, with conversion where the dtypes differ.
#pragma once

#include <span>

#include "kernels/loop.h"
#include "tenon/detail/api.h"
#include "tenon/dtype.h"

namespace tenon {

// What is done to every element on the way: negated, or (complex ones) conjugated.
struct CopyTransform {
  bool conj = false;
  bool neg = false;
};

// dst = convert(src) over the shape. The operands do not overlap, or are the very same elements.
// DTypeError if one dtype is quantised and the other is not the same.
TENON_API void copy_elements(std::span<const std::int64_t> shape, const Operand& dst,
                             DType dst_dtype, const Operand& src, DType src_dtype,
                             CopyTransform transform = {});

}  // namespace tenon
