#include "base/text.h"

#include <array>
#include <cmath>

namespace tenon {

void append(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
    return;
  }
  // Python switches to an exponent below 1e-4 and from 1e16 on.
  const double magnitude = std::fabs(value);
  const bool exponent = magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
  std::array<char, 40> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value,
                    exponent ? std::chars_format::scientific : std::chars_format::fixed)
          .ptr;
  const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
  out += text;
  if (!exponent && text.find('.') == std::string_view::npos) out += ".0";
}

std::string bracketed(std::span<const std::int64_t> values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += ", ";
    append(out, values[i]);
  }
  return out += ']';
}

}  // namespace tenon
