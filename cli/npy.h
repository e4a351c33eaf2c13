// NumPy's file format.
#pragma once

#include <tenon/dtype.h>
#include <tenon/shape.h>

#include <string>
#include <string_view>

namespace tenon::cli {

// NumPy's word for a dtype: "<f4". Empty where NumPy has none.
std::string_view npy_descr(DType dtype) noexcept;

// What a .npy file has before its elements, which are packed and little-endian: the bytes that
// numpy.save writes.
std::string npy_header(std::string_view descr, const Shape& shape);

}  // namespace tenon::cli
