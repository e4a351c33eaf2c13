#include "io/support/read_meter.h"

#include <limits>

#include "base/text.h"
#include "tenon/error.h"

namespace tenon {

namespace {

// base + per_byte * bytes, as far as that can be counted.
std::uint64_t limit(std::uint64_t base, std::uint64_t per_byte, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  if (per_byte != 0 && bytes > (kMost - base) / per_byte) return kMost;
  return base + per_byte * bytes;
}

}  // namespace

void ReadMeter::add_file(std::uint64_t stored) noexcept {
  stored_ = stored > std::numeric_limits<std::uint64_t>::max() - stored_
                ? std::numeric_limits<std::uint64_t>::max()
                : stored_ + stored;
  most_memory_ = limit(limits_.memory, limits_.memory_per_byte, stored_);
  most_steps_ = limit(limits_.steps, limits_.steps_per_byte, stored_);
}

ReadMeter ReadMeter::of_saving(std::uint64_t values) {
  constexpr std::uint64_t kBytesPerValue = 64;  // about what a file has for one
  ReadMeter meter("save", {});
  meter.saving_ = true;
  meter.add_file(kBytesPerValue * values);
  return meter;
}

ReadMeter ReadMeter::of_saving() {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  ReadMeter meter("save", {kMost, 0, kMost, 0});
  meter.saving_ = true;
  return meter;
}

namespace {

[[noreturn]] void too_much_to_save() {
  throw ValueError(
      "save: parts of the values are shared, and written out in every place they take much more "
      "than the values themselves: leave some out, or save a .pth, which keeps them shared");
}

}  // namespace

void ReadMeter::too_many_steps() {
  exceeded_ = true;
  if (saving_) too_much_to_save();
  throw FormatError(
      file_, 0,
      concat("reading it would take more than ", most_steps_, " steps, which its ", stored_,
             " bytes do not warrant. If it is trusted, raise .limits (tenon --raise-limits 10)"));
}

void ReadMeter::too_much_memory() {
  exceeded_ = true;
  if (saving_) too_much_to_save();
  throw FormatError(
      file_, 0,
      concat("its values would take more than ", most_memory_, " bytes of memory, which its ",
             stored_,
             " bytes do not warrant. If it is trusted, raise .limits (tenon --raise-limits 10)"));
}

}  // namespace tenon
