#include "tenon/scalar.h"

#include <cmath>
#include <limits>

#include "base/element_cast.h"
#include "base/text.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"

namespace tenon {

namespace {

template <class T>
[[noreturn]] void does_not_fit(const Scalar& value) {
  throw ValueError(concat("value cannot be converted to type ", info(dtype_of<T>).name,
                          " without overflow: ", value.repr()));
}

// Whether a whole number is one of T's. A negative number goes into an unsigned type if its
// magnitude fits, and wraps: PyTorch allows that for whole numbers and not for real ones.
template <class T>
bool fits(std::int64_t value) {
  if constexpr (std::same_as<T, ComplexHalf>) {
    return value >= -65504 && value <= 65504;
  } else if constexpr (std::same_as<T, bool> || !std::integral<T>) {
    return true;
  } else if constexpr (std::is_signed_v<T>) {
    return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max();
  } else {
    const auto bits = static_cast<std::uint64_t>(value);
    return (value < 0 ? 0 - bits : bits) <= std::numeric_limits<T>::max();
  }
}

// Whether a real number is one of T's, or rounds to one. The small floating types take everything:
// what is too large becomes what the type has for it. float and the complex types do not.
template <class T>
bool fits(double value) {
  if constexpr (std::same_as<T, bool>) {
    return true;
  } else if constexpr (std::integral<T>) {
    // As PyTorch has it: 255.9 is a uint8, and -0.1 is none.
    const double beyond = std::ldexp(1.0, std::numeric_limits<T>::digits);
    return std::trunc(value) < beyond && value >= (std::is_signed_v<T> ? -beyond : 0.0);
  } else if constexpr (std::same_as<T, float> || std::same_as<T, std::complex<float>>) {
    return !std::isfinite(value) || std::fabs(value) <= std::numeric_limits<float>::max();
  } else if constexpr (std::same_as<T, ComplexHalf>) {
    return !std::isfinite(value) || std::fabs(value) <= 65504;
  } else {
    return true;
  }
}

}  // namespace

template <class T>
T Scalar::to() const {
  if constexpr (is_opaque_type<T>) {
    throw DTypeError(concat("a number cannot become a ", info(dtype_of<T>).name,
                            ": its elements are opaque (of a quantised one, without a scale)"));
  } else {
    switch (kind_) {
      case Kind::boolean:
      case Kind::integer:
        if (!fits<T>(integer_)) does_not_fit<T>(*this);
        return convert<T>(integer_);
      case Kind::unsigned_integer: {
        constexpr bool kWhole =
            std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, std::uint64_t>;
        if (kWhole || std::same_as<T, ComplexHalf>) does_not_fit<T>(*this);
        return convert<T>(static_cast<std::uint64_t>(integer_));
      }
      case Kind::real:
        if (!fits<T>(real_)) does_not_fit<T>(*this);
        return convert<T>(real_);
      case Kind::complex:
        if (!fits<T>(real_) || !fits<T>(imag_)) does_not_fit<T>(*this);
        if constexpr (is_complex_type<T> || std::same_as<T, bool>) {
          return convert<T>(std::complex<double>(real_, imag_));
        } else {
          if (imag_ != 0) does_not_fit<T>(*this);
          return convert<T>(real_);
        }
    }
    __builtin_unreachable();
  }
}

#define TENON_ROW(name, type, ...) template type Scalar::to<type>() const;
TENON_FORALL_DTYPES(TENON_ROW)
#undef TENON_ROW

DType Scalar::dtype() const {
  switch (kind_) {
    case Kind::boolean: return bool_;
    case Kind::integer: return int64;
    case Kind::unsigned_integer: return uint64;
    case Kind::real: return get_default_dtype();
    case Kind::complex: return to_complex(get_default_dtype());
  }
  __builtin_unreachable();
}

std::string Scalar::repr() const {
  switch (kind_) {
    case Kind::boolean: return integer_ != 0 ? "True" : "False";
    case Kind::integer: return concat(integer_);
    case Kind::unsigned_integer: return concat(static_cast<std::uint64_t>(integer_));
    case Kind::real: return concat(real_);
    case Kind::complex: break;
  }
  // Python leaves out the ".0" of parts, and a real part of positive zero altogether.
  const auto part = [](double value) {
    std::string text = concat(value);
    if (text.ends_with(".0")) text.resize(text.size() - 2);
    return text;
  };
  if (real_ == 0 && !std::signbit(real_)) return part(imag_) + "j";
  std::string imaginary = part(imag_);
  if (imaginary.front() != '-') imaginary.insert(0, 1, '+');
  return concat("(", part(real_), imaginary, "j)");
}

}  // namespace tenon
