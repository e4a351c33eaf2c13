#include "tenon/dtype.h"

#include <array>
#include <ostream>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

DType to_real(DType dtype) {
  switch (dtype) {
    case complex128: return float64;
    case complex64: return float32;
    case complex32: return float16;
    default: return dtype;
  }
}

DType to_complex(DType dtype) {
  switch (dtype) {
    case float64: return complex128;
    case float32: return complex64;
    case float16: return complex32;
    case bfloat16: return complex64;
    default:
      if (is_complex(dtype)) return dtype;
      throw DTypeError(concat("there is no complex dtype of ", repr(dtype)));
  }
}

namespace {

bool is_float8(DType dtype) { return is_floating_point(dtype) && itemsize(dtype) == 1; }
bool is_bare_unsigned(DType dtype) {
  return info(dtype).kind == DTypeKind::unsigned_integer && dtype != uint8;
}

[[noreturn]] void cannot_promote(const char* what, DType a, DType b) {
  throw DTypeError(concat("promotion for ", what, " is not supported: attempted to promote ",
                          info(a).scalar_name, " and ", info(b).scalar_name,
                          ". Convert one of them first, with to(dtype)"));
}

// Whole numbers and bool: the larger one, and one size up where uint8 meets a signed byte.
DType promote_integers(DType a, DType b) {
  if (a == bool_) return b;
  if (b == bool_) return a;
  if ((a == uint8 && b == int8) || (a == int8 && b == uint8)) return int16;
  return itemsize(a) > itemsize(b) || (itemsize(a) == itemsize(b) && a != uint8) ? a : b;
}

DType promote_floats(DType a, DType b) {
  if ((a == float16 && b == bfloat16) || (a == bfloat16 && b == float16)) return float32;
  return itemsize(a) >= itemsize(b) ? a : b;
}

}  // namespace

DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_quantized(a) || is_quantized(b)) cannot_promote("quantised types", a, b);
  if (is_opaque(a) || is_opaque(b)) cannot_promote("bits types", a, b);
  if (is_float8(a) || is_float8(b)) cannot_promote("Float8 types", a, b);
  if ((is_bare_unsigned(a) && !is_floating_point(b)) ||
      (is_bare_unsigned(b) && !is_floating_point(a))) {
    cannot_promote("uint16, uint32, uint64 types", a, b);
  }
  if (is_complex(a) || is_complex(b)) {
    const DType real_a = to_real(a), real_b = to_real(b);
    if (!is_floating_point(real_a)) return b;
    if (!is_floating_point(real_b)) return a;
    return to_complex(promote_floats(real_a, real_b));
  }
  if (is_floating_point(a) && is_floating_point(b)) return promote_floats(a, b);
  if (is_floating_point(a)) return a;
  if (is_floating_point(b)) return b;
  return promote_integers(a, b);
}

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  if (name.starts_with("torch.")) name.remove_prefix(6);
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (kDTypeTable[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::string repr(DType dtype) { return concat("torch.", info(dtype).name); }

std::ostream& operator<<(std::ostream& out, DType dtype) {
  return out << "torch." << info(dtype).name;
}

}  // namespace tenon
