// Facts about dtypes whose elements are only stored, found in the row of tenon/dtype.h: in the C++
// type and in PyTorch's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tenon/dtype.h"

namespace tenon {

// How many values an element has, several of which share a byte: 2 in float4_e2m1fn_x2 and in
// quint4x2, whose names say so, and 1 in most.
constexpr std::int64_t values_in_element(DType dtype) noexcept {
  if (!is_opaque(dtype)) return 1;
  const std::string_view name = info(dtype).name;
  const char count = name[name.size() - 1];
  return name[name.size() - 2] == 'x' && count >= '2' && count <= '9' ? count - '0' : 1;
}
static_assert(values_in_element(float4_e2m1fn_x2) == 2 && values_in_element(quint4x2) == 2 &&
              values_in_element(quint2x4) == 4 && values_in_element(bits1x8) == 8 &&
              values_in_element(bcomplex32) == 1 && values_in_element(qint32) == 1);

// Which dtypes have a class of storages in PyTorch. The newer ones are kept as bytes, and their
// tensors say the dtype.
constexpr bool has_storage_class(DType dtype) noexcept {
  return !(is_floating_point(dtype) && itemsize(dtype) == 1) && dtype != uint16 &&
         dtype != uint32 && dtype != uint64 && dtype != complex32 &&
         info(dtype).kind != DTypeKind::bits;
}

namespace detail {
// The integer that an opaque element is: its bits, or as many bytes without a sign.
template <class T>
struct StoredInteger {
  static_assert(sizeof(T) <= 8);
  using Type = std::conditional_t<
      sizeof(T) == 1, std::uint8_t,
      std::conditional_t<sizeof(T) == 2, std::uint16_t,
                         std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
};
template <class T>
  requires requires { sizeof(T::bits); }
struct StoredInteger<T> {
  using Type = decltype(T::bits);
};
}  // namespace detail

// The integers that opaque elements are without their meaning: int8 for qint8.
inline DType stored_integer(DType dtype) {
  return visit(dtype, []<class T>() {
    if constexpr (is_opaque(dtype_of<T>))
      return dtype_of<typename detail::StoredInteger<T>::Type>;
    else
      return dtype_of<T>;
  });
}

// Whether an element is two numbers, the real and the imaginary part.
inline bool is_pair(DType dtype) {
  return is_complex(dtype) || visit(dtype, []<class T>() { return requires { sizeof(T::imag); }; });
}

}  // namespace tenon
