#include "core/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/element_cast.h"
#include "base/stored_dtype.h"
#include "base/text.h"
#include "kernels/cast.h"

namespace tenon {

namespace {

std::string formatted(double value, std::chars_format format, std::int64_t precision) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // The longest double has 309 digits before the point.
  std::string text(static_cast<std::size_t>(330 + precision), '\0');
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format,
                                 static_cast<int>(precision))
                       .ptr;
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

// The values as another dtype, packed.
template <class T>
std::vector<T> converted(std::span<const std::byte> values, DType dtype) {
  std::vector<T> out(values.size() / static_cast<std::size_t>(itemsize(dtype)));
  const auto n = static_cast<std::int64_t>(out.size());
  Cast(dtype_of<T>, dtype)(
      {reinterpret_cast<std::byte*>(out.data()), sizeof(T), values.data(), itemsize(dtype), n});
  return out;
}

template <class T, class Text>
ElementTexts all_texts(const std::vector<T>& values, Text text) {
  ElementTexts out;
  out.texts.reserve(values.size());
  for (const T& value : values) {
    out.texts.push_back(text(value));
    out.width = std::max(out.width, out.texts.back().size());
  }
  for (std::string& written : out.texts) written = padded(std::move(written), out.width);
  return out;
}

ElementTexts complex_texts(const std::vector<std::complex<double>>& values, DType dtype,
                           const PrintOptions& options) {
  std::vector<double> real, imag;
  for (const auto& value : values) {
    real.push_back(value.real());
    imag.push_back(value.imag());
  }
  const RealFormat real_format(real, to_real(dtype), options),
      imag_format(imag, to_real(dtype), options);
  ElementTexts out;
  for (const auto& value : values) {
    std::string imaginary = imag_format.text(value.imag()) + 'j';
    imaginary.erase(0, imaginary.find_first_not_of(' '));
    if (imaginary.front() != '-') imaginary.insert(0, 1, '+');
    out.texts.push_back(real_format.text(value.real()) + imaginary);
  }
  out.width = real_format.width() + imag_format.width() + 1;
  return out;
}

}  // namespace

std::string fixed_text(double value, std::int64_t precision) {
  return formatted(value, std::chars_format::fixed, precision);
}

std::string scientific_text(double value, std::int64_t precision) {
  return formatted(value, std::chars_format::scientific, precision);
}

RealFormat::RealFormat(std::span<const double> shown, DType dtype, const PrintOptions& options)
    : precision_(options.precision) {
  // e8m0 has neither zero nor a notion of finite in PyTorch's eyes: its code 0 counts as zero and
  // NaN as a number.
  const bool e8m0 = dtype == float8_e8m0fnu;
  const auto counts = [&](double v) { return e8m0 ? v != 0x1p-127 : std::isfinite(v) && v != 0; };
  std::vector<double> numbers;
  std::copy_if(shown.begin(), shown.end(), std::back_inserter(numbers), counts);
  if (numbers.empty()) return;
  double smallest = std::fabs(numbers.front()), largest = smallest;
  for (const double v : numbers) {
    whole_ = whole_ && v == std::ceil(v);
    // NaN, once there, stays: comparisons with it below are all false.
    if (!std::isnan(smallest)) smallest = std::isnan(v) ? v : std::min(smallest, std::fabs(v));
    if (!std::isnan(largest)) largest = std::isnan(v) ? v : std::max(largest, std::fabs(v));
  }
  scientific_ =
      options.sci_mode.value_or(largest / smallest > 1000 || largest > 1e8 || smallest < 1e-4);
  for (const double v : numbers) {
    const std::string text =
        scientific_ ? scientific_text(v, precision_) : fixed_text(v, whole_ ? 0 : precision_);
    width_ = std::max(width_, text.size() + (whole_ && !scientific_ ? 1 : 0));
  }
}

std::string RealFormat::bare_text(double value) const {
  if (scientific_) return scientific_text(value, precision_);
  if (!whole_) return fixed_text(value, precision_);
  return std::isfinite(value) ? fixed_text(value, 0) + '.' : fixed_text(value, 0);
}

std::string RealFormat::text(double value) const { return padded(bare_text(value), width_); }

ElementTexts element_texts(std::span<const std::byte> values, DType dtype,
                           const PrintOptions& options) {
  switch (info(dtype).kind) {
    case DTypeKind::boolean:
      return all_texts(converted<std::uint8_t>(values, dtype),
                       [](std::uint8_t v) { return concat(v != 0); });
    case DTypeKind::signed_integer:
      return all_texts(converted<std::int64_t>(values, dtype),
                       [](std::int64_t v) { return concat(v); });
    case DTypeKind::unsigned_integer:
      return all_texts(converted<std::uint64_t>(values, dtype),
                       [](std::uint64_t v) { return concat(v); });
    case DTypeKind::complex:
      return complex_texts(converted<std::complex<double>>(values, dtype), dtype, options);
    case DTypeKind::bits:
    case DTypeKind::quantized: return element_texts(values, stored_integer(dtype), options);
    case DTypeKind::floating: break;
  }
  const std::vector<double> numbers = converted<double>(values, dtype);
  const RealFormat format(numbers, dtype, options);
  ElementTexts out;
  for (const double v : numbers) out.texts.push_back(format.text(v));
  out.width = format.width();
  return out;
}

}  // namespace tenon
