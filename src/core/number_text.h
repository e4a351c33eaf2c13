// Choosing how the numbers of a tensor are written, and writing them: the rules of PyTorch's
// printing (docs/testing.md, "Printing").
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenon/dtype.h"
#include "tenon/printing.h"

namespace tenon {

// "%.4f" and "%.4e" as Python and C write them, whatever the locale.
std::string fixed_text(double value, std::int64_t precision);
std::string scientific_text(double value, std::int64_t precision);

// One format for all real numbers of a tensor, chosen from those that are shown.
class RealFormat {
 public:
  RealFormat(std::span<const double> shown, DType dtype, const PrintOptions& options);
  std::size_t width() const noexcept { return width_; }
  // Padded on the left to the width.
  std::string text(double value) const;

 private:
  std::string bare_text(double value) const;

  std::int64_t precision_;
  bool whole_ = true;  // all are whole numbers: "3."
  bool scientific_ = false;
  std::size_t width_ = 1;
};

// The elements of a tensor, written: all equally wide except where a sign of zero or an imaginary
// part is not.
struct ElementTexts {
  std::vector<std::string> texts;
  std::size_t width = 1;  // that lines are broken by
};

// values: elements of the dtype, packed.
ElementTexts element_texts(std::span<const std::byte> values, DType dtype,
                           const PrintOptions& options);

}  // namespace tenon
