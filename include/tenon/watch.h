// Watching long work and ending it early.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>

namespace tenon {

// Work that takes one ends with a CancelledError soon after a stop is requested.
struct Watch {
  std::stop_token stop = {};
  // Called with the bytes done and all there are, on whichever thread works (of load_into: on the
  // caller's), never on two at once; at last with both equal. Saving calls it with 0 before it
  // makes the first file. What it throws ends the work.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress = {};
};

}  // namespace tenon
