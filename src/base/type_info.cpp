#include "tenon/type_info.h"

#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <ostream>

#include "base/text.h"
#include "tenon/default_dtype.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// As C++ streams write numbers: six digits.
std::string six_digits(double value) {
  char text[32];
  const auto end =
      std::to_chars(std::begin(text), std::end(text), value, std::chars_format::general, 6);
  return std::string(text, end.ptr);
}

// A float: how many binary digits follow the first, the exponents of its least normal number and of
// its largest one, and how far below two the largest's digits are, in units of the last. Digits are
// those of base ten that every number has.
struct Format {
  int fraction, least, most;
  double below_two;
  int digits;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return {52, -1022, 1023, 1, 15};
    case DType::float32: return {23, -126, 127, 1, 6};
    case DType::float16: return {10, -14, 15, 1, 3};
    case DType::bfloat16: return {7, -126, 127, 1, 2};
    case DType::float8_e4m3fn: return {3, -6, 8, 2, 0};
    case DType::float8_e5m2: return {2, -14, 15, 1, 0};
    case DType::float8_e4m3fnuz: return {3, -7, 7, 1, 0};
    case DType::float8_e5m2fnuz: return {2, -15, 15, 1, 0};
    case DType::float8_e8m0fnu: return {0, -127, 127, 1, 0};
    default: break;
  }
  throw DTypeError(concat("finfo() requires a floating point input type, and ", tenon::repr(dtype),
                          " is none: iinfo() is for whole numbers"));
}

}  // namespace

finfo::finfo() : finfo(get_default_dtype()) {}

finfo::finfo(DType of) : dtype(is_complex(of) ? to_real(of) : of) {
  const Format format = format_of(dtype);
  bits = static_cast<int>(8 * itemsize(dtype));
  eps = std::ldexp(1.0, -format.fraction);
  // Here PyTorch has the number for a format with one digit more.
  if (dtype == DType::float8_e5m2fnuz) eps /= 2;
  max = std::ldexp(2 - format.below_two * std::ldexp(1.0, -format.fraction), format.most);
  smallest_normal = tiny = std::ldexp(1.0, format.least);
  min = dtype == DType::float8_e8m0fnu ? tiny : -max;
  resolution = std::pow(10.0, -format.digits);
}

std::string finfo::repr() const {
  return concat("finfo(resolution=", six_digits(resolution), ", min=", six_digits(min),
                ", max=", six_digits(max), ", eps=", six_digits(eps),
                ", smallest_normal=", six_digits(smallest_normal), ", tiny=", six_digits(tiny),
                ", dtype=", info(dtype).name, ")");
}

iinfo::iinfo(DType of) : dtype(of) {
  if (of == DType::bool_) throw DTypeError("torch.bool is not supported by iinfo()");
  if (!is_integral(of)) {
    throw DTypeError(concat("iinfo() requires an integer input type, and ", tenon::repr(of),
                            " is none: finfo() is for floating ones"));
  }
  bits = static_cast<int>(8 * itemsize(of));
  const bool has_sign = info(of).kind == DTypeKind::signed_integer;
  max = std::numeric_limits<std::uint64_t>::max() >> (64 - bits + (has_sign ? 1 : 0));
  min = has_sign ? -static_cast<std::int64_t>(max) - 1 : 0;
}

std::string iinfo::repr() const {
  return concat("iinfo(min=", six_digits(static_cast<double>(min)),
                ", max=", six_digits(static_cast<double>(max)), ", dtype=", info(dtype).name, ")");
}

std::ostream& operator<<(std::ostream& out, const finfo& of) { return out << of.repr(); }
std::ostream& operator<<(std::ostream& out, const iinfo& of) { return out << of.repr(); }

}  // namespace tenon
