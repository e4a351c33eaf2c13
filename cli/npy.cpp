#include "npy.h"

#include <cstddef>

namespace tenon::cli {

std::string_view npy_descr(DType dtype) noexcept {
  switch (dtype) {
    case bool_: return "|b1";
    case int8: return "|i1";
    case int16: return "<i2";
    case int32: return "<i4";
    case int64: return "<i8";
    case uint8: return "|u1";
    case uint16: return "<u2";
    case uint32: return "<u4";
    case uint64: return "<u8";
    case float16: return "<f2";
    case float32: return "<f4";
    case float64: return "<f8";
    case complex64: return "<c8";
    case complex128: return "<c16";
    default: return {};
  }
}

std::string npy_header(std::string_view descr, const Shape& shape) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  if (shape.size() == 1) sizes += ',';
  std::string text =
      "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  // NumPy leaves room for a first size of 21 digits, then fills up to a multiple of 64. With the 64
  // dimensions a tensor has at most, format 1.0 and its length of 16 bits are enough.
  constexpr std::size_t kDigits = 21, kBefore = 10, kAlignment = 64;
  if (!shape.empty()) text.append(kDigits - std::to_string(shape[0]).size(), ' ');
  text.append(kAlignment - (kBefore + text.size() + 1) % kAlignment, ' ');
  text += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

}  // namespace tenon::cli
