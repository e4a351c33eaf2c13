// DType: what the elements of a tensor are. Every fact about a dtype is one row of the table below;
// the enumeration, the names, the sizes, visit() and both file formats are made from it. To add a
// dtype, add a row.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenon/detail/api.h"
#include "tenon/detail/float8.h"
#include "tenon/detail/half.h"

namespace tenon {

// The elements of quantised storages. Their meaning (scale, zero point) is not in the element, so
// they are opaque here: copied, compared and reinterpreted, never converted. The last two hold
// several values in a byte.
struct TENON_API QInt8 {
  std::int8_t bits = 0;
};
struct TENON_API QUInt8 {
  std::uint8_t bits = 0;
};
struct TENON_API QInt32 {
  std::int32_t bits = 0;
};
struct TENON_API QUInt4x2 {
  std::uint8_t bits = 0;
};
struct TENON_API QUInt2x4 {
  std::uint8_t bits = 0;
};
// Elements whose meaning is their user's: opaque too. PyTorch computes with none of them.
struct TENON_API Bits8 {
  std::uint8_t bits = 0;
};
struct TENON_API Bits16 {
  std::uint16_t bits = 0;
};
struct TENON_API Bits1x8 {
  std::uint8_t bits = 0;
};
struct TENON_API Bits2x4 {
  std::uint8_t bits = 0;
};
struct TENON_API Bits4x2 {
  std::uint8_t bits = 0;
};
// Two numbers of four bits.
struct TENON_API Float4_e2m1fn_x2 {
  std::uint8_t bits = 0;
};
// Two bfloat16: real and imaginary.
struct TENON_API ComplexBFloat16 {
  std::uint16_t real = 0, imag = 0;
};

enum class DTypeKind : std::uint8_t {
  boolean,
  signed_integer,
  unsigned_integer,
  floating,
  complex,
  quantized,
  bits  // opaque
};

// enumerator, C++ type, PyTorch's name, its storage class (without "Storage"), safetensors' code
// ("" where the format has none), kind
#define TENON_FORALL_DTYPES(X)                                                                    \
  X(float64, double, "float64", "Double", "F64", floating)                                        \
  X(float32, float, "float32", "Float", "F32", floating)                                          \
  X(float16, ::tenon::Half, "float16", "Half", "F16", floating)                                   \
  X(bfloat16, ::tenon::BFloat16, "bfloat16", "BFloat16", "BF16", floating)                        \
  X(float8_e4m3fn, ::tenon::Float8_e4m3fn, "float8_e4m3fn", "Float8_e4m3fn", "F8_E4M3", floating) \
  X(float8_e5m2, ::tenon::Float8_e5m2, "float8_e5m2", "Float8_e5m2", "F8_E5M2", floating)         \
  X(float8_e4m3fnuz, ::tenon::Float8_e4m3fnuz, "float8_e4m3fnuz", "Float8_e4m3fnuz",              \
    "F8_E4M3FNUZ", floating)                                                                      \
  X(float8_e5m2fnuz, ::tenon::Float8_e5m2fnuz, "float8_e5m2fnuz", "Float8_e5m2fnuz",              \
    "F8_E5M2FNUZ", floating)                                                                      \
  X(float8_e8m0fnu, ::tenon::Float8_e8m0fnu, "float8_e8m0fnu", "Float8_e8m0fnu", "F8_E8M0",       \
    floating)                                                                                     \
  X(int64, std::int64_t, "int64", "Long", "I64", signed_integer)                                  \
  X(int32, std::int32_t, "int32", "Int", "I32", signed_integer)                                   \
  X(int16, std::int16_t, "int16", "Short", "I16", signed_integer)                                 \
  X(int8, std::int8_t, "int8", "Char", "I8", signed_integer)                                      \
  X(uint64, std::uint64_t, "uint64", "UInt64", "U64", unsigned_integer)                           \
  X(uint32, std::uint32_t, "uint32", "UInt32", "U32", unsigned_integer)                           \
  X(uint16, std::uint16_t, "uint16", "UInt16", "U16", unsigned_integer)                           \
  X(uint8, std::uint8_t, "uint8", "Byte", "U8", unsigned_integer)                                 \
  X(bool_, bool, "bool", "Bool", "BOOL", boolean)                                                 \
  X(complex128, std::complex<double>, "complex128", "ComplexDouble", "", complex)                 \
  X(complex64, std::complex<float>, "complex64", "ComplexFloat", "C64", complex)                  \
  X(complex32, ::tenon::ComplexHalf, "complex32", "ComplexHalf", "", complex)                     \
  X(qint8, ::tenon::QInt8, "qint8", "QInt8", "", quantized)                                       \
  X(quint8, ::tenon::QUInt8, "quint8", "QUInt8", "", quantized)                                   \
  X(qint32, ::tenon::QInt32, "qint32", "QInt32", "", quantized)                                   \
  X(quint4x2, ::tenon::QUInt4x2, "quint4x2", "QUInt4x2", "", quantized)                           \
  X(quint2x4, ::tenon::QUInt2x4, "quint2x4", "QUInt2x4", "", quantized)                           \
  X(bits8, ::tenon::Bits8, "bits8", "Bits8", "", bits)                                            \
  X(bits16, ::tenon::Bits16, "bits16", "Bits16", "", bits)                                        \
  X(bits1x8, ::tenon::Bits1x8, "bits1x8", "Bits1x8", "", bits)                                    \
  X(bits2x4, ::tenon::Bits2x4, "bits2x4", "Bits2x4", "", bits)                                    \
  X(bits4x2, ::tenon::Bits4x2, "bits4x2", "Bits4x2", "", bits)                                    \
  X(float4_e2m1fn_x2, ::tenon::Float4_e2m1fn_x2, "float4_e2m1fn_x2", "Float4_e2m1fn_x2", "F4",    \
    bits)                                                                                         \
  X(bcomplex32, ::tenon::ComplexBFloat16, "bcomplex32", "BComplexHalf", "", bits)

enum class DType : std::uint8_t {
#define TENON_ROW(name, ...) name,
  TENON_FORALL_DTYPES(TENON_ROW)
#undef TENON_ROW
};

// float32, bfloat16, ... at namespace scope, as torch.float32 is. torch.bool is `bool_` here.
#define TENON_ROW(name, ...) inline constexpr DType name = DType::name;
TENON_FORALL_DTYPES(TENON_ROW)
#undef TENON_ROW

struct DTypeInfo {
  std::string_view name;  // "float32"
  std::string_view
      scalar_name;  // "Float": PyTorch's storage class is this with "Storage" behind it
  std::string_view safetensors;  // "F32", or empty
  std::uint8_t size;             // bytes an element
  DTypeKind kind;
};

inline constexpr DTypeInfo kDTypeTable[] = {
#define TENON_ROW(name, type, text, scalar, code, kind) \
  {text, scalar, code, sizeof(type), DTypeKind::kind},
    TENON_FORALL_DTYPES(TENON_ROW)
#undef TENON_ROW
};
inline constexpr std::size_t kDTypeCount = sizeof kDTypeTable / sizeof kDTypeTable[0];

constexpr const DTypeInfo& info(DType dtype) noexcept {
  return kDTypeTable[static_cast<std::size_t>(dtype)];
}
constexpr std::int64_t itemsize(DType dtype) noexcept { return info(dtype).size; }
constexpr bool is_floating_point(DType dtype) noexcept {
  return info(dtype).kind == DTypeKind::floating;
}
constexpr bool is_complex(DType dtype) noexcept { return info(dtype).kind == DTypeKind::complex; }
constexpr bool is_quantized(DType dtype) noexcept {
  return info(dtype).kind == DTypeKind::quantized;
}
// Its elements are copied, compared and reinterpreted, and never converted.
constexpr bool is_opaque(DType dtype) noexcept {
  return info(dtype).kind == DTypeKind::quantized || info(dtype).kind == DTypeKind::bits;
}
// Whole numbers. A bool is not one, as in PyTorch's isIntegralType(..., includeBool=false).
constexpr bool is_integral(DType dtype) noexcept {
  return info(dtype).kind == DTypeKind::signed_integer ||
         info(dtype).kind == DTypeKind::unsigned_integer;
}
// Whether gradients make sense for it.
constexpr bool is_differentiable(DType dtype) noexcept {
  return is_floating_point(dtype) || is_complex(dtype);
}

// complex64 → float32 and so on; a real dtype is its own.
TENON_API DType to_real(DType dtype);
// float32 → complex64 and so on; DTypeError where there is none.
TENON_API DType to_complex(DType dtype);
// The dtype both can be converted to without surprise, by PyTorch's table. DTypeError where PyTorch
// has no answer (two different float8 types, uint16/32/64 with signed integers).
TENON_API DType promote_types(DType a, DType b);
// The dtype called "bfloat16" or "torch.bfloat16".
TENON_API std::optional<DType> dtype_from_name(std::string_view name) noexcept;

// "torch.float32"
TENON_API std::string repr(DType dtype);
TENON_API std::ostream& operator<<(std::ostream& out, DType dtype);

namespace detail {
template <class T>
inline constexpr bool always_false = false;
template <DType D>
struct TypeOf;
template <class T>
struct DTypeOf {
  static_assert(always_false<T>, "this C++ type is not the element type of any dtype");
};
#define TENON_ROW(name, type, ...)              \
  template <>                                   \
  struct TypeOf<DType::name> {                  \
    using Type = type;                          \
  };                                            \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::name; \
  };
TENON_FORALL_DTYPES(TENON_ROW)
#undef TENON_ROW
}  // namespace detail

// The dtype whose elements are T, and the other way round.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<std::remove_cv_t<T>>::value;
template <DType D>
using type_of = typename detail::TypeOf<D>::Type;

// Calls f.template operator()<T>() with the element type of dtype: visit(t.dtype(), [&]<class T>()
// { ... }).
template <class F>
decltype(auto) visit(DType dtype, F&& f) {
  switch (dtype) {
#define TENON_ROW(name, type, ...) \
  case DType::name: return std::forward<F>(f).template operator()<type>();
    TENON_FORALL_DTYPES(TENON_ROW)
#undef TENON_ROW
  }
  __builtin_unreachable();
}

}  // namespace tenon
