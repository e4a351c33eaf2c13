#include <string>

#include "base/text.h"
#include "base/visible.h"
#include "tenon/load_into.h"

namespace tenon {

namespace {

// "4.3 GB"
std::string amount(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  if (unit == 0) return concat(bytes, " bytes");
  const auto tenths = static_cast<std::int64_t>(value * 10 + 0.5);
  return concat(tenths / 10, ".", tenths % 10, " ", kUnits[unit]);
}

const char* word(LoadStep::How how) {
  switch (how) {
    case LoadStep::How::copied: return "copied into place";
    case LoadStep::How::replaced: return "replaced";
    case LoadStep::How::mapped: return "mapped";
    case LoadStep::How::handed: return "handed to its class";
  }
  __builtin_unreachable();
}

}  // namespace

std::string LoadIntoReport::plan() const {
  std::string text =
      concat(steps.size(), steps.size() == 1 ? " tensor, " : " tensors, ", amount(bytes_read),
             " read, ", amount(bytes_made), " made, ", amount(peak_bytes), " at the peak\n");
  for (const LoadStep& step : steps) {
    text +=
        concat("  ", step.key, step.name == step.key ? "" : concat(" from ", visible(step.name)),
               " ", bracketed(step.shape), " ", tenon::repr(step.file_dtype));
    if (step.dtype != step.file_dtype) text += concat(" to ", tenon::repr(step.dtype));
    if (!step.device.is_cpu()) text += concat(" on ", step.device.str());
    text += concat(": ", word(step.how), "\n");
  }
  if (!empty()) text += repr() + "\n";
  return text;
}

}  // namespace tenon
