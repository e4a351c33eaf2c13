#include "io/read_meter.h"

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

void ReadMeter::too_many_steps() {
  exceeded_ = true;
  throw FormatError(
      file_, 0,
      concat("reading it would take more than ", most_steps_, " steps, which its ", stored_,
             " bytes do not warrant. If it is trusted, raise .limits (tenon --raise-limits 10)"));
}

void ReadMeter::too_much_memory() {
  exceeded_ = true;
  throw FormatError(
      file_, 0,
      concat("its values would take more than ", most_memory_, " bytes of memory, which its ",
             stored_,
             " bytes do not warrant. If it is trusted, raise .limits (tenon --raise-limits 10)"));
}

}  // namespace tenon
