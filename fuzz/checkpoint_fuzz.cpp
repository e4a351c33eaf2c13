// Any bytes at all as a checkpoint.
#include <cstdint>
#include <span>

#include "checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tenon::check_file(std::as_bytes(std::span(data, size)));
  return 0;
}
